"""Wiki pages of the sandbox's Redmine."""

import pytest

from tests.sandbox.redmine.redmine_client import Redmine

WIKI = "/projects/webshop/wiki"


async def test_pages_are_listed_by_title_without_their_text(redmine: Redmine) -> None:
    listed = (await redmine.told("nobody", f"{WIKI}/index.json"))["wiki_pages"]

    assert [each["title"] for each in listed] == ["Checkout", "Release_checklist", "Wiki", "日本語ページ"]
    assert list(listed[0]) == ["title", "parent", "version", "created_on", "updated_on"]


@pytest.mark.parametrize(
    "title",
    [
        pytest.param("Release_checklist", id="as it is kept"),
        pytest.param("release%20checklist", id="as people write it"),
    ],
)
async def test_a_page_is_found_by_what_people_call_it(redmine: Redmine, title: str) -> None:
    assert (await redmine.told("reporter", f"{WIKI}/{title}.json"))["wiki_page"]["title"] == "Release_checklist"


async def test_a_new_page_is_answered_with_itself_and_an_old_one_with_nothing(redmine: Redmine) -> None:
    body = {"wiki_page": {"text": "One", "comments": "first", "parent_title": "Wiki"}}
    made = await redmine.answer("dev", "PUT", f"{WIKI}/my notes.json", body)

    assert made.status_code == 201
    assert made.headers["location"] == f"{WIKI}/My_notes"
    assert made.json()["wiki_page"]["parent"] == {"title": "Wiki"}
    assert await redmine.status("dev", "PUT", f"{WIKI}/My_notes.json", {"wiki_page": {"text": "Two"}}) == 204
    assert (await redmine.told("dev", f"{WIKI}/My_notes.json"))["wiki_page"]["version"] == 2
    assert (await redmine.told("dev", f"{WIKI}/My_notes/1.json"))["wiki_page"]["text"] == "One"


async def test_the_same_text_makes_no_version_and_its_comment_is_lost(redmine: Redmine) -> None:
    await redmine.ask("dev", "PUT", f"{WIKI}/Same.json", {"wiki_page": {"text": "One", "comments": "first"}})
    again = {"wiki_page": {"text": "One", "comments": "second"}}

    assert await redmine.status("dev", "PUT", f"{WIKI}/Same.json", again) == 204

    page = (await redmine.told("dev", f"{WIKI}/Same.json"))["wiki_page"]
    assert (page["version"], page["comments"]) == (1, "first")


@pytest.mark.parametrize(
    ("version", "status"),
    [
        pytest.param(1, 409, id="older"),
        pytest.param(99, 409, id="newer"),
        pytest.param(3, 204, id="the current one"),
        pytest.param(None, 204, id="none"),
    ],
)
async def test_a_version_that_is_not_the_current_one_is_a_conflict(
    redmine: Redmine, version: int | None, status: int
) -> None:
    body = {"wiki_page": {"text": "Changed", "version": version}}

    assert await redmine.status("dev", "PUT", f"{WIKI}/Checkout.json", body) == status


async def test_a_page_needs_a_text_unless_it_is_new_and_nothing_is_said(redmine: Redmine) -> None:
    blank = {"wiki_page": {"text": ""}}

    assert await redmine.errors("dev", "PUT", f"{WIKI}/Wiki.json", blank) == ["Text field cannot be blank"]
    status, made = await redmine.ask("dev", "PUT", f"{WIKI}/Nothing.json", {})
    assert (status, made["wiki_page"]["text"]) == (201, None)
    assert await redmine.status("dev", "GET", f"{WIKI}/Nothing.json") == 404


async def test_an_unknown_parent_is_refused_without_a_reason(redmine: Redmine) -> None:
    body = {"wiki_page": {"text": "x", "parent_title": "Nowhere"}}

    assert await redmine.errors("dev", "PUT", f"{WIKI}/Lost.json", body) == []


async def test_a_renamed_page_leads_those_who_ask_for_json_to_a_page_for_people(redmine: Redmine) -> None:
    body = {"wiki_page": {"text": "x", "title": "Payment"}}
    assert await redmine.status("manager", "PUT", f"{WIKI}/Checkout.json", body) == 204

    moved = await redmine.answer("dev", "GET", f"{WIKI}/Checkout.json")

    assert moved.status_code == 302
    assert moved.headers["location"] == f"http://redmine.sandbox{WIKI}/Payment"


async def test_pages_below_a_deleted_one_stay(redmine: Redmine) -> None:
    assert await redmine.status("dev", "DELETE", f"{WIKI}/Wiki.json") == 204

    assert "parent" not in (await redmine.told("dev", f"{WIKI}/Checkout.json"))["wiki_page"]


@pytest.mark.parametrize(
    ("who", "status"),
    [
        pytest.param("reporter", 403, id="reporter"),
        pytest.param("outsider", 403, id="outsider"),
        pytest.param("nobody", 401, id="stranger"),
        pytest.param("locked", 401, id="locked"),
    ],
)
async def test_others_only_read(redmine: Redmine, who: str, status: int) -> None:
    assert await redmine.status(who, "PUT", f"{WIKI}/Wiki.json", {"wiki_page": {"text": "x"}}) == status
    assert await redmine.status(who, "DELETE", f"{WIKI}/Nowhere.json") == status


async def test_a_closed_project_keeps_its_pages_as_they_are(redmine: Redmine) -> None:
    assert await redmine.status("admin", "PUT", "/projects/legacy/wiki/X.json", {"wiki_page": {"text": "x"}}) == 403
