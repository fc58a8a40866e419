"""The part of a page that a caller asked for. It is cut where the page was parsed, so that no more of it travels."""

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal

import msgspec

from dogubako.packs.web.pages.headings import Heading, headings_of

PageFormat = Literal["markdown", "text", "html"]

LONG: Final = 20_000
LONGEST_TITLE: Final = 200
_MOST_HEADINGS: Final = 60
_MOST_COMPARED: Final = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class PartWanted:
    """Which part of the page to show."""

    url: str
    start: int = 0
    length: int = LONG
    section: str | None = None
    headings_only: bool = False
    format: PageFormat = "markdown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Readable:
    """A page as somebody reads it."""

    title: str
    text: str
    kind: str


class PagePart(msgspec.Struct, frozen=True, kw_only=True, tag="page"):
    """The part, its page's title and first headlines, and how long the whole is."""

    title: str
    headings: tuple[Heading, ...]
    headings_in_all: int
    text: str
    total: int


class SectionMissing(msgspec.Struct, frozen=True, kw_only=True, tag="no section"):
    """The page has no section of this name; these come near it."""

    near: tuple[str, ...]


def part_of(page: Readable, wanted: PartWanted) -> PagePart | SectionMissing:
    """Cut out what was asked for. A long page takes a while."""
    headings = headings_of(page.text)
    body = page.text.strip()
    if wanted.section is not None:
        found = _section(headings, wanted.section)
        if isinstance(found, SectionMissing):
            return found
        body = page.text[found.start : found.end].strip()
    return PagePart(
        title=" ".join(page.title.split())[:LONGEST_TITLE],
        headings=tuple(headings[:_MOST_HEADINGS]),
        headings_in_all=len(headings),
        text="" if wanted.headings_only else body[wanted.start : wanted.start + wanted.length],
        total=len(body),
    )


def _section(headings: list[Heading], name: str) -> Heading | SectionMissing:
    wanted = name.strip().lower()
    for heading in headings:
        if heading.title.lower() == wanted:
            return heading
    near = get_close_matches(name[:LONGEST_TITLE], [one.title for one in headings[:_MOST_COMPARED]], n=3, cutoff=0.3)
    near = near or [one.title for one in headings if wanted in one.title.lower()][:3]
    return SectionMissing(near=tuple(near))
