"""The three ways to make something smaller without breaking it, and a note of what each one left out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from dogubako.response.tokens import count_tokens

# What a cut costs to tell: a path, two numbers and a word.
NOTE_TOKENS = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class Cut:
    """Something was left out here."""

    path: str
    shown: int
    total: int
    unit: Literal["items", "fields", "characters", "lines", "blocks", "elements"]

    def sentence(self) -> str:
        where = f" of {self.path}" if self.path else ""
        return f"{self.total - self.shown:,} of {self.total:,} {self.unit}{where}"

    def as_json(self) -> dict[str, object]:
        return {"path": self.path, "shown": self.shown, "total": self.total, "unit": self.unit}


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


def cut_text(text: str, budget: int) -> str:
    """The longest prefix that fits, closed with the number of characters that are missing."""
    low, high = 0, min(len(text), budget * 12)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(_closed(text, middle)) <= budget:
            low = middle
        else:
            high = middle - 1
    return _closed(text, low)


def _closed(text: str, length: int) -> str:
    return f"{text[:length]}… [{len(text) - length:,} more characters]"


def sentence_for(cuts: Sequence[Cut], max_tokens: int) -> str:
    """One sentence that names every cut, or the first few of many."""
    named = "; ".join(cut.sentence() for cut in cuts[:5])
    more = f"; and {len(cuts) - 5} more places" if len(cuts) > 5 else ""
    return f"Left out to fit {max_tokens:,} tokens: {named}{more}."
