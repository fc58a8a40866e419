"""Wiki pages: versions, stale edits, parents."""

from typing import Any

import pytest

from dogubako.contract.errors import ConfirmationRequiredError, NotFoundError
from dogubako.packs.redmine.errors import NotDoneError, RedmineRefused
from tests.redmine_contract.facts import fact, proves
from tests.redmine_contract.place import Person, Place

WIKI = "/projects/webshop/wiki"
CHECKOUT = f"{WIKI}/Checkout.json"
SHOP = {"project_id": "webshop"}


async def page(person: Person, title: str = "Checkout") -> dict[str, Any]:
    found: dict[str, Any] = (await person.told(f"{WIKI}/{title}.json"))["wiki_page"]
    return found


async def test_a_page_is_made_with_parent_and_comment(dev: Person) -> None:
    shown = await dev.call(
        "save_wiki_page", **SHOP, title="New page", text="h1. Words\n\n* one", comments="Why", parent_title="Wiki"
    )

    made = await page(dev, "New_page")
    assert (made["version"], made["comments"], made["parent"]["title"]) == (1, "Why", "Wiki")
    assert made["text"].replace("\r\n", "\n") == "h1. Words\n\n* one"
    assert shown.findtext("title") == "New_page"


@pytest.mark.parametrize("version", [1, 2, 99])
@proves("stale-wiki")
async def test_a_stale_edit_is_refused_and_nothing_is_written(dev: Person, version: int) -> None:
    before = await page(dev)
    raw = await dev.ask("PUT", CHECKOUT, {"wiki_page": {"text": "Lost", "version": version}})

    error = await dev.refused("save_wiki_page", **SHOP, title="Checkout", text="Lost", version=version)

    assert raw == (409, "")
    assert isinstance(error, RedmineRefused)
    assert error.status_code == 409
    assert error.hint is not None
    assert "show_wiki_page" in error.hint
    assert await page(dev) == before


async def test_an_edit_of_the_newest_version_is_saved_and_the_old_one_stays(dev: Person) -> None:
    await dev.call("save_wiki_page", **SHOP, title="New page", text="Old")
    await dev.call("save_wiki_page", **SHOP, title="New page", text="Newer", version=1)
    old = await dev.call("show_wiki_page", **SHOP, title="New page", version=1)

    saved = await page(dev, "New_page")
    assert (saved["text"], saved["version"]) == ("Newer", 2)
    assert old.findtext("text") == "Old"


@proves("same-text")
async def test_the_same_text_makes_no_version_and_that_is_said(dev: Person) -> None:
    before = await page(dev)

    shown = await dev.call("save_wiki_page", **SHOP, title="Checkout", text=before["text"], comments="Nothing")

    assert await page(dev) == before
    assert "unchanged" in (shown.get("message") or "")


@proves("wiki-parent")
async def test_a_parent_that_one_may_not_set_is_ignored_and_told(dev: Person) -> None:
    error = await dev.refused(
        "save_wiki_page", **SHOP, title="Checkout", text="Newer", parent_title="Release checklist"
    )

    assert isinstance(error, NotDoneError)
    assert {one.field: one.reason for one in error.undone} == {
        "parent_title": "your role lacks the permission rename_wiki_pages"
    }
    saved = await page(dev)
    assert (saved["text"], saved["parent"]["title"]) == ("Newer", "Wiki")


@pytest.mark.parametrize("parent", [fact("wiki-no-parent", "Nope"), fact("wiki-no-parent", "Checkout")])
async def test_a_parent_that_cannot_be_is_refused(manager: Person, parent: str) -> None:
    body = {"wiki_page": {"text": "Lost", "parent_title": parent}}
    assert await manager.ask("PUT", CHECKOUT, body) == (422, {"errors": []})
    before = await page(manager)

    error = await manager.refused("save_wiki_page", **SHOP, title="Checkout", text="Lost", parent_title=parent)

    assert isinstance(error, RedmineRefused)
    assert "parent" in error.message
    assert await page(manager) == before


@proves("wiki-titles")
async def test_a_title_is_found_however_it_is_written(outsider: Person) -> None:
    titles = [
        (await page(outsider, title))["title"] for title in ("Release checklist", "release_checklist", "日本語ページ")
    ]

    assert titles == ["Release_checklist", "Release_checklist", "日本語ページ"]
    shown = await outsider.call("show_wiki_page", **SHOP, title="release checklist")
    assert shown.findtext("title") == "Release_checklist"


async def test_a_page_that_is_not_there_is_not_found(dev: Person) -> None:
    error = await dev.refused("show_wiki_page", **SHOP, title="Nope")

    assert isinstance(error, NotFoundError)
    assert error.message == "Wiki page 'Nope' not found"


@proves("protected-page")
async def test_the_sidebar_is_protected(dev: Person, manager: Person) -> None:
    error = await dev.refused("save_wiki_page", **SHOP, title="Sidebar", text="x")

    assert isinstance(error, RedmineRefused)
    assert error.status_code == 403
    await manager.call("save_wiki_page", **SHOP, title="Sidebar", text="x")


@proves("wiki-children-stay")
async def test_a_page_is_deleted_once_it_is_confirmed_and_its_children_stay(dev: Person) -> None:
    foretold = await dev.refused("delete_wiki_page", **SHOP, title="wiki")
    await dev.call("delete_wiki_page", **SHOP, title="wiki", confirm=True)

    assert isinstance(foretold, ConfirmationRequiredError)
    assert "'Wiki'" in foretold.message
    assert await dev.ask("GET", f"{WIKI}/Wiki.json") == (404, "")
    assert "parent" not in await page(dev)


@pytest.mark.parametrize("login", ["reporter", "outsider"])
async def test_who_may_not_write_a_page_neither_saves_nor_deletes_it(place: Place, dev: Person, login: str) -> None:
    before = await page(dev)
    somebody = await place.who(login)

    saving = await somebody.refused("save_wiki_page", **SHOP, title="Checkout", text="x")
    deleting = await somebody.refused("delete_wiki_page", **SHOP, title="Checkout", confirm=True)

    assert "edit_wiki_pages" in saving.message
    assert "delete_wiki_pages" in deleting.message
    assert await page(dev) == before


@proves("wiki-rename")
async def test_after_a_rename_the_old_title_leads_to_a_page_for_people(manager: Person) -> None:
    await manager.ask("PUT", CHECKOUT, {"wiki_page": {"title": "Paying", "text": "New"}})

    answer = await manager.answer("GET", CHECKOUT)
    error = await manager.refused("show_wiki_page", **SHOP, title="Checkout")

    assert (answer.status, answer.headers["location"].endswith("/projects/webshop/wiki/Paying")) == (302, True)
    assert (await page(manager, "Paying"))["title"] == "Paying"
    assert isinstance(error, NotFoundError)
    assert error.hint is not None
    assert "list_wiki_pages" in error.hint
