"""Well-formed XML from any characters, truncated between whole elements."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from html import escape
from itertools import islice

from dogubako.contract.output import XmlElement
from dogubako.response.jsonable import LONGEST_NAME, clean_text, pieces_of
from dogubako.response.tokens import count_tokens, far_above_characters
from dogubako.response.truncation import NOTE_TOKENS, Cut, cut_text, share_out, take_whole

DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'

# XML 1.0 cannot represent these, not even as a reference.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_NAME = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
_NOT_IN_NAME = re.compile(r"[^\w.-]", re.ASCII)
_SMALLEST_SHARE = 24


def render(root: XmlElement) -> str:
    """The whole document, with its declaration."""
    return f"{DECLARATION}\n{_element(root)}"


def fit_xml(root: XmlElement, budget: int, page_path: str | None = None) -> tuple[XmlElement, list[Cut]]:
    """Truncate to about `budget` tokens. `page_path` names the element whose last children are omitted first."""
    cuts: list[Cut] = []
    if page_path is None:
        return _fit(root, budget, root.tag, cuts), cuts
    kept = _fit(_fit_page(root, budget, page_path), budget, root.tag, cuts)
    return kept, _with_page_cut(cuts, page_path, _listed(root, page_path), _listed(kept, page_path))


def unwritable(text: str) -> int:
    """The number of characters that XML cannot represent; each becomes U+FFFD."""
    return sum(len(_FORBIDDEN.findall(piece)) for piece in pieces_of(text))


def longer_than(root: XmlElement, characters: int) -> bool:
    """Whether the XML of an element has more than this many characters; False if that is not certain."""
    # Line ends and surrogates may be encoded shorter than they are, at most by half.
    left, waiting = 2 * characters, [root]
    while waiting and left >= 0:
        element = waiting.pop()
        left -= min(len(element.tag), LONGEST_NAME) + len(element.attributes)
        left -= sum(len(value) for value in element.attributes.values() if isinstance(value, str)) if left >= 0 else 0
        if isinstance(element.children, str):
            left -= len(element.children)
        else:
            left -= len(element.children)
            waiting += element.children if left >= 0 else ()
    return left < 0


def masked(element: XmlElement, mask: Callable[[str], str]) -> XmlElement:
    """Mask secrets in the element's texts, so that no cut can leave half of one."""
    if isinstance(element.children, str):
        return XmlElement(element.tag, element.attributes, mask(element.children))
    return XmlElement(element.tag, element.attributes, [masked(child, mask) for child in element.children])


def _element(element: XmlElement) -> str:
    tag = _name(element.tag)
    # Two keys may become the same name, and a duplicate attribute is not well-formed.
    named = {_name(key): _attribute(value) for key, value in element.attributes.items() if value is not None}
    attributes = "".join(f' {name}="{value}"' for name, value in named.items())
    if isinstance(element.children, str):
        inner = _spelled(element.children)
    else:
        inner = "".join(_element(child) for child in element.children)
    return f"<{tag}{attributes}>{inner}</{tag}>" if inner else f"<{tag}{attributes}/>"


def _spelled(text: str) -> str:
    return escape(_allowed(text), quote=False)


def _allowed(text: str) -> str:
    # A bare carriage return would be read back as a line feed.
    clean = clean_text(text)
    allowed = "".join([_FORBIDDEN.sub("\ufffd", piece) for piece in pieces_of(clean)])
    return allowed.replace("\r\n", "\n").replace("\r", "\n")


def _attribute(value: str | float | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    written = escape(_allowed(str(value)), quote=False).replace('"', "&quot;")
    # Parsers turn white space in attributes into blanks; references survive.
    return written.replace("\n", "&#10;").replace("\t", "&#9;")


def _name(name: str) -> str:
    # The schema of no service has longer ones; a name cannot be cut later.
    name = name[:LONGEST_NAME]
    if _NAME.fullmatch(name):
        return name
    cleaned = _NOT_IN_NAME.sub("_", name)
    return cleaned if _NAME.fullmatch(cleaned) else f"_{cleaned}"


def _cost(element: XmlElement, enough: int | None = None) -> int:
    """Tokens of an element. A rough upper bound, without encoding it, if it is far above `enough`."""
    if enough is not None and longer_than(element, far_above_characters(enough)):
        return far_above_characters(enough)
    return count_tokens(_element(element)) + 1


def _shell_cost(element: XmlElement, enough: int | None = None) -> int:
    return _cost(XmlElement(element.tag, element.attributes, "x"), enough)


def _fit(element: XmlElement, budget: int, path: str, cuts: list[Cut]) -> XmlElement:
    if _cost(element, budget) <= budget:
        return element
    if _shell_cost(element, budget) > budget - NOTE_TOKENS:
        element = _with_fewer_attributes(element, budget - NOTE_TOKENS, path, cuts)
        if _cost(element, budget) <= budget - NOTE_TOKENS:
            return element
    budget -= _shell_cost(element) + NOTE_TOKENS
    if isinstance(element.children, str):
        shortened = cut_text(element.children, max(budget, 1), _spelled)
        cuts.append(Cut(path=path, shown=shortened.rfind("… ["), total=len(element.children), unit="characters"))
        return XmlElement(element.tag, element.attributes, shortened)
    alike = len({child.tag for child in element.children}) == 1 and len(element.children) > 1
    fit_children = _fit_alike if alike else _fit_different
    return XmlElement(element.tag, element.attributes, fit_children(element.children, budget, path, cuts))


def _with_fewer_attributes(element: XmlElement, budget: int, path: str, cuts: list[Cut]) -> XmlElement:
    """The element with the first attributes that fit whole. A service's own elements have few short ones."""
    attributes = element.attributes
    costs = (_shell_cost(XmlElement("a", {name: value}), budget) for name, value in attributes.items())
    shown = take_whole(costs, budget - _shell_cost(XmlElement(element.tag)))
    cuts.append(Cut(path=path, shown=shown, total=len(attributes), unit="fields"))
    return XmlElement(element.tag, dict(islice(attributes.items(), shown)), element.children)


def _fit_alike(children: Sequence[XmlElement], budget: int, path: str, cuts: list[Cut]) -> list[XmlElement]:
    shown = take_whole((_cost(child, budget) for child in children), budget)
    kept = list(children[:shown])
    if not kept and budget >= _SMALLEST_SHARE:
        kept = [_fit(children[0], budget, f"{path}/{children[0].tag}", cuts)]
    if len(kept) < len(children):
        cuts.append(Cut(path=path, shown=len(kept), total=len(children), unit="elements"))
    return kept


def _fit_different(children: Sequence[XmlElement], budget: int, path: str, cuts: list[Cut]) -> list[XmlElement]:
    if len(children) > budget:
        # Each child costs at least a token: no share would be large enough to show something.
        shown = take_whole((_cost(child, budget) for child in children), budget)
        cuts.append(Cut(path=path, shown=shown, total=len(children), unit="elements"))
        return list(children[:shown])
    costs = [_cost(child, budget) for child in children]
    shares = share_out(costs, budget)
    if any(share < cost and share < _SMALLEST_SHARE for share, cost in zip(shares, costs, strict=True)):
        shown = take_whole(costs, budget)
        cuts.append(Cut(path=path, shown=shown, total=len(children), unit="elements"))
        return list(children[:shown])
    parts = zip(children, shares, _segments(children), strict=True)
    return [_fit(child, share, f"{path}/{name}", cuts) for child, share, name in parts]


def _segments(children: Sequence[XmlElement]) -> list[str]:
    """A unique name for each child: `note`, or `note[1]` for the second of several."""
    seen: Counter[str] = Counter()
    names = []
    for child in children:
        names.append(f"{child.tag}[{seen[child.tag]}]" if seen[child.tag] else child.tag)
        seen[child.tag] += 1
    return names


def _fit_page(root: XmlElement, budget: int, page_path: str) -> XmlElement:
    """Truncate the named list first, between whole children, so that the next call can continue there."""
    if isinstance(root.children, str):
        return root
    if root.tag == page_path:
        shown = take_whole((_cost(child, budget) for child in root.children), budget - _shell_cost(root) - NOTE_TOKENS)
        return XmlElement(root.tag, root.attributes, root.children[: max(shown, 1)])
    others = sum(_cost(child, budget) for child in root.children if child.tag != page_path)
    children = [
        _fit_page(child, budget - others - _shell_cost(root), page_path) if child.tag == page_path else child
        for child in root.children
    ]
    return XmlElement(root.tag, root.attributes, children)


def _listed(root: XmlElement, page_path: str) -> int:
    """The number of children in the named list."""
    lists = [root] if root.tag == page_path else [child for child in root.children if not isinstance(child, str)]
    return sum(len(one.children) for one in lists if one.tag == page_path and not isinstance(one.children, str))


def _with_page_cut(cuts: list[Cut], page_path: str, total: int, shown: int) -> list[Cut]:
    """Merge the cuts of the page list: it may have been cut twice, as a list and as a part of the whole."""
    others = [cut for cut in cuts if cut.path.rsplit("/", 1)[-1] != page_path or cut.unit == "characters"]
    return others if shown == total else [Cut(path=page_path, shown=shown, total=total, unit="elements"), *others]
