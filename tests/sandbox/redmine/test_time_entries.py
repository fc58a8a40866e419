"""Spent time in the sandbox's Redmine."""

from typing import Any

import pytest

from tests.sandbox.redmine.redmine_client import Redmine

DESIGN, DEVELOPMENT = 8, 9
ENTRIES = "/time_entries.json"


@pytest.mark.parametrize(
    ("query", "count"),
    [
        pytest.param("", 40, id="all"),
        pytest.param("project_id=webshop", 40, id="a project with its subprojects"),
        pytest.param("project_id=webshop-app", 0, id="a subproject without any"),
        pytest.param("user_id=me", 14, id="mine"),
        pytest.param("activity_id=8|9", 40, id="one activity or another"),
        pytest.param("activity_id=!8", 20, id="any but one activity"),
        pytest.param("issue_id=!*", 10, id="not on an issue"),
        pytest.param("from=2026-09-05&to=2026-09-06", 2, id="between two days"),
        pytest.param("spent_on=%3E%3D2026-10-09", 2, id="since a day"),
        pytest.param("from=soon&user_id=me", 40, id="a bad day switches all filters off"),
        pytest.param("colour=red", 40, id="an unknown filter"),
    ],
)
async def test_lists_are_filtered(redmine: Redmine, query: str, count: int) -> None:
    listed = await redmine.told("dev", f"{ENTRIES}?{query}")

    assert listed["total_count"] == count


@pytest.mark.parametrize(
    ("sort", "first"),
    [
        pytest.param("", 40, id="the latest day first"),
        pytest.param("sort=spent_on", 1, id="the earliest day first"),
        pytest.param("sort=colour", 1, id="an unknown column, and the oldest come first"),
    ],
)
async def test_lists_are_sorted(redmine: Redmine, sort: str, first: int) -> None:
    listed = await redmine.told("dev", f"{ENTRIES}?{sort}")

    assert listed["time_entries"][0]["id"] == first


async def test_time_on_an_issue_belongs_to_its_project_and_to_whoever_logs_it(redmine: Redmine) -> None:
    body = {"time_entry": {"issue_id": 1, "hours": "1h30", "activity_id": DESIGN, "comments": "Looked"}}

    status, made = await redmine.ask("reporter", "POST", ENTRIES, body)

    entry = made["time_entry"]
    assert (status, entry["hours"], entry["project"]["name"]) == (201, 1.5, "Web Shop")
    assert (entry["issue"], entry["user"]["name"]) == ({"id": 1}, "Rolf Reporter")


@pytest.mark.parametrize(
    ("body", "sentences"),
    [
        pytest.param({"issue_id": 1, "hours": 1}, ["Activity cannot be blank"], id="no activity"),
        pytest.param({"issue_id": 1, "activity_id": DESIGN, "hours": "a lot"}, ["Hours is invalid"], id="hours"),
        pytest.param(
            {"issue_id": 1, "activity_id": 3, "hours": 1}, ["Activity is not included in the list"], id="other"
        ),
        pytest.param({"issue_id": 17, "activity_id": DESIGN, "hours": 1}, ["Issue is invalid"], id="invisible issue"),
        pytest.param({"project_id": "webshop", "activity_id": 8, "hours": 1}, ["Project is invalid"], id="identifier"),
        pytest.param({"issue_id": 1, "activity_id": 8, "hours": 1, "user_id": 9}, ["User is invalid"], id="for others"),
        pytest.param(
            {"issue_id": 1, "activity_id": 8, "hours": 1000},
            ["Cannot log more than 999:00 hours on the same day (0:00 hours have already been logged)"],
            id="more than a day has by far",
        ),
    ],
)
async def test_wrong_time_is_refused(redmine: Redmine, body: dict[str, Any], sentences: list[str]) -> None:
    assert await redmine.errors("dev", "POST", ENTRIES, {"time_entry": body}) == sentences


async def test_time_of_others_needs_a_permission_and_somebody_who_could_log_it(redmine: Redmine) -> None:
    entry = {"issue_id": 1, "hours": 1, "activity_id": DEVELOPMENT}

    status, made = await redmine.ask("manager", "POST", ENTRIES, {"time_entry": {**entry, "user_id": 6}})
    refused = await redmine.errors("manager", "POST", ENTRIES, {"time_entry": {**entry, "user_id": 7}})

    assert (status, made["time_entry"]["user"]["name"]) == (201, "Déva Roy")
    assert refused == ["User is invalid"]


async def test_nobody_logs_time_in_a_project_that_is_closed_or_not_theirs(redmine: Redmine) -> None:
    def on(project_id: int) -> dict[str, Any]:
        return {"time_entry": {"project_id": project_id, "hours": 1, "activity_id": DESIGN}}

    assert await redmine.status("dev", "POST", ENTRIES, on(4)) == 403
    assert await redmine.status("dev", "POST", ENTRIES, on(6)) == 403
    assert await redmine.status("outsider", "POST", ENTRIES, on(1)) == 403
    assert await redmine.status("nobody", "POST", ENTRIES, on(1)) == 401


async def test_with_the_default_roles_only_managers_change_time_even_their_own(redmine: Redmine) -> None:
    body = {"time_entry": {"hours": 3, "issue_id": ""}}

    assert await redmine.status("dev", "PUT", "/time_entries/1.json", body) == 403
    assert await redmine.status("nobody", "PUT", "/time_entries/1.json", body) == 403
    assert await redmine.status("nobody", "DELETE", "/time_entries/1.json") == 401
    assert await redmine.status("manager", "PUT", "/time_entries/1.json", body) == 204
    changed = (await redmine.told("dev", "/time_entries/1.json"))["time_entry"]
    assert (changed["hours"], "issue" in changed) == (3.0, False)
    assert await redmine.status("manager", "DELETE", "/time_entries/1.json") == 204
    assert await redmine.status("manager", "GET", "/time_entries/1.json") == 404
