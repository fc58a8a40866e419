"""Texts that fit: whole where possible, else cut between whole parts, with a last line that says so."""

from dataclasses import dataclass

from dogubako.contract.output import Markdown, Page, Text, Xml, XmlElement
from dogubako.response.plain import clean_text
from dogubako.response.text_fit import fit_blocks
from dogubako.response.tokens import count_tokens, fits
from dogubako.response.trim import Cut, cut_text, sentence_for
from dogubako.response.xml import fit_xml, render

_ATTEMPTS = 8
_NOTE_ROOM = 120


@dataclass(frozen=True, kw_only=True, slots=True)
class Fitted:
    """Text inside its budget."""

    text: str
    tokens: int
    trimmed: bool


def plain_text(answer: Text, budget: int) -> Fitted:
    text = clean_text(answer.text)
    if fits(text, budget):
        return _whole(text)
    kept, cuts = fit_blocks(text.split("\n"), budget - _NOTE_ROOM, "\n", "lines")
    return _noted(kept, cuts, answer.page, budget)


def markdown(answer: Markdown, budget: int) -> Fitted:
    blocks = [clean_text(block) for block in answer.blocks]
    text = "\n\n".join(blocks)
    if fits(text, budget):
        return _whole(text)
    kept, cuts = fit_blocks(blocks, budget - _NOTE_ROOM, "\n\n", "blocks")
    return _noted(kept, cuts, answer.page, budget)


def xml(answer: Xml, budget: int) -> Fitted:
    text = render(answer.root)
    if fits(text, budget):
        return _whole(text)
    for attempt in range(_ATTEMPTS):
        target = (budget - _NOTE_ROOM) * (_ATTEMPTS - attempt) // _ATTEMPTS
        root, cuts = fit_xml(answer.root, target, answer.page.path if answer.page else None)
        text = render(_with_note(root, cuts, answer.page, budget))
        if fits(text, budget):
            return Fitted(text=text, tokens=count_tokens(text), trimmed=True)
    cuts = [Cut(path=answer.root.tag, shown=0, total=1, unit="elements")]
    return _whole(render(_with_note(XmlElement(answer.root.tag), cuts, answer.page, budget)))


def _whole(text: str) -> Fitted:
    return Fitted(text=text, tokens=count_tokens(text), trimmed=False)


def _noted(kept: str, cuts: list[Cut], page: Page | None, budget: int) -> Fitted:
    note = f"\n\n[{sentence_for(cuts, budget)}{_next(cuts, page)}]"
    room = budget - count_tokens(note)
    text = (kept if fits(kept, room) else cut_text(kept, max(room, 1))) + note
    return Fitted(text=text, tokens=count_tokens(text), trimmed=True)


def _next(cuts: list[Cut], page: Page | None) -> str:
    if page is None:
        return ""
    return f" Next: {page.next_call(max(cuts[-1].shown, 1))}"


def _with_note(root: XmlElement, cuts: list[Cut], page: Page | None, budget: int) -> XmlElement:
    shown = next((cut.shown for cut in cuts if page and cut.path == page.path), 1)
    attributes = {"next": page.next_call(shown)} if page else {}
    note = XmlElement("truncated", attributes, sentence_for(cuts, budget))
    children = [XmlElement("text", {}, root.children)] if isinstance(root.children, str) else list(root.children)
    return XmlElement(root.tag, root.attributes, [*children, note])
