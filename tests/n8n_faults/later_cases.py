"""Later cases: written beside the daily ones, and kept apart until these were mended."""

from collections.abc import Iterator

from .later_checks import later_checks
from .later_code import later_code
from .later_flow import later_flow
from .later_quiet import later_quiet
from .shapes import Case


def later_cases() -> Iterator[Case]:
    yield from later_code()
    yield from later_checks()
    yield from later_flow()
    yield from later_quiet()
