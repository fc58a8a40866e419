"""One issue of the sandbox's Redmine, with all that can be included."""

import pytest

from tests.sandbox.redmine.redmine_client import Redmine

_ALL = "include=children,attachments,relations,journals,watchers,changesets,allowed_statuses"


async def test_an_issue_has_its_keys_in_redmines_order_and_leaves_out_references_that_are_not_set(
    redmine: Redmine,
) -> None:
    full = (await redmine.told("admin", f"/issues/1.json?{_ALL}"))["issue"]
    bare = (await redmine.told("admin", "/issues/16.json"))["issue"]

    assert " ".join(full) == (
        "id project tracker status priority author assigned_to category fixed_version subject description start_date "
        "due_date done_ratio is_private estimated_hours total_estimated_hours spent_hours total_spent_hours "
        "custom_fields created_on updated_on closed_on attachments relations changesets journals watchers "
        "allowed_statuses"
    )
    assert set(full) - set(bare) >= {"assigned_to", "category", "fixed_version"}
    assert (bare["due_date"], bare["estimated_hours"], bare["closed_on"]) == (None, None, None)


async def test_custom_values_are_texts_and_many_are_a_list(redmine: Redmine) -> None:
    fields = (await redmine.told("manager", "/issues/1.json"))["issue"]["custom_fields"]
    by_id = {each["id"]: each for each in fields}

    assert by_id[8] == {"id": 8, "name": "Story points", "value": "8"}
    assert by_id[4] == {"id": 4, "name": "Affected areas", "multiple": True, "value": ["Cart", "Shipping"]}
    assert {15} == set(by_id) - {
        each["id"] for each in (await redmine.told("dev", "/issues/1.json"))["issue"]["custom_fields"]
    }


async def test_watchers_are_shown_with_the_permission_only(redmine: Redmine) -> None:
    shown = (await redmine.told("manager", "/issues/1.json?include=watchers"))["issue"]["watchers"]

    assert [each["id"] for each in shown] == [5, 6, 11, 9]
    assert "watchers" not in (await redmine.told("nobody", "/issues/1.json?include=watchers"))["issue"]


async def test_a_parent_shows_its_children_and_sums(redmine: Redmine) -> None:
    parent = (await redmine.told("dev", "/issues/2.json?include=children"))["issue"]

    assert [each["id"] for each in parent["children"]] == [3, 4]
    assert list(parent["children"][0]) == ["id", "tracker", "subject"]
    assert (parent["estimated_hours"], parent["total_estimated_hours"]) == (None, 24.0)
    assert (parent["spent_hours"], parent["total_spent_hours"]) == (0.0, 17.5)


@pytest.mark.parametrize(
    ("who", "issue", "statuses"),
    [
        pytest.param("manager", 1, [1, 2, 3, 4, 5, 6], id="a manager goes anywhere"),
        pytest.param("dev", 1, [2, 3, 4, 5], id="a developer"),
        pytest.param("reporter", 1, [2, 5], id="a reporter"),
        pytest.param("manager", 2, [1, 2, 3, 4], id="open children keep a parent open"),
        pytest.param("manager", 11, [1, 2, 3, 4], id="and so does what blocks"),
    ],
)
async def test_the_statuses_that_come_next(redmine: Redmine, who: str, issue: int, statuses: list[int]) -> None:
    shown = (await redmine.told(who, f"/issues/{issue}.json?include=allowed_statuses"))["issue"]

    assert [each["id"] for each in shown["allowed_statuses"]] == statuses


async def test_relations_with_issues_that_are_not_seen_are_left_out(redmine: Redmine) -> None:
    body = {"relation": {"issue_to_id": 6}}
    assert (await redmine.answer("manager", "POST", "/issues/8/relations.json", body)).status_code == 201

    assert "relations" in (await redmine.told("manager", "/issues/6.json?include=relations"))["issue"]
    assert "relations" not in (await redmine.told("dev", "/issues/6.json?include=relations"))["issue"]
    assert await redmine.status("reporter", "GET", "/issues/6/relations.json") == 403
