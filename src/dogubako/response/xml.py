"""Well-formed XML from any characters, truncated between whole elements."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import islice
from operator import is_

from dogubako.contract.output import XmlElement
from dogubako.contract.redaction import escape_html
from dogubako.response.jsonable import LONGEST_NAME, clean_text, pieces_of
from dogubako.response.tokens import count_tokens, far_above_characters
from dogubako.response.truncation import NOTE_TOKENS, Cut, cut_text, share_out, take_whole

DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'

# XML 1.0 cannot represent these, not even as a reference.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_NAME = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)
_NOT_IN_NAME = re.compile(r"[^\w.-]", re.ASCII)
# All that needs no care in a text, and in an attribute: printable ASCII that XML does not reserve.
_CARE_IN_TEXT = re.compile(r"[^\n -%'-;=?-~]")
_CARE_IN_ATTRIBUTE = re.compile(r"[^ !#-%'-;=?-~]")
# A longer text is looked at in pieces.
_SHORT = 16 * 1024
_SMALLEST_SHARE = 24
# Elements this deep are rendered once: rows of a list, and the parts of a record.
_KEPT_DEPTH = 2


class Rendered:
    """The texts and weights of upper elements. The same ones are looked at again for each cut."""

    def __init__(self) -> None:
        # With the element itself: another one could get its place in memory.
        self._texts: dict[int, tuple[XmlElement, str]] = {}
        self._weights: dict[int, tuple[XmlElement, int]] = {}

    def text(self, element: XmlElement, depth: int = 0) -> str:
        """The XML of an element."""
        if (known := self._texts.get(id(element))) is not None:
            return known[1]
        if isinstance(element.children, str) or depth == _KEPT_DEPTH:
            text = _element(element)
        else:
            text = _with_tags(element, "".join([self.text(child, depth + 1) for child in element.children]))
        self._texts[id(element)] = element, text
        return text

    def weight(self, element: XmlElement) -> int:
        """What `longer_than` compares."""
        if (known := self._weights.get(id(element))) is not None:
            return known[1]
        weight, waiting = 0, [element]
        while waiting:
            one = waiting.pop()
            if (known := self._weights.get(id(one))) is not None:
                weight += known[1]
                continue
            weight += _weight(one)
            if not isinstance(one.children, str):
                waiting += one.children
        self._weights[id(element)] = element, weight
        return weight


def render(root: XmlElement, known: Rendered | None = None) -> str:
    """The whole document, with its declaration."""
    return f"{DECLARATION}\n{_element(root) if known is None else known.text(root)}"


def fit_xml(
    root: XmlElement, budget: int, page_path: str | None = None, known: Rendered | None = None
) -> tuple[XmlElement, list[Cut]]:
    """Truncate to about `budget` tokens. `page_path` names the element whose last children are omitted first.

    `known` has what was rendered before; None for a document that is too long to be rendered.
    """
    fitting = _Fitting(known)
    if page_path is None:
        return fitting.fit(root, budget, root.tag), fitting.cuts
    kept = fitting.fit(fitting.page(root, budget, page_path), budget, root.tag)
    return kept, _with_page_cut(fitting.cuts, page_path, _listed(root, page_path), _listed(kept, page_path))


def unwritable(text: str) -> int:
    """The number of characters that XML cannot represent; each becomes U+FFFD."""
    if len(text) <= _SHORT and text.isprintable():
        return 0
    return sum(len(_FORBIDDEN.findall(piece)) for piece in pieces_of(text))


def longer_than(root: XmlElement, characters: int) -> bool:
    """Whether the XML of an element has more than this many characters; False if that is not certain."""
    # Line ends and surrogates may be encoded shorter than they are, at most by half.
    left, waiting = 2 * characters, [root]
    while waiting and left >= 0:
        element = waiting.pop()
        left -= _weight(element)
        if not isinstance(element.children, str) and left >= 0:
            waiting += element.children
    return left < 0


def _weight(element: XmlElement) -> int:
    """The characters of an element without its children, and how many those are."""
    attributes = element.attributes
    weight = min(len(element.tag), LONGEST_NAME) + len(element.children)
    if attributes:
        weight += len(attributes) + sum([len(value) for value in attributes.values() if isinstance(value, str)])
    return weight


def masked(element: XmlElement, mask: Callable[[str], str]) -> XmlElement:
    """Mask secrets in the element's texts, so that no cut can leave half of one. The same element if there is none."""
    children = element.children
    if isinstance(children, str):
        text = mask(children)
        return element if text is children else XmlElement(element.tag, element.attributes, text)
    without = [masked(child, mask) for child in children]
    if all(map(is_, without, children)):
        return element
    return XmlElement(element.tag, element.attributes, without)


def _element(element: XmlElement) -> str:
    children = element.children
    return _with_tags(element, _spelled(children) if isinstance(children, str) else "".join(map(_element, children)))


def _with_tags(element: XmlElement, inner: str) -> str:
    tag, attributes = _name(element.tag), ""
    if element.attributes:
        # Two keys may become the same name, and a duplicate attribute is not well-formed.
        named = {_name(key): _attribute(value) for key, value in element.attributes.items() if value is not None}
        attributes = "".join([f' {name}="{value}"' for name, value in named.items()])
    return f"<{tag}{attributes}>{inner}</{tag}>" if inner else f"<{tag}{attributes}/>"


def _spelled(text: str) -> str:
    if len(text) <= _SHORT and _CARE_IN_TEXT.search(text) is None:
        return text
    return escape_html(_allowed(text), quotes=False)


def _allowed(text: str) -> str:
    # A bare carriage return would be read back as a line feed.
    clean = clean_text(text)
    allowed = "".join([_FORBIDDEN.sub("\ufffd", piece) for piece in pieces_of(clean)])
    return allowed.replace("\r\n", "\n").replace("\r", "\n")


def _attribute(value: str | float | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    if len(text) <= _SHORT and _CARE_IN_ATTRIBUTE.search(text) is None:
        return text
    written = escape_html(_allowed(text), quotes=False).replace('"', "&quot;")
    # Parsers turn white space in attributes into blanks; references survive.
    return written.replace("\n", "&#10;").replace("\t", "&#9;")


def _name(name: str) -> str:
    # The schema of no service has longer ones; a name cannot be cut later.
    return _well_formed(name[:LONGEST_NAME])


@lru_cache(maxsize=1_024)
def _well_formed(name: str) -> str:
    if _NAME.fullmatch(name):
        return name
    cleaned = _NOT_IN_NAME.sub("_", name)
    return cleaned if _NAME.fullmatch(cleaned) else f"_{cleaned}"


class _Fitting:
    """Cuts one document, and notes what was left out."""

    def __init__(self, known: Rendered | None) -> None:
        self.cuts: list[Cut] = []
        self._known = known

    def cost(self, element: XmlElement, enough: int | None = None) -> int:
        """Tokens of an element. A rough upper bound, without encoding it, if it is far above `enough`."""
        known = self._known
        if known is None:
            return _cost(element, enough)
        if enough is not None and known.weight(element) > 2 * far_above_characters(enough):
            return far_above_characters(enough)
        return count_tokens(known.text(element)) + 1

    def fit(self, element: XmlElement, budget: int, path: str) -> XmlElement:
        if self.cost(element, budget) <= budget:
            return element
        if _shell_cost(element, budget) > budget - NOTE_TOKENS:
            element = self._with_fewer_attributes(element, budget - NOTE_TOKENS, path)
            if self.cost(element, budget) <= budget - NOTE_TOKENS:
                return element
        budget -= _shell_cost(element) + NOTE_TOKENS
        if isinstance(element.children, str):
            shortened = cut_text(element.children, max(budget, 1), _spelled)
            total = len(element.children)
            self.cuts.append(Cut(path=path, shown=shortened.rfind("… ["), total=total, unit="characters"))
            return XmlElement(element.tag, element.attributes, shortened)
        alike = len({child.tag for child in element.children}) == 1 and len(element.children) > 1
        fit_children = self._fit_alike if alike else self._fit_different
        return XmlElement(element.tag, element.attributes, fit_children(element.children, budget, path))

    def page(self, root: XmlElement, budget: int, page_path: str) -> XmlElement:
        """Truncate the named list first, between whole children, so that the next call can continue there."""
        if isinstance(root.children, str):
            return root
        if root.tag == page_path:
            room = budget - _shell_cost(root) - NOTE_TOKENS
            shown = take_whole((self.cost(child, budget) for child in root.children), room)
            return XmlElement(root.tag, root.attributes, root.children[: max(shown, 1)])
        others = sum(self.cost(child, budget) for child in root.children if child.tag != page_path)
        children = [
            self.page(child, budget - others - _shell_cost(root), page_path) if child.tag == page_path else child
            for child in root.children
        ]
        return XmlElement(root.tag, root.attributes, children)

    def _with_fewer_attributes(self, element: XmlElement, budget: int, path: str) -> XmlElement:
        """The element with the first attributes that fit whole. A service's own elements have few short ones."""
        attributes = element.attributes
        costs = (_shell_cost(XmlElement("a", {name: value}), budget) for name, value in attributes.items())
        shown = take_whole(costs, budget - _shell_cost(XmlElement(element.tag)))
        self.cuts.append(Cut(path=path, shown=shown, total=len(attributes), unit="fields"))
        return XmlElement(element.tag, dict(islice(attributes.items(), shown)), element.children)

    def _fit_alike(self, children: Sequence[XmlElement], budget: int, path: str) -> list[XmlElement]:
        shown = take_whole((self.cost(child, budget) for child in children), budget)
        kept = list(children[:shown])
        if not kept and budget >= _SMALLEST_SHARE:
            kept = [self.fit(children[0], budget, f"{path}/{children[0].tag}")]
        if len(kept) < len(children):
            self.cuts.append(Cut(path=path, shown=len(kept), total=len(children), unit="elements"))
        return kept

    def _fit_different(self, children: Sequence[XmlElement], budget: int, path: str) -> list[XmlElement]:
        if len(children) > budget:
            # Each child costs at least a token: no share would be large enough to show something.
            shown = take_whole((self.cost(child, budget) for child in children), budget)
            self.cuts.append(Cut(path=path, shown=shown, total=len(children), unit="elements"))
            return list(children[:shown])
        costs = [self.cost(child, budget) for child in children]
        shares = share_out(costs, budget)
        if any(share < cost and share < _SMALLEST_SHARE for share, cost in zip(shares, costs, strict=True)):
            shown = take_whole(costs, budget)
            self.cuts.append(Cut(path=path, shown=shown, total=len(children), unit="elements"))
            return list(children[:shown])
        parts = zip(children, shares, _segments(children), strict=True)
        return [self.fit(child, share, f"{path}/{name}") for child, share, name in parts]


def _cost(element: XmlElement, enough: int | None = None) -> int:
    if enough is not None and longer_than(element, far_above_characters(enough)):
        return far_above_characters(enough)
    return count_tokens(_element(element)) + 1


def _shell_cost(element: XmlElement, enough: int | None = None) -> int:
    return _cost(XmlElement(element.tag, element.attributes, "x"), enough)


def _segments(children: Sequence[XmlElement]) -> list[str]:
    """A unique name for each child: `note`, or `note[1]` for the second of several."""
    seen: Counter[str] = Counter()
    names = []
    for child in children:
        names.append(f"{child.tag}[{seen[child.tag]}]" if seen[child.tag] else child.tag)
        seen[child.tag] += 1
    return names


def _listed(root: XmlElement, page_path: str) -> int:
    """The number of children in the named list."""
    lists = [root] if root.tag == page_path else [child for child in root.children if not isinstance(child, str)]
    return sum(len(one.children) for one in lists if one.tag == page_path and not isinstance(one.children, str))


def _with_page_cut(cuts: list[Cut], page_path: str, total: int, shown: int) -> list[Cut]:
    """Merge the cuts of the page list: it may have been cut twice, as a list and as a part of the whole."""
    others = [cut for cut in cuts if cut.path.rsplit("/", 1)[-1] != page_path or cut.unit == "characters"]
    return others if shown == total else [Cut(path=page_path, shown=shown, total=total, unit="elements"), *others]
