"""Projects of the sandbox's Redmine."""

from typing import Any

import pytest

from tests.sandbox.redmine.redmine_client import Redmine

ALL_INCLUDES = "trackers,issue_categories,time_entry_activities,enabled_modules,issue_custom_fields"


async def test_a_list_shows_active_projects_that_the_visitor_sees_in_the_order_of_the_tree(redmine: Redmine) -> None:
    everything = await redmine.told("admin", "/projects.json")
    public = await redmine.told("nobody", "/projects.json")

    assert [each["identifier"] for each in everything["projects"]] == ["bulk", "internal", "webshop", "webshop-app"]
    assert [each["identifier"] for each in public["projects"]] == ["bulk", "webshop", "webshop-app"]
    assert everything["projects"][3]["parent"] == {"id": 1, "name": "Web Shop"}
    assert (public["total_count"], public["offset"], public["limit"]) == (3, 0, 25)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("status=5", ["legacy"], id="closed ones on request"),
        pytest.param("status=9", [], id="archived ones never"),
        pytest.param("name=~app", ["webshop-app"], id="part of a name"),
        pytest.param("name=App", [], id="an exact name has no match in a part"),
        pytest.param("parent_id=1", ["webshop-app"], id="children"),
        pytest.param("is_public=0", ["internal"], id="private ones"),
        pytest.param("sort=name:desc&limit=1", ["webshop-app"], id="sorted"),
        pytest.param(
            "created_on=abc&name=~app", ["bulk", "internal", "legacy", "webshop", "webshop-app"], id="a bad date"
        ),
    ],
)
async def test_lists_are_filtered_unless_one_filter_is_not_understood(
    redmine: Redmine, query: str, expected: list[str]
) -> None:
    listed = await redmine.told("admin", f"/projects.json?{query}")

    assert [each["identifier"] for each in listed["projects"]] == expected


async def test_a_project_is_found_by_number_and_by_identifier_with_all_that_can_be_included(redmine: Redmine) -> None:
    by_number = await redmine.told("reporter", f"/projects/1.json?include={ALL_INCLUDES},unknown")
    by_name = await redmine.told("reporter", f"/projects/webshop.json?include={ALL_INCLUDES}")

    shown = by_name["project"]
    assert by_number == by_name
    assert list(shown)[-2:] == ["created_on", "updated_on"]
    assert [each["name"] for each in shown["issue_categories"]] == ["Checkout", "Search"]
    assert [each["name"] for each in shown["time_entry_activities"]] == ["Design", "Development"]
    assert shown["issue_custom_fields"] == [{"id": 16, "name": "Ref"}]
    assert len(shown["enabled_modules"]) == 10


@pytest.mark.parametrize(
    ("body", "sentences"),
    [
        pytest.param({}, ["Name cannot be blank", "Identifier cannot be blank"], id="nothing"),
        pytest.param({"name": "x", "identifier": "webshop"}, ["Identifier has already been taken"], id="taken"),
        pytest.param({"name": "x", "identifier": "12"}, ["Identifier is invalid"], id="only digits"),
        pytest.param({"name": "x", "identifier": "new"}, ["Identifier is reserved"], id="reserved"),
        pytest.param(
            {"name": "x", "identifier": "y", "parent_id": 4}, ["Subproject of is invalid"], id="closed parent"
        ),
    ],
)
async def test_a_wrong_project_is_refused_with_sentences(
    redmine: Redmine, body: dict[str, Any], sentences: list[str]
) -> None:
    assert await redmine.errors("admin", "POST", "/projects.json", {"project": body}) == sentences


async def test_whoever_makes_a_project_without_being_an_administrator_manages_it(redmine: Redmine) -> None:
    body = {"project": {"name": "Blog", "identifier": "blog", "parent_id": 1}}

    response = await redmine.answer("manager", "POST", "/projects.json", body)
    refused = await redmine.status("dev", "POST", "/projects.json", {"project": {"name": "x", "identifier": "y"}})

    members = await redmine.told("manager", "/projects/blog/memberships.json")
    assert response.status_code == 201
    assert response.headers["location"] == f"http://redmine.sandbox/projects/{response.json()['project']['id']}"
    assert members["memberships"][0]["user"]["name"] == "Mari Sato"
    assert members["memberships"][0]["roles"] == [{"id": 3, "name": "Manager"}]
    assert refused == 403


async def test_closing_takes_the_subprojects_along_and_leaves_everything_readable(redmine: Redmine) -> None:
    assert await redmine.status("manager", "PUT", "/projects/webshop/close.json") == 204

    assert (await redmine.told("dev", "/projects/webshop-app.json"))["project"]["status"] == 5
    assert await redmine.status("admin", "PUT", "/projects/webshop.json", {"project": {"name": "x"}}) == 403
    assert await redmine.status("manager", "PUT", "/projects/webshop/reopen.json") == 204
    assert (await redmine.told("dev", "/projects/webshop-app.json"))["project"]["status"] == 1


async def test_only_administrators_archive_and_what_is_archived_is_out_of_reach(redmine: Redmine) -> None:
    assert await redmine.status("manager", "PUT", "/projects/webshop/archive.json") == 403
    assert await redmine.status("admin", "PUT", "/projects/webshop/archive.json") == 204

    assert await redmine.status("admin", "GET", "/projects/webshop-app.json") == 403
    assert await redmine.status("admin", "PUT", "/projects/webshop/close.json") == 403
    # Bringing back a subproject brings back what is above it.
    assert await redmine.status("admin", "PUT", "/projects/webshop-app/unarchive.json") == 204
    assert (await redmine.told("admin", "/projects/webshop.json"))["project"]["status"] == 1


async def test_a_deleted_project_takes_everything_in_it_along(redmine: Redmine) -> None:
    assert await redmine.status("manager", "DELETE", "/projects/webshop.json") == 403
    assert await redmine.status("admin", "DELETE", "/projects/webshop.json") == 204

    assert await redmine.status("admin", "GET", "/projects/webshop-app.json") == 404
    assert await redmine.status("admin", "GET", "/versions/1.json") == 404
    assert (await redmine.told("admin", "/time_entries.json"))["total_count"] == 0
    assert (await redmine.told("admin", "/search.json?q=checkout"))["total_count"] == 0
