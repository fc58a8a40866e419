"""A text that is not well-formed XML: which item has it, and where the fault lies.

Entities are never expanded: a text that declares any is not looked at.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple
from xml.parsers import expat

from dogubako.packs.n8n.diagnosis.answers import is_html
from dogubako.packs.n8n.diagnosis.declarations import Step
from dogubako.packs.n8n.diagnosis.failures import Failure
from dogubako.packs.n8n.diagnosis.references import Reference
from dogubako.packs.n8n.diagnosis.scene import Cause

_BAD_XML = re.compile(
    r"close tag|Unclosed root tag|Non-whitespace|Invalid (?:character|attribute|tag)|Unencoded|Unexpected end"
    r"|Unquoted attribute|Attribute without value|Text data outside|Malformed|No whitespace between attributes"
)
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


def broken_xml(failure: Failure) -> Cause | None:
    """A text that an XML node could not read."""
    if failure.kind != "xml" or _BAD_XML.search(failure.message) is None:
        return None
    field = failure.settings.get("dataPropertyName") or "data"
    reference = Reference(node=None, pick="item", path=tuple(Step(name) for name in str(field).split(".")))
    found = [(place, value) for place, value in failure.values(reference) if isinstance(value, str)]
    if len(found) == 1 and is_html(found[0][1]):
        return failure.trace(reference, found[0][0], "HTML, not XML")
    known = is_readable([text for _, text in found])
    faults = [(place, fault) for place, text in found if known and (fault := fault_in(text)) is not None]
    # n8n reads the items in their order, and stops at the first that is not well-formed.
    if faults and (len(faults) == 1 or faults[0][1].plain):
        return failure.trace(reference, faults[0][0], f"which is not well-formed XML: {faults[0][1].told}")
    return failure.trace(reference, found[0][0], "which is not well-formed XML") if len(found) == 1 else None


def is_readable(texts: Sequence[str]) -> bool:
    """Whether it can be told here which of the texts are well-formed."""
    return sum(map(len, texts)) <= _LONGEST and not any(map(_DECLARES.search, texts))


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
