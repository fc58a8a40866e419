"""Where a text is not well-formed XML. Entities are never expanded: a text that declares any is not looked at."""

import re
from typing import Final, NamedTuple
from xml.parsers import expat

# What may stand between a bare & and the sign at which it is noticed.
_NAME = re.compile(r"#?\w{0,40}")
_CLOSED = re.compile(r"[^<>\s]{1,100}")
_DECLARES = re.compile(r"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_AROUND: Final = 20
_LONGEST: Final = 2_000_000


class XmlFault(NamedTuple):
    """What keeps a text from being XML. `plain`: no reader of XML takes that."""

    told: str
    plain: bool


def is_readable(text: str) -> bool:
    """Whether it can be told here if the text is well-formed."""
    return len(text) <= _LONGEST and _DECLARES.search(text) is None


def fault_in(text: str) -> XmlFault | None:
    """What is wrong in the text, and where; None if it is well-formed or empty. Ask `is_readable` before."""
    parser, opened = expat.ParserCreate("utf-8"), list[str]()
    parser.StartElementHandler = lambda name, _attributes: opened.append(name)
    parser.EndElementHandler = lambda _name: opened.pop()
    written = text.strip("\ufeff \t\r\n").encode("utf-8", "replace")
    try:
        parser.Parse(written or b"<empty/>", True)
    except expat.ExpatError as error:
        at = parser.ErrorByteIndex
        parts = written[:at].decode("utf-8", "replace"), written[at:].decode("utf-8", "replace")
        told = _told(*parts, opened)
        return XmlFault(told or str(expat.ErrorString(error.code)), plain=told is not None)
    return None


def _told(before: str, rest: str, opened: list[str]) -> str | None:
    """The fault in words, by what stands before it, what stands there, and which tags are open."""
    text, at = before + rest, before.rfind("&")
    if at >= 0 and _NAME.fullmatch(before, at + 1) and not rest.startswith(";"):
        return f'the & in "{text[max(at - _AROUND, 0) : at + _AROUND]}" is not written as &amp;'
    closed = _CLOSED.match(rest) if before.endswith("</") else None
    if closed is not None and opened:
        return f"</{closed[0]}> stands where <{opened[-1]}> is still open"
    return f"<{opened[-1]}> is not closed" if opened and not rest else None
