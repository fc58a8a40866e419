"""Render an answer for people: JSON as a tree, Markdown and XML formatted, pictures shown. Nothing in it can run."""

import base64
import binascii
import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from dogubako.contract.call import ToolResult

_PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
# Beyond this a page is slow in the browser too; the text below the tree has everything.
_MOST_NODES: Final = 3_000
_OPEN_DEPTH: Final = 2
_LONGEST_FORMATTED: Final = 400_000
_LOOKS_LIKE_XML: Final = re.compile(r"\s*<\?xml|\s*<[A-Za-z][\w.-]*[\s>/]")


def rendered(result: ToolResult) -> list[tuple[str, Markup]]:
    """The parts of an answer: what kind each is, and how it looks."""
    if result.kind == "json":
        return [("json", _tree_of(result.content[0]["text"]))]
    return [_block(block) for block in result.content]


def _block(block: Mapping[str, Any]) -> tuple[str, Markup]:
    kind = block.get("type")
    if kind == "text":
        return _text(str(block.get("text", "")))
    if kind == "image" and block.get("mimeType") in _PICTURES and (data := _base64(block.get("data"))):
        source = f"data:{block['mimeType']};base64,{data}"
        return "image", Markup('<img class="picture" alt="" src="{}">').format(source)
    if kind == "resource_link":
        name = block.get("title") or block.get("name") or block.get("uri")
        return "link", Markup("<p><strong>{}</strong> <code>{}</code></p>").format(name, block.get("uri"))
    if kind == "resource" and isinstance(inner := block.get("resource"), Mapping) and "text" in inner:
        return _text(str(inner["text"]))
    shown = {key: value for key, value in block.items() if key not in ("data", "blob")}
    return str(kind), json_tree(shown)


def _base64(data: Any) -> str | None:
    """The data in base64 as we write it: nothing else may get into an address."""
    try:
        return base64.b64encode(base64.b64decode(str(data), validate=True)).decode()
    except (binascii.Error, ValueError):
        return None


def _text(text: str) -> tuple[str, Markup]:
    start = text.lstrip()[:1]
    if start in ("{", "[") and len(text) <= _LONGEST_FORMATTED:
        try:
            return "json", json_tree(json.loads(text))
        except (ValueError, RecursionError):
            pass
    if len(text) > _LONGEST_FORMATTED:
        return "text", Markup("<pre>{}</pre>").format(text)
    if _LOOKS_LIKE_XML.match(text) and (pretty := _pretty_xml(text)) is not None:
        return "xml", Markup('<pre class="code">{}</pre>').format(pretty)
    return "markdown", Markup('<div class="prose">{}</div>').format(markdown(text))


def _pretty_xml(text: str) -> str | None:
    try:
        from lxml import etree  # noqa: PLC0415 - of the extra web; without it XML is shown as it came
    except ImportError:
        return text
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_blank_text=True, huge_tree=False)
    try:
        tree = etree.fromstring(text.encode(), parser)
    except (etree.XMLSyntaxError, ValueError):
        return None
    pretty: str = etree.tostring(tree, pretty_print=True, encoding="unicode")
    return pretty


@cache
def _renderer() -> MarkdownIt:
    """CommonMark and tables, without HTML. Pictures become links: pages load nothing from elsewhere."""
    made = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table").disable("image")
    made.add_render_rule("link_open", _link)
    # The page has its own headings; those of an answer stand below them.
    made.add_render_rule("heading_open", lambda self, tokens, at, *_: f'<p class="heading {escape(tokens[at].tag)}">')
    made.add_render_rule("heading_close", lambda *_: "</p>\n")
    # Alignment of cells would be an inline style.
    for cell in ("th", "td"):
        made.add_render_rule(f"{cell}_open", lambda self, tokens, at, *_: f"<{tokens[at].tag}>")
    return made


def _link(self: Any, tokens: Any, at: int, options: Any, env: Any) -> str:
    target = escape(tokens[at].attrGet("href") or "")
    return f'<a href="{target}" rel="noopener noreferrer nofollow" target="_blank">'


def markdown(text: str) -> Markup:
    """Markdown as HTML that cannot run anything."""
    return Markup(_renderer().render(text))  # noqa: S704 - HTML in the source is escaped, links are checked


def _tree_of(text: str) -> Markup:
    try:
        return json_tree(json.loads(text))
    except (ValueError, RecursionError):
        return Markup("<pre>{}</pre>").format(text)


def json_tree(value: Any) -> Markup:
    """JSON as nested <details>, the first levels open."""
    budget = [_MOST_NODES]
    return Markup('<div class="tree">{}</div>').format(Markup("").join(_node(None, value, 0, budget)))


def _node(key: str | None, value: Any, depth: int, budget: list[int]) -> list[Markup]:
    budget[0] -= 1
    label = Markup("") if key is None else Markup('<span class="key">{}</span> ').format(key)
    if budget[0] < 0:
        return []
    if not isinstance(value, dict | list) or not value:
        kind = "text" if isinstance(value, str) else "value"
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return [Markup('<div class="leaf">{}<span class="{}">{}</span></div>').format(label, kind, shown)]
    pairs = value.items() if isinstance(value, dict) else ((str(at), one) for at, one in enumerate(value))
    size = f"{{{len(value)}}}" if isinstance(value, dict) else f"[{len(value)}]"
    inside = [part for name, one in pairs for part in _node(name, one, depth + 1, budget)]
    if budget[0] < 0:
        inside.append(Markup('<div class="leaf">…</div>'))
    opened = Markup(" open") if depth < _OPEN_DEPTH and len(value) <= 50 else Markup("")
    return [
        Markup('<details{}><summary>{}<span class="size">{}</span></summary>{}</details>').format(
            opened, label, size, Markup("").join(inside)
        )
    ]
