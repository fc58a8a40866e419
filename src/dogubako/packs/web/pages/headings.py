"""The headlines of a Markdown text, and the section that belongs to each."""

import re
from dataclasses import dataclass
from typing import Final

# A fence begins or ends code, in which # begins a comment. A line of hundreds of characters is no headline.
_LINE: Final = re.compile(r"^(?:(```|~~~)|(#{1,6})[ \t]+(\S.{0,199})$)", re.MULTILINE)
# Far more than a reader looks through.
_MOST: Final = 5_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Heading:
    """A headline, and where its section begins and ends."""

    level: int
    title: str
    start: int
    end: int


def headings_of(text: str) -> list[Heading]:
    """The headlines, in order; a section ends where one of its own or a higher level begins."""
    headings: list[Heading] = []
    ends: dict[int, int] = {}
    for level, title, start in reversed(_found(text)):
        end = min((begin for deep, begin in ends.items() if deep <= level), default=len(text))
        headings.append(Heading(level=level, title=title, start=start, end=end))
        ends[level] = start
    return headings[::-1]


def _found(text: str) -> list[tuple[int, str, int]]:
    """Level, title and place of the headlines outside of code."""
    found: list[tuple[int, str, int]] = []
    fence = ""
    for match in _LINE.finditer(text):
        if len(found) == _MOST:
            break
        if match[1]:
            fence = "" if fence == match[1] else fence or match[1]
        elif not fence:
            title = match[3].rstrip().rstrip("#").rstrip()
            found += [(len(match[2]), title, match.start())] if title else []
    return found
