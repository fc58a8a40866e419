"""Daily cases: faults that people who use n8n every day have, in German, Japanese and English words."""

from collections.abc import Iterator

from .daily_checks import daily_checks
from .daily_code import daily_code
from .daily_expressions import daily_expressions
from .daily_quiet import daily_quiet
from .daily_services import daily_services
from .shapes import Case


def daily_cases() -> Iterator[Case]:
    yield from daily_services()
    yield from daily_code()
    yield from daily_checks()
    yield from daily_expressions()
    yield from daily_quiet()
