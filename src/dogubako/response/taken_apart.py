"""Take a result apart into what it says, so that it can be built and checked again."""

from typing import Any, Final

import msgspec

from dogubako.contract.call import ToolResult
from dogubako.contract.errors import DogubakoError, ToolExecutionError
from dogubako.contract.output import Blocks, Content, Output, Text
from dogubako.response.envelope import TRUNCATED

_ENVELOPE: Final = frozenset({"success", "message", "data"})
_NO_WORDS: Final = "Tool execution failed"


def failure_in(result: ToolResult) -> DogubakoError | None:
    """The failure that a result stands for, also where it was made by hand and names no error."""
    if isinstance(result.error, DogubakoError):
        return result.error
    if result.error is None and not result.is_error:
        return None
    texts = _texts(result.content)
    return ToolExecutionError(texts[0] if texts else _NO_WORDS, hint="\n".join(texts[1:]) or None)


def contents_of(result: ToolResult, *, structured: bool) -> Content:
    """What a result says, in the words of `contract.output`. `structured`: whether its data is wanted as data."""
    shared = shared_facts(result)
    if (envelope := envelope_of(result)) is not None:
        return Output(data=envelope["data"], message=_message(envelope), **shared)
    only_text = _only_text(result.content)
    if only_text is not None and result.kind == "text" and not (structured and result.structured is not None):
        return Text(text=only_text, **shared)
    return Blocks(result.content, result.structured, **shared)


def shared_facts(result: ToolResult) -> dict[str, Any]:
    """What stays as it is when a result is built again."""
    return {
        "count": result.count if isinstance(result.count, int) else None,
        "cacheable": result.cacheable is True,
    }


def envelope_of(result: ToolResult) -> dict[str, Any] | None:
    """The envelope of a JSON result, if its text is one."""
    text = _only_text(result.content) if result.kind == "json" else None
    if text is None:
        return None
    try:
        found = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None
    whole = isinstance(found, dict) and found.keys() >= _ENVELOPE and found["success"] is True
    return found if whole and isinstance(found["message"], str) else None


def _message(envelope: dict[str, Any]) -> str:
    """What was left out before is still missing when the rest is cut again."""
    note = envelope.get(TRUNCATED)
    said = note.get("message") if isinstance(note, dict) else None
    return f"{envelope['message']} {said}" if isinstance(said, str) else str(envelope["message"])


def _only_text(content: Any) -> str | None:
    """The text of a result that is one plain text block."""
    texts = _texts(content)
    return texts[0] if len(texts) == 1 == len(content) and len(content[0]) == 2 else None


def _texts(content: Any) -> list[str]:
    blocks = content if isinstance(content, list | tuple) else ()
    found = (block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text")
    return [text for text in found if isinstance(text, str)]
