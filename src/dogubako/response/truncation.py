"""Make an answer smaller without breaking it, and record what was omitted."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import msgspec

from dogubako.response.tokens import count_tokens, far_above

# The cost of describing a cut: a path, two numbers and a word.
NOTE_TOKENS = 40

# A key may have any length; longer paths are truncated.
_LONGEST_PATH = 100


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """One omission in an answer."""

    path: str
    shown: int
    total: int
    unit: Literal["items", "fields", "characters", "lines", "blocks", "elements", "parts", "links", "names"]
    characters: int | None = None

    @property
    def position(self) -> int:
        """Where to continue; in a text that was cut between lines or blocks, in characters."""
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
    """How many parts fit, in order and whole."""
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


def cut_text(text: str, budget: int, spelled: Callable[[str], str] = str, missing: int = 0) -> str:
    """The longest prefix that fits, closed with the number of characters that are missing.

    `spelled` writes it as it will stand in the answer, where quotes and brackets may need more room. `missing` is how
    many characters of the text were left out before.
    """

    def fits(length: int) -> bool:
        return count_tokens(spelled(_closed(text, length, missing))) <= budget

    low, high = _bracket(fits, budget // 2, min(len(text), budget * 12))
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return _closed(text, low, missing)


def _bracket(fits: Callable[[int], bool], first: int, most: int) -> tuple[int, int]:
    """Between which lengths the longest one that fits lies: a text that is far too long is never counted as a whole."""
    low, high = 0, min(max(first, 1), most)
    while high < most and fits(high):
        low, high = high, min(high * 2, most)
    return (high, high) if high == most and fits(high) else (low, high)


def _closed(text: str, length: int, missing: int) -> str:
    return f"{text[:length]}… [{len(text) - length + missing:,} more characters]"


def named_of(cuts: Sequence[Cut], max_tokens: int) -> Sequence[Cut]:
    """The cuts to describe: the first few of many, and fewer where there is little room."""
    return cuts[: max(2, min(5, max_tokens // 500))]


def sentence_for(cuts: Sequence[Cut], max_tokens: int) -> str:
    """One sentence that names every cut, or the first few of many."""
    shown = named_of(cuts, max_tokens)
    named = "; ".join(cut.sentence() for cut in shown)
    more = f"; and {len(cuts) - len(shown)} more places" if len(cuts) > len(shown) else ""
    return f"Left out to fit {max_tokens:,} tokens: {named}{more}."


def worth_saying(call: str, max_tokens: int) -> bool:
    """Whether a call is short enough to be shown whole and leave room for the answer."""
    return not far_above(call, max_tokens) and count_tokens(call) <= max_tokens // 4
