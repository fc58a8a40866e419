"""Fifth cases: written when the fourth ones, and those of another hand, were mended."""

from collections.abc import Iterator

from .fifth_offices import fifth_offices
from .fifth_quiet import fifth_quiet
from .fifth_shops import fifth_shops
from .fifth_traps import fifth_traps
from .shapes import Case


def fifth_cases() -> Iterator[Case]:
    yield from fifth_shops()
    yield from fifth_offices()
    yield from fifth_traps()
    yield from fifth_quiet()
