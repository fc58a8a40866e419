"""Texts that fit: whole where possible, else cut between whole parts, with a last line that says so."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Literal

from dogubako.contract.output import Markdown, Page, Text, Xml, XmlElement
from dogubako.response.plain import clean_text
from dogubako.response.text_fit import fit_blocks
from dogubako.response.tokens import count_tokens, far_above, far_above_characters
from dogubako.response.trim import Cut, sentence_for, worth_saying
from dogubako.response.xml import fit_xml, longer_than, masked, render

# Estimates of parts do not add up exactly; each round aims a little lower until the whole fits.
_ROUNDS = 8

# Who knows the call that gets what was left out: the tool's page, else the way to read on.
Next = Callable[[Page | None, Sequence[Cut]], str | None]

# Takes secrets out, and does so before any cut, which could otherwise leave the first half of one.
Mask = Callable[[str], str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Fitted:
    """Text inside its budget."""

    text: str
    tokens: int
    trimmed: bool


def whole_or_cut(whole: str | None, cut_to: Callable[[int], str], nothing: Callable[[], str], budget: int) -> Fitted:
    """The whole text if it fits, else the largest cut that does, else what says that nothing could be shown.

    A whole that is known to be too long need not be given.
    """
    if whole is not None and not far_above(whole, budget) and (tokens := count_tokens(whole)) <= budget:
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
        # Nearly every text: nothing has to be prepared for cutting it.
        return Fitted(text=text, tokens=tokens, trimmed=False)
    return _blocks(text, text.split("\n"), "\n", "lines", answer.page, budget, next_call)


def markdown(answer: Markdown, budget: int, next_call: Next, mask: Mask) -> Fitted:
    blocks = [mask(clean_text(block)) for block in answer.blocks]
    return _blocks("\n\n".join(blocks), blocks, "\n\n", "blocks", answer.page, budget, next_call)


def xml(answer: Xml, budget: int, next_call: Next, mask: Mask) -> Fitted:
    page_path = answer.page.path if answer.page else None
    # Writing a whole that cannot fit would take far longer than writing what is shown of it.
    hopeless = longer_than(answer.root, far_above_characters(budget))
    whole = None if hopeless else mask(render(_with_next(answer)))
    without_secrets = cache(lambda: masked(answer.root, mask))

    def cut_to(target: int) -> str:
        root, cuts = fit_xml(without_secrets(), target, page_path)
        return mask(render(_with_note(root, cuts, next_call(answer.page, cuts), budget)))

    def nothing() -> str:
        cuts = [Cut(path=answer.root.tag, shown=0, total=1, unit="elements")]
        return render(_with_note(XmlElement(answer.root.tag), cuts, None, budget))

    return whole_or_cut(whole, cut_to, nothing, budget)


def _with_next(answer: Xml) -> XmlElement:
    """Said only by an answer that is whole: after a cut the next call is another one."""
    root, after = answer.root, answer.page.after if answer.page else None
    return root if after is None else XmlElement(root.tag, {**root.attributes, "next": after}, root.children)


def _blocks(
    whole: str,
    blocks: Sequence[str],
    separator: str,
    unit: Literal["lines", "blocks"],
    page: Page | None,
    budget: int,
    next_call: Next,
) -> Fitted:
    def cut_to(target: int) -> str:
        kept, cuts = fit_blocks(blocks, target, separator, unit)
        call = next_call(page, cuts)
        said = f" Next: {call}" if call and worth_saying(call, budget) else ""
        return f"{kept}\n\n[{sentence_for(cuts, budget)}{said}]"

    def nothing() -> str:
        cut = Cut(path="", shown=0, total=len(blocks), unit=unit)
        return f"[{sentence_for([cut], budget)}]"

    return whole_or_cut(whole, cut_to, nothing, budget)


def _with_note(root: XmlElement, cuts: Sequence[Cut], call: str | None, budget: int) -> XmlElement:
    attributes = {"next": call} if call and worth_saying(escape(call), budget) else {}
    note = XmlElement("truncated", attributes, sentence_for(cuts, budget))
    children = [XmlElement("text", {}, root.children)] if isinstance(root.children, str) else list(root.children)
    return XmlElement(root.tag, root.attributes, [*children, note])
