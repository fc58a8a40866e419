"""Extract the main content of a page: without menus, footers and banners."""

import re
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

_NEVER_SHOWN: Final = "script, style, template, svg"
# Parts that surround the content. A header or a footer of an article belongs to the article.
_AROUND: Final = (
    "nav",
    "[role=navigation]",
    "[role=banner]",
    "[role=contentinfo]",
    "[role=search]",
    "[role=complementary]",
    "[role=alertdialog]",
    "body > header",
    "body > footer",
    "body > div > header",
    "body > div > footer",
    "aside",
)
_NAMED: Final = re.compile(
    r"(?:^|[\s_-])(?:nav|navbar|navigation|menu|sidebar|side-?bar|footer|breadcrumbs?|cookies?|consent|share|sharing|"
    r"social|advert|advertisement|ads?|banner|skip-?links?|related|promo|newsletter|masthead|topbar)(?:$|[\s_-])",
    re.IGNORECASE,
)
# A menu is nearly all links; an article that is called "menu" is not.
_LINK_SHARE: Final = 0.5
_ALWAYS_DROPPED: Final = re.compile(r"cookie|consent|advert|(?:^|[\s_-])ads?(?:$|[\s_-])|skip-?link", re.IGNORECASE)
# What is dropped by its name has at most this part of the page's text.
_LARGEST_SHARE: Final = 0.4
# A main element with less than this part of the text is a stub.
_SMALLEST_SHARE: Final = 0.25
_MOST_NAMED: Final = 3_000
_MOST_MEASURED: Final = 20


def main_content(tree: LexborHTMLParser) -> LexborNode | None:
    """The element with the content. The tree is changed."""
    body = tree.body
    if body is None:
        return None
    for node in body.css(_NEVER_SHOWN):
        node.decompose()
    whole = _length(body)
    root = _marked_main(body, whole)
    if root is None:
        _drop_surroundings(body, whole)
        return body
    _drop_navigation(root)
    return root


def _marked_main(body: LexborNode, whole: int) -> LexborNode | None:
    """The element that the page marks as its content, if it holds a good part of the text."""
    mains = body.css("main, [role=main]") or body.css("article")
    if len(mains) != 1 or _length(mains[0]) < whole * _SMALLEST_SHARE:
        return None
    return mains[0]


def _drop_navigation(root: LexborNode) -> None:
    before = _length(root)
    menus = root.css("nav, [role=navigation]")
    if sum(map(_length, menus)) < before * _LINK_SHARE:
        for node in menus:
            node.decompose()


def _drop_surroundings(body: LexborNode, whole: int) -> None:
    """Drop what surrounds the content. A page that is nothing else is kept whole."""
    found = _outermost([*body.css(", ".join(_AROUND)), *_called_like_surroundings(body, whole)])
    found = [node for node in found if not _holds_the_title(node)]
    if whole - sum(map(_length, found)) >= min(whole * (1 - _LINK_SHARE) / 2, 40):
        for node in found:
            node.decompose()


def _holds_the_title(node: LexborNode) -> bool:
    """Whether a header has the page's only title, and no menu beside it."""
    if (node.tag or "") != "header":
        return False
    return node.css_first("h1") is not None and node.css_first("nav, ul") is None


def _called_like_surroundings(body: LexborNode, whole: int) -> list[LexborNode]:
    named = []
    measured = 0
    for node in body.css("div[class], div[id], section[class], section[id], ul[class], ul[id], p[class], a[class]")[
        :_MOST_NAMED
    ]:
        attributes = node.attributes
        name = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
        if not _NAMED.search(name):
            continue
        length = _length(node)
        measured += length
        if measured > whole * _MOST_MEASURED:
            # Nested in each other by the thousand: nobody writes such menus.
            break
        links = sum(map(_length, node.css("a")))
        small = length <= whole * _LARGEST_SHARE
        if small and (links > length * _LINK_SHARE or _ALWAYS_DROPPED.search(name)):
            named.append(node)
    return named


def _outermost(nodes: list[LexborNode]) -> list[LexborNode]:
    """The nodes that are in none of the others."""
    known = {node.mem_id for node in nodes}
    outermost: dict[int, LexborNode] = {}
    for node in nodes:
        parent = node.parent
        while parent is not None and parent.mem_id not in known:
            parent = parent.parent
        if parent is None:
            outermost[node.mem_id] = node
    return list(outermost.values())


def _length(node: LexborNode) -> int:
    return len("".join(node.text().split()))
