"""Fourth cases: innocent workflows for every claim that a rule makes, and new faults beside them."""

from collections.abc import Iterator

from .fourth_answers import fourth_answers
from .fourth_code import fourth_code
from .fourth_makers import fourth_makers
from .fourth_quiet import fourth_quiet
from .fourth_rules import fourth_rules
from .fourth_services import fourth_services
from .fourth_traps import fourth_traps
from .shapes import Case


def fourth_cases() -> Iterator[Case]:
    yield from fourth_services()
    yield from fourth_answers()
    yield from fourth_code()
    yield from fourth_rules()
    yield from fourth_traps()
    yield from fourth_makers()
    yield from fourth_quiet()
