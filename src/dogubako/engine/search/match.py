"""What a search answers, and what can search."""

from collections.abc import Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from dogubako.engine.entry import ToolRegistryEntry


@dataclass(frozen=True, kw_only=True, slots=True)
class Reason:
    """A word of the query, the field that holds it, and its share of the score. Neighbours help without a word."""

    word: str
    field: str
    share: float

    def __str__(self) -> str:
        said = f"{self.word} in {self.field}" if self.word else self.field
        return f"{said} {self.share:.2f}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Match:
    """A tool that fits, how well (0 to 1, and 1 only if it was named), and why, if that was asked."""

    entry: "ToolRegistryEntry"
    score: float
    why: tuple[Reason, ...] = ()


class ToolSearch(Protocol):
    """A ranker that is told of every tool before it is asked."""

    def put(self, entry: "ToolRegistryEntry") -> None:
        """Take a tool in, or what has become of it."""

    def drop(self, name: str) -> None:
        """Forget a tool, if it is known."""

    def find(self, query: str, allowed: Set[str] | None, *, explain: bool) -> list[Match]:
        """Tools that fit, best first; of those whose names are allowed, if that is said."""
