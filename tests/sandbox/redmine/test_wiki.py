"""Wiki pages of the sandbox's Redmine."""

import pytest

from tests.sandbox.redmine.redmine_client import Redmine

WIKI = "/projects/webshop/wiki"


async def test_pages_are_listed_by_title_without_their_text(redmine: Redmine) -> None:
    listed = (await redmine.told("nobody", f"{WIKI}/index.json"))["wiki_pages"]

    assert [each["title"] for each in listed] == ["Checkout", "Release_checklist", "Wiki", "日本語ページ"]
    assert list(listed[0]) == ["title", "parent", "version", "created_on", "updated_on"]


async def test_a_new_page_is_answered_with_itself_and_an_old_one_with_nothing(redmine: Redmine) -> None:
    body = {"wiki_page": {"text": "One", "comments": "first", "parent_title": "Wiki"}}
    made = await redmine.answer("dev", "PUT", f"{WIKI}/my notes.json", body)

    assert made.status_code == 201
    assert made.headers["location"] == f"{WIKI}/My_notes"
    assert made.json()["wiki_page"]["parent"] == {"title": "Wiki"}
    assert await redmine.status("dev", "PUT", f"{WIKI}/My_notes.json", {"wiki_page": {"text": "Two"}}) == 204
    assert (await redmine.told("dev", f"{WIKI}/My_notes.json"))["wiki_page"]["version"] == 2
    assert (await redmine.told("dev", f"{WIKI}/My_notes/1.json"))["wiki_page"]["text"] == "One"


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
