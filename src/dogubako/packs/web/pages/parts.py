"""Limit the nesting of a page, and find its headings and parts."""

import re
from collections import Counter
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal

import msgspec

from dogubako.contract.errors import HtmlParseError

# The parser walks all open elements for each new one, so their number counts twice.
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
    """Raise HtmlParseError for a page with thousands of nested elements."""
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


# A fence begins or ends code, in which # begins a comment. A line of hundreds of characters is no heading.
_LINE: Final = re.compile(r"^(?:(```|~~~)|(#{1,6})[ \t]+(\S.{0,999})$)", re.MULTILINE)
_LINK: Final = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,999}\)")
# Far more than a reader looks through.
_MOST: Final = 5_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Heading:
    """A heading, with the beginning and end of its section."""

    level: int
    title: str
    start: int
    end: int


def headings_of(text: str) -> list[Heading]:
    """The headings, in order; a section ends at the next heading of the same or a higher level."""
    headings: list[Heading] = []
    ends: dict[int, int] = {}
    for level, title, start in reversed(_all_headings(text)):
        end = min((begin for deep, begin in ends.items() if deep <= level), default=len(text))
        headings.append(Heading(level=level, title=title, start=start, end=end))
        ends[level] = start
    return headings[::-1]


def _all_headings(text: str) -> list[tuple[int, str, int]]:
    """Level, title and position of the headings outside of code."""
    headings: list[tuple[int, str, int]] = []
    fence = ""
    for match in _LINE.finditer(text):
        if len(headings) == _MOST:
            break
        if match[1]:
            fence = "" if fence == match[1] else fence or match[1]
        elif not fence:
            title = _LINK.sub(r"\1", match[3]).rstrip().rstrip("#").rstrip()
            headings += [(len(match[2]), title, match.start())] if title else []
    return headings


PageFormat = Literal["markdown", "text", "html"]

LONG: Final = 20_000
LONGEST_TITLE: Final = 200
_MOST_HEADINGS: Final = 60
_MOST_COMPARED: Final = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class PartWanted:
    """The requested part of a page."""

    url: str
    start: int = 0
    length: int = LONG
    section: str | None = None
    headings_only: bool = False
    format: PageFormat = "markdown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Readable:
    """The readable text of a page. `onward` is the address that it refers its readers to."""

    title: str
    text: str
    kind: str
    note: str | None = None
    onward: str | None = None


class PagePart(msgspec.Struct, frozen=True, kw_only=True, tag="page"):
    """The part, the page's title and first headings, and the length of the whole."""

    title: str
    headings: tuple[Heading, ...]
    headings_in_all: int
    text: str
    total: int
    note: str | None = None


class SectionMissing(msgspec.Struct, frozen=True, kw_only=True, tag="no section"):
    """The page has no section of this name; these have similar names."""

    near: tuple[str, ...]


def part_of(page: Readable, wanted: PartWanted) -> PagePart | SectionMissing:
    """Extract the requested part. Slow for a long page."""
    headings = headings_of(page.text)
    body = page.text.strip()
    if wanted.section is not None:
        section = _section(headings, wanted.section)
        if isinstance(section, SectionMissing):
            return section
        body = page.text[section.start : section.end].strip()
    return PagePart(
        title=" ".join(page.title.split())[:LONGEST_TITLE],
        headings=tuple(headings[:_MOST_HEADINGS]),
        headings_in_all=len(headings),
        text="" if wanted.headings_only else body[wanted.start : wanted.start + wanted.length],
        total=len(body),
        note=page.note,
    )


def _section(headings: list[Heading], name: str) -> Heading | SectionMissing:
    wanted = name.strip().lower()
    for heading in headings:
        if heading.title.lower() == wanted:
            return heading
    near = get_close_matches(name[:LONGEST_TITLE], [one.title for one in headings[:_MOST_COMPARED]], n=3, cutoff=0.3)
    near = near or [one.title for one in headings if wanted in one.title.lower()][:3]
    return SectionMissing(near=tuple(near))
