"""The result of a search, and the interface of a search."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, overload

import msgspec

if TYPE_CHECKING:
    from dogubako.engine.registration import ToolRegistryEntry


Hit = tuple[str, float]


class Ranked(msgspec.Struct, frozen=True, kw_only=True):
    """Tools with the probability that they are right, best first, and whether probably none is."""

    hits: list[Hit] = []
    is_doubtful: bool = True


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """A word of the query, the field that holds it, and its share of the score. Neighbours help without a word."""

    word: str
    field: str
    share: float

    def __str__(self) -> str:
        said = f"{self.word} in {self.field}" if self.word else self.field
        return f"{said} {self.share:.2f}"


class Match(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that fits, how likely it is what was asked for (1 only if it was named), and why, if that was asked."""

    entry: "ToolRegistryEntry"
    score: float
    why: tuple[Reason, ...] = ()


# So many are named as the nearest where nothing fits.
MOST_NEAREST: Final = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchResult(Sequence[Match]):
    """The tools that fit, best first; none of them where the search is doubtful."""

    # All tools that were ranked, doubtful or not.
    ranked: Sequence[Match] = ()
    # Whether probably none of them does what was asked for.
    is_doubtful: bool = False
    # How many tools are not indexed yet. The next search has them.
    not_indexed: int = 0

    def __len__(self) -> int:
        return len(self.matches)

    @overload
    def __getitem__(self, at: int) -> Match: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Match]: ...
    def __getitem__(self, at: int | slice) -> Match | Sequence[Match]:
        return self.matches[at]

    @property
    def matches(self) -> Sequence[Match]:
        """The tools that fit; none where all are doubtful."""
        return () if self.is_doubtful else self.ranked

    @property
    def nearest(self) -> Sequence[Match]:
        """Where nothing fits: what comes nearest."""
        return self.ranked[:MOST_NEAREST] if self.is_doubtful else ()


class ToolSearch(Protocol):
    """Ranks the tools that were put into it."""

    def put(self, entry: "ToolRegistryEntry") -> None:
        """Add or replace a tool."""

    def drop(self, name: str) -> None:
        """Remove a tool, if it is there."""

    def find(self, query: str, allowed: Set[str] | None, *, explain: bool, learner: str | None = None) -> SearchResult:
        """Matching tools, best first; only those of allowed names, if given. `learner` is who asks."""

    def prepare(self) -> None:
        """Begin to index what was put in, in the background."""
