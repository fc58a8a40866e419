"""Wiki pages and their versions."""

from typing import Any
from urllib.parse import quote

from dogubako.sandbox.redmine.asking import DONE, Answer, Ask, BrokenError, forbidden, not_found
from dogubako.sandbox.redmine.attaching import attach, attachments_of, shown_attachment, uploaded
from dogubako.sandbox.redmine.clock import now_text, shown_time
from dogubako.sandbox.redmine.filters import ascii_lower
from dogubako.sandbox.redmine.naming import person
from dogubako.sandbox.redmine.shapes import optional
from dogubako.sandbox.redmine.store import Row, to_id
from dogubako.sandbox.redmine.wiki_pages import (
    PROTECTED,
    descendants,
    find_page,
    remove_page,
    rename_page,
    titleized,
)
from dogubako.sandbox.redmine.wiki_saving import save_content, wanted_page


def list_pages(ask: Ask) -> Any:
    wiki = _wiki(ask, "view_wiki_pages")
    pages = sorted(ask.store["wiki_pages"].where(wiki_id=wiki["id"]), key=lambda each: ascii_lower(each["title"]))
    return {"wiki_pages": [_in_list(ask, each) for each in pages]}


def show_page(ask: Ask) -> Any:
    """By title or, without one, the start page; an old version needs one more permission."""
    wiki = _wiki(ask, "view_wiki_pages")
    title = ask.path.get("title") or wiki["start_page"]
    page = find_page(ask.store, wiki, title)
    moved = None if page else find_page(ask.store, wiki, title, by_old_names=True)
    if moved:
        return _redirect(ask, moved)
    version = ask.path.get("version") or ask.params.get("version")
    if version and not ask.who.may("view_wiki_edits", ask.project()):
        raise ask.denied()
    content = _content(ask, page, version) if page else None
    if page is None or content is None:
        raise not_found()
    return {"wiki_page": _shown(ask, page, content)}


def save_page(ask: Ask) -> Any:
    """A new page, or a new version of an old one if its text changes."""
    wiki = _wiki(ask, "edit_wiki_pages")
    page = find_page(ask.store, wiki, ask.path["title"], by_old_names=True)
    title = page["title"] if page else titleized(ask.path["title"])
    _check_protection(ask, page or {"protected": title.lower() in PROTECTED})
    body = ask.given("wiki_page")
    wanted = wanted_page(ask, wiki, page, title, body)
    is_new = page is None
    if page is None:
        page = ask.store["wiki_pages"].add(wiki_id=wiki["id"], title=title, created_on=now_text(), **wanted)
    else:
        rename_page(ask.store, page, wanted.pop("title", page["title"]))
        page.update(wanted)
    content = save_content(ask, page, body)
    found, _ = uploaded(ask.store, body.get("uploads"))
    attach(found, "WikiPage", page["id"])
    if not is_new:
        return DONE
    location = f"/projects/{ask.project()['identifier']}/wiki/{quote(title)}"
    return Answer(status=201, body={"wiki_page": _shown(ask, page, content)}, headers={"location": location})


def delete_page(ask: Ask) -> Any:
    """Pages below it stay, without a parent, unless `todo` says otherwise."""
    wiki = _wiki(ask, "delete_wiki_pages")
    page = find_page(ask.store, wiki, ask.path["title"], by_old_names=True)
    if page is None:
        raise not_found()
    _check_protection(ask, page)
    if ask.text("todo") == "destroy":
        for each in descendants(ask.store, page):
            remove_page(ask.store, each)
    elif ask.text("todo") == "reassign":
        new_parent = ask.store["wiki_pages"].get(ask.params.get("reassign_to_id"))
        for child in ask.store["wiki_pages"].where(parent_id=page["id"]):
            child["parent_id"] = new_parent["id"] if new_parent else None
    remove_page(ask.store, page)
    return DONE


def _wiki(ask: Ask, permission: str) -> Row:
    # The router takes what is behind a dot for a format, and knows no page by such a title.
    if "." in ask.path.get("title", ""):
        raise BrokenError(404)
    project = ask.project()
    wiki = ask.store["wikis"].first(project_id=project["id"])
    if wiki is None:
        raise not_found()
    ask.need(project, permission)
    return wiki


def _check_protection(ask: Ask, page: Row) -> None:
    if page.get("protected") and not ask.who.may("protect_wiki_pages", ask.project()):
        raise forbidden()


def _redirect(ask: Ask, page: Row) -> Answer:
    """The new address of a renamed page is that for people: it has lost its `.json`."""
    location = f"{ask.base_url}/projects/{ask.project()['identifier']}/wiki/{quote(page['title'])}"
    html = f'<html><body>You are being <a href="{location}">redirected</a>.</body></html>'
    headers = {"location": location, "content-type": "text/html; charset=utf-8"}
    return Answer(status=302, content=html.encode(), headers=headers)


def _content(ask: Ask, page: Row, version: object) -> Row | None:
    content = ask.store["wiki_contents"].first(page_id=page["id"])
    if content is None or not version:
        return content
    old = ask.store["wiki_content_versions"].first(wiki_content_id=content["id"], version=to_id(version))
    return {**old, "text": old["data"]} if old else None


def _in_list(ask: Ask, page: Row) -> dict[str, Any]:
    content = ask.store["wiki_contents"].first(page_id=page["id"]) or {}
    return {
        "title": page["title"],
        **_parent(ask, page),
        "version": content.get("version"),
        "created_on": shown_time(page["created_on"]),
        "updated_on": shown_time(content.get("updated_on")),
    }


def _shown(ask: Ask, page: Row, content: Row) -> dict[str, Any]:
    shown = {
        "title": page["title"],
        **_parent(ask, page),
        "text": content.get("text"),
        "version": content["version"],
        **optional("author", person(ask.store, content.get("author_id"))),
        "comments": content.get("comments"),
        "created_on": shown_time(page["created_on"]),
        "updated_on": shown_time(content.get("updated_on")),
    }
    if ask.includes("attachments"):
        files = attachments_of(ask.store, "WikiPage", page["id"])
        shown["attachments"] = [shown_attachment(ask, each) for each in files]
    return shown


def _parent(ask: Ask, page: Row) -> dict[str, Any]:
    parent = ask.store["wiki_pages"].get(page["parent_id"]) if page.get("parent_id") else None
    return {"parent": {"title": parent["title"]}} if parent else {}
