"""Make text smaller by leaving out whole lines or blocks at its end."""

from collections.abc import Sequence
from typing import Literal

from dogubako.response.tokens import count_tokens
from dogubako.response.trim import NOTE_TOKENS, Cut, cut_text, take_whole


def fit_blocks(
    blocks: Sequence[str], budget: int, separator: str, unit: Literal["lines", "blocks"]
) -> tuple[str, list[Cut]]:
    """Keep whole blocks, in order, until one does not fit. Only a first block that is too long is shortened."""
    budget = max(budget - 2 * NOTE_TOKENS, 1)
    separator_cost = count_tokens(separator)
    shown = take_whole((count_tokens(block) + separator_cost for block in blocks), budget)
    if shown == 0 and blocks:
        shortened = cut_text(blocks[0], budget)
        cuts = [Cut(path="", shown=shortened.rfind("… ["), total=len(blocks[0]), unit="characters")]
        if len(blocks) > 1:
            cuts.append(Cut(path="", shown=1, total=len(blocks), unit=unit, characters=cuts[0].shown))
        return shortened, cuts
    kept = separator.join(blocks[:shown])
    cut = Cut(path="", shown=shown, total=len(blocks), unit=unit, characters=len(kept) + len(separator))
    return kept, [cut] if shown < len(blocks) else []
