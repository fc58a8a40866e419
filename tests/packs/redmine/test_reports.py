"""Sums are right for every matching row, or they are refused."""

from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from dogubako.packs.redmine.sums import custom_field, grouped

from .wired import Wire, bench

STATUSES = {"New": 1, "In Progress": 2, "Closed": 5, "Rejected": 6}


def with_issues(wire: Wire, count: int) -> None:
    """Copies of an issue, in turn of three statuses."""
    table = wire.store["issues"]
    for number in range(count):
        copied = {key: value for key, value in table.at(1).items() if key != "id"}
        made = table.add(**{**copied, "subject": f"Copy {number}", "parent_id": None, "done_ratio": 0})
        made["root_id"] = made["id"]
        made["status_id"] = list(STATUSES.values())[number % 3]
        made["estimated_hours"] = 2.0


def visible(wire: Wire) -> int:
    """Everything but what is in the archived project."""
    archived = wire.store["projects"].ids("id", status=9)
    return sum(issue["project_id"] not in archived for issue in wire.store["issues"])


def counts(data: Any) -> dict[str, int]:
    return {one["status"]["name"]: one["count"] for one in data["groups"]}


async def test_331_issues_by_status_are_one_call_of_few_tokens(tmp_path: Path) -> None:
    wire = Wire()
    with_issues(wire, 331 - visible(wire))
    async with bench(tmp_path, wire=wire, REDMINE_FORMAT="xml") as redmine:
        result = await redmine.call("report_issues", group_by=["status"])

    assert 'issues="331"' in str(result.content[0]["text"])
    assert result.tokens < 500
    assert wire.asked().count("GET /issues") == 4


async def test_a_list_that_changes_while_it_is_read_is_counted_again(tmp_path: Path) -> None:
    """An issue that is deleted between two pages moves another one across their border, where nobody would see it."""
    wire = Wire()
    with_issues(wire, 250)
    at_the_border = sorted(wire.store["issues"], key=lambda issue: issue["id"])[98:104]
    for issue in at_the_border:
        issue["status_id"] = STATUSES["Rejected"]
    deleted: list[int] = []

    def answers(request: httpx2.Request) -> httpx2.Response | None:
        if request.url.path == "/issues.json" and request.url.params.get("offset") == "100" and not deleted:
            deleted.append(next(iter(wire.store["issues"]))["id"])
            wire.store["issues"].remove_where(id=deleted[0])
        return None

    wire.answers = answers
    async with bench(tmp_path, wire=wire) as redmine:
        data = await redmine.data("report_issues", group_by=["status"])

    assert deleted
    assert data["issues"] == visible(wire)
    assert counts(data)["Rejected"] == len(at_the_border)


async def test_a_list_that_never_stays_the_same_is_an_error_and_no_sum(tmp_path: Path) -> None:
    wire = Wire()
    with_issues(wire, 150)

    def answers(request: httpx2.Request) -> httpx2.Response | None:
        if request.url.path == "/issues.json" and request.url.params.get("offset") == "100":
            wire.store["issues"].remove_where(id=next(iter(wire.store["issues"]))["id"])
        return None

    wire.answers = answers
    async with bench(tmp_path, wire=wire) as redmine:
        message, hint = await redmine.refusal("report_issues")

    assert message == "Failed to list issues: issues were added or deleted all the time while they were counted"
    assert hint == "Try again in a moment."


async def test_more_rows_than_can_be_read_are_refused_with_their_number(tmp_path: Path) -> None:
    def answers(request: httpx2.Request) -> httpx2.Response | None:
        if request.url.path != "/issues.json":
            return None
        body = {"issues": [], "total_count": 12_345, "offset": 0, "limit": 100}
        return httpx2.Response(200, content=msgspec.json.encode(body), headers={"content-type": "application/json"})

    async with bench(tmp_path, answers=answers) as redmine:
        message, hint = await redmine.refusal("report_issues")

    assert message == "12,345 issues match, and one call takes at most 5,000"
    assert hint.startswith("Narrow it down")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({"group_by": ["status", "status"]}, "a heading is given twice", id="twice"),
        pytest.param({"group_by": [" "]}, "a name is empty", id="empty"),
        pytest.param({"group_by": ["colour"]}, "there is no such custom field", id="unknown"),
        pytest.param({"filters": {"trackr_id": 1}}, "there is no such filter", id="unknown filter"),
        pytest.param({"filters": {"tracker_id": [1]}}, "tracker_id has a value", id="wrong type"),
        pytest.param({"filters": {"project_id": 1}, "project_id": 2}, "project_id is given twice", id="both"),
        pytest.param({"filters": {"filters": 3}}, "there is no such filter", id="no object"),
    ],
)
async def test_what_cannot_be_grouped_or_filtered_is_refused(tmp_path: Path, arguments: Any, message: str) -> None:
    async with bench(tmp_path) as redmine:
        told, _ = await redmine.refusal("report_issues", **arguments)

    assert message in told


async def test_filters_are_those_of_list_issues(tmp_path: Path) -> None:
    async with bench(tmp_path) as redmine:
        listed = await redmine.data("list_issues", tracker_id="Bug", status_id="*", filters={"is_private": False})
        data = await redmine.data("report_issues", filters={"tracker_id": "Bug", "is_private": False}, group_by=[])

    assert data["issues"] == listed["total_count"] > 0
    assert data["groups"] == []


async def test_progress_is_that_of_the_roadmap(tmp_path: Path) -> None:
    """By Redmine's rule: weighted by estimates, issues without one count as the average, closed ones as done."""
    wire = Wire()
    table = wire.store["issues"]
    with_issues(wire, 3)
    for issue, (status, estimate, done) in zip(
        list(table)[-3:], [(1, 8.0, 50), (5, 2.0, 0), (1, None, 10)], strict=True
    ):
        issue["status_id"], issue["estimated_hours"], issue["done_ratio"] = status, estimate, done
        issue["subject"] = "Weighted"
    async with bench(tmp_path, wire=wire) as redmine:
        data = await redmine.data("report_issues", filters={"subject": "Weighted"}, group_by=[])

    assert data["progress"] == int((8 * 50 + 2 * 100 + 5 * 10) / (5 * 3))


async def test_weeks_are_those_of_the_calendar_and_groups_have_pages(tmp_path: Path) -> None:
    wire = Wire()
    for day, issue in zip(("2026-12-31", "2027-01-03", "2027-01-04"), list(wire.store["issues"]), strict=False):
        issue["due_date"] = day
    async with bench(tmp_path, wire=wire) as redmine:
        data = await redmine.data("report_issues", group_by=["due_week"], measures=["count"], limit=1)
        rest = await redmine.data("report_issues", group_by=["due_week"], measures=["count"], offset=1)

    weeks = [one["due_week"] for one in (*data["groups"], *rest["groups"])]
    assert {"2026-W53", "2027-W01"} <= set(weeks)
    assert data["total_count"] == len(weeks)


def test_two_people_of_one_name_in_a_custom_field_are_two_groups() -> None:
    rows = [{"custom_fields": [{"id": 7, "value": value}]} for value in ("10", "11", "11", "")]

    groups = grouped(rows, [custom_field(7, {"10": "Kim Lee", "11": "Kim Lee"})])

    assert [(named["cf_7"], len(found)) for named, found in groups] == [
        ({"id": 11, "name": "Kim Lee"}, 2),
        ({"id": 10, "name": "Kim Lee"}, 1),
        ("(none)", 1),
    ]
