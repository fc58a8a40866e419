"""What Redmine makes of a question for a list: much of what it does not understand, it ignores without a word."""

from typing import Any

import pytest

from tests.redmine_contract.facts import fact, proves
from tests.redmine_contract.one_sided import only_where_there_is
from tests.redmine_contract.place import Person
from tests.redmine_contract.seeded import CUSTOM_FIELDS, ISSUES, PROJECTS, QUERIES, STATUSES, TRACKERS, USERS


async def found(person: Person, path: str) -> list[int]:
    body = await person.told(path)
    return [row["id"] for row in next(rows for rows in body.values() if isinstance(rows, list))]


async def counted(person: Person, **params: Any) -> int:
    return int((await person.told("/issues.json", limit=1, **params))["total_count"])


@pytest.mark.parametrize(
    ("asked", "limit"),
    [
        fact("clamped-limit", "1000", 100),
        fact("clamped-limit", "0", 25),
        fact("clamped-limit", "abc", 25),
        fact("clamped-limit", "-1", 25),
    ],
)
async def test_a_page_has_at_most_a_hundred_and_a_strange_number_means_25(
    admin: Person, asked: str, limit: int
) -> None:
    page = await admin.told("/issues.json", limit=asked, status_id="*")

    assert page["limit"] == len(page["issues"]) == limit


@pytest.mark.parametrize(
    "params",
    [
        fact("unknown-filter", {"nope": "1"}),
        fact("unknown-filter", {"assignee": "6"}),
        fact("unknown-cf", {"cf_999": "x"}),
        fact("unknown-cf", {f"cf_{CUSTOM_FIELDS['Cost centre']}": "4711"}),
        fact("unknown-sort", {"sort": "nope"}),
        fact("unknown-sort", {"sort": "nope:desc"}),
    ],
)
async def test_what_a_list_does_not_know_it_ignores(admin: Person, params: dict[str, str]) -> None:
    everything = await admin.told("/issues.json", limit=3)

    assert await admin.told("/issues.json", limit=3, **params) == everything


@proves("invisible-cf")
async def test_a_filter_by_a_custom_field_that_one_may_not_see_is_ignored(manager: Person, dev: Person) -> None:
    only = {f"cf_{CUSTOM_FIELDS['Contract value']}": "12000 EUR", "project_id": PROJECTS["webshop"]}

    assert await counted(manager, **only) == 1
    assert await counted(dev, **only) == await counted(dev, project_id=PROJECTS["webshop"]) > 1


@proves("open-only")
async def test_a_list_has_open_issues_only_even_when_it_is_asked_for_a_closed_one(admin: Person) -> None:
    closed = ISSUES["closed"]

    assert await found(admin, f"/issues.json?issue_id={closed}") == []
    assert await found(admin, f"/issues.json?issue_id={closed}&status_id=*") == [closed]
    assert await counted(admin) + await counted(admin, status_id="closed") == await counted(admin, status_id="*")


@proves("or-values")
async def test_several_values_are_joined_by_a_bar(admin: Person) -> None:
    new, progress = STATUSES["New"], STATUSES["In Progress"]

    both = await counted(admin, status_id=f"{new}|{progress}")

    assert both == await counted(admin, status_id=new) + await counted(admin, status_id=progress)


@proves("subprojects")
async def test_a_project_stands_for_its_subprojects_too(admin: Person) -> None:
    shop, app = PROJECTS["webshop"], PROJECTS["webshop-app"]

    alone = await counted(admin, project_id=shop, subproject_id="!*")
    below = await counted(admin, project_id=app)

    assert (alone, below) == (13, 2)
    assert await counted(admin, project_id=shop) == alone + below


@proves("query-alone")
async def test_beside_a_saved_query_other_filters_are_ignored_but_not_the_project(admin: Person) -> None:
    query = QUERIES["Open bugs"]

    alone = await counted(admin, query_id=query)

    assert await counted(admin, query_id=query, tracker_id=TRACKERS["Feature"]) == alone
    assert await counted(admin, query_id=query, project_id=PROJECTS["webshop"]) < alone


@proves("closed-projects")
async def test_closed_projects_are_listed_on_request_and_archived_ones_never(admin: Person) -> None:
    closed, archived = PROJECTS["legacy"], PROJECTS["attic"]

    active = await found(admin, "/projects.json")

    assert {closed, archived}.isdisjoint(active)
    assert await found(admin, "/projects.json?status=5") == [closed]
    assert await found(admin, "/projects.json?status=9") == []
    assert sorted(await found(admin, "/projects.json?status=1|5")) == sorted([*active, closed])


@proves("locked-users")
async def test_locked_users_are_listed_on_request(admin: Person) -> None:
    locked = USERS["locked"]

    active = await found(admin, "/users.json")

    assert locked not in active
    assert await found(admin, "/users.json?status=3") == [locked]
    assert await found(admin, "/users.json?status=*") == []
    assert sorted(await found(admin, "/users.json?status=")) == sorted([*active, locked])


@pytest.mark.parametrize(
    ("path", "params"),
    [
        fact("ignored-dates", "/time_entries.json", {"from": "abc"}),
        fact("ignored-dates", "/time_entries.json", {"spent_on": "abc"}),
        fact("all-filters-dropped", "/time_entries.json", {"from": "abc", "user_id": "6"}),
    ],
)
async def test_one_bad_date_makes_redmine_forget_every_filter_of_a_list(
    admin: Person, path: str, params: dict[str, str]
) -> None:
    assert (await admin.told(path, limit=1, **params))["total_count"] == 40


@proves("all-filters-dropped")
async def test_a_bad_date_lists_closed_projects_too(admin: Person) -> None:
    assert PROJECTS["legacy"] in await found(admin, "/projects.json?created_on=abc")


@only_where_there_is("cookies")
@proves("sort-remembered")
async def test_the_order_of_users_is_remembered_by_a_cookie(admin: Person) -> None:
    usual = await found(admin, "/users.json")
    turned = await found(admin, "/users.json?sort=login:desc")

    assert await found(admin, "/users.json") == turned != usual
    admin.client.cookies.clear()
    assert await found(admin, "/users.json") == usual


@proves("sort-remembered")
async def test_our_tools_do_not_let_one_question_change_the_answer_to_the_next(admin: Person) -> None:
    for tool, sort in (("list_issues", "subject"), ("list_time_entries", "hours")):
        usual = [one.get("id") for one in await admin.call(tool, limit=5)]
        sorted_ = [one.get("id") for one in await admin.call(tool, limit=5, sort=sort)]

        assert [one.get("id") for one in await admin.call(tool, limit=5)] == usual != sorted_
