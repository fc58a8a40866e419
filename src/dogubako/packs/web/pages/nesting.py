"""How deeply the parts of a page are nested: the HTML parser needs ages for what no reader ever wrote."""

import re
from collections import Counter
from typing import Final

from dogubako.contract.errors import HtmlParseError

# The parser looks through all open elements for each new one, so that their number counts twice.
_MOST_OPEN_ELEMENTS: Final = 5_000
_TAG: Final = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_NEVER_CLOSED: Final = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"}
)
_CLOSED_BY_WHAT_FOLLOWS: Final = frozenset(
    {"html", "head", "body", "p", "li", "dt", "dd", "option", "optgroup", "rt", "rp"}
    | {"tr", "td", "th", "thead", "tbody", "tfoot", "colgroup", "caption"}
)
_NOT_COUNTED: Final = _NEVER_CLOSED | _CLOSED_BY_WHAT_FOLLOWS


def require_flat(html: str) -> None:
    """HtmlParseError for a page whose elements hide in each other by the thousand."""
    still_open: Counter[str] = Counter()
    depth = 0
    for match in _TAG.finditer(html):
        name = match[2].lower()
        if name in _NOT_COUNTED:
            continue
        if not match[1]:
            still_open[name] += 1
            depth += 1
        elif still_open[name]:
            still_open[name] -= 1
            depth -= 1
        if depth > _MOST_OPEN_ELEMENTS:
            raise HtmlParseError("too deep", message="The page could not be read: its parts are nested too deeply.")
