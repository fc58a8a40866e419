"""One name among many: found, ambiguous, or not there."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from dogubako.contract.errors import ValidationError

_MOST_SHOWN: Final = 20
# Redmine's own names have at most 255 characters. A longer text is compared with none of them.
LONGEST_NAME: Final = 1_000

# An id, or a name that people use for it.
IdOrName = int | str


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """Something with an id, and every name it answers to. The first is the one to show."""

    id: int
    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.names[0]} ({self.id})"


def as_id(given: IdOrName) -> int | None:
    """The id in `7`, `'7'` and `'#7'`; nothing for a name."""
    if isinstance(given, int):
        return given
    if len(given) > LONGEST_NAME:
        return None
    digits = given.strip().removeprefix("#")
    return int(digits) if digits.isascii() and digits.isdigit() else None


def same(one: str, other: str) -> bool:
    """Whether people would call it the same name."""
    return len(one) <= LONGEST_NAME and _plain(one) == _plain(other)


def matching(given: str, candidates: Iterable[Candidate]) -> list[Candidate]:
    if len(given) > LONGEST_NAME:
        return []
    wanted = _plain(given)
    found = (one for one in candidates if any(_plain(name) == wanted for name in one.names))
    return list({one.id: one for one in found}.values())


def only(found: Sequence[Candidate], noun: str, parameter: str) -> int:
    """The one that is meant; several are refused with all of them."""
    if len(found) == 1:
        return found[0].id
    listed = ", ".join(str(one) for one in found[:_MOST_SHOWN])
    message = f"Invalid value for parameter {parameter}: several of this name are there: {listed}"
    raise ValidationError.of(parameter, message, hint=f"Name the {noun} by its id.")


def absent(noun: str, parameter: str, known: Iterable[Candidate] = (), hint: str | None = None) -> ValidationError:
    """Not there, or not for this user: Redmine does not tell the two apart, so neither do we."""
    names = [one.names[0] for one in known]
    shown = f" Known: {', '.join(names[:_MOST_SHOWN])}{', …' if len(names) > _MOST_SHOWN else ''}." if names else ""
    message = f"Invalid value for parameter {parameter}: there is no such {noun}, or you may not see it"
    return ValidationError.of(parameter, message, hint=f"{shown} {hint or ''}".strip() or None)


def _plain(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
