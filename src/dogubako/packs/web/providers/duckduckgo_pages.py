"""Parse DuckDuckGo's result pages, HTML and Lite: results, no results, or a challenge.

"No results" is said only for a page that has an empty marker and no result. A challenge is `Blocked`. A page that is
none of these is an `HtmlParseError`: better no answer than a wrong one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlsplit

import msgspec

from dogubako.contract.errors import Blocked, HtmlParseError
from dogubako.packs.web.models import Hit
from dogubako.packs.web.pages.parts import require_flat

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

# Elements of the challenge. Its text is useless, because it repeats the query.
_CHALLENGE: Final = "form#challenge-form, form#img-form, div.anomaly-modal__modal, div[class^='anomaly-modal__']"
_EMPTY: Final = "div.result--no-result, div.no-results, .no-results__message, div.result--more__no-results"
_OWN_HOSTS: Final = ("duckduckgo.com", "www.duckduckgo.com", "html.duckduckgo.com", "lite.duckduckgo.com")
_REDIRECTS: Final = ("/y.js", "/l/", "/l")
_MOST_HITS: Final = 100
# Real pages hold a few dozen. Walking ten thousand nested elements would take minutes.
_MOST_ELEMENTS: Final = 300
_LONG_NUMBER: Final = 9


class ResultPage(msgspec.Struct, frozen=True, kw_only=True, tag="results"):
    """The results of a page, and the form for the next one."""

    hits: tuple[Hit, ...]
    next_form: Mapping[str, str] | None = None


def read_html_page(body: str) -> ResultPage:
    """A page of html.duckduckgo.com."""
    require_flat(body)
    tree = _parsed(body)
    empty = tree.css_first(_EMPTY) is not None
    hits = tuple(islice((hit for hit in _html_hits(tree) if not (empty and _is_end_mark(hit))), _MOST_HITS))
    if not hits:
        # The marker also follows real results: if there are unreadable links, it does not count.
        _explain_nothing(tree, empty=empty and not any(_target(link) is None for link, _ in _html_links(tree)))
    return ResultPage(hits=hits, next_form=_next_form(tree, "/html/"))


def read_lite_page(body: str) -> ResultPage:
    """A page of lite.duckduckgo.com."""
    require_flat(body)
    tree = _parsed(body)
    hits = tuple(islice(_lite_hits(tree), _MOST_HITS))
    if not hits:
        _explain_nothing(tree, empty=_says_nothing(tree))
    return ResultPage(hits=hits, next_form=_next_form(tree, "/lite/"))


def _parsed(body: str) -> "LexborHTMLParser":
    from selectolax.lexbor import LexborHTMLParser  # noqa: PLC0415 - an extra, and this module is imported without it

    return LexborHTMLParser(body)


def _html_hits(tree: "LexborHTMLParser") -> Iterator[Hit]:
    for link, result in _html_links(tree):
        if url := _target(link):
            yield Hit(title=_text(link), url=url, snippet=_text(result.css_first(".result__snippet")))


def _html_links(tree: "LexborHTMLParser") -> Iterator["tuple[LexborNode, LexborNode]"]:
    """Each result's link, and the element of the whole result."""
    for result in islice(tree.css("div.web-result"), _MOST_ELEMENTS):
        if "result--ad" in _classes(result) or "result--no-result" in _classes(result):
            continue
        link = result.css_first("a.result__a")
        if link is not None:
            yield link, result


def _lite_hits(tree: "LexborHTMLParser") -> Iterator[Hit]:
    """Rows of a table: a link, then a snippet, then the URL."""
    pending: Hit | None = None
    for cell in tree.css("a.result-link, td.result-snippet"):
        is_link = cell.tag == "a"
        if pending is not None:
            yield pending if is_link else replace(pending, snippet=_text(cell))
        url = _target(cell) if is_link and not _is_sponsored(cell) else None
        pending = Hit(title=_text(cell), url=url) if url else None
    if pending is not None:
        yield pending


def _is_sponsored(link: "LexborNode") -> bool:
    node: LexborNode | None = link
    while node is not None and node.tag != "tr":
        node = node.parent
    return node is not None and "result-sponsored" in _classes(node)


def _explain_nothing(tree: "LexborHTMLParser", *, empty: bool) -> None:
    if tree.css_first(_CHALLENGE) is not None or _loads_challenge(tree):
        raise Blocked("challenge page")
    if not empty:
        raise HtmlParseError("neither results, nor an empty marker, nor a challenge")


def _loads_challenge(tree: "LexborHTMLParser") -> bool:
    scripts = (node.attributes.get("src") or "" for node in tree.css("script[src]"))
    return any("/anomaly.js" in source for source in scripts)


def _says_nothing(tree: "LexborHTMLParser") -> bool:
    """Whether the page says "no results": Lite has no marker but a line in the table of results."""
    cells = islice(tree.css("td, span.no-results, div.no-results, .no-results__message"), _MOST_ELEMENTS)
    return any(_text(cell).lower().startswith(("no results", "no more results")) for cell in cells)


def _target(link: "LexborNode") -> str | None:
    """The target of a result. URLs that are still DuckDuckGo's own redirects after decoding are ads."""
    address = link.attributes.get("href") or ""
    address = f"https:{address}" if address.startswith("//") else address
    for _ in range(2):
        # An ad may be wrapped twice.
        try:
            parts = urlsplit(address)
        except ValueError:
            return None
        wrapped = parse_qs(parts.query).get("uddg") if parts.hostname in _OWN_HOSTS else None
        if not wrapped:
            break
        address = wrapped[0]
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    return None if parts.hostname in _OWN_HOSTS and parts.path in _REDIRECTS else address


def _next_form(tree: "LexborHTMLParser", action: str) -> Mapping[str, str] | None:
    """Of the forms with `vqd` that lead to results, the one that leads furthest: others lead back."""
    furthest: Mapping[str, str] | None = None
    for form in tree.css("form"):
        if not (form.attributes.get("action") or "").rstrip("/").endswith(action.rstrip("/")):
            continue
        fields = _fields(form)
        if fields.get("vqd") and offset_of(fields) > offset_of(furthest):
            furthest = fields
    return furthest


def offset_of(form: Mapping[str, str] | None) -> int:
    """The offset of the form's page; the form of the first page has none."""
    offset = form.get("s", "") if form is not None else ""
    return int(offset) if offset.isascii() and offset.isdigit() and len(offset) < _LONG_NUMBER else 0


def _fields(form: "LexborNode") -> Mapping[str, str]:
    return {
        str(field.attributes.get("name")): field.attributes.get("value") or ""
        for field in form.css("input[name]")
        if (field.attributes.get("type") or "") != "submit"
    }


def _is_end_mark(hit: Hit) -> bool:
    """Whether the hit is the made-up result of an empty page (2025)."""
    return hit.title == "EOF" and not hit.snippet and urlsplit(hit.url).hostname == "www.google.com"


def _classes(node: "LexborNode") -> list[str]:
    return (node.attributes.get("class") or "").split()


def _text(node: "LexborNode | None") -> str:
    return " ".join(node.text(separator="").split()) if node is not None else ""
