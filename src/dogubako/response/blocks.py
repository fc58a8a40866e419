"""Fit MCP content blocks that come from elsewhere into a budget.

Blocks are shown in their order. Texts that are too long are cut to equal shares, and say so. What does not fit any
more is counted, with the call that shows it. Blocks that cannot be shown at all are named, those of one kind together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from dogubako.contract.output import Page, Text
from dogubako.response.fitting import Next, plain_text
from dogubako.response.foreign_block import Fault, Mask, examined
from dogubako.response.plain import encode
from dogubako.response.tokens import count_tokens, far_above
from dogubako.response.trim import Cut, sentence_for, share_out, take_whole, worth_saying

# What the frame around a block costs: its type and the punctuation.
BLOCK_TOKENS: Final = 12

# Below this many tokens only the truncation note of a text would fit.
_SMALLEST_TEXT: Final = 200
_NOTE_TOKENS: Final = 60
_LONGEST_LINK: Final = 200
_LONGEST_URI: Final = 1_000
# A budget shows fewer blocks than this. More are looked at only because some of them may have to be left out.
_MOST_EXAMINED: Final = 10_000
# So many reasons are named one by one.
_MOST_FAULTS: Final = 5
_OTHER_FAULTS: Final = Fault("", "not valid")
_TOO_LARGE: Final = "too large for the response budget"
_ROUNDS: Final = 6
_NO_LIST: Final = "[The content was left out: not a list of blocks.]"
_EMPTY: Final = "[The tool answered without any content.]"


@dataclass(frozen=True, kw_only=True, slots=True)
class FittedBlocks:
    """Content blocks inside their budget."""

    content: tuple[dict[str, Any], ...]
    tokens: int
    trimmed: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class _Part:
    """One block to show. `index` is its place in the answer; `text_tokens` is what may be cut of its cost."""

    index: int
    block: dict[str, Any]
    cost: int
    text_tokens: int = 0

    def least(self, budget: int) -> int:
        """The smallest share that shows something of it."""
        return self.cost - self.text_tokens + min(self.text_tokens, _SMALLEST_TEXT, budget // 2)


def block_cost(block: Mapping[str, Any]) -> int:
    """The most tokens that a block costs, with everything that belongs to it."""
    if block["type"] != "text":
        return count_tokens(encode(block)) + BLOCK_TOKENS
    extras = {key: value for key, value in block.items() if key not in ("type", "text")}
    return count_tokens(block["text"]) + BLOCK_TOKENS + (count_tokens(encode(extras)) if extras else 0)


def text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def fit_foreign(content: object, budget: int, next_call: Next, mask: Mask) -> FittedBlocks:
    """Show as many blocks as fit, from the first on; there is always at least one."""
    if not content:
        return _joined([text_block(_EMPTY)], trimmed=False)
    if not isinstance(content, list | tuple):
        return _joined([text_block(_NO_LIST)], trimmed=False)
    parts, looked_at = _examined(content, budget, mask)
    if looked_at == len(content) and sum(part.cost for part in parts) <= budget:
        return _joined([part.block for part in parts], trimmed=False)
    fitted = _cut(parts, looked_at, len(content), budget, next_call)
    return fitted if fitted.tokens <= budget else _nothing(len(content), budget)


def _examined(content: Sequence[object], budget: int, mask: Mask) -> tuple[list[_Part], int]:
    """The parts to show, and how many blocks were looked at: no more than could be shown."""
    parts: list[_Part] = []
    faults: dict[Fault, list[int]] = {}
    room, looked_at = budget, 0
    for index, raw in enumerate(content[: max(_MOST_EXAMINED, budget // BLOCK_TOKENS)]):
        if room < 0:
            break
        looked_at += 1
        block = examined(raw, mask, budget)
        part = block if isinstance(block, Fault) else _part(index, block, budget)
        if isinstance(part, _Part):
            parts.append(part)
            room -= part.least(budget)
        else:
            named = part in faults or len(faults) < _MOST_FAULTS
            faults.setdefault(part if named else _OTHER_FAULTS, [index, 0])[1] += 1
    notes = (_whole(index, text_block(fault.sentence(count))) for fault, (index, count) in faults.items())
    return sorted([*parts, *notes], key=lambda part: part.index), looked_at


def _part(index: int, block: dict[str, Any], budget: int) -> _Part | Fault:
    text = _text_of(block)
    frame = block if text is None else _with_text(block, "")
    if far_above(encode(frame), budget):
        # Megabytes are not worth counting.
        return _stand_in(index, block)
    if text is None:
        whole = _whole(index, block)
        return whole if whole.cost <= budget else _stand_in(index, block)
    if (frame_cost := block_cost(frame)) > budget // 2:
        return Fault(block["type"], _TOO_LARGE)
    # Of a text that cannot fit anyway, any number that is too large will do.
    cost = len(text) + frame_cost if far_above(text, budget) else max(block_cost(block), frame_cost)
    return _Part(index=index, block=block, cost=cost, text_tokens=cost - frame_cost)


def _whole(index: int, block: dict[str, Any]) -> _Part:
    return _Part(index=index, block=block, cost=block_cost(block))


def _stand_in(index: int, block: dict[str, Any]) -> _Part | Fault:
    """Half a file is no file: show where the whole one is, or say that it does not fit."""
    resource = block.get("resource")
    if resource is None or len(resource["uri"]) > _LONGEST_URI:
        return Fault(block["type"], _TOO_LARGE)
    uri = resource["uri"]
    mime = {"mimeType": resource["mimeType"]} if "mimeType" in resource else {}
    link = _whole(index, {"type": "resource_link", "uri": uri, "name": uri.rsplit("/", 1)[-1] or uri, **mime})
    return link if link.cost <= _LONGEST_LINK else Fault(block["type"], _TOO_LARGE)


def _cut(parts: Sequence[_Part], looked_at: int, total: int, budget: int, next_call: Next) -> FittedBlocks:
    shown, room = len(parts), budget
    if looked_at < total or sum(part.least(budget) for part in parts) > budget:
        room -= _note_cost(total, budget, next_call)
        shown = take_whole((part.least(budget) for part in parts), room)
    blocks = _shared_out(parts[:shown], room, next_call)
    left_at = parts[shown].index if shown < len(parts) else looked_at
    if left_at < total:
        blocks.append(text_block(_note(left_at, total, budget, next_call)))
    return _joined(blocks, trimmed=True)


def _shared_out(parts: Sequence[_Part], room: int, next_call: Next) -> list[dict[str, Any]]:
    """Short texts whole, long ones cut to equal shares of what the others leave."""
    left = room - sum(part.cost - part.text_tokens for part in parts)
    shares = share_out([part.text_tokens for part in parts], max(left, 0))
    return [
        part.block if share >= part.text_tokens else _shortened(part, share, next_call)
        for part, share in zip(parts, shares, strict=True)
    ]


def _shortened(part: _Part, share: int, next_call: Next) -> dict[str, Any]:
    text = _text_of(part.block) or ""

    def next_of_block(page: Page | None, cuts: Sequence[Cut]) -> str | None:
        return next_call(page, [replace(cut, path=f"content/{part.index}") for cut in cuts])

    block = part.block
    for attempt in range(_ROUNDS):
        # A text within a resource needs more room than the text itself: JSON writes quotes and line ends as two.
        target = max(share * (_ROUNDS - attempt) // _ROUNDS, 1)
        block = _with_text(part.block, plain_text(Text(text=text), target, next_of_block, str).text)
        if block_cost(block) <= part.cost - part.text_tokens + share:
            break
    return block


def _note_cost(total: int, budget: int, next_call: Next) -> int:
    return max(count_tokens(_note(total, total, budget, next_call)), _NOTE_TOKENS) + BLOCK_TOKENS


def _note(shown: int, total: int, budget: int, next_call: Next) -> str:
    cut = Cut(path="", shown=shown, total=total, unit="blocks")
    call = next_call(None, [cut])
    said = f" Next: {call}" if call and worth_saying(call, budget) else ""
    return f"[{sentence_for([cut], budget)}{said}]"


def _nothing(total: int, budget: int) -> FittedBlocks:
    cut = Cut(path="", shown=0, total=total, unit="blocks")
    return _joined([text_block(f"[{sentence_for([cut], budget)}]")], trimmed=True)


def _joined(blocks: Sequence[dict[str, Any]], *, trimmed: bool) -> FittedBlocks:
    return FittedBlocks(content=tuple(blocks), tokens=sum(map(block_cost, blocks)), trimmed=trimmed)


def _text_of(block: Mapping[str, Any]) -> str | None:
    """The text that may be cut, of a block that has one."""
    text = block.get("text") if block["type"] == "text" else block.get("resource", {}).get("text")
    return text if isinstance(text, str) else None


def _with_text(block: Mapping[str, Any], text: str) -> dict[str, Any]:
    if block["type"] == "text":
        return {**block, "text": text}
    return {**block, "resource": {**block["resource"], "text": text}}
