"""Projects by name and identifier, and what belongs to one: versions, categories, saved queries."""

from pathlib import Path
from typing import Any

import pytest

from .wired import Wire, bench


@pytest.mark.parametrize(
    ("named", "id_"),
    [
        pytest.param("webshop", 1, id="identifier"),
        pytest.param(" WEBSHOP ", 1, id="identifier in other letters"),
        pytest.param("Web Shop App", 2, id="name that begins like another"),
        pytest.param("bulk", 6, id="identifier unlike the name"),
        pytest.param("import", 6, id="name that could be an identifier"),
        pytest.param("Legacy", 4, id="closed project, which Redmine's own list leaves out"),
    ],
)
async def test_a_project_is_found_by_name_and_identifier(named: str, id_: int, tmp_path: Path) -> None:
    async with bench(tmp_path, "dev") as on:
        shown = await on.data("show_project", id=named)

    assert shown["project"]["id"] == id_


async def test_an_identifier_means_its_project_although_another_has_it_as_name(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        on.wire.store["projects"].at(6)["name"] = "webshop"
        shown = await on.data("show_project", id="webshop")

    assert shown["project"]["id"] == 1


async def test_the_name_of_an_invisible_project_is_refused_like_an_unknown_one(tmp_path: Path) -> None:
    async with bench(tmp_path, "dev") as on:
        invisible = await on.refusal("list_issues", project_id="Internal")
        absent = await on.refusal("list_issues", project_id="Nothing Like It")

    assert invisible == absent
    assert absent == (
        "Invalid value for parameter project_id: there is no such project, or you may not see it",
        "Known: Import, Legacy, Web Shop, Web Shop App. list_projects has the ids and identifiers.",
    )


async def test_what_cannot_be_an_identifier_is_not_asked_for(tmp_path: Path) -> None:
    async with bench(tmp_path, "dev") as on:
        await on.refusal("list_issues", project_id="Web Shopp")

    assert on.wire.asked() == ["GET /projects"]


async def test_an_archived_project_is_told_from_an_absent_one_to_administrators(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        message, hint = await on.refusal("show_project", id="attic")

    assert message == "Failed to show project: the project is archived"
    assert hint == "unarchive_project brings it back."


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        pytest.param("list_issues", {}, id="issues"),
        pytest.param("list_versions", {}, id="versions"),
        pytest.param("list_memberships", {}, id="memberships"),
        pytest.param("list_issue_categories", {}, id="categories"),
        pytest.param("list_wiki_pages", {}, id="wiki pages"),
        pytest.param("list_time_entries", {}, id="time entries"),
        pytest.param("list_news", {}, id="news"),
        pytest.param("list_files", {}, id="files"),
        pytest.param("search_redmine", {"q": "checkout"}, id="search"),
    ],
)
async def test_an_id_of_no_project_is_called_that(tool: str, arguments: dict[str, Any], tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        result = await on.call(tool, project_id=99, **arguments)

    assert result.code == "NOT_FOUND"
    assert result.content[0]["text"] == "Project '99' not found"


def _add_version(wire: Wire, name: str) -> int:
    like = {key: value for key, value in wire.store["versions"].at(1).items() if key != "id"}
    return int(wire.store["versions"].add(**{**like, "name": name})["id"])


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        pytest.param(3, "3", id="a number is an id"),
        pytest.param("#3", "3", id="a text with # is an id"),
        pytest.param("1.0", "1", id="a name"),
        pytest.param("30", "30", id="no version is called so: an id"),
        pytest.param("2030", "4", id="a version is called so"),
        pytest.param("1.0|2030", "1|4", id="among several"),
    ],
)
async def test_a_version_whose_name_is_a_number_can_be_named(given: int | str, sent: str, tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        _add_version(on.wire, "2030")
        await on.call("list_issues", project_id=1, fixed_version_id=given)

        assert on.wire.query("/issues")["fixed_version_id"] == sent


async def test_a_text_is_the_name_of_a_version_before_it_is_an_id_and_a_number_is_an_id(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        named = _add_version(on.wire, "2")
        await on.data("update_issue", id=6, fixed_version_id="2")
        by_name = on.wire.body("PUT")["issue"]["fixed_version_id"]
        await on.data("list_issues", project_id=1, fixed_version_id=2)

    assert by_name == named
    assert on.wire.query("/issues")["fixed_version_id"] == "2"


async def test_a_version_cannot_be_named_without_its_project(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        message, hint = await on.refusal("list_issues", fixed_version_id="1.0")

    assert message == "Invalid value for parameter fixed_version_id: without a project a version cannot be named"
    assert hint == "Give project_id too, or the version's id."
    assert on.wire.asked() == []


async def test_a_version_that_another_project_shares_can_be_named(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await on.data("list_issues", project_id="webshop-app", fixed_version_id="1.0")

    assert on.wire.query("/issues")["fixed_version_id"] == "1"


@pytest.mark.parametrize("named", ["Unassigned", 9])
async def test_a_query_of_a_project_needs_its_project(named: int | str, tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        message, hint = await on.refusal("list_issues", query_id=named)
        elsewhere = await on.refusal("list_issues", query_id=named, project_id="internal")
        await on.data("list_issues", query_id=named, project_id="webshop", limit=1)

    assert message == "Invalid value for parameter query_id: this query belongs to a project"
    assert hint == "Give project_id: 1 with it."
    assert elsewhere == (message, hint)
    assert on.wire.query("/issues")["query_id"] == "9"


async def test_a_query_of_somebody_else_is_refused_like_an_unknown_one(tmp_path: Path) -> None:
    async with bench(tmp_path, "kim1") as on:
        invisible = await on.refusal("list_issues", query_id="Due soon")
        by_id = await on.refusal("list_issues", query_id=11)
        absent = await on.refusal("list_issues", query_id="Nothing like it")

    assert invisible == by_id == absent
    assert "there is no such query, or you may not see it" in absent[0]
