"""The tree of wiki pages: how a page is found by what people call it, renamed and removed."""

import re
from typing import Final

from dogubako.sandbox.redmine.filters import ascii_lower
from dogubako.sandbox.redmine.store import Row, Store

# Pages with these names are protected from the start.
PROTECTED: Final = ("sidebar",)


def titleized(title: str) -> str:
    """A title as it is kept: no blanks, none of `,./?;|:`, and a capital letter first."""
    joined = re.sub(r"\s+", "_", title).translate(str.maketrans("", "", ",./?;|:"))
    return joined[:1].upper() + joined[1:]


def find_page(store: Store, wiki: Row, title: str, *, by_old_names: bool = False) -> Row | None:
    wanted = ascii_lower(titleized(title))
    for page in store["wiki_pages"].where(wiki_id=wiki["id"]):
        if ascii_lower(page["title"]) == wanted:
            return page
    for moved in store["wiki_redirects"].where(wiki_id=wiki["id"]) if by_old_names else ():
        if ascii_lower(moved["title"]) == wanted:
            return store["wiki_pages"].first(wiki_id=wiki["id"], title=moved["redirects_to"])
    return None


def descendants(store: Store, page: Row) -> list[Row]:
    children = store["wiki_pages"].where(parent_id=page["id"])
    return [*children, *(each for child in children for each in descendants(store, child))]


def rename_page(store: Store, page: Row, title: str) -> None:
    """The old title leads to the new one from now on."""
    old = page["title"]
    if title == old:
        return
    wiki_id = page["wiki_id"]
    for moved in store["wiki_redirects"].where(wiki_id=wiki_id, redirects_to=old):
        moved["redirects_to"] = title
    store["wiki_redirects"].remove_where(wiki_id=wiki_id, title=title)
    store["wiki_redirects"].add(wiki_id=wiki_id, title=old, redirects_to=title, redirects_to_wiki_id=wiki_id)
    page["title"] = title


def remove_page(store: Store, page: Row) -> None:
    number = page["id"]
    for child in store["wiki_pages"].where(parent_id=number):
        child["parent_id"] = None
    store["wiki_contents"].remove_where(page_id=number)
    store["wiki_content_versions"].remove_where(page_id=number)
    store["wiki_redirects"].remove_where(wiki_id=page["wiki_id"], redirects_to=page["title"])
    store["attachments"].remove_where(container_type="WikiPage", container_id=number)
    store["watchers"].remove_where(watchable_type="WikiPage", watchable_id=number)
    store["wiki_pages"].remove(page)
