"""The search and the look-ups of the sandbox's Redmine."""

import pytest

from tests.sandbox.redmine.redmine_client import Redmine


async def _found(redmine: Redmine, who: str, query: str, place: str = "") -> list[tuple[str, int]]:
    body = await redmine.told(who, f"{place}/search.json?{query}")
    return [(each["type"], each["id"]) for each in body["results"]]


async def test_results_of_all_kinds_come_newest_first_with_what_they_are(redmine: Redmine) -> None:
    body = await redmine.told("dev", "/search.json?q=release+checklist")

    assert body["results"][0] == {
        "id": 4,
        "title": "Wiki: Release_checklist",
        "type": "wiki-page",
        "url": "http://redmine.sandbox/projects/webshop/wiki/Release_checklist",
        "description": "Tests, changelog, tag.",
        "datetime": "2026-09-01T12:00:00Z",
    }


async def test_one_chinese_character_is_a_word(redmine: Redmine) -> None:
    assert ("wiki-page", 3) in await _found(redmine, "dev", "q=%E6%97%A5")


async def test_nobody_finds_what_they_may_not_see(redmine: Redmine) -> None:
    assert ("project", 3) in await _found(redmine, "admin", "q=internal&projects=1")
    assert await _found(redmine, "dev", "q=internal&projects=1") == []
    assert await redmine.status("dev", "GET", "/projects/internal/search.json?q=internal") == 403
    assert await redmine.status("admin", "GET", "/projects/attic/search.json?q=attic") == 403


async def test_the_scope_says_where_to_look(redmine: Redmine) -> None:
    projects = "q=shop&projects=1"

    assert await _found(redmine, "dev", projects, "/projects/webshop") != await _found(redmine, "dev", projects)
    assert await _found(redmine, "dev", f"{projects}&scope=subprojects", "/projects/webshop") == [
        ("project", 2),
        ("project", 1),
    ]
    assert await _found(redmine, "outsider", f"{projects}&scope=my_projects") == []


@pytest.mark.parametrize(
    ("path", "name", "names"),
    [
        pytest.param(
            "/issue_statuses.json",
            "issue_statuses",
            ["New", "In Progress", "Resolved", "Feedback", "Closed", "Rejected"],
            id="statuses",
        ),
        pytest.param("/trackers.json", "trackers", ["Bug", "Feature", "Support"], id="trackers"),
        pytest.param(
            "/enumerations/issue_priorities.json",
            "issue_priorities",
            ["Low", "Normal", "High", "Urgent", "Immediate"],
            id="priorities",
        ),
        pytest.param(
            "/enumerations/time_entry_activities.json",
            "time_entry_activities",
            ["Design", "Development"],
            id="activities",
        ),
        pytest.param("/roles.json", "roles", ["Manager", "Developer", "Reporter"], id="roles that can be given"),
    ],
)
async def test_look_ups_are_for_everybody(redmine: Redmine, path: str, name: str, names: list[str]) -> None:
    body = await redmine.told("nobody", path)

    assert [each["name"] for each in body[name]] == names


async def test_a_role_tells_its_permissions_even_one_that_is_not_listed(redmine: Redmine) -> None:
    role = (await redmine.told("nobody", "/roles/2.json"))["role"]

    assert role["name"] == "Anonymous"
    assert "view_issues" in role["permissions"]
    assert "add_issues" not in role["permissions"]


async def test_private_queries_are_listed_for_their_owner_only(redmine: Redmine) -> None:
    own = await redmine.told("dev", "/queries.json")
    others = await redmine.told("outsider", "/queries.json")

    assert "Due soon" in [each["name"] for each in own["queries"]]
    assert "Due soon" not in [each["name"] for each in others["queries"]]
    assert own["total_count"] == others["total_count"] + 1


async def test_custom_fields_are_told_to_administrators_only(redmine: Redmine) -> None:
    fields = (await redmine.told("admin", "/custom_fields.json"))["custom_fields"]

    severity = next(each for each in fields if each["name"] == "Severity")
    assert severity["possible_values"][0] == {"value": "1", "label": "Critical"}
    assert next(each for each in fields if each["name"] == "Contract value")["roles"] == [{"id": 3, "name": "Manager"}]
    assert await redmine.status("manager", "GET", "/custom_fields.json") == 403
    assert await redmine.status("nobody", "GET", "/custom_fields.json") == 401
