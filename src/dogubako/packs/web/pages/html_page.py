"""Read an HTML page: title, base address, redirection by `<meta>`, and the content as Markdown."""

import re
from dataclasses import dataclass
from typing import Final

from selectolax.lexbor import LexborHTMLParser

from dogubako.packs.web.pages.main_content import main_content
from dogubako.packs.web.pages.markdown import MarkdownConverter
from dogubako.packs.web.pages.page_links import PageLinks
from dogubako.packs.web.pages.parts import PageFormat, Readable, require_flat

# `0; url=/next`, `5;URL='next'`, `0,/next`
_REFRESH: Final = re.compile(
    r"\s*+(\d{0,9})(?:\.\d*)?\s*+[;,\s]\s*+(?:url\s*+=\s*+)?(.{1,4000})", re.IGNORECASE | re.DOTALL
)
# A page that moves on after a longer time is meant to be read first.
_LONGEST_REFRESH_SECONDS: Final = 10
_DRAWN_BY_SCRIPTS: Final = "This page draws its text with JavaScript, which fetch_page does not run."
# Converting a longer page takes too long; extracting all text is fast.
_LONGEST_CONVERTED: Final = 3_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class HtmlPage:
    """A page, and the address that it refers its readers to, if it does."""

    readable: Readable
    onward: str | None = None


def read_html(text: str, url: str, wanted: PageFormat) -> HtmlPage:
    """Extract the content. Slow for long pages."""
    require_flat(text)
    tree = LexborHTMLParser(text)
    base = tree.css_first("base[href]")
    links = PageLinks(url, base.attributes.get("href") if base is not None else None)
    onward = _onward(tree, links, url)
    head = tree.css_first("title")
    title = " ".join(head.text().split()) if head is not None else ""
    if wanted == "html":
        return HtmlPage(readable=Readable(title=title, text=text, kind="text/html"), onward=onward)
    # The conversion removes scripts from the tree.
    is_drawn = tree.css_first("script") is not None
    shown = _converted(tree, links, wanted) if len(text) <= _LONGEST_CONVERTED else ""
    shown, note = shown or _all_text(tree), None
    if not shown.strip() and is_drawn:
        # What the page says of itself is foreign text, so it is shown as its content and not as our note.
        shown, note = _description(tree), _DRAWN_BY_SCRIPTS
    return HtmlPage(readable=Readable(title=title, text=shown, kind="text/html", note=note), onward=onward)


def _description(tree: LexborHTMLParser) -> str:
    found = tree.css_first("meta[name='description' i], meta[property='og:description']")
    return " ".join((found.attributes.get("content") or "").split()) if found is not None else ""


def html_to_markdown(html: str, url: str) -> str:
    """The Markdown of a fragment, such as the text of a feed's entry."""
    require_flat(html)
    body = LexborHTMLParser(html).body
    return MarkdownConverter(PageLinks(url)).convert(body) if body is not None else ""


def _converted(tree: LexborHTMLParser, links: PageLinks, wanted: PageFormat) -> str:
    root = main_content(tree) or tree.css_first("frameset")
    return MarkdownConverter(links, plain=wanted == "text").convert(root) if root is not None else ""


def _onward(tree: LexborHTMLParser, links: PageLinks, url: str) -> str | None:
    """Where `<meta http-equiv=refresh>` leads, unless it reloads the same page or sits in `<noscript>`."""
    for node in tree.css("meta[http-equiv][content]"):
        attributes = node.attributes
        match = _REFRESH.fullmatch(attributes.get("content") or "")
        if (attributes.get("http-equiv") or "").strip().lower() != "refresh" or match is None:
            continue
        parent = node.parent
        if parent is not None and parent.tag == "noscript":
            continue
        target = links.resolve(match[2].strip().strip("\"'").strip())
        if (
            target
            and int(match[1] or 0) <= _LONGEST_REFRESH_SECONDS
            and target.split("#")[0] != url.split("#", maxsplit=1)[0]
        ):
            return target
    return None


def _all_text(tree: LexborHTMLParser) -> str:
    """All text of the page, if nothing could be converted."""
    for node in tree.css("script, style, noscript, template, svg"):
        node.decompose()
    body = tree.body
    lines = (" ".join(line.split()) for line in (body.text(separator="\n") if body is not None else "").split("\n"))
    return "\n".join(line for line in lines if line)
