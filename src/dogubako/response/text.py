"""Text, Markdown and XML answers, truncated to the token budget between whole parts."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Literal

import msgspec

from dogubako.contract.output import Markdown, NextPage, Text, Xml, XmlElement
from dogubako.contract.redaction import escape_html
from dogubako.response.jsonable import clean_text
from dogubako.response.tokens import count_tokens, far_above, far_above_characters, surely_above
from dogubako.response.truncation import NOTE_TOKENS, Cut, cut_text, sentence_for, take_whole, worth_saying
from dogubako.response.xml import Rendered, fit_xml, longer_than, masked, render


def fit_blocks(
    blocks: Sequence[str], budget: int, separator: str, unit: Literal["lines", "blocks"], total: int
) -> tuple[str, list[Cut]]:
    """Keep whole blocks, in order, until one does not fit. Only a first block that is too long is truncated.

    `total` is how many blocks there are, if `blocks` are only the first ones of them.
    """
    budget = max(budget - 2 * NOTE_TOKENS, 1)
    separator_cost = count_tokens(separator)
    shown = take_whole((_cost(block, budget) + separator_cost for block in blocks), budget)
    if shown == 0 and blocks:
        shortened = cut_text(blocks[0], budget)
        cuts = [Cut(path="", shown=shortened.rfind("… ["), total=len(blocks[0]), unit="characters")]
        if total > 1:
            cuts.append(Cut(path="", shown=1, total=total, unit=unit, characters=cuts[0].shown))
        return shortened, cuts
    kept = separator.join(blocks[:shown])
    cut = Cut(path="", shown=shown, total=total, unit=unit, characters=len(kept) + len(separator))
    return kept, [cut] if shown < total else []


def _cost(block: str, enough: int) -> int:
    """Tokens of a block. A rough upper bound, without counting it, if it is far above `enough`."""
    return len(block) if far_above(block, enough) else count_tokens(block)


# Estimates of parts do not add up exactly; each round aims lower until the whole fits.
_ROUNDS = 8

# Returns the call for the omitted part: the tool's own page, else `read_more`.
Next = Callable[[NextPage | None, Sequence[Cut]], str | None]

# Masks secrets. It runs before any cut, which could otherwise leave half of one.
Mask = Callable[[str], str]


class Fitted(msgspec.Struct, frozen=True, kw_only=True):
    """Text inside its budget."""

    text: str
    tokens: int
    trimmed: bool


def whole_or_cut(whole: str | None, cut_to: Callable[[int], str], nothing: Callable[[], str], budget: int) -> Fitted:
    """The whole text if it fits, else the largest cut that does, else a note that nothing could be shown.

    `whole` is None if it is known to be too long.
    """
    if whole is not None and not surely_above(whole, budget) and (tokens := count_tokens(whole)) <= budget:
        return Fitted(text=whole, tokens=tokens, trimmed=False)
    for attempt in range(_ROUNDS):
        text = cut_to(budget * (_ROUNDS - attempt) // _ROUNDS)
        if (tokens := count_tokens(text)) <= budget:
            return Fitted(text=text, tokens=tokens, trimmed=True)
    text = nothing()
    return Fitted(text=text, tokens=count_tokens(text), trimmed=True)


def plain_text(answer: Text, budget: int, next_call: Next, mask: Mask) -> Fitted:
    text = mask(clean_text(answer.text))
    if not far_above(text, budget) and (tokens := count_tokens(text)) <= budget:
        # The usual case: no preparation for a cut.
        return Fitted(text=text, tokens=tokens, trimmed=False)
    # Each line costs a token at least. To split all lines of a long text would be one long step in C.
    lines, total = text.split("\n", max(budget, 1)), text.count("\n") + 1
    return _blocks(text, lines, "\n", "lines", answer.page, budget, next_call, total)


def markdown(answer: Markdown, budget: int, next_call: Next, mask: Mask) -> Fitted:
    blocks = [mask(clean_text(block)) for block in answer.blocks]
    return _blocks("\n\n".join(blocks), blocks, "\n\n", "blocks", answer.page, budget, next_call, len(blocks))


def xml(answer: Xml, budget: int, next_call: Next, mask: Mask) -> Fitted:
    page_path = answer.page.path if answer.page else None
    # Encoding a document that cannot fit would take far longer than encoding the part to show.
    hopeless = longer_than(answer.root, far_above_characters(budget))
    known = None if hopeless else Rendered()
    whole = None if hopeless else mask(render(_with_next(answer), known))
    without_secrets = cache(lambda: masked(answer.root, mask))

    def cut_to(target: int) -> str:
        root, cuts = fit_xml(without_secrets(), target, page_path, known)
        return mask(render(_with_note(root, cuts, next_call(answer.page, cuts), budget), known))

    def nothing() -> str:
        cuts = [Cut(path=answer.root.tag, shown=0, total=1, unit="elements")]
        return render(_with_note(XmlElement(answer.root.tag), cuts, None, budget))

    return whole_or_cut(whole, cut_to, nothing, budget)


def _with_next(answer: Xml) -> XmlElement:
    """Add the next call. Only a complete answer has it: after a cut the next call is another one."""
    root, after = answer.root, answer.page.after if answer.page else None
    return root if after is None else XmlElement(root.tag, {**root.attributes, "next": after}, root.children)


def _blocks(
    whole: str,
    blocks: Sequence[str],
    separator: str,
    unit: Literal["lines", "blocks"],
    page: NextPage | None,
    budget: int,
    next_call: Next,
    total: int,
) -> Fitted:
    def cut_to(target: int) -> str:
        kept, cuts = fit_blocks(blocks, target, separator, unit, total)
        call = next_call(page, cuts)
        next_step = f" Next: {call}" if call and worth_saying(call, budget) else ""
        return f"{kept}\n\n[{sentence_for(cuts, budget)}{next_step}]"

    def nothing() -> str:
        cut = Cut(path="", shown=0, total=total, unit=unit)
        return f"[{sentence_for([cut], budget)}]"

    return whole_or_cut(whole, cut_to, nothing, budget)


def _with_note(root: XmlElement, cuts: Sequence[Cut], call: str | None, budget: int) -> XmlElement:
    attributes = {"next": call} if call and worth_saying(escape_html(call), budget) else {}
    note = XmlElement("truncated", attributes, sentence_for(cuts, budget))
    children = [XmlElement("text", {}, root.children)] if isinstance(root.children, str) else list(root.children)
    return XmlElement(root.tag, root.attributes, [*children, note])
