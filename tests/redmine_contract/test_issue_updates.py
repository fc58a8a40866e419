"""Updates that Redmine reports as done: what it did not do is found out and named."""

from typing import Any

import pytest

from dogubako.contract.errors import ApiError, ValidationError
from dogubako.packs.redmine.errors import NotDoneError, RedmineRefused
from tests.redmine_contract.facts import fact, proves
from tests.redmine_contract.place import Person, Place
from tests.redmine_contract.seeded import CATEGORIES, ISSUES, PRIORITIES, PROJECTS, STATUSES, USERS, VERSIONS

UMLAUTS = ISSUES["umlauts"]
PATH = f"/issues/{UMLAUTS}.json"


def without_times(issue: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in issue.items() if key != "updated_on"}


def named(error: Exception) -> dict[str, str]:
    """Field by field, what was not done and why."""
    assert isinstance(error, NotDoneError)
    return {one.field: one.reason for one in error.undone}


@pytest.mark.parametrize(
    ("login", "change"),
    [
        fact("ignored-status", "dev", {"status_id": STATUSES["Rejected"]}),
        fact("ignored-fields", "reporter", {"subject": "x", "priority_id": 1, "done_ratio": 0, "due_date": None}),
        fact("ignored-fields", "outsider", {"subject": "x", "assigned_to_id": USERS["outsider"]}),
        fact("ignored-fields", "dev", {"author_id": USERS["dev"], "nope": 1}),
        fact("ignored-move", "dev", {"project_id": PROJECTS["internal"]}),
        fact("ignored-status-name", "manager", {"status": "Closed"}),
        fact("ignored-status-name", "manager", {"status_id": "Closed"}),
        fact("unassign-null", "manager", {"assigned_to_id": None}),
    ],
)
async def test_redmine_says_done_and_does_nothing(
    place: Place, admin: Person, login: str, change: dict[str, Any]
) -> None:
    somebody = await place.who(login)
    before = await admin.issue(UMLAUTS)

    assert await somebody.ask("PUT", PATH, {"issue": change}) == (204, "")
    assert without_times(await admin.issue(UMLAUTS)) == without_times(before)


@proves("allowed-statuses")
async def test_redmine_tells_before_which_statuses_are_allowed(
    manager: Person, dev: Person, reporter: Person, outsider: Person
) -> None:
    allowed = {
        person.key: [status["name"] for status in (await person.issue(UMLAUTS, "allowed_statuses"))["allowed_statuses"]]
        for person in (manager, dev, reporter, outsider)
    }

    assert allowed == {
        manager.key: ["New", "In Progress", "Resolved", "Feedback", "Closed", "Rejected"],
        dev.key: ["In Progress", "Resolved", "Feedback", "Closed"],
        reporter.key: ["In Progress", "Closed"],
        outsider.key: [],
    }


@proves("ignored-status", "allowed-statuses")
async def test_a_status_that_the_workflow_does_not_allow_is_refused_before_anything_is_written(dev: Person) -> None:
    error = await dev.refused("update_issue", id=UMLAUTS, status_id="Rejected", notes="Not for us.")

    assert isinstance(error, ValidationError)
    assert "In Progress (2), Resolved (3), Feedback (4), Closed (5)" in error.message
    issue = await dev.issue(UMLAUTS, "journals")
    assert issue["status"]["name"] == "In Progress"
    assert "Not for us." not in str(issue["journals"])


@proves("ignored-status")
async def test_a_status_that_the_workflow_allows_is_set(dev: Person) -> None:
    shown = await dev.call("update_issue", id=UMLAUTS, status_id="Resolved", notes="Fixed.")

    status = shown.find("status")
    assert status is not None
    assert (status.get("id"), status.text) == (str(STATUSES["Resolved"]), "Resolved")
    assert (await dev.issue(UMLAUTS))["status"]["id"] == STATUSES["Resolved"]


@proves("ignored-fields")
async def test_each_field_that_a_reporter_may_not_set_is_named_with_the_permission(reporter: Person) -> None:
    asked = {"subject": "x", "priority_id": "Low", "due_date": "2031-01-01", "fixed_version_id": None, "done_ratio": 0}

    error = await reporter.refused("update_issue", id=UMLAUTS, **asked)

    assert named(error) == dict.fromkeys(asked, "your role lacks the permission edit_issues")
    assert "was not changed" in error.message
    assert [detail["field"] for detail in error.details] == list(named(error))


@proves("ignored-fields")
async def test_what_was_done_of_an_update_is_told_apart_from_what_was_not(reporter: Person) -> None:
    error = await reporter.refused("update_issue", id=UMLAUTS, subject="x", notes="I wait.")

    assert list(named(error)) == ["subject"]
    assert "only in part" in error.message
    assert (await reporter.issue(UMLAUTS, "journals"))["journals"][-1]["notes"] == "I wait."


@pytest.mark.parametrize("target", [PROJECTS["internal"], "internal"])
@proves("ignored-move")
async def test_a_move_to_a_project_that_one_may_not_see_is_reported(dev: Person, target: int | str) -> None:
    error = await dev.refused("update_issue", id=UMLAUTS, project_id=target)

    assert isinstance(error, ApiError | ValidationError)
    assert "move_issues" not in error.message
    assert (await dev.issue(UMLAUTS))["project"]["id"] == PROJECTS["webshop"]


@proves("move-drops")
async def test_a_move_takes_away_what_the_other_project_does_not_have(dev: Person) -> None:
    shown = await dev.call("update_issue", id=UMLAUTS, project_id="bulk")

    changed = {change.get("field") for change in shown.iterfind("also_changed/change")}
    issue = await dev.issue(UMLAUTS)
    assert issue["project"]["id"] == PROJECTS["bulk"]
    assert not {"category", "fixed_version"} & issue.keys()
    assert {"category", "fixed_version"} <= changed


@proves("unassign-null", "unassign-empty")
async def test_null_unassigns_through_our_tool_although_redmine_wants_an_empty_text(dev: Person) -> None:
    await dev.ask("PUT", PATH, {"issue": {"assigned_to_id": None}})
    assert (await dev.issue(UMLAUTS))["assigned_to"]["id"] == USERS["dev"]

    await dev.call("update_issue", id=UMLAUTS, assigned_to_id=None)

    assert "assigned_to" not in await dev.issue(UMLAUTS)
    overdue = ISSUES["overdue"]
    assert await dev.ask("PUT", f"/issues/{overdue}.json", {"issue": {"assigned_to_id": ""}}) == (204, "")
    assert "assigned_to" not in await dev.issue(overdue)


@proves("others-null")
async def test_other_fields_are_emptied_by_null(manager: Person) -> None:
    fields = {"category_id": None, "fixed_version_id": None, "due_date": None, "start_date": None}
    child = f"/issues/{ISSUES['child']}.json"

    assert await manager.ask("PUT", PATH, {"issue": fields}) == (204, "")
    assert await manager.ask("PUT", child, {"issue": {"parent_issue_id": None}}) == (204, "")

    issue = await manager.issue(UMLAUTS)
    assert not {"category", "fixed_version"} & issue.keys()
    assert (issue["due_date"], issue["start_date"]) == (None, None)
    assert "parent" not in await manager.issue(ISSUES["child"])


async def test_null_empties_every_field_that_can_be_empty(manager: Person) -> None:
    names = ("category_id", "fixed_version_id", "assigned_to_id", "start_date", "due_date", "estimated_hours")

    await manager.call("update_issue", id=UMLAUTS, **dict.fromkeys(names), description=None)

    issue = await manager.issue(UMLAUTS)
    assert not {"category", "fixed_version", "assigned_to"} & issue.keys()
    assert (issue["start_date"], issue["due_date"], issue["estimated_hours"]) == (None, None, None)
    assert not issue["description"]


async def test_names_are_taken_for_everything_and_read_back(manager: Person) -> None:
    shown = await manager.call(
        "update_issue",
        id=ISSUES["unassigned"],
        tracker_id="Bug",
        status_id="In Progress",
        priority_id="Urgent",
        category_id="Search",
        fixed_version_id="1.0",
        assigned_to_id="dev",
        done_ratio=20,
        custom_fields=[{"name": "Customer", "value": "ACME"}, {"name": "Affected areas", "value": ["Cart", "Payment"]}],
    )

    issue = await manager.issue(ISSUES["unassigned"])
    values = {field["name"]: field["value"] for field in issue["custom_fields"]}
    assert (issue["tracker"]["name"], issue["status"]["id"]) == ("Bug", STATUSES["In Progress"])
    assert (issue["priority"]["id"], issue["category"]["id"]) == (PRIORITIES["Urgent"], CATEGORIES["Search"])
    assert (issue["fixed_version"]["id"], issue["assigned_to"]["id"]) == (VERSIONS["1.0"], USERS["dev"])
    assert (values["Customer"], values["Affected areas"]) == ("ACME", ["Cart", "Payment"])
    areas = [one.text for one in shown.iterfind("custom_fields/field[name='Affected areas']/value")]
    assert areas == ["Cart", "Payment"]


@proves("derived")
async def test_what_comes_from_children_is_not_set_and_told_so(manager: Person) -> None:
    before = without_times(await manager.issue(ISSUES["parent"]))

    error = await manager.refused(
        "update_issue", id=ISSUES["parent"], due_date="2031-01-01", priority_id="Low", done_ratio=0
    )

    reason = "it comes from the issue's children"
    assert named(error) == {"due_date": reason, "priority_id": reason, "done_ratio": reason}
    assert without_times(await manager.issue(ISSUES["parent"])) == before


@proves("derived")
async def test_a_change_of_a_child_changes_its_parent(manager: Person) -> None:
    await manager.call(
        "update_issue", id=ISSUES["child"], due_date="2031-01-01", priority_id="Immediate", done_ratio=100
    )

    parent = await manager.issue(ISSUES["parent"])
    assert (parent["due_date"], parent["priority"]["name"]) == ("2031-01-01", "Immediate")
    assert parent["done_ratio"] == 33  # 8 of 24 estimated hours


async def test_an_issue_that_is_not_there_is_not_found(dev: Person) -> None:
    error = await dev.refused("update_issue", id=999999, notes="x")

    assert error.message == "Issue '999999' not found"
    assert error.hint is not None


@proves("missing-permission")
async def test_an_issue_that_one_may_not_see_is_not_changed(outsider: Person, manager: Person) -> None:
    error = await outsider.refused("update_issue", id=ISSUES["private"], notes="x")

    assert isinstance(error, RedmineRefused)
    assert error.status_code == 403
    assert (await manager.issue(ISSUES["private"], "journals"))["journals"] == []
