"""Names that people use where Redmine wants ids, kind by kind: one, several, none, hidden."""

from typing import Any

import pytest

from dogubako.contract.errors import ValidationError
from tests.redmine_contract.place import Person
from tests.redmine_contract.seeded import CATEGORIES, ISSUES, PRIORITIES, PROJECTS, STATUSES, TRACKERS, USERS, VERSIONS

ID = ISSUES["unassigned"]
NO_SUCH = "there is no such"


@pytest.mark.parametrize(
    ("argument", "name", "shown_as", "id_"),
    [
        pytest.param("status_id", "in progress", "status", STATUSES["In Progress"], id="status"),
        pytest.param("tracker_id", "BUG", "tracker", TRACKERS["Bug"], id="tracker"),
        pytest.param("priority_id", " urgent ", "priority", PRIORITIES["Urgent"], id="priority"),
        pytest.param("category_id", "Search", "category", CATEGORIES["Search"], id="category"),
        pytest.param("fixed_version_id", "1.0", "fixed_version", VERSIONS["1.0"], id="version"),
        pytest.param("assigned_to_id", "dev", "assigned_to", USERS["dev"], id="login"),
        pytest.param("assigned_to_id", "Déva Roy", "assigned_to", USERS["dev"], id="full name"),
        pytest.param("assigned_to_id", "me", "assigned_to", USERS["manager"], id="me"),
        pytest.param("project_id", "webshop-app", "project", PROJECTS["webshop-app"], id="identifier"),
        pytest.param("project_id", "web shop app", "project", PROJECTS["webshop-app"], id="project name"),
    ],
)
async def test_a_name_that_there_is_once_is_taken(
    manager: Person, argument: str, name: str, shown_as: str, id_: int
) -> None:
    await manager.call("update_issue", id=ID, **{argument: name})

    assert (await manager.issue(ID))[shown_as]["id"] == id_


@pytest.mark.parametrize(
    ("arguments", "candidates"),
    [
        pytest.param({"assigned_to_id": "Kim Lee"}, "Kim Lee (10), Kim Lee (11)", id="user"),
    ],
)
async def test_a_name_that_there_is_twice_is_refused_with_both(
    manager: Person, arguments: dict[str, Any], candidates: str
) -> None:
    error = await manager.refused("update_issue", id=ID, **arguments)

    assert isinstance(error, ValidationError)
    assert candidates in error.message
    assert "assigned_to" not in await manager.issue(ID)


@pytest.mark.parametrize(
    "field",
    [
        pytest.param({"name": "Ref", "value": "WS-2"}, id="of projects and issues"),
        pytest.param({"name": "customer", "value": "ACME"}, id="in other letters"),
    ],
)
async def test_a_custom_field_is_meant_by_its_name_among_those_of_the_record(
    admin: Person, field: dict[str, Any]
) -> None:
    await admin.call("update_issue", id=ID, custom_fields=[field])

    values = {one["name"].casefold(): one["value"] for one in (await admin.issue(ID))["custom_fields"]}
    assert values[field["name"].casefold()] == field["value"]


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"status_id": "Nope"}, id="status"),
        pytest.param({"tracker_id": "Nope"}, id="tracker"),
        pytest.param({"priority_id": "Nope"}, id="priority"),
        pytest.param({"category_id": "Nope"}, id="category"),
        pytest.param({"fixed_version_id": "Nope"}, id="version"),
        pytest.param({"assigned_to_id": "Nope"}, id="user"),
        pytest.param({"custom_fields": [{"name": "Nope", "value": "x"}]}, id="custom field"),
        pytest.param({"project_id": "nope"}, id="project"),
    ],
)
async def test_a_name_that_there_is_not_is_refused_and_nothing_happens(
    manager: Person, arguments: dict[str, Any]
) -> None:
    error = await manager.refused("update_issue", id=ID, notes="Not written", **arguments)

    assert isinstance(error, ValidationError)
    assert NO_SUCH in error.message
    assert error.hint is not None
    assert (await manager.issue(ID, "journals"))["journals"] == []


@pytest.mark.parametrize(
    ("tool", "hidden", "absent"),
    [
        pytest.param(
            "update_issue",
            {"id": ID, "custom_fields": [{"name": "Contract value", "value": "1"}]},
            {"id": ID, "custom_fields": [{"name": "Nope", "value": "1"}]},
            id="custom field",
        ),
        pytest.param("list_issues", {"project_id": "Internal"}, {"project_id": "Nope"}, id="project"),
        pytest.param("list_issues", {"query_id": "My own"}, {"query_id": "Nope"}, id="query"),
        pytest.param("show_user", {"id": "Lotte Locked"}, {"id": "Nope"}, id="user"),
        pytest.param(
            "list_issues",
            {"project_id": "webshop-app", "fixed_version_id": "2.0"},
            {"project_id": "webshop-app", "fixed_version_id": "9.0"},
            id="version",
        ),
    ],
)
async def test_what_one_may_not_see_is_as_if_it_were_not_there(
    dev: Person, tool: str, hidden: dict[str, Any], absent: dict[str, Any]
) -> None:
    first, second = await dev.refused(tool, **hidden), await dev.refused(tool, **absent)

    assert isinstance(first, ValidationError)
    assert (first.message, first.hint) == (second.message, second.hint)


async def test_an_administrator_finds_what_others_do_not_see(admin: Person) -> None:
    shown = await admin.call("show_user", id="Lotte Locked")
    issues = await admin.call("list_issues", project_id="Internal", query_id="Open bugs")

    assert shown.get("id") == str(USERS["locked"])
    assert [one.get("id") for one in issues] == [str(ISSUES["in internal"])]


async def test_a_name_that_has_just_been_made_is_known(manager: Person, admin: Person) -> None:
    await manager.refused("update_issue", id=ID, fixed_version_id="3.0")
    await admin.made(f"/projects/{PROJECTS['webshop']}/versions.json", version={"name": "3.0"})

    await manager.call("update_issue", id=ID, fixed_version_id="3.0")

    assert (await manager.issue(ID))["fixed_version"]["name"] == "3.0"
