"""Why Redmine said no: who asked, which permission is missing, which roles have it, what state the project is in."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from dogubako.packs.redmine import models
from dogubako.packs.redmine.models import ADMINISTRATOR, Kind
from dogubako_sandbox.redmine.world import seeded_store

from .wired import bench

_LOGIN = {"login": "new", "firstname": "New", "lastname": "One", "mail": "new@example.test"}


@pytest.mark.parametrize(
    ("user", "tool", "arguments", "role", "permission", "holders"),
    [
        pytest.param("dev", "delete_issue", {"id": 6}, "Developer", "delete_issues", "Manager", id="delete issue"),
        pytest.param("dev", "copy_issue", {"id": 6}, "Developer", "copy_issues", "Manager", id="copy issue"),
        pytest.param(
            "dev",
            "add_issue_watcher",
            {"id": 6, "user_id": 5},
            "Developer",
            "add_issue_watchers",
            "Manager",
            id="add watcher",
        ),
        pytest.param(
            "dev",
            "create_membership",
            {"project_id": "Web Shop", "user_id": 7, "role_ids": ["Reporter"]},
            "Developer",
            "manage_members",
            "Manager",
            id="create membership",
        ),
        pytest.param(
            "reporter",
            "create_version",
            {"project_id": 1, "name": "3.0"},
            "Reporter",
            "manage_versions",
            "Manager, Developer",
            id="create version",
        ),
        pytest.param(
            "reporter",
            "create_issue_category",
            {"project_id": "webshop", "name": "Mail"},
            "Reporter",
            "manage_categories",
            "Manager, Developer",
            id="create category",
        ),
        pytest.param(
            "dev",
            "update_time_entry",
            {"id": 1, "hours": 2},
            "Developer",
            "edit_time_entries",
            "Manager",
            id="change time entry",
        ),
        pytest.param(
            "dev",
            "update_project",
            {"id": "webshop", "name": "X"},
            "Developer",
            "edit_project",
            "Manager",
            id="project",
        ),
        pytest.param(
            "outsider",
            "create_time_entry",
            {"project_id": 1, "hours": 1, "activity_id": 9},
            "Non member",
            "log_time",
            "Manager, Developer, Reporter",
            id="who is no member has the role of those",
        ),
    ],
)
async def test_a_missing_permission_is_named_with_the_roles_that_have_it(
    user: str, tool: str, arguments: Mapping[str, Any], role: str, permission: str, holders: str, tmp_path: Path
) -> None:
    async with bench(tmp_path, user) as on:
        message, hint = await on.refusal(tool, **arguments, **_confirmed(tool))

    assert message.endswith(f": user '{user}' (role: {role}) lacks the permission {permission}")
    assert hint == f"These roles have the permission {permission}: {holders}."


def _confirmed(tool: str) -> dict[str, bool]:
    return {"confirm": True} if tool.startswith("delete_") else {}


async def test_a_role_that_a_group_gives_counts(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await on.data("create_membership", project_id=1, user_id="Support Team", role_ids=["Reporter"])
    async with bench(tmp_path, "outsider", wire=on.wire) as asked:
        message, _ = await asked.refusal("create_version", project_id=1, name="3.0")

    assert message.endswith("user 'outsider' (role: Reporter) lacks the permission manage_versions")


async def test_without_a_project_all_roles_count(tmp_path: Path) -> None:
    async with bench(tmp_path, "dev") as on:
        message, hint = await on.refusal("create_project", name="New", identifier="new")

    expected = "user 'dev' (role: Non member, Developer) lacks the permission add_project"
    assert message == f"Failed to create project: {expected}"
    assert hint == "These roles have the permission add_project: Manager."


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        pytest.param("list_users", {}, id="list users"),
        pytest.param("create_user", _LOGIN, id="create user"),
        pytest.param("list_groups", {}, id="list groups"),
        pytest.param("archive_project", {"id": "webshop"}, id="archive project"),
        pytest.param("unarchive_project", {"id": "attic"}, id="unarchive project"),
    ],
)
async def test_what_only_administrators_may_do_is_said_so(
    tool: str, arguments: Mapping[str, Any], tmp_path: Path
) -> None:
    async with bench(tmp_path, "manager") as on:
        message, hint = await on.refusal(tool, **arguments)

    assert message.endswith(": only administrators may do this, and user 'manager' is none")
    assert hint == "Ask an administrator, or use a key of one."


@pytest.mark.parametrize("user", ["dev", "admin"])
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        pytest.param("create_issue", {"project_id": "legacy", "subject": "New"}, id="create issue"),
        pytest.param("update_issue", {"id": 18, "notes": "Hello"}, id="comment"),
        pytest.param("create_version", {"project_id": 4, "name": "3.0"}, id="create version"),
    ],
)
async def test_a_closed_project_is_named_as_the_reason(
    user: str, tool: str, arguments: Mapping[str, Any], tmp_path: Path
) -> None:
    async with bench(tmp_path, user) as on:
        message, hint = await on.refusal(tool, **arguments)

    assert message.endswith(": project 'Legacy' is closed, nothing in it can be changed")
    assert hint == "reopen_project opens it again."


async def test_an_archived_project_is_named_as_the_reason_to_administrators(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        refusals = [await on.refusal("list_versions", project_id="attic"), await on.refusal("list_news", project_id=5)]

    assert {message.partition(": ")[2] for message, _ in refusals} == {"the project is archived"}
    assert {hint for _, hint in refusals} == {"unarchive_project brings it back."}


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        pytest.param("show_issue", {"id": 8}, id="private issue"),
        pytest.param("show_issue", {"id": 17}, id="issue of a private project"),
        pytest.param("update_issue", {"id": 19, "notes": "x"}, id="issue of an archived project"),
        pytest.param("list_versions", {"project_id": "internal"}, id="private project"),
        pytest.param("list_versions", {"project_id": 5}, id="archived project"),
    ],
)
async def test_what_others_may_not_see_stays_open_between_its_reasons(
    tool: str, arguments: Mapping[str, Any], tmp_path: Path
) -> None:
    """Whether it is private or archived is not for them to know."""
    async with bench(tmp_path, "dev") as on:
        message, hint = await on.refusal(tool, **arguments)

    assert message.endswith(": user 'dev' may not do this")
    assert hint == "It may be private, its project archived, or the module switched off in the project."


@pytest.mark.parametrize("answer", [500, 404, 429])
async def test_where_looking_around_fails_too_the_bare_refusal_stays(answer: int, tmp_path: Path) -> None:
    def answers(request: httpx2.Request) -> httpx2.Response | None:
        return httpx2.Response(answer) if request.url.path.startswith(("/projects/1.json", "/roles")) else None

    async with bench(tmp_path, "dev", answers) as on:
        result = await on.call("delete_issue", id=6, confirm=True)

    assert result.code == "API_ERROR"
    assert result.content[0]["text"] == "Failed to delete issue: Redmine does not allow it"


async def test_a_refusal_is_looked_into_once(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await on.refusal("create_issue", project_id="webshop", subject="New", parent_issue_id=9999)

    after = on.wire.asked()[on.wire.asked().index("POST /issues") + 1 :]
    assert after == ["GET /projects/1"]


async def test_a_refused_update_reads_nothing_more(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await on.refusal("update_issue", id=1, parent_issue_id=9999)

    assert on.wire.asked()[on.wire.asked().index("PUT /issues/1") + 1 :] == []


def _kinds() -> list[Kind]:
    return [one for one in vars(models).values() if isinstance(one, Kind)]


def test_every_permission_that_we_name_exists() -> None:
    """The role Manager has all of them."""
    manager = next(role for role in seeded_store()["roles"] if role["name"] == "Manager")
    named = {permission for kind in _kinds() for permission in kind.needs.values()} - {ADMINISTRATOR}

    assert named <= set(manager["permissions"])
