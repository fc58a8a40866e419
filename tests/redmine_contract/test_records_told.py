"""What Redmine tells of what it has just made, and what it keeps to itself."""

import pytest

from tests.redmine_contract.facts import fact, proves
from tests.redmine_contract.place import Person
from tests.redmine_contract.seeded import ATTACHMENTS, ISSUES, PROJECTS, ROLES, USERS, VERSIONS

SHOP = f"/projects/{PROJECTS['webshop']}"
OCTETS = {"Content-Type": "application/octet-stream"}


@proves("locations")
async def test_where_a_new_record_is_found_is_told_without_a_format(dev: Person) -> None:
    body = {"issue": {"project_id": PROJECTS["webshop"], "subject": "New"}}
    made = await dev.answer("POST", "/issues.json", body)
    page = await dev.answer("PUT", "/projects/webshop/wiki/New.json", {"wiki_page": {"text": "x"}})
    changed = await dev.answer("PUT", f"/issues/{ISSUES['umlauts']}.json", {"issue": {"notes": "x"}})

    assert made.headers["location"] == f"{dev.place.service.url}/issues/{(await made.json())['issue']['id']}"
    assert (page.status, page.headers["location"]) == (201, "/projects/webshop/wiki/New")
    assert (changed.status, changed.content_type) == (204, "")


@proves("empty-page")
async def test_a_page_without_a_word_is_made_and_cannot_be_read(dev: Person) -> None:
    status, page = await dev.ask("PUT", "/projects/webshop/wiki/New.json", {"wiki_page": {}})

    assert (status, page["wiki_page"]["text"]) == (201, None)
    assert await dev.ask("GET", "/projects/webshop/wiki/New.json") == (404, "")


@proves("project-record")
async def test_a_project_tells_its_homepage_only_when_it_is_asked_alone(admin: Person) -> None:
    made = await admin.made("/projects.json", project={"name": "New", "identifier": "new-one"})
    alone = (await admin.told(f"/projects/{made['id']}.json"))["project"]
    listed = {row["id"]: row for row in (await admin.told("/projects.json"))["projects"]}[made["id"]]

    assert (alone["homepage"], alone["description"]) == ("", None)
    assert "homepage" not in listed


@proves("many-members")
async def test_of_several_new_members_the_first_is_told(manager: Person) -> None:
    body = {"user_ids": [USERS["outsider"], USERS["admin"]], "role_ids": [ROLES["Reporter"]]}

    made = await manager.made(f"{SHOP}/memberships.json", membership=body)

    assert made["user"]["id"] == USERS["outsider"]
    members = (await manager.told(f"{SHOP}/memberships.json"))["memberships"]
    assert {USERS["outsider"], USERS["admin"]} <= {one["user"]["id"] for one in members}


@pytest.mark.parametrize(
    ("user", "told_as"),
    [fact("odd-members", USERS["locked"], "user"), fact("odd-members", 2, "group_anonymous")],
)
async def test_locked_users_and_strangers_may_be_members(manager: Person, user: int, told_as: str) -> None:
    made = await manager.made(f"{SHOP}/memberships.json", membership={"user_id": user, "role_ids": [ROLES["Reporter"]]})

    assert made[told_as]["id"] == user


@proves("version-record")
async def test_a_version_tells_its_hours_only_when_it_is_asked_alone(manager: Person) -> None:
    made = await manager.made(f"{SHOP}/versions.json", version={"name": "3.0", "sharing": "nope"})
    alone = (await manager.told(f"/versions/{VERSIONS['1.0']}.json"))["version"]
    listed = (await manager.told(f"{SHOP}/versions.json"))["versions"][0]

    assert (made["sharing"], made["description"]) == ("none", "")
    assert (alone["estimated_hours"], alone["spent_hours"]) == (47.25, 12.5)
    assert not {"estimated_hours", "spent_hours"} & listed.keys()


@pytest.mark.parametrize(
    ("hours", "kept"), [fact("hours", "1h30", 1.5), fact("hours", 0, 0.0), fact("hours", "1:15", 1.25)]
)
async def test_hours_are_read_as_people_write_them(dev: Person, hours: object, kept: float) -> None:
    made = await dev.made("/time_entries.json", time_entry={"issue_id": 1, "hours": hours, "activity_id": 8})

    assert made["hours"] == kept


@proves("user-record")
async def test_what_is_told_of_others_is_less_than_what_administrators_are_told(admin: Person, dev: Person) -> None:
    whole = (await admin.told(f"/users/{USERS['manager']}.json"))["user"]
    seen = (await dev.told(f"/users/{USERS['manager']}.json"))["user"]

    assert whole.keys() - seen.keys() == {"admin", "mail", "api_key", "status", "twofa_scheme"}
    assert whole["passwd_changed_on"] == "2026-09-01T08:00:00Z"


@proves("user-record")
async def test_a_user_may_be_made_without_a_password(admin: Person) -> None:
    body = {"login": "nina", "firstname": "Nina", "lastname": "Neu", "mail": "nina@example.test"}

    assert (await admin.made("/users.json", user=body))["passwd_changed_on"] is None


@proves("own-account")
async def test_everybody_may_change_their_name_and_not_their_rights(dev: Person, admin: Person) -> None:
    changes = {"firstname": "Deva", "login": "boss", "admin": True, "status": 3}

    assert await dev.ask("PUT", "/my/account.json", {"user": changes}) == (204, "")

    user = (await admin.told(f"/users/{USERS['dev']}.json"))["user"]
    assert (user["firstname"], user["login"], user["admin"], user["status"]) == ("Deva", "dev", False, 1)


@proves("roles-to-give")
async def test_roles_that_cannot_be_given_are_shown_when_they_are_asked_for(nobody: Person) -> None:
    role = (await nobody.told(f"/roles/{ROLES['Non member']}.json"))["role"]

    assert role["name"] == "Non member"
    assert "view_issues" in role["permissions"]


@proves("upload-names")
async def test_names_of_files_are_cleaned(dev: Person) -> None:
    path = "/uploads.json?filename=../x/a%3Cb%3E%3F.txt"
    status, body = await dev.ask("POST", path, content=b"x", headers={"Content-Type": f"{OCTETS['Content-Type']}; x=y"})
    too_long = await dev.ask("POST", f"/uploads.json?filename={'x' * 256}", content=b"x", headers=OCTETS)

    attachment = (await dev.told(f"/attachments/{body['upload']['id']}.json"))["attachment"]
    assert (status, attachment["filename"]) == (201, "a_b_.txt")
    assert too_long == (422, {"errors": ["File is too long (maximum is 255 characters)"]})


@proves("upload-permission")
async def test_a_file_is_taken_from_everybody_with_a_key(outsider: Person, nobody: Person) -> None:
    path = "/uploads.json?filename=a.txt"

    assert (await outsider.ask("POST", path, content=b"x", headers=OCTETS))[0] == 201
    assert await nobody.ask("POST", path, content=b"x", headers=OCTETS) == (401, "")


@proves("attachment-renamed")
async def test_a_file_gets_another_name_from_those_who_may_edit(dev: Person, outsider: Person) -> None:
    path = f"/attachments/{ATTACHMENTS['checkout.log']}.json"
    body = {"attachment": {"filename": "new.log", "description": "Log"}}

    assert await outsider.ask("PATCH", path, body) == (403, "")
    assert await dev.ask("PATCH", path, body) == (204, "")
    renamed = (await dev.told(path))["attachment"]
    assert (renamed["filename"], renamed["description"]) == ("new.log", "Log")


@proves("download-headers")
async def test_a_download_tells_its_name(dev: Person) -> None:
    answer = await dev.answer("GET", f"/attachments/download/{ATTACHMENTS['checkout.log']}/checkout.log")

    assert answer.headers["content-disposition"].startswith("attachment;")
    assert "filename*=UTF-8''checkout.log" in answer.headers["content-disposition"]
