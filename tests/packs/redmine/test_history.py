"""What happened to an issue: newest first, names where Redmine keeps ids, and ids where the names are not to be had."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from .wired import Bench, bench


def _told(*details: dict[str, Any], **journal: Any) -> Any:
    """An issue whose history is one journal with these changes."""
    whole = {"id": 5, "user": {"id": 6, "name": "Déva Roy"}, "created_on": "2026-09-02", "details": list(details)}
    issue = {
        "id": 6,
        "project": {"id": 1, "name": "Web Shop"},
        "subject": "Gift vouchers",
        "author": {"id": 7, "name": "Otto Outsider"},
        "custom_fields": [{"id": 8, "name": "Story points", "value": "5"}],
        "journals": [{**whole, **journal}],
    }

    def answers(request: httpx2.Request) -> httpx2.Response | None:
        return httpx2.Response(200, json={"issue": issue}) if request.url.path == "/issues/6.json" else None

    return answers


def _detail(name: str, old: str | None, new: str | None, of: str = "attr") -> dict[str, Any]:
    return {"property": of, "name": name, "old_value": old, "new_value": new}


async def _changes(on: Bench) -> list[dict[str, Any]]:
    shown = await on.data("show_issue", id=6)
    changes: list[dict[str, Any]] = shown["issue"]["journals"]["rows"][0]["changes"]
    return changes


@pytest.mark.parametrize(
    ("detail", "change"),
    [
        pytest.param(
            _detail("status_id", "1", "2"),
            {"field": "status_id", "from": {"id": "1", "name": "New"}, "to": {"id": "2", "name": "In Progress"}},
            id="status",
        ),
        pytest.param(
            _detail("tracker_id", "1", "2"),
            {"field": "tracker_id", "from": {"id": "1", "name": "Bug"}, "to": {"id": "2", "name": "Feature"}},
            id="tracker",
        ),
        pytest.param(
            _detail("priority_id", "2", "4"),
            {"field": "priority_id", "from": {"id": "2", "name": "Normal"}, "to": {"id": "4", "name": "Urgent"}},
            id="priority",
        ),
        pytest.param(
            _detail("assigned_to_id", None, "9"),
            {"field": "assigned_to_id", "to": {"id": "9", "name": "Mari Sato"}},
            id="assigned to a member",
        ),
        pytest.param(
            _detail("assigned_to_id", "7", ""),
            {"field": "assigned_to_id", "from": {"id": "7", "name": "Otto Outsider"}},
            id="taken from the author, who is no member",
        ),
        pytest.param(
            _detail("fixed_version_id", None, "1"),
            {"field": "fixed_version_id", "to": {"id": "1", "name": "1.0"}},
            id="version",
        ),
        pytest.param(
            _detail("category_id", "2", None),
            {"field": "category_id", "from": {"id": "2", "name": "Search"}},
            id="category",
        ),
        pytest.param(
            _detail("project_id", "1", "2"),
            {
                "field": "project_id",
                "from": {"id": "1", "name": "Web Shop"},
                "to": {"id": "2", "name": "Web Shop App"},
            },
            id="project",
        ),
        pytest.param(
            _detail("status_id", "1", "77"),
            {"field": "status_id", "from": {"id": "1", "name": "New"}, "to": "77"},
            id="what is no more",
        ),
        pytest.param(
            _detail("8", "5", "8", "cf"), {"field": "Story points", "from": "5", "to": "8"}, id="custom field"
        ),
        pytest.param(_detail("99", None, "x", "cf"), {"field": "cf_99", "to": "x"}, id="custom field out of sight"),
        pytest.param(
            _detail("7", None, "a.png", "attachment"), {"field": "attachment 7", "to": "a.png"}, id="attachment"
        ),
        pytest.param(
            _detail("blocks", None, "11", "relation"), {"field": "relation blocks", "to": "11"}, id="relation"
        ),
        pytest.param(
            _detail("description", "x" * 250, "short"),
            {"field": "description", "from": "x" * 200 + "… [50 more characters]", "to": "short"},
            id="long text",
        ),
    ],
)
async def test_a_change_is_told_in_names(detail: dict[str, Any], change: dict[str, Any], tmp_path: Path) -> None:
    async with bench(tmp_path, "dev", _told(detail)) as on:
        changes = await _changes(on)

    assert changes == [change]


@pytest.mark.parametrize("trouble", [403, 500])
async def test_a_list_that_cannot_be_read_leaves_the_ids(trouble: int, tmp_path: Path) -> None:
    issue = _told(_detail("fixed_version_id", "2", "1"))

    def answers(request: httpx2.Request) -> httpx2.Response | None:
        broken = request.url.path == "/projects/1/versions.json"
        return httpx2.Response(trouble) if broken else issue(request)

    async with bench(tmp_path, "dev", answers) as on:
        assert await _changes(on) == [{"field": "fixed_version_id", "from": "2", "to": "1"}]


async def test_a_private_note_is_marked(tmp_path: Path) -> None:
    async with bench(tmp_path, "dev", _told(notes="Between us", private_notes=True)) as on:
        shown = await on.data("show_issue", id=6)

    assert shown["issue"]["journals"]["rows"] == [
        {
            "id": 5,
            "user": {"id": 6, "name": "Déva Roy"},
            "created_on": "2026-09-02",
            "private": True,
            "notes": "Between us",
        }
    ]


async def test_journals_come_newest_first_and_page_by_page(tmp_path: Path) -> None:
    async with bench(tmp_path, "kim1") as on:
        first = (await on.data("show_issue", id=140, journal_limit=3))["issue"]["journals"]
        then = (await on.data("show_issue", id=140, journal_limit=3, journal_offset=3))["issue"]["journals"]

    ids = [row["id"] for row in first["rows"] + then["rows"]]
    assert ids == sorted(ids, reverse=True)
    assert len(set(ids)) == 6
    assert (first["total_count"], first["offset"], first["limit"]) == (500, 0, 3)
    assert then["offset"] == 3


async def test_each_list_of_names_is_read_once_for_a_whole_history(tmp_path: Path) -> None:
    async with bench(tmp_path, "kim1") as on:
        await on.data("show_issue", id=140, journal_limit=500)

    assert on.wire.asked() == ["GET /issues/140", "GET /enumerations/issue_priorities"]


async def test_a_history_without_named_changes_needs_no_look_up(tmp_path: Path) -> None:
    async with bench(tmp_path, "dev", _told(_detail("subject", "Old", "New"))) as on:
        await _changes(on)

    assert on.wire.asked() == ["GET /issues/6", "GET /projects/1/issues"], "its custom field has a number, or an id"
