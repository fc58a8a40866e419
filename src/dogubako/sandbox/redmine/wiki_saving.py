"""What saving a wiki page changes, and why it may be refused."""

from typing import Any

from dogubako.sandbox.redmine.asking import Ask, RefusedError, unprocessable
from dogubako.sandbox.redmine.clock import now_text
from dogubako.sandbox.redmine.shapes import is_blank, too_long
from dogubako.sandbox.redmine.store import Row, to_id
from dogubako.sandbox.redmine.wiki_pages import PROTECTED, descendants, find_page, titleized


def wanted_page(ask: Ask, wiki: Row, page: Row | None, title: str, body: Row) -> Row:
    """The columns of the page to set, after all checks of the whole request."""
    wanted: Row = {} if page else {"protected": title.lower() in PROTECTED}
    if page is None or ask.who.may("rename_wiki_pages", ask.project()):
        wanted |= _placed(ask, wiki, page, body)
    _check_content(ask, page, body)
    return wanted


def _placed(ask: Ask, wiki: Row, page: Row | None, body: Row) -> Row:
    """Title and parent. What is wrong about them is refused without a sentence: only the text's troubles are told."""
    wanted: Row = {}
    if page and not is_blank(body.get("title")):
        wanted["title"] = titleized(str(body["title"]))
        other = find_page(ask.store, wiki, wanted["title"])
        if other is not None and other is not page:
            raise unprocessable()
    if "parent_title" in body:
        name = body["parent_title"]
        parent = None if is_blank(name) else find_page(ask.store, wiki, str(name), by_old_names=True)
        below = [page, *descendants(ask.store, page)] if page else []
        if (parent is None and not is_blank(name)) or any(parent is each for each in below if parent):
            raise unprocessable()
        wanted["parent_id"] = parent["id"] if parent else None
    return wanted


def _check_content(ask: Ask, page: Row | None, body: Row) -> None:
    content = ask.store["wiki_contents"].first(page_id=page["id"]) if page else None
    text = body.get("text")
    # A new page without a word about its text gets no content at all, and is made all the same.
    if content is None and text is None:
        return
    sentences = ["Text field cannot be blank"] if is_blank(text) else []
    sentences += too_long("Comment", body.get("comments"), 1024)
    if sentences:
        raise unprocessable(*sentences)
    version = body.get("version")
    stale = content is not None and version is not None and to_id(version) != content["version"]
    if content is not None and stale and text != content.get("text"):
        raise RefusedError(409)


def save_content(ask: Ask, page: Row, body: Row) -> Row:
    """A new version if the text is another one; the comment belongs to the version and is lost without it."""
    store = ask.store
    content = store["wiki_contents"].first(page_id=page["id"])
    text = body.get("text")
    if text is None or (content is not None and text == content.get("text")):
        return content or _unsaved(ask, body)
    fresh = {**_unsaved(ask, body), "text": str(text), "updated_on": now_text()}
    if content is None:
        content = store["wiki_contents"].add(page_id=page["id"], **fresh)
    else:
        content.update(fresh, version=content["version"] + 1)
    columns = {name: value for name, value in content.items() if name not in ("id", "text")}
    store["wiki_content_versions"].add(**columns, wiki_content_id=content["id"], data=content["text"])
    return content


def _unsaved(ask: Ask, body: Row) -> dict[str, Any]:
    return {"author_id": ask.who.id, "comments": body.get("comments"), "version": 1}
