"""Content blocks: blocks of other servers, and images, sounds, files and links of tools, within the budget."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from dogubako.contract.call import text_block
from dogubako.contract.errors import AnswerTooLargeError
from dogubako.contract.output import Audio, Content, Embedded, Image, Link, NextPage, Text
from dogubako.response.foreign_block import Fault, Mask, base64_of, check_bytes, examined
from dogubako.response.jsonable import clean_text, encode
from dogubako.response.picture_tokens import MOST_ENCODED, picture_tokens
from dogubako.response.text import Next, plain_text
from dogubako.response.tokens import count_tokens, far_above, far_above_characters
from dogubako.response.truncation import Cut, sentence_for, share_out, take_whole, worth_saying

# The cost of a block's frame: its type and the punctuation.
BLOCK_TOKENS: Final = 12

# Below this many tokens only the truncation note of a text would fit.
_SMALLEST_TEXT: Final = 200
_NOTE_TOKENS: Final = 60
_LONGEST_LINK: Final = 200
_LONGEST_URI: Final = 1_000
# A budget shows fewer blocks than this. More are examined only because some may be invalid.
_MOST_EXAMINED: Final = 10_000
# At most this many reasons are listed one by one.
_MOST_FAULTS: Final = 5
_OTHER_FAULTS: Final = Fault("", "not valid")
_TOO_LARGE: Final = "too large for the response budget"
_ROUNDS: Final = 6
_NO_LIST: Final = "[The content was left out: not a list of blocks.]"
_EMPTY: Final = "[The tool answered without any content.]"


class FittedBlocks(msgspec.Struct, frozen=True, kw_only=True):
    """Content blocks inside their budget."""

    content: tuple[dict[str, Any], ...]
    tokens: int
    trimmed: bool


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    """One block to show. `index` is its place in the answer; `text_tokens` is the part that can be truncated."""

    index: int
    block: dict[str, Any]
    cost: int
    text_tokens: int = 0

    def least(self, budget: int) -> int:
        """The smallest share that shows something of the block."""
        return self.cost - self.text_tokens + min(self.text_tokens, _SMALLEST_TEXT, budget // 2)


def block_cost(block: Mapping[str, Any]) -> int:
    """An upper bound of the tokens of a block with all its fields."""
    if block["type"] == "image" and (picture := picture_tokens(block["data"])) is not None:
        return picture + count_tokens(encode({**block, "data": ""})) + BLOCK_TOKENS
    if block["type"] != "text":
        return count_tokens(encode(block)) + BLOCK_TOKENS
    extras = {key: value for key, value in block.items() if key not in ("type", "text")}
    return count_tokens(block["text"]) + BLOCK_TOKENS + (count_tokens(encode(extras)) if extras else 0)


def fit_foreign(content: object, budget: int, next_call: Next, mask: Mask) -> FittedBlocks:
    """Show as many blocks as fit, in order, and at least one."""
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
    """The parts to show, and how many blocks were examined: no more than could be shown."""
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
    if block["type"] == "image" and picture_tokens(block["data"]) is not None:
        frame = {**block, "data": ""}
    if far_above(base64_of(frame), budget) or far_above(encode(frame), budget):
        # Counting tokens of megabytes would be slow.
        return _stand_in(index, block)
    if text is None:
        whole = _whole(index, block)
        return whole if whole.cost <= budget else _stand_in(index, block)
    if (frame_cost := block_cost(frame)) > budget // 2:
        return Fault(block["type"], _TOO_LARGE)
    # The text cannot fit, so a rough upper bound is enough.
    cost = len(text) + frame_cost if far_above(text, budget) else max(block_cost(block), frame_cost)
    return _Part(index=index, block=block, cost=cost, text_tokens=cost - frame_cost)


def _whole(index: int, block: dict[str, Any]) -> _Part:
    return _Part(index=index, block=block, cost=block_cost(block))


def _stand_in(index: int, block: dict[str, Any]) -> _Part | Fault:
    """Replace a file that is too large by a link to it, or by a fault."""
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
    """Show short texts whole; truncate long ones to equal shares of the remaining room."""
    left = room - sum(part.cost - part.text_tokens for part in parts)
    shares = share_out([part.text_tokens for part in parts], max(left, 0))
    return [
        part.block if share >= part.text_tokens else _shortened(part, share, next_call)
        for part, share in zip(parts, shares, strict=True)
    ]


def _shortened(part: _Part, share: int, next_call: Next) -> dict[str, Any]:
    text = _text_of(part.block) or ""

    def next_of_block(page: NextPage | None, cuts: Sequence[Cut]) -> str | None:
        return next_call(page, [msgspec.structs.replace(cut, path=f"content/{part.index}") for cut in cuts])

    block = part.block
    for attempt in range(_ROUNDS):
        # Text inside a resource needs more room than plain text: JSON escapes quotes and line ends.
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
    next_step = f" Next: {call}" if call and worth_saying(call, budget) else ""
    return f"[{sentence_for([cut], budget)}{next_step}]"


def _nothing(total: int, budget: int) -> FittedBlocks:
    cut = Cut(path="", shown=0, total=total, unit="blocks")
    return _joined([text_block(f"[{sentence_for([cut], budget)}]")], trimmed=True)


def _joined(blocks: Sequence[dict[str, Any]], *, trimmed: bool) -> FittedBlocks:
    return FittedBlocks(content=tuple(blocks), tokens=sum(map(block_cost, blocks)), trimmed=trimmed)


def _text_of(block: Mapping[str, Any]) -> str | None:
    """The text of a block, if it has one that can be truncated."""
    text = block.get("text") if block["type"] == "text" else block.get("resource", {}).get("text")
    return text if isinstance(text, str) else None


def _with_text(block: Mapping[str, Any], text: str) -> dict[str, Any]:
    if block["type"] == "text":
        return {**block, "text": text}
    return {**block, "resource": {**block["resource"], "text": text}}


_BASE64_FIELDS: Final = ("data", "blob")


def media_block(answer: Image | Audio | Embedded | Link, budget: int, mask: Mask) -> dict[str, Any]:
    """The block, or a link if the block is too large."""
    if (size := _unseen_bytes(answer)) > far_above_characters(budget):
        # Not encoded, only to be counted.
        return _clean_media(_link_instead(answer, size, budget), mask)
    block = _clean_media(_media_block(answer), mask)
    if (tokens := block_cost(block)) > budget:
        return _clean_media(_link_instead(answer, tokens, budget), mask)
    check_bytes(base64_of(block), mask)
    return block


def _unseen_bytes(answer: Image | Audio | Embedded | Link) -> int:
    """The bytes of a sound or a file, or of a picture that no client takes."""
    if isinstance(answer, Embedded):
        return len(answer.body)
    if isinstance(answer, Link) or (isinstance(answer, Image) and len(answer.data) <= MOST_ENCODED):
        return 0
    return len(answer.data)


def too_large(message: str) -> AnswerTooLargeError:
    return AnswerTooLargeError(message, hint="Ask for a smaller version, or for a link instead of the content.")


def _media_block(answer: Image | Audio | Embedded | Link) -> dict[str, Any]:
    match answer:
        case Link():
            named = {"title": answer.title, "description": answer.description, "size": answer.size}
            fields = {key: value for key, value in named.items() if value is not None}
            return {"type": "resource_link", "uri": answer.uri, "name": answer.name} | fields | _mime(answer)
        case Embedded(body=str(text)):
            resource: dict[str, Any] = {"uri": answer.uri, "text": text} | _mime(answer)
            return {"type": "resource", "resource": resource}
        case Embedded(body=bytes(blob)):
            resource = {"uri": answer.uri, "blob": base64.b64encode(blob).decode()} | _mime(answer)
            return {"type": "resource", "resource": resource}
        case Image() | Audio():
            kind = "image" if isinstance(answer, Image) else "audio"
            return {"type": kind, "data": base64.b64encode(answer.data).decode(), "mimeType": answer.mime_type}
    raise TypeError(f"a tool returned {type(answer).__name__}, which is no content")


def _link_instead(answer: Content, tokens: int, budget: int) -> dict[str, Any]:
    """Replace data that is too large by a link to it, or raise an error."""
    uri = getattr(answer, "uri", None)
    if uri is None or isinstance(answer, Link):
        raise too_large(f"The answer needs about {tokens:,} tokens and the response budget is {budget:,}.")
    return {"type": "resource_link", "uri": uri, "name": uri.rsplit("/", 1)[-1] or uri} | _mime(answer)


def _mime(answer: Content) -> dict[str, str]:
    mime_type = getattr(answer, "mime_type", None)
    return {"mimeType": mime_type} if mime_type else {}


def _clean_media(block: dict[str, Any], mask: Mask) -> dict[str, Any]:
    """Mask and clean the texts of a block; base64 stays unchanged."""
    return {key: _clean_value(key, value, mask) for key, value in block.items()}


def _clean_value(key: str, value: Any, mask: Mask) -> Any:
    if isinstance(value, dict):
        return _clean_media(value, mask)
    return mask(clean_text(value)) if isinstance(value, str) and key not in _BASE64_FIELDS else value
