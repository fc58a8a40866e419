"""Third cases: written when the daily and the later ones were mended."""

from collections.abc import Iterator

from .shapes import Case
from .third_code import third_code
from .third_flow import third_flow


def third_cases() -> Iterator[Case]:
    yield from third_code()
    yield from third_flow()
