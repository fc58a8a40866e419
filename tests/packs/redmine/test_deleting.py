"""Deleting, and whatever else cannot be taken back: said before, looked at afterwards, never reported by guess."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from .wired import Answers, Bench, bench

_EVERY_DELETION = [
    pytest.param("delete_issue", {"id": 6}, "/issues/6", "Issue 6", id="issue"),
    pytest.param("delete_issue_relation", {"id": 1}, "/relations/1", "Relation 1", id="relation"),
    pytest.param("delete_issue_category", {"id": 2}, "/issue_categories/2", "Category 2", id="category"),
    pytest.param("delete_project", {"id": "bulk"}, "/projects/6", "Project 6", id="project"),
    pytest.param("delete_membership", {"id": 5}, "/memberships/5", "Membership 5", id="membership"),
    pytest.param("delete_version", {"id": 4}, "/versions/4", "Version 4", id="version"),
    pytest.param("delete_time_entry", {"id": 1}, "/time_entries/1", "Time entry 1", id="time entry"),
    pytest.param("delete_user", {"id": 7}, "/users/7", "User 7", id="user"),
    pytest.param(
        "delete_wiki_page",
        {"project_id": 1, "title": "Checkout"},
        "/projects/1/wiki/Checkout",
        "Wiki page Checkout",
        id="wiki page",
    ),
]


@asynccontextmanager
async def _bench(folder: Path, answers: Answers | None = None) -> AsyncIterator[Bench]:
    """With a version that nothing uses yet; all others could not be deleted."""
    async with bench(folder, "admin", answers) as on:
        like = {key: value for key, value in on.wire.store["versions"].at(1).items() if key != "id"}
        on.wire.store["versions"].add(**{**like, "name": "Spare"})
        yield on


def _after(method: str, answer: int, then: int | None = None) -> Answers:
    """This answer to the write; and, if one is given, another to every look at anything afterwards."""
    written: list[str] = []

    def answers(request: httpx2.Request) -> httpx2.Response | None:
        if request.method == method:
            written.append(request.url.path)
            return httpx2.Response(answer) if answer else None
        looks = written and "/users/current" not in request.url.path
        return httpx2.Response(then) if then is not None and looks else None

    return answers


@pytest.mark.parametrize(("tool", "arguments", "_path", "_label"), _EVERY_DELETION)
async def test_without_confirmation_it_is_said_what_would_go_and_nothing_does(
    tool: str, arguments: Mapping[str, Any], _path: str, _label: str, tmp_path: Path
) -> None:
    async with _bench(tmp_path) as on:
        result = await on.call(tool, **arguments)

    assert result.code == "CONFIRMATION_REQUIRED"
    assert "This would " in str(result.content[0]["text"])
    assert on.wire.writes() == []


@pytest.mark.parametrize(("tool", "arguments", "path", "_label"), _EVERY_DELETION)
async def test_what_is_deleted_is_looked_for_afterwards(
    tool: str, arguments: Mapping[str, Any], path: str, _label: str, tmp_path: Path
) -> None:
    async with _bench(tmp_path) as on:
        await on.data(tool, **arguments, confirm=True)

    assert on.wire.asked()[-2:] == [f"DELETE {path}", f"GET {path}"]


@pytest.mark.parametrize(("tool", "arguments", "_path", "label"), _EVERY_DELETION)
async def test_a_deletion_that_is_reported_and_was_not_done_is_an_error(
    tool: str, arguments: Mapping[str, Any], _path: str, label: str, tmp_path: Path
) -> None:
    async with _bench(tmp_path, _after("DELETE", 204)) as on:
        message, hint = await on.refusal(tool, **arguments, confirm=True)

    assert message.startswith(f"{label} was not deleted: id: the ")
    assert message.endswith(" is still there")
    assert hint == "Redmine reported success all the same."


@pytest.mark.parametrize("then", [500, 403, 401, 429])
@pytest.mark.parametrize(("tool", "arguments", "_path", "label"), _EVERY_DELETION)
async def test_a_deletion_that_cannot_be_checked_is_told_as_that(
    tool: str, arguments: Mapping[str, Any], _path: str, label: str, then: int, tmp_path: Path
) -> None:
    async with _bench(tmp_path, _after("DELETE", 204, then)) as on:
        message, hint = await on.refusal(tool, **arguments, confirm=True)

    assert message.startswith(f"{label} was deleted, but it could not be looked at afterwards: ")
    assert hint.startswith("Look at it before you try again.")


async def test_what_goes_with_an_issue_is_counted(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        message, _ = await on.refusal("delete_issue", id=2)

    assert "This would delete issue 2 (Faster search) for good, with its 2 children, " in message
    assert "hours of logged time" in message


async def test_what_goes_with_a_project_is_counted(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        message, _ = await on.refusal("delete_project", id="webshop")

    assert "project 1 (Web Shop) for good, with 16 issues, 1 subprojects, " in message


async def test_a_version_in_use_names_how_many_use_it(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        message, hint = await on.refusal("delete_version", id=1, confirm=True)

    assert message == "Failed to delete version: the version is in use by 4 issues"
    assert hint == "Give these issues another version first."


async def test_issues_of_a_deleted_category_can_be_given_another_by_name(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await on.data("delete_issue_category", id=2, reassign_to_id="checkout", confirm=True)
        shown = await on.data("show_issue", id=2)

    assert shown["issue"]["category"] == {"id": 1, "name": "Checkout"}


@pytest.mark.parametrize(
    ("tool", "arguments", "label"),
    [
        pytest.param("create_issue", {"project_id": 1, "subject": "New"}, "Issue 141", id="issue"),
        pytest.param("copy_issue", {"id": 6}, "Issue 141", id="copied issue"),
        pytest.param("create_version", {"project_id": 1, "name": "3.0"}, "Version 4", id="version"),
        pytest.param("create_issue_category", {"project_id": 1, "name": "Mail"}, "Category 3", id="category"),
        pytest.param("create_issue_relation", {"issue_id": 6, "issue_to_id": 1}, "Relation 4", id="relation"),
        pytest.param(
            "create_time_entry", {"project_id": 1, "hours": 1, "activity_id": 9}, "Time entry 41", id="time entry"
        ),
    ],
)
@pytest.mark.parametrize("then", [404, 403, 500])
async def test_what_was_created_and_cannot_be_read_back_is_not_called_a_failure_to_create(
    tool: str, arguments: Mapping[str, Any], label: str, then: int, tmp_path: Path
) -> None:
    async with bench(tmp_path, "admin", _after("POST", 0, then)) as on:
        message, hint = await on.refusal(tool, **arguments)

    assert message.startswith(f"{label} was created, but it could not be looked at afterwards: ")
    assert hint.startswith("It exists: do not create it again.")


@pytest.mark.parametrize("then", [404, 403, 500])
async def test_what_was_changed_and_cannot_be_read_back_is_not_called_a_failure_to_change(
    then: int, tmp_path: Path
) -> None:
    async with bench(tmp_path, "admin", _after("PUT", 0, then)) as on:
        issue = await on.refusal("update_issue", id=6, subject="New")
        on.wire.answers = _after("PUT", 0, then)
        page = await on.refusal("save_wiki_page", project_id=1, title="Checkout", text="New")

    assert issue[0].startswith("Issue 6 was changed, but it could not be looked at afterwards: ")
    assert issue[1] == "Look at it before you try again. show_issue(id: 6) shows it."
    assert page[0].startswith("Wiki page Checkout was saved, but it could not be looked at afterwards: ")


async def test_a_creation_that_is_answered_with_nothing_is_an_error(tmp_path: Path) -> None:
    async with bench(tmp_path, "admin", _after("POST", 204)) as on:
        message, hint = await on.refusal("create_issue", project_id=1, subject="New")

    assert message == "Failed to create issue: Redmine did not say what it has created"
    assert hint == "It may exist all the same: look before you try again."
