"""Convert HTML to Markdown, or to plain text, with absolute links."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from selectolax.lexbor import LexborNode

from dogubako.packs.web.pages.markdown_blocks import (
    Piece,
    blocks_of,
    code_block,
    code_span,
    joined,
    list_block,
    quote,
    table_block,
)
from dogubako.packs.web.pages.page_links import PageLinks

_SKIPPED: Final = frozenset(
    {"script", "style", "template", "noscript", "svg", "head", "title", "button", "select", "datalist", "dialog", "rp"}
    | {"canvas", "object", "param", "meta", "link", "base", "colgroup", "noframes"}
)
_BLOCKS: Final = frozenset(
    {"address", "article", "aside", "body", "center", "div", "dl", "fieldset", "figcaption", "figure", "footer", "form"}
    | {
        "header",
        "hgroup",
        "html",
        "legend",
        "main",
        "menu",
        "nav",
        "p",
        "search",
        "section",
        "summary",
        "details",
        "dt",
    }
)
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_EMPHASIS: Final = {
    "b": "**",
    "strong": "**",
    "i": "*",
    "em": "*",
    "cite": "*",
    "var": "*",
    "dfn": "*",
} | dict.fromkeys(("del", "s", "strike"), "~~")
_PREFORMATTED: Final = frozenset({"pre", "xmp", "listing", "plaintext", "textarea"})
_CODE: Final = frozenset({"code", "kbd", "samp", "tt"})
_WHITESPACE: Final = re.compile(r"[ \t\r\n\f]+")
# A line end between two characters of these scripts is no space.
_CJK_BREAK: Final = re.compile(
    "(?<=[\u3000-\u30ff\u3400-\u9fff\uff01-\uff60])[ \t\r\f]*\n[ \t\r\n\f]*"
    "(?=[\u3000-\u30ff\u3400-\u9fff\uff01-\uff60])"
)
_INVISIBLE: Final = re.compile("[\u00ad\u200b\ufeff\u2060]")
_LANGUAGE: Final = re.compile(
    r"(?:^|\s)(?:language-|lang-|highlight-source-|highlight-text-|brush:\s*|sourceCode\s+)([\w+#.-]{1,20})",
    re.IGNORECASE,
)
_LANGUAGE_NAME: Final = re.compile(r"[\w+#.-]{1,20}")
_NO_LANGUAGE: Final = frozenset({"none", "plaintext", "text", "plain", "nohighlight", "default", "notranslate"})
_LINE_NUMBER: Final = re.compile(
    r"(?:^|\s)(?:linenos?|line-?numbers?(?:-rows)?|blob-num|gutter|rouge-gutter|hljs-ln-numbers|lineno-col)(?:\s|$)"
)
_HIDDEN: Final = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_PERMALINK: Final = frozenset({"¶", "#", "§", "🔗", "", "\uf0c1"})
_LABEL_SPECIAL: Final = str.maketrans({"[": r"\[", "]": r"\]"})
_INTEGER: Final = re.compile(r"-?\d{1,9}")


@dataclass(slots=True)
class _Frame:
    """An element whose children are being converted."""

    node: LexborNode
    tag: str
    attributes: dict[str, str | None]
    pieces: list[Piece] = field(default_factory=list)


class MarkdownConverter:
    """Converts one page. It does not recurse: pages are nested thousands of levels deep."""

    def __init__(self, links: PageLinks, *, plain: bool = False) -> None:
        self._links = links
        self._plain = plain
        self._frames: list[_Frame] = []
        # How many open elements have each tag.
        self._open: dict[str, int] = {}
        self._leave: dict[str, Callable[[_Frame], list[Piece]]] = {
            "a": self._link,
            "blockquote": self._quotation,
            "li": self._item,
            "dd": self._definition,
            "ul": self._list,
            "menu": self._list,
            "dir": self._list,
            "ol": self._list,
            "table": self._table,
            "tr": lambda frame: [Piece("row", parts=tuple(frame.pieces))],
            "td": self._cell,
            "th": self._cell,
            "caption": lambda frame: [Piece("caption", joined(frame.pieces, between=" "))],
            "q": lambda frame: self._around(frame, "“", "”"),
            "sup": lambda frame: self._script(frame, "sup"),
            "sub": lambda frame: self._script(frame, "sub"),
            "rt": lambda frame: self._around(frame, "(", ")"),
            "math": self._formula,
            **dict.fromkeys(_HEADINGS, self._heading),
            **dict.fromkeys(_EMPHASIS, self._emphasis),
            **dict.fromkeys(_PREFORMATTED, self._preformatted),
            **dict.fromkeys(_CODE, self._code),
        }

    def convert(self, root: LexborNode) -> str:
        """The text of an element and of everything in it."""
        top = _Frame(root, root.tag or "", {})
        self._frames = [top]
        node = root.first_child
        while True:
            if node is None:
                if len(self._frames) == 1:
                    break
                node = self._close()
                continue
            node = self._enter(node)
        return joined(top.pieces, between="\n" if self._plain else "\n\n")

    def _enter(self, node: LexborNode) -> LexborNode | None:
        """Convert a text, or open an element. Returns the node to go on with."""
        pieces = self._frames[-1].pieces
        if node.is_text_node:
            pieces.append(Piece("inline", self._text(node.text_content or "")))
            return node.next
        tag = node.tag or ""
        if not node.is_element_node or tag in _SKIPPED:
            return node.next
        attributes = node.attributes
        if _is_hidden(attributes) or _is_drawn_formula(node, attributes):
            return node.next
        if (single := self._single(tag, attributes)) is not None:
            pieces.extend(single)
            return node.next
        self._frames.append(_Frame(node, tag, attributes))
        self._open[tag] = self._open.get(tag, 0) + 1
        return node.first_child

    def _close(self) -> LexborNode | None:
        frame = self._frames.pop()
        if self._in_code() and frame.tag not in _PREFORMATTED:
            pieces = self._verbatim(frame)
        elif frame.tag in self._leave:
            pieces = self._leave[frame.tag](frame)
        elif frame.tag in _BLOCKS:
            pieces = blocks_of(frame.pieces)
        else:
            pieces = frame.pieces
        self._open[frame.tag] -= 1
        self._frames[-1].pieces.extend(pieces)
        return frame.node.next

    def _in_code(self) -> bool:
        return any(self._open.get(tag) for tag in _PREFORMATTED)

    def _text(self, text: str) -> str:
        if self._in_code():
            return text.replace("\r\n", "\n")
        return _INVISIBLE.sub("", _WHITESPACE.sub(" ", _CJK_BREAK.sub("", text)))

    def _verbatim(self, frame: _Frame) -> list[Piece]:
        """Code without marks. An element of a line of its own ends with a line end."""
        if _LINE_NUMBER.search(frame.attributes.get("class") or "") or "data-line-number" in frame.attributes:
            return []
        text = "".join(piece.text for piece in frame.pieces)
        if frame.tag in ("div", "p", "li", "tr") and not text.endswith("\n"):
            text += "\n"
        return [Piece("inline", text)]

    def _single(self, tag: str, attributes: dict[str, str | None]) -> list[Piece] | None:
        """The pieces of an element without children; None for others."""
        match tag:
            case "br":
                return [Piece("inline", "\n")]
            case "wbr":
                return []
            case "hr":
                return [Piece("block", "" if self._plain else "---")]
            case "img":
                return [Piece("inline", self._image(attributes))]
            case "input":
                return [Piece("inline", _checkbox(attributes))]
            case "iframe" | "frame" | "embed":
                return self._embedded(attributes)
            case "video" | "audio" if attributes.get("src"):
                return self._embedded(attributes)
            case "area":
                label = attributes.get("alt") or attributes.get("title") or ""
                return [Piece("block", self._written_link(label, attributes.get("href")))] if label else []
        return None

    def _image(self, attributes: dict[str, str | None]) -> str:
        alt = " ".join((attributes.get("alt") or attributes.get("title") or "").split())
        source = next((value for name in ("data-src", "data-original", "src") if (value := attributes.get(name))), None)
        url = self._links.resolve(source) or self._links.resolve(attributes.get("src"))
        if self._plain or self._in_code() or not alt:
            return alt
        return f"![{alt.translate(_LABEL_SPECIAL)}]({url})" if url else alt

    def _embedded(self, attributes: dict[str, str | None]) -> list[Piece]:
        url = self._links.resolve(attributes.get("src"))
        label = attributes.get("title") or attributes.get("name") or "Embedded page"
        return [Piece("block", self._written_link(label, url))] if url else []

    def _written_link(self, label: str, href: str | None) -> str:
        label = " ".join(label.split())
        url = self._links.resolve(href)
        return label if url is None or self._plain or not label else f"[{label.translate(_LABEL_SPECIAL)}]({url})"

    def _link(self, frame: _Frame) -> list[Piece]:
        url = self._links.resolve(frame.attributes.get("href"))
        if url is None or self._plain:
            return frame.pieces
        if any(piece.kind != "inline" for piece in frame.pieces):
            return _linked_block(blocks_of(frame.pieces), url)
        text = "".join(piece.text for piece in frame.pieces)
        if text.strip() in _PERMALINK and (self._in_heading() or not text.strip()):
            label = frame.attributes.get("aria-label") or frame.attributes.get("title") or ""
            return [Piece("inline", self._written_link(label, url))] if not self._in_heading() else []
        return [Piece("inline", _wrapped(text, lambda label: f"[{_as_label(label)}]({url})"))]

    def _in_heading(self) -> bool:
        return any(self._open.get(tag) for tag in _HEADINGS)

    def _heading(self, frame: _Frame) -> list[Piece]:
        text = joined(frame.pieces, between=" ").replace("\n", " ").strip()
        mark = "" if self._plain else "#" * _HEADINGS[frame.tag] + " "
        return [Piece("block", f"{mark}{text}")] if text else []

    def _emphasis(self, frame: _Frame) -> list[Piece]:
        mark = _EMPHASIS[frame.tag]
        nested = self._open[frame.tag] > 1 or self._in_heading()
        if self._plain or nested or any(piece.kind != "inline" for piece in frame.pieces):
            return frame.pieces
        text = "".join(piece.text for piece in frame.pieces)
        return [Piece("inline", _wrapped(text, lambda inner: f"{mark}{inner}{mark}"))]

    def _around(self, frame: _Frame, before: str, after: str) -> list[Piece]:
        text = joined(frame.pieces, between=" ")
        return [Piece("inline", f"{before}{text}{after}")] if text else []

    def _script(self, frame: _Frame, tag: str) -> list[Piece]:
        text = "".join(piece.text for piece in frame.pieces)
        bare = self._plain or not text.strip() or "](" in text
        return [Piece("inline", text)] if bare else [Piece("inline", f"<{tag}>{text.strip()}</{tag}>")]

    def _formula(self, frame: _Frame) -> list[Piece]:
        note = frame.node.css_first("annotation[encoding='application/x-tex']")
        tex = note.text() if note is not None else frame.attributes.get("alttext")
        return [Piece("inline", f"${tex.strip()}$")] if tex and not self._plain else frame.pieces

    def _preformatted(self, frame: _Frame) -> list[Piece]:
        text = "".join(piece.text for piece in frame.pieces)
        if self._open[frame.tag] > 1:
            return [Piece("inline", text)]
        return [Piece("block", text.strip("\n"))] if self._plain else [code_block(text, _language(frame))]

    def _code(self, frame: _Frame) -> list[Piece]:
        if any(piece.kind != "inline" for piece in frame.pieces):
            return frame.pieces
        text = "".join(piece.text for piece in frame.pieces)
        if self._plain or any(self._open.get(tag, 0) > (tag == frame.tag) for tag in _CODE):
            return [Piece("inline", text)]
        if "\n" in text.strip():
            return [code_block(_BREAKS_IN_CODE.sub("\n", text).strip(), _language(frame))]
        return [Piece("inline", _wrapped(text, code_span))]

    def _quotation(self, frame: _Frame) -> list[Piece]:
        return blocks_of(frame.pieces) if self._plain else [quote(frame.pieces, self._open["blockquote"])]

    def _item(self, frame: _Frame) -> list[Piece]:
        number = _integer(frame.attributes.get("value"))
        return [Piece("item", parts=tuple(blocks_of(frame.pieces)), number=number)]

    def _definition(self, frame: _Frame) -> list[Piece]:
        text = joined(frame.pieces)
        return [Piece("block", text if self._plain else f": {text}")] if text else []

    def _list(self, frame: _Frame) -> list[Piece]:
        ordered, backwards = frame.tag == "ol", "reversed" in frame.attributes
        items = sum(piece.kind == "item" for piece in frame.pieces)
        start = _integer(frame.attributes.get("start"))
        first = start if start is not None else items if backwards else 1
        level = sum(self._open.get(tag, 0) for tag in ("ul", "ol", "menu", "dir"))
        block = list_block(frame.pieces, ordered=ordered, start=first, step=-1 if backwards else 1, level=level)
        return [block] if block.text else []

    def _table(self, frame: _Frame) -> list[Piece]:
        layout = (frame.attributes.get("role") or "").lower() in ("presentation", "none")
        return table_block(frame.pieces, layout=layout)

    def _cell(self, frame: _Frame) -> list[Piece]:
        if _LINE_NUMBER.search(frame.attributes.get("class") or ""):
            return []
        columns, rows = (max(_integer(frame.attributes.get(name)) or 1, 1) for name in ("colspan", "rowspan"))
        parts = tuple(blocks_of(frame.pieces))
        return [Piece("cell", joined(parts), parts, span=(columns, rows), level=int(frame.tag == "th"))]


_MARKED_LINE: Final = re.compile(r"(#{1,6} |(?:> )*)([^\n]*)(.*)", re.DOTALL)
_BREAKS_IN_CODE: Final = re.compile(r" *\n ?")


def _wrapped(text: str, wrap: Callable[[str], str]) -> str:
    """Put marks around a text, and leave the spaces around it outside."""
    inner = text.strip(" \n")
    if not inner:
        return text
    before, after = text[: len(text) - len(text.lstrip(" \n"))], text[len(text.rstrip(" \n")) :]
    return f"{before}{wrap(inner)}{after}"


def _as_label(text: str) -> str:
    """The text of a link. An image in it keeps its own brackets."""
    text = text.replace("\n", " ")
    return text if "](" in text else text.translate(_LABEL_SPECIAL)


def _linked_block(blocks: list[Piece], url: str) -> list[Piece]:
    """Link the first line of several blocks: a card with a headline and a text."""
    for index, block in enumerate(blocks):
        if block.kind == "block" and block.text and "](" not in block.text:
            marks, line, rest = _MARKED_LINE.fullmatch(block.text).groups()  # type: ignore[union-attr]
            linked = f"{marks}[{line.translate(_LABEL_SPECIAL)}]({url}){rest}"
            return [*blocks[:index], Piece("block", linked), *blocks[index + 1 :]]
    return blocks


def _is_hidden(attributes: dict[str, str | None]) -> bool:
    if not attributes:
        return False
    hidden = "hidden" in attributes and attributes["hidden"] != "until-found"
    return hidden or bool(_HIDDEN.search(attributes.get("style") or ""))


def _is_drawn_formula(node: LexborNode, attributes: dict[str, str | None]) -> bool:
    """Whether it repeats the formula beside it, drawn for eyes, as KaTeX and MathJax do."""
    if attributes.get("aria-hidden") != "true":
        return False
    beside = [other for other in (node.prev, node.next) if other is not None and other.is_element_node]
    return any((other.tag == "math" or other.css_first("math") is not None) for other in beside)


def _checkbox(attributes: dict[str, str | None]) -> str:
    if (attributes.get("type") or "").lower() != "checkbox":
        return ""
    return "[x] " if "checked" in attributes else "[ ] "


def _integer(text: str | None) -> int | None:
    return int(text.strip()) if text and _INTEGER.fullmatch(text.strip()) else None


def _language(frame: _Frame) -> str:
    """The language of code, from the classes that highlighters use, of the element, its child or its parents."""
    child = frame.node.css_first("code")
    parents = (frame.node.parent, frame.node.parent.parent if frame.node.parent else None)
    for node in (frame.node, child, *parents):
        attributes = node.attributes if node is not None and node.is_element_node else {}
        match = _LANGUAGE.search(attributes.get("class") or "")
        named = next((attributes.get(name) for name in ("data-lang", "data-language") if attributes.get(name)), None)
        if named is None and node is frame.node:
            named = attributes.get("lang")
        name = (match[1] if match else named or "").lower()
        if _LANGUAGE_NAME.fullmatch(name) and name not in _NO_LANGUAGE:
            return name
    return ""
