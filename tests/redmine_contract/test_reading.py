"""What can be read of every Redmine, whatever is in it, as anybody."""

import pytest

from dogubako.contract.errors import NotFoundError, ReadOnlyError, ValidationError
from tests.redmine_contract.facts import proves
from tests.redmine_contract.place import Person

pytestmark = pytest.mark.reading


async def first_project(person: Person) -> str:
    rows = (await person.told("/projects.json", limit=1))["projects"]
    assert rows, "this user sees no project at all"
    return str(rows[0]["identifier"])


async def test_the_key_is_somebodys(reader: Person) -> None:
    shown = await reader.call("show_current_user")

    me = (await reader.told("/users/current.json"))["user"]
    assert (shown.get("id"), shown.findtext("login")) == (str(me["id"]), me["login"])
    assert "api_key" in me


async def test_issues_are_listed_as_redmine_lists_them(reader: Person) -> None:
    raw = await reader.told("/issues.json", limit=3)
    shown = await reader.call("list_issues", limit=3)

    assert shown.get("total_count") == str(raw["total_count"])
    assert [one.get("id") for one in shown] == [str(row["id"]) for row in raw["issues"]]


async def test_an_issue_is_shown_with_its_own_words(reader: Person) -> None:
    rows = (await reader.told("/issues.json", status_id="*", limit=1))["issues"]
    assert rows, "this user sees no issue at all"
    shown = await reader.call("show_issue", id=rows[0]["id"])

    assert shown.get("id") == str(rows[0]["id"])
    assert shown.findtext("status") == rows[0]["status"]["name"]
    status = shown.find("status")
    assert status is not None
    assert status.get("id") == str(rows[0]["status"]["id"])


async def test_relations_of_an_issue_are_listed(reader: Person) -> None:
    issue = (await reader.told("/issues.json", status_id="*", limit=1))["issues"][0]["id"]
    shown = await reader.call("list_issue_relations", issue_id=issue)

    raw = (await reader.issue(issue, "relations")).get("relations", [])
    assert [one.get("id") for one in shown] == [str(row["id"]) for row in raw]


async def test_projects_are_listed_and_shown(reader: Person) -> None:
    identifier = await first_project(reader)
    listed = await reader.call("list_projects", limit=100)
    shown = await reader.call("show_project", id=identifier)

    assert shown.findtext("identifier") == identifier
    assert identifier in {one.findtext("identifier") for one in listed}


async def test_small_lists_are_whole(reader: Person) -> None:
    for shown, path, key in (
        (await reader.call("list_issue_statuses"), "/issue_statuses.json", "issue_statuses"),
        (await reader.call("list_trackers"), "/trackers.json", "trackers"),
        (await reader.call("list_priorities"), "/enumerations/issue_priorities.json", "issue_priorities"),
        (await reader.call("list_roles"), "/roles.json", "roles"),
        (
            await reader.call("list_time_entry_activities"),
            "/enumerations/time_entry_activities.json",
            "time_entry_activities",
        ),
    ):
        rows = (await reader.told(path))[key]
        assert [one.get("id") for one in shown] == [str(row["id"]) for row in rows]


async def test_queries_are_listed(reader: Person) -> None:
    rows = (await reader.told("/queries.json", limit=100))["queries"]
    shown = await reader.call("list_queries")

    assert [one.get("id") for one in shown][: len(rows)] == [str(row["id"]) for row in rows]


async def test_custom_fields_are_told_to_everybody_who_sees_an_issue(reader: Person) -> None:
    issue = (await reader.told("/issues.json", status_id="*", sort="updated_on:desc", limit=1))["issues"][0]
    shown = await reader.call("list_custom_fields")

    ids = {one.get("id") for one in shown}
    assert {str(field["id"]) for field in issue.get("custom_fields", ())} <= ids


async def test_news_and_time_are_listed(reader: Person) -> None:
    news, raw_news = await reader.call("list_news"), await reader.told("/news.json")
    assert [one.get("id") for one in news] == [str(row["id"]) for row in raw_news["news"]]

    entries = await reader.call("list_time_entries", limit=5)
    raw = await reader.told("/time_entries.json", limit=5)
    assert [one.get("id") for one in entries] == [str(row["id"]) for row in raw["time_entries"]]
    for row in raw["time_entries"][:1]:
        shown = await reader.call("show_time_entry", id=row["id"])
        assert shown.get("id") == str(row["id"])


async def test_members_and_versions_of_a_project_are_listed(reader: Person) -> None:
    identifier = await first_project(reader)
    members = await reader.call("list_memberships", project_id=identifier)
    versions = await reader.call("list_versions", project_id=identifier)

    raw = await reader.told(f"/projects/{identifier}/versions.json")
    assert members.get("total_count") == str(
        (await reader.told(f"/projects/{identifier}/memberships.json"))["total_count"]
    )
    assert [one.get("id") for one in versions] == [str(row["id"]) for row in raw["versions"]]
    for row in raw["versions"][:1]:
        assert (await reader.call("show_version", id=row["id"])).findtext("name") == row["name"]


async def test_pages_and_files_of_a_project_are_listed_where_it_has_them(reader: Person) -> None:
    for row in (await reader.told("/projects.json", limit=100, include="enabled_modules"))["projects"]:
        modules = {module["name"] for module in row.get("enabled_modules", ())}
        identifier = row["identifier"]
        if {"wiki", "files"} <= modules and (await reader.ask("GET", f"/projects/{identifier}/wiki/index.json"))[
            0
        ] == 200:
            pages = await reader.call("list_wiki_pages", project_id=identifier)
            files = await reader.call("list_files", project_id=identifier)
            raw = (await reader.told(f"/projects/{identifier}/wiki/index.json"))["wiki_pages"]
            assert [one.findtext("title") for one in pages] == [page["title"] for page in raw]
            assert len(files) == len((await reader.told(f"/projects/{identifier}/files.json"))["files"])


@proves("missing-record")
async def test_what_is_missing_is_told_as_missing(reader: Person) -> None:
    for tool, label in (("show_issue", "Issue"), ("show_version", "Version"), ("show_attachment", "Attachment")):
        error = await reader.refused(tool, id=999_999_999)
        assert isinstance(error, NotFoundError)
        assert error.message == f"{label} '999999999' not found"
        assert error.hint


@proves("unknown-filter", "unknown-sort", "unknown-include")
async def test_what_redmine_would_ignore_is_refused_everywhere(reader: Person) -> None:
    for arguments in ({"nope": 1}, {"sort": "nope"}, {"include": ["nope"]}, {"status_id": "No such status"}):
        assert isinstance(await reader.refused("list_issues", **arguments), ValidationError)


async def test_a_server_that_somebody_else_gave_us_cannot_be_changed_by_our_tools(reader: Person) -> None:
    error = await reader.refused("create_user")

    assert type(error) is (ReadOnlyError if reader.place.side == "given" else ValidationError)
