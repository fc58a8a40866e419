"""Issues that depend on each other: parents, relations, watchers, categories."""

from typing import Any

import pytest

from tests.sandbox.redmine.redmine_client import Redmine
from tests.sandbox.redmine.test_issues_write import change, shown

_CATEGORIES = "/projects/webshop/issue_categories.json"


async def relate(redmine: Redmine, number: int, other: object, **fields: Any) -> tuple[int, Any]:
    body = {"relation": {"issue_to_id": other, **fields}}
    return await redmine.ask("manager", "POST", f"/issues/{number}/relations.json", body)


async def test_a_parent_has_what_its_children_have_whatever_it_is_told(redmine: Redmine) -> None:
    await change(redmine, "dev", 3, done_ratio=90, priority_id=5, due_date="2031-01-01")
    await change(redmine, "dev", 2, done_ratio=10, priority_id=1, due_date="2020-01-01", start_date="2020-01-01")
    parent = await shown(redmine, 2)

    assert (parent["done_ratio"], parent["priority"]["id"]) == (30, 5)
    assert (parent["start_date"], parent["due_date"]) == ("2026-09-07", "2031-01-01")


async def test_a_parent_tells_which_children_came_and_went(redmine: Redmine) -> None:
    await change(redmine, "manager", 6, parent_issue_id=2)
    await change(redmine, "manager", 6, parent_issue_id=None)
    journals = (await shown(redmine, 2, "journals"))["journals"][-2:]

    assert [(each["old_value"], each["new_value"]) for entry in journals for each in entry["details"]] == [
        (None, "6"),
        ("6", None),
    ]


@pytest.mark.parametrize(
    ("number", "parent", "sentence"),
    [
        pytest.param(2, 3, "Parent task is invalid", id="its own child"),
        pytest.param(2, 2, "Parent task is invalid", id="itself"),
        pytest.param(6, 17, "Parent task is invalid", id="in a project that is not seen"),
        pytest.param(6, "abc", "Parent task is invalid", id="no number"),
        pytest.param(6, 9, "An open issue cannot be attached to a closed parent task", id="a closed one"),
    ],
)
async def test_a_parent_that_cannot_be(redmine: Redmine, number: int, parent: object, sentence: str) -> None:
    body = {"issue": {"parent_issue_id": parent}}

    assert await redmine.errors("manager", "PUT", f"/issues/{number}.json", body) == [sentence]


async def test_what_precedes_pushes_what_follows(redmine: Redmine) -> None:
    await change(redmine, "manager", 10, due_date="2029-03-09")
    issue = await shown(redmine, 12, "journals")

    # Two days between Friday and Thursday, and four working days as before.
    assert (issue["start_date"], issue["due_date"]) == ("2029-03-14", "2029-03-20")
    assert [each["name"] for each in issue["journals"][-1]["details"]] == ["due_date", "start_date"]
    body = {"issue": {"start_date": "2029-03-01"}}
    assert await redmine.errors("manager", "PUT", "/issues/12.json", body) == [
        "Start date cannot be earlier than 03/14/2029 because of preceding issues"
    ]


async def test_a_relation_may_be_kept_the_other_way_round(redmine: Redmine) -> None:
    status, answer = await relate(redmine, 6, 5)
    _, blocked = await relate(redmine, 5, "#7", relation_type="blocked")

    assert (status, answer["relation"]) == (
        201,
        {"id": 4, "issue_id": 5, "issue_to_id": 6, "relation_type": "relates", "delay": None},
    )
    assert [blocked["relation"][name] for name in ("issue_id", "issue_to_id", "relation_type")] == [7, 5, "blocks"]
    assert await redmine.told("manager", "/relations/4.json") == answer
    assert await redmine.status("dev", "DELETE", "/relations/4.json") == 204
    assert await redmine.status("dev", "DELETE", "/relations/4.json") == 404


@pytest.mark.parametrize(
    ("number", "other", "kind", "sentences"),
    [
        pytest.param(1, 3, "relates", ["Related issue has already been taken"], id="twice"),
        pytest.param(
            3, 1, "relates", ["This relation would create a circular dependency"], id="twice, the other way round"
        ),
        pytest.param(
            11, 10, "blocks", ["This relation would create a circular dependency"], id="each blocks the other"
        ),
        pytest.param(5, 13, "relates", ["Related issue doesn't belong to the same project"], id="across projects"),
        pytest.param(2, 3, "relates", ["An issue cannot be linked to one of its subtasks"], id="a child"),
        pytest.param(5, 999, "relates", ["Related issue cannot be blank"], id="no such issue"),
        pytest.param(5, 17, "relates", ["Related issue cannot be blank"], id="one that is not seen"),
        pytest.param(5, 6, "likes", ["Relation type is not included in the list"], id="no such type"),
        pytest.param(3, 1, "follows", ["has already been taken"], id="twice, when it is turned round"),
        pytest.param(5, 5, "duplicates", ["Related issue is invalid"], id="itself"),
    ],
)
async def test_a_relation_that_cannot_be(
    redmine: Redmine, number: int, other: int, kind: str, sentences: list[str]
) -> None:
    status, answer = await relate(redmine, number, other, relation_type=kind)

    assert (status, answer["errors"]) == (422, sentences)


async def test_closing_an_issue_closes_its_duplicates(redmine: Redmine) -> None:
    await relate(redmine, 5, 6, relation_type="duplicates")
    await change(redmine, "manager", 6, status_id=5, notes="Both done")
    duplicate = await shown(redmine, 5, "journals")

    assert duplicate["status"]["name"] == "Closed"
    assert duplicate["journals"][-1]["notes"] == "Both done"


async def test_a_category_is_made_changed_and_deleted(redmine: Redmine) -> None:
    made = await redmine.answer("manager", "POST", _CATEGORIES, {"issue_category": {"name": "Shipping"}})
    path = f"{made.headers['location'].partition('redmine.sandbox')[2] or made.headers['location']}.json"

    assert made.status_code == 201
    taken = {"issue_category": {"name": "Search"}}
    assert await redmine.errors("manager", "PUT", path, taken) == ["Name has already been taken"]
    assert await redmine.errors("manager", "POST", _CATEGORIES, {}) == ["Name cannot be blank"]
    assert await redmine.status("manager", "DELETE", path) == 204
