"""Read feeds (RSS, Atom, JSON Feed) as headings and links."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from lxml import etree

from dogubako.packs.web.pages.html_page import html_to_markdown
from dogubako.packs.web.pages.page_links import PageLinks
from dogubako.packs.web.pages.parts import Readable

_ROOTS: Final = frozenset({"rss", "feed", "RDF"})
_BEGINS: Final = re.compile(
    r"\s*+(?:<\?xml[^>]*>|<!--.*?-->|<!DOCTYPE[^>]*>|<\?[^>]*>|\s)*+<(?:\w+:)?(rss|feed|RDF)\b", re.DOTALL
)
_MOST_ENTRIES: Final = 500
_LONGEST_ENTRY: Final = 20_000
_JSON_FEED: Final = "https://jsonfeed.org/version/"


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One entry of a feed."""

    title: str
    url: str | None
    date: str
    body: str


def is_xml_feed(text: str) -> bool:
    """Whether an XML text is a feed."""
    return _BEGINS.match(text[:4_096]) is not None


def read_xml_feed(text: str, url: str) -> Readable | None:
    """The feed as Markdown; None if it cannot be parsed."""
    # Entities are not resolved and nothing is fetched; the parser itself bounds depth and size.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True, huge_tree=False)
    body = re.sub(r"^\s*<\?xml[^>]*>", "", text, count=1).lstrip()
    try:
        root = etree.fromstring(body.encode("utf-8", "replace"), parser)
    except (etree.XMLSyntaxError, ValueError):
        return None
    if root is None or _name(root) not in _ROOTS:
        return None
    channel = next((one for one in root if _name(one) == "channel"), root)
    base = PageLinks(url, root.get("{http://www.w3.org/XML/1998/namespace}base"))
    # RSS 1.0 has its entries beside the channel.
    members = channel if channel is root else (*channel, *root)
    entries = [one for one in members if _name(one) in ("item", "entry")][:_MOST_ENTRIES]
    return _readable(
        _text(channel, "title"),
        _html(_text(channel, "description", "subtitle"), url),
        (_xml_entry(one, base, url) for one in entries),
    )


def read_json_feed(text: str, url: str) -> Readable | None:
    """A JSON Feed as Markdown; None if the text is other JSON."""
    if _JSON_FEED not in text[:4_096].replace("\\/", "/"):
        return None
    try:
        feed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    items = feed.get("items") if isinstance(feed, dict) else None
    if not isinstance(items, list):
        return None
    links = PageLinks(url)
    entries = (_json_entry(one, links, url) for one in items[:_MOST_ENTRIES] if isinstance(one, dict))
    return _readable(_string(feed, "title"), _string(feed, "description"), entries)


def _xml_entry(node: Any, links: PageLinks, url: str) -> Entry:
    address = links.resolve(_link_of(node))
    return Entry(
        title=_plain(_text(node, "title"), url),
        url=address,
        date=_text(node, "pubDate", "published", "updated", "date"),
        body=_html(_text(node, "encoded", "content", "description", "summary"), address or url),
    )


def _json_entry(item: dict[str, Any], links: PageLinks, url: str) -> Entry:
    html = _string(item, "content_html")
    return Entry(
        title=_string(item, "title"),
        url=links.resolve(_string(item, "url") or _string(item, "external_url")),
        date=_string(item, "date_published") or _string(item, "date_modified"),
        body=_html(html, url) if html else _string(item, "content_text") or _string(item, "summary"),
    )


def _readable(title: str, about: str, entries: Iterator[Entry]) -> Readable:
    blocks = [f"# {title}"] if title else []
    blocks += [about] if about else []
    for entry in entries:
        name = entry.title or entry.date or "Untitled"
        label = name.replace("[", r"\[").replace("]", r"\]")
        blocks.append(f"## [{label}]({entry.url})" if entry.url else f"## {name}")
        blocks += [part for part in (entry.date, entry.body[:_LONGEST_ENTRY]) if part and part != name]
    return Readable(title=title, text="\n\n".join(blocks), kind="feed")


def _link_of(node: Any) -> str:
    """The link to an entry's page: RSS has it as text, Atom as an attribute."""
    links = [one for one in node if _name(one) == "link"]
    for one in links:
        if one.get("href") and one.get("rel", "alternate") == "alternate":
            return str(one.get("href"))
    written = next((one.text.strip() for one in links if one.text and one.text.strip()), "")
    guid = next((one for one in node if _name(one) == "guid"), None)
    if not written and guid is not None and guid.get("isPermaLink", "true") != "false":
        return (guid.text or "").strip()
    return written


def _text(node: Any, *names: str) -> str:
    """The text of the first of these children that has one. Markup in it is kept as text."""
    for name in names:
        for one in node:
            if _name(one) == name:
                inner = (one.text or "").strip() if len(one) == 0 else _inner(one)
                if inner:
                    return inner
    return ""


def _inner(node: Any) -> str:
    """XHTML inside of an element, as text without prefixes."""
    written = (
        one if isinstance(one, str) else etree.tostring(one, encoding="unicode") for one in (node.text or "", *node)
    )
    return re.sub(r"(</?)\w+:", r"\1", "".join(written)).strip()


def _html(text: str, url: str) -> str:
    """Markdown of a text that may be HTML."""
    return html_to_markdown(text, url) if "<" in text or "&" in text else text


def _plain(text: str, url: str) -> str:
    return " ".join(_html(text, url).split())


def _string(item: dict[str, Any], key: str) -> str:
    value = item.get(key)
    return (
        " ".join(value.split())
        if isinstance(value, str) and "html" not in key
        else value
        if isinstance(value, str)
        else ""
    )


def _name(node: Any) -> str:
    """The name of an element without its namespace; empty for comments and instructions."""
    return etree.QName(node).localname if isinstance(node.tag, str) else ""
