"""Match the names that callers write with records."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from dogubako.contract.errors import ValidationError
from dogubako.contract.normalization import nfkc

_MOST_SHOWN: Final = 20
# Redmine's names have at most 255 characters. Longer texts are not compared.
LONGEST_NAME: Final = 1_000

# An id or a name.
IdOrName = int | str


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A record with its id and all its names. The first name is shown."""

    id: int
    names: tuple[str, ...]
    note: str = ""

    def __str__(self) -> str:
        return f"{self.names[0]} ({self.id}{self.note})"


def as_id(value: IdOrName) -> int | None:
    """The id in `7`, `'7'` and `'#7'`; None for a name."""
    if isinstance(value, int):
        return value
    if len(value) > LONGEST_NAME:
        return None
    digits = value.strip().removeprefix("#")
    return int(digits) if digits.isascii() and digits.isdigit() else None


def same(one: str, other: str) -> bool:
    """Whether two names are equal for people: without case and width."""
    return len(one) <= LONGEST_NAME and plain(one) == plain(other)


def matching(value: str, candidates: Iterable[Candidate]) -> list[Candidate]:
    if len(value) > LONGEST_NAME:
        return []
    wanted = plain(value)
    matches = (one for one in candidates if any(plain(name) == wanted for name in one.names))
    return list({one.id: one for one in matches}.values())


def only(matches: Sequence[Candidate], noun: str, parameter: str) -> int:
    """The id of the only match; several are an error that lists them."""
    if len(matches) == 1:
        return matches[0].id
    listed = ", ".join(str(one) for one in matches[:_MOST_SHOWN])
    message = f"Invalid value for parameter {parameter}: several of this name are there: {listed}"
    raise ValidationError.of(parameter, message, hint=f"Name the {noun} by its id{_as_number(matches)}.")


def _as_number(matches: Sequence[Candidate]) -> str:
    """A text of digits may be a login again."""
    return ", as a number" if any("login" in one.note for one in matches) else ""


def absent(noun: str, parameter: str, candidates: Iterable[Candidate] = (), hint: str | None = None) -> ValidationError:
    """The error for a record that is missing or invisible: Redmine does not distinguish the two."""
    names = [one.names[0] for one in candidates]
    shown = f" Known: {', '.join(names[:_MOST_SHOWN])}{', …' if len(names) > _MOST_SHOWN else ''}." if names else ""
    message = f"Invalid value for parameter {parameter}: there is no such {noun}, or you may not see it"
    return ValidationError.of(parameter, message, hint=f"{shown} {hint or ''}".strip() or None)


def plain(name: str) -> str:
    """A name without case, width and double blanks."""
    return " ".join(nfkc(name).casefold().split())
