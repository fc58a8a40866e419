"""Projects: made, changed, closed, archived, deleted."""

from typing import Any

import pytest

from dogubako.contract.errors import ConfirmationRequiredError, ValidationError
from dogubako.packs.redmine.errors import RedmineRefused
from tests.redmine_contract.facts import fact, proves
from tests.redmine_contract.place import Person
from tests.redmine_contract.seeded import ISSUES, PROJECTS, USERS

CLOSED = "project 'Legacy' is closed"


async def project(person: Person, identifier: str, *include: str) -> dict[str, Any]:
    found: dict[str, Any] = (await person.told(f"/projects/{identifier}.json", include=",".join(include)))["project"]
    return found


async def test_a_project_is_made_with_everything_that_was_asked_for(admin: Person) -> None:
    await admin.call(
        "create_project",
        name="Gift shop",
        identifier="gift-shop",
        description="Vouchers",
        parent_id="webshop",
        is_public=False,
        inherit_members=True,
        tracker_ids=["Bug", "Support"],
        enabled_module_names=["issue_tracking", "wiki"],
        custom_fields=[{"name": "Cost centre", "value": "4712"}],
    )

    made = await project(admin, "gift-shop", "trackers", "enabled_modules")
    assert (made["parent"]["id"], made["is_public"], made["inherit_members"]) == (PROJECTS["webshop"], False, True)
    assert [tracker["name"] for tracker in made["trackers"]] == ["Bug", "Support"]
    assert {module["name"] for module in made["enabled_modules"]} == {"issue_tracking", "wiki"}
    assert made["custom_fields"][0]["value"] == "4712"


@proves("inherited-members")
async def test_inherited_members_have_inherited_roles(admin: Person) -> None:
    members = (await admin.told("/projects/webshop-app/memberships.json"))["memberships"]

    assert {one["user"]["id"] for one in members} == {
        USERS[name] for name in ("manager", "dev", "reporter", "kim1", "kim2")
    }
    assert all(role["inherited"] for one in members for role in one["roles"])


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        pytest.param({"identifier": "webshop"}, "Identifier has already been taken", id="taken"),
        pytest.param({"identifier": "new"}, "Identifier is reserved", id="reserved"),
        pytest.param({"identifier": "new-one", "parent_id": "legacy"}, "Subproject of is invalid", id="closed parent"),
    ],
)
async def test_a_project_that_redmine_rejects_is_refused_in_its_words(
    admin: Person, arguments: dict[str, Any], reason: str
) -> None:
    error = await admin.refused("create_project", name="New", **arguments)

    assert isinstance(error, RedmineRefused)
    assert error.reasons == (reason,)


@proves("missing-parent")
async def test_a_parent_that_is_not_there_breaks_redmine_and_is_refused_before(admin: Person) -> None:
    body = {"project": {"name": "New", "identifier": "new-one", "parent_id": 999999}}
    assert (await admin.ask("POST", "/projects.json", body))[0] == 500

    error = await admin.refused("create_project", name="New", identifier="new-one", parent_id=999999)

    assert error.code in ("VALIDATION_ERROR", "NOT_FOUND")
    assert "parent_id" in error.message or "999999" in error.message


async def test_a_manager_changes_a_project_and_empties_fields(manager: Person) -> None:
    await manager.call("update_project", id="webshop", description="Shop", homepage=None, is_public=False)

    changed = await project(manager, "webshop")
    assert (changed["description"], changed["homepage"], changed["is_public"]) == ("Shop", "", False)


@proves("ignored-project-fields")
async def test_identifier_and_status_of_a_project_are_ignored(admin: Person) -> None:
    before = await project(admin, "webshop")

    assert await admin.ask("PUT", "/projects/webshop.json", {"project": {"identifier": "x", "status": 5}}) == (204, "")

    after = await project(admin, "webshop")
    assert (after["identifier"], after["status"]) == (before["identifier"], 1)


async def test_a_developer_changes_no_project(dev: Person, admin: Person) -> None:
    before = await project(admin, "webshop")

    making = await dev.refused("create_project", name="New", identifier="new-one")
    changing = await dev.refused("update_project", id="webshop", name="x")
    closing = await dev.refused("close_project", id="webshop")
    reopening = await dev.refused("reopen_project", id="legacy")
    deleting = await dev.refused("delete_project", id="webshop", confirm=True)

    assert "add_project" in making.message
    assert "user 'dev' (role: Developer) lacks the permission edit_project" in changing.message
    assert "(role: Developer) lacks the permission close_project" in closing.message
    assert "(role: Developer) lacks the permission close_project" in reopening.message
    assert "(role: Developer) lacks the permission delete_project" in deleting.message
    assert await project(admin, "webshop") == before


async def test_a_manager_archives_nothing(manager: Person) -> None:
    archiving = await manager.refused("archive_project", id="webshop")
    unarchiving = await manager.refused("unarchive_project", id="attic")

    assert "only administrators" in archiving.message
    assert "only administrators" in unarchiving.message


@pytest.mark.parametrize("login", ["admin", "manager"])
async def test_a_closed_project_is_read_and_opened_again(admin: Person, manager: Person, login: str) -> None:
    somebody = {"admin": admin, "manager": manager}[login]

    closed = await somebody.call("close_project", id="webshop")
    assert (await project(admin, "webshop"))["status"] == 5
    await somebody.call("reopen_project", id="webshop")

    assert closed.findtext("status") == "closed"
    assert (await project(admin, "webshop"))["status"] == 1


@proves("archived")
async def test_an_archived_project_is_hidden_until_it_comes_back(admin: Person) -> None:
    await admin.call("archive_project", id="bulk")
    assert await admin.ask("GET", "/projects/bulk.json") == (403, "")

    shown = await admin.call("unarchive_project", id="bulk")

    assert shown.get("id") == str(PROJECTS["bulk"])
    assert (await project(admin, "bulk"))["status"] == 1


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        fact("closed-create", "create_issue", {"project_id": "legacy", "subject": "x"}),
        fact("closed-write", "update_issue", {"id": ISSUES["in legacy"], "subject": "x"}),
        fact("closed-write", "update_project", {"id": "legacy", "description": "x"}),
        fact("closed-write", "create_version", {"project_id": "legacy", "name": "x"}),
        fact("closed-write", "create_issue_category", {"project_id": "legacy", "name": "x"}),
        fact("closed-write", "save_wiki_page", {"project_id": "legacy", "title": "X", "text": "x"}),
        fact("closed-write", "create_time_entry", {"issue_id": ISSUES["in legacy"], "hours": 1, "activity_id": 8}),
        fact("closed-write", "create_membership", {"project_id": "legacy", "user_id": 5, "role_ids": ["Reporter"]}),
    ],
)
async def test_that_the_project_is_closed_is_said_although_redmine_does_not(
    admin: Person, tool: str, arguments: dict[str, Any]
) -> None:
    error = await admin.refused(tool, **arguments)

    assert CLOSED in error.message
    assert error.hint is not None
    assert "reopen_project" in error.hint


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        fact("archived", "show_project", {"id": "attic"}),
        fact("archived", "update_project", {"id": "attic", "description": "x"}),
        fact("archived", "create_issue", {"project_id": "attic", "subject": "x"}),
        fact("archived", "list_versions", {"project_id": PROJECTS["attic"]}),
        fact("archived", "show_issue", {"id": ISSUES["in attic"]}),
    ],
)
async def test_that_the_project_is_archived_is_said_although_redmine_does_not(
    admin: Person, tool: str, arguments: dict[str, Any]
) -> None:
    error = await admin.refused(tool, **arguments)

    assert "archived" in f"{error.message} {error.hint}"
    assert isinstance(error, RedmineRefused)
    assert error.status_code == 403


async def test_a_project_that_one_may_not_see_is_not_told_apart_from_one_that_is_not_there(dev: Person) -> None:
    for tool in ("show_project", "update_project"):
        more = {"name": "x"} if tool == "update_project" else {}
        hidden = await dev.refused(tool, id="internal", **more)
        assert "Internal" not in f"{hidden.message} {hidden.hint}"
    absent = await dev.refused("show_project", id="nope")

    assert isinstance(absent, ValidationError)


@proves("delete-project")
async def test_a_project_is_deleted_with_its_subprojects_once_it_is_confirmed(admin: Person) -> None:
    foretold = await admin.refused("delete_project", id="webshop")
    assert (await project(admin, "webshop"))["id"] == PROJECTS["webshop"]

    await admin.call("delete_project", id="webshop", confirm=True)

    assert isinstance(foretold, ConfirmationRequiredError)
    assert "16 issues" in foretold.message
    assert "1 subprojects" in foretold.message
    assert await admin.ask("GET", "/projects/webshop-app.json") == (404, "")
    assert await admin.ask("GET", f"/issues/{ISSUES['umlauts']}.json") == (404, "")


@proves("delete-project")
async def test_an_archived_project_can_be_deleted(admin: Person) -> None:
    await admin.call("delete_project", id="attic", confirm=True)

    assert await admin.ask("GET", "/projects/attic.json") == (404, "")


async def test_what_would_go_is_told_also_where_the_issues_cannot_be_counted(manager: Person) -> None:
    await manager.ask("PUT", "/projects/webshop.json", {"project": {"enabled_module_names": ["wiki"]}})

    error = await manager.refused("delete_project", id="webshop")

    assert isinstance(error, ConfirmationRequiredError)
