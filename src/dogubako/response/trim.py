"""The three ways to make something smaller without breaking it, and a note of what each one left out."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from dogubako.response.tokens import count_tokens

# What a cut costs to tell: a path, two numbers and a word.
NOTE_TOKENS = 40

# A key may be as long as any text; a path that is longer than this helps nobody to find the place.
_LONGEST_PATH = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Cut:
    """Something was left out here."""

    path: str
    shown: int
    total: int
    unit: Literal["items", "fields", "characters", "lines", "blocks", "elements", "parts"]
    characters: int | None = None

    @property
    def position(self) -> int:
        """Where to read on; in a text that was cut between lines or blocks, in characters."""
        return self.shown if self.characters is None else self.characters

    def sentence(self) -> str:
        where = f" of {self.where}" if self.path else ""
        return f"{self.total - self.shown:,} of {self.total:,} {self.unit}{where}"

    def as_json(self) -> dict[str, object]:
        return {"path": self.where, "shown": self.shown, "total": self.total, "unit": self.unit}

    @property
    def where(self) -> str:
        return self.path if len(self.path) <= _LONGEST_PATH else f"{self.path[:_LONGEST_PATH]}…"


def take_whole(costs: Iterable[int], budget: int) -> int:
    """How many parts fit, in order, without breaking one."""
    taken = 0
    for cost in costs:
        budget -= cost
        if budget < 0:
            break
        taken += 1
    return taken


def share_out(costs: Sequence[int], budget: int) -> list[int]:
    """Give small parts all they need and divide the rest evenly among the large ones."""
    shares = [0] * len(costs)
    order = sorted(range(len(costs)), key=costs.__getitem__)
    for position, index in enumerate(order):
        fair = budget // (len(costs) - position)
        shares[index] = min(costs[index], fair)
        budget -= shares[index]
    return shares


def cut_text(text: str, budget: int, spelled: Callable[[str], str] = str) -> str:
    """The longest prefix that fits, closed with the number of characters that are missing.

    `spelled` writes it as it will stand in the answer, where quotes and brackets may need more room.
    """
    low, high = 0, min(len(text), budget * 12)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(spelled(_closed(text, middle))) <= budget:
            low = middle
        else:
            high = middle - 1
    return _closed(text, low)


def _closed(text: str, length: int) -> str:
    return f"{text[:length]}… [{len(text) - length:,} more characters]"


def named_of(cuts: Sequence[Cut], max_tokens: int) -> Sequence[Cut]:
    """The cuts that are worth their tokens: the first few of many, and fewer where there is little room."""
    return cuts[: max(2, min(5, max_tokens // 500))]


def sentence_for(cuts: Sequence[Cut], max_tokens: int) -> str:
    """One sentence that names every cut, or the first few of many."""
    shown = named_of(cuts, max_tokens)
    named = "; ".join(cut.sentence() for cut in shown)
    more = f"; and {len(cuts) - len(shown)} more places" if len(cuts) > len(shown) else ""
    return f"Left out to fit {max_tokens:,} tokens: {named}{more}."


def worth_saying(call: str, max_tokens: int) -> bool:
    """A call, as it will be written, is said whole or not at all, and must leave room for the answer itself."""
    return count_tokens(call) <= max_tokens // 4
