"""Who is in a project, and what it works towards."""

from typing import Any

import pytest

from dogubako.contract.errors import ConfirmationRequiredError, ValidationError
from dogubako.packs.redmine.errors import NotDoneError, RedmineRefused
from tests.redmine_contract.facts import fact, proves
from tests.redmine_contract.place import Person
from tests.redmine_contract.seeded import GROUPS, MEMBERSHIPS, PROJECTS, ROLES, USERS, VERSIONS

DEV = MEMBERSHIPS["dev"]


async def roles(person: Person, membership: int = DEV) -> list[int]:
    found = await person.told(f"/memberships/{membership}.json")
    return [role["id"] for role in found["membership"]["roles"]]


@pytest.mark.parametrize("wanted", [[], [999999]])
@proves("roles-removed")
async def test_redmine_refuses_unknown_roles_and_takes_all_roles_away(manager: Person, wanted: list[int]) -> None:
    answer = await manager.ask("PUT", f"/memberships/{DEV}.json", {"membership": {"role_ids": wanted}})

    assert answer == (422, {"errors": ["Role cannot be empty"]})
    assert await roles(manager) == []


@pytest.mark.parametrize("wanted", [[999999], ["Nope"], ["Non member"], [1], [], ["Developer", 999999]])
@proves("roles-removed")
async def test_our_tool_refuses_unknown_roles_and_nobody_loses_any(manager: Person, wanted: list[Any]) -> None:
    error = await manager.refused("update_membership", id=DEV, role_ids=wanted)

    assert isinstance(error, ValidationError)
    assert await roles(manager) == [ROLES["Developer"]]


async def test_a_member_gets_other_roles(manager: Person) -> None:
    await manager.call("update_membership", id=DEV, role_ids=["Developer", "Manager"])

    assert sorted(await roles(manager)) == [ROLES["Manager"], ROLES["Developer"]]


async def test_a_manager_takes_somebody_in_and_out_again(manager: Person) -> None:
    made = await manager.call(
        "create_membership", project_id="webshop", user_id=USERS["outsider"], role_ids=["Reporter"]
    )
    membership = int(made.get("id", "0"))
    assert await roles(manager, membership) == [ROLES["Reporter"]]

    foretold = await manager.refused("delete_membership", id=membership)
    await manager.call("delete_membership", id=membership, confirm=True)

    assert isinstance(foretold, ConfirmationRequiredError)
    assert "Otto Outsider" in foretold.message
    assert await manager.ask("GET", f"/memberships/{membership}.json") == (404, "")


@proves("group-members")
async def test_the_members_of_a_group_are_members_by_it_and_cannot_be_taken_out_alone(admin: Person) -> None:
    made = await admin.call("create_membership", project_id="bulk", user_id="Support Team", role_ids=["Reporter"])
    members = (await admin.told("/projects/bulk/memberships.json"))["memberships"]
    inherited = next(one for one in members if one.get("user", {}).get("id") == USERS["outsider"])

    raw = await admin.ask("DELETE", f"/memberships/{inherited['id']}.json")
    error = await admin.refused("delete_membership", id=inherited["id"], confirm=True)

    assert made.find("group") is not None
    assert any(one.get("group", {}).get("id") == GROUPS["Support Team"] for one in members)
    assert inherited["roles"] == [{"id": ROLES["Reporter"], "name": "Reporter", "inherited": True}]
    assert raw == (422, "")
    assert isinstance(error, ValidationError)
    assert error.hint is not None


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        fact("memberships", {"user_id": 999999}, "Principal cannot be blank"),
        fact("memberships", {"user_id": USERS["dev"]}, "User has already been taken"),
    ],
)
async def test_a_membership_that_makes_no_sense_is_refused(
    manager: Person, arguments: dict[str, Any], reason: str
) -> None:
    error = await manager.refused("create_membership", project_id="webshop", role_ids=["Reporter"], **arguments)

    assert isinstance(error, RedmineRefused)
    assert error.reasons == (reason,)


async def test_a_developer_changes_no_members(dev: Person) -> None:
    errors = [
        await dev.refused("create_membership", project_id="webshop", user_id=USERS["outsider"], role_ids=["Manager"]),
        await dev.refused("update_membership", id=DEV, role_ids=["Manager"]),
        await dev.refused("delete_membership", id=MEMBERSHIPS["kim1"], confirm=True),
    ]

    assert all("(role: Developer) lacks the permission manage_members" in error.message for error in errors)
    assert await roles(dev) == [ROLES["Developer"]]
    assert await roles(dev, MEMBERSHIPS["kim1"]) == [ROLES["Developer"]]


@proves("shared-versions")
async def test_versions_that_a_project_shares_are_listed_below_it(dev: Person) -> None:
    below = await dev.call("list_versions", project_id="webshop-app")
    here = await dev.call("list_versions", project_id="webshop")

    assert [one.get("id") for one in below] == [str(VERSIONS["1.0"])]
    assert [one.findtext("name") for one in here] == ["1.0", "2.0"]


async def test_a_version_is_made_changed_and_deleted(manager: Person) -> None:
    made = await manager.call(
        "create_version",
        project_id="webshop",
        name="3.0",
        due_date="2031-01-31",
        sharing="tree",
        custom_fields=[{"name": "Release manager", "value": "Kim"}],
    )
    version = int(made.get("id", "0"))
    changed = await manager.call("update_version", id=version, status="locked", due_date=None, wiki_page_title="Wiki")
    record = (await manager.told(f"/versions/{version}.json"))["version"]
    foretold = await manager.refused("delete_version", id=version)
    await manager.call("delete_version", id=version, confirm=True)

    assert (record["status"], record["due_date"], record["sharing"]) == ("locked", None, "tree")
    assert (record["wiki_page_title"], record["custom_fields"][0]["value"]) == ("Wiki", "Kim")
    assert changed.findtext("status") == "locked"
    assert isinstance(foretold, ConfirmationRequiredError)
    assert await manager.ask("GET", f"/versions/{version}.json") == (404, "")


@proves("version-in-use")
async def test_a_version_in_use_is_not_deleted_and_by_how_many_is_told(manager: Person) -> None:
    error = await manager.refused("delete_version", id=VERSIONS["1.0"], confirm=True)

    assert isinstance(error, RedmineRefused)
    assert "in use by 4 issues" in error.message
    assert (await manager.told(f"/versions/{VERSIONS['1.0']}.json"))["version"]["name"] == "1.0"


@proves("developers-manage-versions")
async def test_developers_manage_versions_and_reporters_do_not(dev: Person, reporter: Person) -> None:
    made = await dev.call("create_version", project_id="webshop", name="3.0")
    errors = [
        await reporter.refused("create_version", project_id="webshop", name="4.0"),
        await reporter.refused("update_version", id=VERSIONS["1.0"], name="x"),
        await reporter.refused("delete_version", id=int(made.get("id", "0")), confirm=True),
    ]

    assert all("(role: Reporter) lacks the permission manage_versions" in error.message for error in errors)
    names = [one["name"] for one in (await dev.told("/projects/webshop/versions.json"))["versions"]]
    assert names == ["1.0", "2.0", "3.0"]


@proves("ignored-sharing")
async def test_a_sharing_that_one_may_not_give_is_ignored_and_told(dev: Person, manager: Person) -> None:
    path = f"/versions/{VERSIONS['1.0']}.json"
    assert await dev.ask("PUT", path, {"version": {"sharing": "system"}}) == (204, "")

    changing = await dev.refused("update_version", id=VERSIONS["1.0"], sharing="system")
    making = await dev.refused("create_version", project_id="webshop", name="3.0", sharing="system")

    assert isinstance(changing, NotDoneError)
    assert isinstance(making, NotDoneError)
    assert [one.field for one in (*changing.undone, *making.undone)] == ["sharing", "sharing"]
    assert (await manager.told(path))["version"]["sharing"] == "descendants"


@proves("version-list")
async def test_versions_are_listed_whole_whatever_the_limit(dev: Person) -> None:
    listed = await dev.told(f"/projects/{PROJECTS['webshop']}/versions.json", limit=1)

    assert (len(listed["versions"]), listed["total_count"]) == (2, 2)
    assert not {"offset", "limit"} & listed.keys()
