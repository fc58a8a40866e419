"""What Redmine ignored is reported field by field, with its reason where one is found; private notes stay private."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from dogubako.tools import ToolResult

from .wired import Bench, bench

_READ_ONLY = "Redmine kept another value; the workflow may make this field read-only for your role and this status"


def _lacks(permission: str) -> str:
    return f"your role lacks the permission {permission}"


def _reasons(result: ToolResult) -> dict[str, str]:
    assert result.code == "API_ERROR", result.content
    return {one["field"]: one["message"] for one in (result.meta or {})["details"]}


async def _undone(on: Bench, tool: str, **arguments: Any) -> dict[str, str]:
    return _reasons(await on.call(tool, **arguments))


@pytest.mark.parametrize(
    ("arguments", "reasons"),
    [
        pytest.param({"subject": "Mine"}, {"subject": _lacks("edit_issues")}, id="one field"),
        pytest.param(
            {"notes": "Hello", "done_ratio": 50, "assigned_to_id": "me"},
            {"done_ratio": _lacks("edit_issues"), "assigned_to_id": _lacks("edit_issues")},
            id="all but the comment",
        ),
        pytest.param(
            {"custom_fields": [{"name": "Customer", "value": "ACME"}]},
            {"custom_fields[2]": _lacks("edit_issues")},
            id="custom field",
        ),
    ],
)
async def test_who_may_not_edit_hears_it_for_each_field(
    arguments: Mapping[str, Any], reasons: dict[str, str], tmp_path: Path
) -> None:
    async with bench(tmp_path, "reporter") as on:
        assert await _undone(on, "update_issue", id=1, **arguments) == reasons


@pytest.mark.parametrize(
    ("field", "value", "permission"),
    [
        pytest.param("is_private", True, "set_issues_private", id="private"),
        pytest.param("parent_issue_id", 1, "manage_subtasks", id="parent"),
        pytest.param("watcher_user_ids", ["me"], "add_issue_watchers", id="watchers"),
    ],
)
async def test_what_a_new_issue_would_not_get_is_refused_before_it_exists(
    tmp_path: Path, field: str, value: Any, permission: str
) -> None:
    async with bench(tmp_path, "reporter") as on:
        message, hint = await on.refusal("create_issue", project_id=1, subject="New", **{field: value})

    assert message == f"Failed to create issue: {field}: {_lacks(permission)}"
    assert hint.startswith("Nothing was written. ")
    assert on.wire.writes() == []


async def test_what_a_new_issue_did_not_get_is_reported_without_a_call_to_create_it_again(tmp_path: Path) -> None:
    async with bench(tmp_path, "reporter") as on:
        result = await on.call("create_issue", project_id=1, subject="New", status_id="Closed")

    assert set(_reasons(result)) == {"status_id"}
    assert str(result.content[0]["text"]).startswith("Issue 141 was created, but Redmine did not take everything: ")
    assert result.content[1]["text"] == "It exists: do not create it again. show_issue(id: 141) shows it."


async def test_a_parent_gets_its_values_from_its_children(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        reasons = await _undone(on, "update_issue", id=2, done_ratio=90, due_date="2030-12-31", priority_id="Low")

    assert reasons == dict.fromkeys(("done_ratio", "due_date", "priority_id"), "it comes from the issue's children")


async def test_a_field_that_the_tracker_does_not_use_is_named_as_such(tmp_path: Path) -> None:
    def answers(request: httpx2.Request) -> httpx2.Response | None:
        if request.url.path == "/trackers.json":
            tracker = {"id": 2, "name": "Feature", "enabled_standard_fields": ["description"]}
            return httpx2.Response(200, json={"trackers": [tracker]})
        return _ignoring_everything(request)

    async with bench(tmp_path, "dev", answers) as on:
        reasons = await _undone(on, "update_issue", id=6, estimated_hours=3, description="New")

    assert reasons == {"estimated_hours": "the tracker Feature does not use this field", "description": _READ_ONLY}


def _ignoring_everything(request: httpx2.Request) -> httpx2.Response | None:
    return httpx2.Response(204) if request.method == "PUT" else None


@pytest.mark.parametrize(
    ("arguments", "reasons"),
    [
        pytest.param({"subject": "New"}, {"subject": _READ_ONLY}, id="no reason to be found"),
        pytest.param(
            {"project_id": "webshop-app"},
            {"project_id": "you may not see that project, or not create issues of this tracker in it"},
            id="move",
        ),
        pytest.param(
            {"uploads": [{"token": "999.abc"}]}, {"uploads": "a token is unknown, or was used before"}, id="file"
        ),
        pytest.param(
            {"status_id": "Resolved", "assigned_to_id": "me"},
            {
                "status_id": "the workflow allows here only New (1), In Progress (2), Resolved (3), Feedback (4), "
                "Closed (5), Rejected (6)",
                "assigned_to_id": _READ_ONLY,
            },
            id="status with something that may change the workflow",
        ),
        pytest.param({"notes": "Hello"}, {"notes": "the comment is not in the issue's history"}, id="comment"),
    ],
)
async def test_an_update_that_did_nothing_is_an_error_with_what_can_be_known(
    arguments: Mapping[str, Any], reasons: dict[str, str], tmp_path: Path
) -> None:
    async with bench(tmp_path, "admin", _ignoring_everything) as on:
        result = await on.call("update_issue", id=6, **arguments)

    assert _reasons(result) == reasons
    assert str(result.content[0]["text"]).startswith("Issue 6 was not changed: Redmine reported success")
    assert result.content[1]["text"] == "Nothing of what you asked for was done."


@pytest.mark.parametrize(
    ("fields", "done"),
    [
        pytest.param([{"id": 2, "value": "ACME"}, {"id": 15, "value": "9 EUR"}], True, id="one of two custom fields"),
        pytest.param([{"id": 15, "value": "9 EUR"}], False, id="the only one"),
    ],
)
async def test_a_part_that_was_done_is_never_called_nothing(
    fields: list[dict[str, Any]], done: bool, tmp_path: Path
) -> None:
    def forgetful(request: httpx2.Request) -> httpx2.Response | None:
        """The last custom field is dropped on the way."""
        if request.method == "PUT":
            request.stream = httpx2.ByteStream(request.content.replace(b'"9 EUR"', b'"0 EUR"'))
        return None

    async with bench(tmp_path, "admin", forgetful) as on:
        message, hint = await on.refusal("update_issue", id=6, custom_fields=fields)

    assert message.startswith("Issue 6 was changed only in part" if done else "Issue 6 was not changed")
    assert hint.startswith("Everything else" if done else "Nothing")


@pytest.mark.parametrize("trouble", [500, 403])
async def test_a_reason_that_cannot_be_looked_up_stays_open(trouble: int, tmp_path: Path) -> None:
    def answers(request: httpx2.Request) -> httpx2.Response | None:
        if request.url.path.startswith(("/roles", "/trackers")):
            return httpx2.Response(trouble)
        return _ignoring_everything(request)

    async with bench(tmp_path, "dev", answers) as on:
        reasons = await _undone(on, "update_issue", id=6, subject="New")

    assert reasons == {"subject": "Redmine kept another value and gave no reason"}


@pytest.mark.parametrize("status", ["Rejected", 6])
async def test_a_status_that_the_workflow_forbids_is_refused_before_anything_is_written(
    status: int | str, tmp_path: Path
) -> None:
    async with bench(tmp_path, "dev") as on:
        message, hint = await on.refusal("update_issue", id=6, status_id=status, notes="No")

    allowed = "New (1), In Progress (2), Resolved (3), Feedback (4), Closed (5)"
    assert message == f"Invalid value for parameter status_id: the workflow allows here only {allowed}"
    assert hint == "Nothing was changed."
    assert on.wire.writes() == []


async def test_a_private_note_is_written_by_who_may(tmp_path: Path) -> None:
    async with bench(tmp_path, "dev") as on:
        await on.data("update_issue", id=6, notes="Between us", private_notes=True)

    assert on.wire.body("PUT") == {"issue": {"notes": "Between us", "private_notes": True}}


@pytest.mark.parametrize("user", ["reporter", "outsider"])
async def test_a_private_note_that_would_become_public_is_not_written(user: str, tmp_path: Path) -> None:
    async with bench(tmp_path, user) as on:
        message, hint = await on.refusal("update_issue", id=6, notes="Between us", private_notes=True)

    expected = "your role lacks the permission set_notes_private, so the note would be public; nothing was written"
    assert message == f"Failed to update issue: {expected}"
    assert hint == "These roles have the permission set_notes_private: Manager, Developer."
    assert on.wire.writes() == []


async def test_a_permission_that_was_lost_a_moment_ago_no_longer_makes_notes_private(tmp_path: Path) -> None:
    async with bench(tmp_path, "dev") as on:
        await on.data("update_issue", id=6, notes="Between us", private_notes=True)
        on.wire.store["roles"].at(4)["permissions"].remove("set_notes_private")
        on.wire.requests.clear()
        await on.refusal("update_issue", id=6, notes="Between us, too", private_notes=True)

    assert on.wire.writes() == []


@pytest.mark.parametrize("trouble", [500, 403, 404])
async def test_a_private_note_is_not_written_on_a_guess(trouble: int, tmp_path: Path) -> None:
    def answers(request: httpx2.Request) -> httpx2.Response | None:
        return httpx2.Response(trouble) if request.url.path.startswith("/roles") else None

    async with bench(tmp_path, "dev", answers) as on:
        result = await on.call("update_issue", id=6, notes="Between us", private_notes=True)

    assert result.is_error
    assert on.wire.writes() == []


async def test_a_private_note_that_became_public_all_the_same_is_reported(tmp_path: Path) -> None:
    def careless(request: httpx2.Request) -> httpx2.Response | None:
        if request.method == "PUT":
            request.stream = httpx2.ByteStream(request.content.replace(b',"private_notes":true', b""))
        return None

    async with bench(tmp_path, "dev", careless) as on:
        reasons = await _undone(on, "update_issue", id=6, notes="Between us", private_notes=True)

    assert reasons == {"private_notes": "the note can be read by everybody"}
