"""Wiki pages and their versions: found by what people call them, saved, renamed, deleted."""

import re
from typing import Any, Final
from urllib.parse import quote

from dogubako_sandbox.redmine.attachments import attach, shown_attachments, uploaded
from dogubako_sandbox.redmine.request import DONE, Answer, ApiRequest, BrokenError, RefusedError, forbidden, not_found
from dogubako_sandbox.redmine.serializers import person, present, times
from dogubako_sandbox.redmine.store import Row, Store, ascii_lower, is_blank, now_text, shown_time, to_id, too_long

# Pages with these names are protected from the start.
_PROTECTED: Final = ("sidebar",)


def list_pages(req: ApiRequest) -> Any:
    wiki = _wiki(req, "view_wiki_pages")
    pages = sorted(req.store["wiki_pages"].where(wiki_id=wiki["id"]), key=lambda each: ascii_lower(each["title"]))
    return {"wiki_pages": [_shown(req, each, _content(req.store, each) or {}, in_list=True) for each in pages]}


def show_page(req: ApiRequest) -> Any:
    """Show a page by its title or, without one, the start page; an old version needs one more permission."""
    wiki = _wiki(req, "view_wiki_pages")
    title = req.path.get("title") or wiki["start_page"]
    page = _find_page(req.store, wiki, title)
    moved = None if page else _find_page(req.store, wiki, title, by_old_names=True)
    if moved:
        return _redirect(req, moved)
    version = req.path.get("version")
    req.check(not version or req.user.may("view_wiki_edits", req.project()))
    content = _content(req.store, page, version) if page else None
    if page is None or content is None:
        raise not_found()
    return {"wiki_page": _shown(req, page, content)}


def _redirect(req: ApiRequest, page: Row) -> Answer:
    """Redirect to a renamed page; the new address is for people: it has lost its `.json`."""
    location = f"{req.base_url}/projects/{req.project()['identifier']}/wiki/{quote(page['title'])}"
    html = f'<html><body>You are being <a href="{location}">redirected</a>.</body></html>'
    headers = {"location": location, "content-type": "text/html; charset=utf-8"}
    return Answer(status=302, content=html.encode(), headers=headers)


def _wiki(req: ApiRequest, permission: str) -> Row:
    # The router takes what is behind a dot for a format, and knows no page by such a title.
    if "." in req.path.get("title", ""):
        raise BrokenError(404)
    wiki = req.store["wikis"].first(project_id=req.project()["id"])
    if wiki is None:
        raise not_found()
    req.need(req.project(), permission)
    return wiki


def _titleized(title: str) -> str:
    """Return a title as it is kept: no blanks, none of `,./?;|:`, and a capital letter first."""
    joined = re.sub(r"\s+", "_", title).translate(str.maketrans("", "", ",./?;|:"))
    return joined[:1].upper() + joined[1:]


def _find_page(store: Store, wiki: Row, title: str, *, by_old_names: bool = False) -> Row | None:
    wanted = ascii_lower(_titleized(title))
    for page in store["wiki_pages"].where(wiki_id=wiki["id"]):
        if ascii_lower(page["title"]) == wanted:
            return page
    for moved in store["wiki_redirects"].where(wiki_id=wiki["id"]) if by_old_names else ():
        if ascii_lower(moved["title"]) == wanted:
            return store["wiki_pages"].first(wiki_id=wiki["id"], title=moved["redirects_to"])
    return None


def _content(store: Store, page: Row, version: object = None) -> Row | None:
    content = store["wiki_contents"].first(page_id=page["id"])
    if content is None or not version:
        return content
    old = store["wiki_content_versions"].first(wiki_content_id=content["id"], version=to_id(version))
    return {**old, "text": old["data"]} if old else None


def _shown(req: ApiRequest, page: Row, content: Row, *, in_list: bool = False) -> Row:
    parent = req.store["wiki_pages"].get(page.get("parent_id"))
    author = present(author=person(req.store, content.get("author_id")))
    shown = {
        "title": page["title"],
        **present(parent={"title": parent["title"]} if parent else None),
        **({} if in_list else {"text": content.get("text")}),
        "version": content.get("version"),
        **({} if in_list else {**author, "comments": content.get("comments")}),
        **times(page, "created_on"),
        "updated_on": shown_time(content.get("updated_on")),
    }
    return {**shown, **({} if in_list else shown_attachments(req, "WikiPage", page["id"]))}


def save_page(req: ApiRequest) -> Any:
    """Save a new page, or a new version of an old one if its text changes."""
    wiki, store = _wiki(req, "edit_wiki_pages"), req.store
    page = _find_page(store, wiki, req.path["title"], by_old_names=True)
    title = page["title"] if page else _titleized(req.path["title"])
    _check_protection(req, page or {"protected": title.lower() in _PROTECTED})
    body, is_new = req.body("wiki_page"), page is None
    wanted = _columns(req, wiki, page, title, body)
    _check_content(req, page, body)
    if page is None:
        page = store["wiki_pages"].add(wiki_id=wiki["id"], title=title, created_on=now_text(), **wanted)
    else:
        _rename(store, page, wanted.pop("title", page["title"]))
        page.update(wanted)
    content = _save_content(req, page, body)
    attach(uploaded(store, body.get("uploads"))[0], "WikiPage", page["id"])
    location = f"/projects/{req.project()['identifier']}/wiki/{quote(title)}"
    shown = {"wiki_page": _shown(req, page, content)}
    return Answer(status=201, body=shown, headers={"location": location}) if is_new else DONE


def _check_protection(req: ApiRequest, page: Row) -> None:
    if page.get("protected") and not req.user.may("protect_wiki_pages", req.project()):
        raise forbidden()


def _columns(req: ApiRequest, wiki: Row, page: Row | None, title: str, body: Row) -> Row:
    """Return the columns of the page to set. A wrong title or parent is refused without a sentence."""
    wanted: Row = {} if page else {"protected": title.lower() in _PROTECTED}
    if page and not req.user.may("rename_wiki_pages", req.project()):
        return wanted
    if page and not is_blank(body.get("title")):
        wanted["title"] = _titleized(str(body["title"]))
        if _find_page(req.store, wiki, wanted["title"]) not in (None, page):
            raise RefusedError(422, [])
    if "parent_title" in body:
        name = body["parent_title"]
        parent = None if is_blank(name) else _find_page(req.store, wiki, str(name), by_old_names=True)
        below = _with_descendants(req.store, page) if page else []
        if (parent is None and not is_blank(name)) or (parent and parent in below):
            raise RefusedError(422, [])
        wanted["parent_id"] = parent["id"] if parent else None
    return wanted


def _with_descendants(store: Store, page: Row) -> list[Row]:
    children = store["wiki_pages"].where(parent_id=page["id"])
    return [page, *(each for child in children for each in _with_descendants(store, child))]


def _check_content(req: ApiRequest, page: Row | None, body: Row) -> None:
    content = _content(req.store, page) if page else None
    text, version = body.get("text"), body.get("version")
    # A new page without a text gets no content at all, and is created all the same.
    if content is None and text is None:
        return
    sentences = ["Text field cannot be blank"] if is_blank(text) else []
    sentences += too_long("Comment", body.get("comments"), 1024)
    if sentences:
        raise RefusedError(422, sentences)
    is_stale = content is not None and version is not None and to_id(version) != content["version"]
    if content is not None and is_stale and text != content.get("text"):
        raise RefusedError(409)


def _save_content(req: ApiRequest, page: Row, body: Row) -> Row:
    """Save a new version if the text is another one; the comment belongs to the version and is lost without it."""
    content, text = _content(req.store, page), body.get("text")
    fresh = {"author_id": req.user.id, "comments": body.get("comments"), "version": 1}
    if text is None or (content is not None and text == content.get("text")):
        return content or fresh
    fresh |= {"text": str(text), "updated_on": now_text()}
    if content is None:
        content = req.store["wiki_contents"].add(page_id=page["id"], **fresh)
    else:
        content.update(fresh, version=content["version"] + 1)
    columns = {name: value for name, value in content.items() if name not in ("id", "text")}
    req.store["wiki_content_versions"].add(**columns, wiki_content_id=content["id"], data=content["text"])
    return content


def _rename(store: Store, page: Row, title: str) -> None:
    """Rename a page; the old title leads to the new one from now on."""
    wiki_id, old = page["wiki_id"], page["title"]
    if title == old:
        return
    for moved in store["wiki_redirects"].where(wiki_id=wiki_id, redirects_to=old):
        moved["redirects_to"] = title
    store["wiki_redirects"].remove_where(wiki_id=wiki_id, title=title)
    store["wiki_redirects"].add(wiki_id=wiki_id, title=old, redirects_to=title)
    page["title"] = title


def delete_page(req: ApiRequest) -> Any:
    """Delete a page. Pages below it stay, without a parent."""
    wiki = _wiki(req, "delete_wiki_pages")
    page = _find_page(req.store, wiki, req.path["title"], by_old_names=True)
    if page is None:
        raise not_found()
    _check_protection(req, page)
    remove_page(req.store, page)
    return DONE


def remove_page(store: Store, page: Row) -> None:
    number = page["id"]
    for child in store["wiki_pages"].where(parent_id=number):
        child["parent_id"] = None
    store["wiki_contents"].remove_where(page_id=number)
    store["wiki_content_versions"].remove_where(page_id=number)
    store["wiki_redirects"].remove_where(wiki_id=page["wiki_id"], redirects_to=page["title"])
    store.remove_parts("WikiPage", number)
    store["wiki_pages"].remove(page)
