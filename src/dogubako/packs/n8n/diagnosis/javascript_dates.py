"""Whether `new Date(text)` gives a date: the parser of V8, which takes ISO dates strictly and any others as it can."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ZONES: Final = frozenset({"ut", "utc", "z", "gmt", "cdt", "cst", "edt", "est", "mdt", "mst", "pdt", "pst"})
_HALVES: Final = {"am": 0, "pm": 12}
_PREFIX: Final = 3
_MOST_DIGITS: Final = 9
_PARTS_OF_DAY: Final = 3
_PARTS_OF_TIME: Final = 4
# What a Date can hold.
_YEARS: Final = range(-271_821, 275_761)
_YEAR_DIGITS: Final = 4
_LONG_YEAR_DIGITS: Final = 6


def is_date(text: str) -> bool:
    """Whether JavaScript makes a date of this text, and not "Invalid Date"."""
    return _Parser(text).parse()


class _Token(NamedTuple):
    """`number`, `word`, `space`, `end`, or a sign as its own kind; others are `unknown`."""

    kind: str
    text: str = ""

    @property
    def number(self) -> int:
        return int(self.text.lstrip("0")[:_MOST_DIGITS] or "0")

    @property
    def thousandths(self) -> int:
        """The first three digits behind a point."""
        return int(f"{self.number:0{len(self.text)}}"[:3].ljust(3, "0"))

    def is_number(self, digits: int, within: range | None = None) -> bool:
        """Whether it is a number of so many digits."""
        return self.kind == "number" and len(self.text) == digits and (within is None or self.number in within)


_END: Final = _Token("end")
_MONTH: Final = range(1, 13)
_DAY: Final = range(1, 32)
_HOUR: Final = range(24)
_SIXTY: Final = range(60)
_THOUSAND: Final = range(1_000)


def _tokens(text: str) -> Iterator[_Token]:
    place = 0
    while place < len(text):
        start, sign = place, text[place]
        place += 1
        if sign in "0123456789":
            place = _while(text, start, lambda one: one in "0123456789")
            yield _Token("number", text[start:place])
        elif sign in ":-+.)":
            yield _Token(sign)
        elif sign >= "A" and not _is_space(sign):
            place = _while(text, start, lambda one: one >= "A" and not _is_space(one))
            yield _Token("word", text[start:place])
        elif _is_space(sign):
            yield _Token("space")
        else:
            if sign == "(":
                place = _after_brackets(text, start)
            yield _Token("unknown")


def _while(text: str, place: int, holds: Callable[[str], bool]) -> int:
    while place < len(text) and holds(text[place]):
        place += 1
    return place


def _is_space(sign: str) -> bool:
    return sign.isspace() or sign == "\ufeff"


def _after_brackets(text: str, place: int) -> int:
    """The place behind the bracket that closes the one here; the end, if none does."""
    depth = 0
    for at in range(place, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0:
            return at + 1
    return len(text)


class _Refused(Exception):  # noqa: N818 - it ends the parsing, and nothing is wrong
    """V8 makes "Invalid Date" of the text."""


@dataclass
class _Parser:
    """Reads an ISO date, and what is none in the way of old browsers. Named as in V8: day, time and zone."""

    text: str
    day: list[int] = field(default_factory=list)
    time: list[int] = field(default_factory=list)
    month: int | None = None
    half: int | None = None
    zone: tuple[int, int | None] | None = None
    is_iso: bool = False

    def parse(self) -> bool:
        self._rest = [*_tokens(self.text), _END]
        self._at = 0
        try:
            token = self._iso()
            self._has_number = bool(self.day)
            token = self._next() if token == _END else token
            while token != _END:
                self._old(token)
                token = self._next()
        except _Refused:
            return False
        return self._is_day() and self._is_time()

    @property
    def _peek(self) -> _Token:
        return self._rest[min(self._at, len(self._rest) - 1)]

    def _next(self) -> _Token:
        token = self._peek
        self._at += 1
        return token

    def _skip(self, sign: str) -> bool:
        found = self._peek.kind == sign
        self._at += found
        return found

    def _iso(self) -> _Token:
        """Read an ISO date; the first token that is none of it, or the end."""
        if self._peek.kind in "+-":
            sign = self._next()
            if not self._peek.is_number(_LONG_YEAR_DIGITS):
                return sign
            year = self._next().number
            if sign.kind == "-" and year == 0:
                return sign
            self.day.append(-year if sign.kind == "-" else year)
        elif self._peek.is_number(_YEAR_DIGITS):
            self.day.append(self._next().number)
        else:
            return self._next()
        for within in (_MONTH, _DAY):
            if not self._skip("-"):
                break
            if not self._peek.is_number(2, within):
                return self._next()
            self.day.append(self._next().number)
        if self._peek.text.lower() == "t":
            self._next()
            self._iso_time()
        elif self._peek != _END:
            return self._next()
        self.is_iso = True
        return _END

    def _iso_time(self) -> None:
        """The time behind the T, which has no other form."""
        hour = self._digits(range(25))
        within = _SIXTY if hour in _HOUR else range(1)
        self._needs(self._skip(":"))
        self.time += [hour, self._digits(within)]
        if self._skip(":"):
            self.time.append(self._digits(within))
            if self._skip("."):
                self._needs(self._peek.kind == "number" and (hour in _HOUR or self._peek.number == 0))
                self._next()
        if self._peek.text.lower() == "z":
            self._next()
        elif self._peek.kind in "+-":
            self._next()
            if self._peek.is_number(4):
                hours, minutes = divmod(self._next().number, 100)
                self._needs(hours in _HOUR and minutes in _SIXTY)
            else:
                self._digits(_HOUR)
                self._needs(self._skip(":"))
                self._digits(_SIXTY)
        self._needs(self._peek == _END)

    def _digits(self, within: range) -> int:
        self._needs(self._peek.is_number(2, within))
        return self._next().number

    def _needs(self, holds: bool) -> None:
        if not holds:
            raise _Refused

    def _old(self, token: _Token) -> None:
        """One token of a date that is no ISO date."""
        if token.kind == "number":
            self._has_number = True
            self._number(token.number)
        elif token.kind == "word":
            self._word(token.text)
        elif token.kind in "+-" and (self.zone == (0, 0) or self.time):
            self._offset()
        elif token.kind in "+-)":
            self._needs(not self._has_number)

    def _number(self, number: int) -> None:
        if self._skip(":"):
            if self._skip(":"):
                self._needs(not self.time)
                self.time += [number, 0]
            else:
                self._needs(len(self.time) < _PARTS_OF_TIME)
                self.time.append(number)
                self._skip(".")
        elif self._skip(".") and self._expects(number):
            self._needs(self._peek.kind == "number")
            self.time.append(number)
            self._ends_time(self._next().thousandths)
        elif self.zone is not None and self.zone[1] is None and number in _SIXTY:
            self.zone = (self.zone[0], number)
        elif self._expects(number):
            self._ends_time(number)
            behind = self._peek
            self._needs(behind.kind in ("end", "space", "+", "-") or behind.text.lower() == "z")
        else:
            self._needs(len(self.day) < _PARTS_OF_DAY)
            self.day.append(number)
            self._skip("-")

    def _expects(self, number: int) -> bool:
        """Whether this number can be the next part of the time."""
        within = {1: _SIXTY, 2: _SIXTY, 3: _THOUSAND}.get(len(self.time))
        return within is not None and number in within

    def _ends_time(self, number: int) -> None:
        self.time = [*self.time, number, 0, 0, 0][:_PARTS_OF_TIME]

    def _word(self, word: str) -> None:
        name = word[:_PREFIX].lower()
        if name in _HALVES and len(word) <= _PREFIX and self.time:
            self.half = _HALVES[name]
        elif name in _MONTHS:
            self.month = _MONTHS.index(name) + 1
            self._skip("-")
        elif name in _ZONES and len(word) <= _PREFIX and self._has_number:
            self.zone = (0 if name in ("ut", "utc", "z", "gmt") else 1, 0)
        else:
            self._needs(not self._has_number and self._peek.kind != "number")

    def _offset(self) -> None:
        """What stands behind a sign: hours, or hours and minutes."""
        told = self._next() if self._peek.kind == "number" else _Token("number")
        self._has_number = True
        if self._peek.kind == ":":
            self.zone = (told.number, None)
        else:
            self._needs(1 <= len(told.text) <= _YEAR_DIGITS)
            self.zone = (told.number, 0) if len(told.text) <= 2 else divmod(told.number, 100)

    def _is_day(self) -> bool:
        """Whether the numbers are a day: of which one is the year V8 decides by the first."""
        if not self.day:
            return False
        first, second, third = [*self.day, 1, 1][:_PARTS_OF_DAY]
        if self.month is not None:
            year, month, day = (second, self.month, first) if first in _DAY else (first, self.month, second)
        elif self.is_iso or first not in _DAY:
            year, month, day = first, second, third
        else:
            year, month, day = third, first, second
        return year in _YEARS and month in _MONTH and day in _DAY

    def _is_time(self) -> bool:
        hour, minute, second, thousandth = [*self.time, 0, 0, 0, 0][:_PARTS_OF_TIME]
        if self.half is not None:
            if hour not in range(13):
                return False
            hour = hour % 12 + self.half
        if hour in _HOUR and minute in _SIXTY and second in _SIXTY and thousandth in _THOUSAND:
            return True
        return (hour, minute, second, thousandth) == (24, 0, 0, 0)
