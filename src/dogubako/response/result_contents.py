"""Take a result apart into contents, so that it can be rebuilt and validated."""

from typing import Any, Final

import msgspec

from dogubako.contract.call import ToolResult
from dogubako.contract.errors import DogubakoError, ToolExecutionError
from dogubako.contract.output import Blocks, Content, Json, Text
from dogubako.response.json import TRUNCATED

_ENVELOPE: Final = frozenset({"success", "message", "data"})
# To decode a longer text would keep the interpreter: it is shown as text.
_LONGEST_ENVELOPE: Final = 2 * 1024 * 1024
_NO_WORDS: Final = "Tool execution failed"


def failure_in(result: ToolResult) -> DogubakoError | None:
    """The failure in a result, also in one that was made by hand and names no error."""
    if isinstance(result.error, DogubakoError):
        return result.error
    if result.error is None and not result.is_error:
        return None
    texts = _texts(result.content)
    return ToolExecutionError(texts[0] if texts else _NO_WORDS, hint="\n".join(texts[1:]) or None)


def contents_of(result: ToolResult, *, structured: bool) -> Content:
    """The contents of a result as types of `contract.output`. `structured`: whether to keep its data as data."""
    shared = shared_facts(result)
    if (envelope := envelope_of(result)) is not None:
        return Json(data=envelope["data"], message=_message(envelope), **shared)
    only_text = _only_text(result.content)
    if only_text is not None and result.kind == "text" and not (structured and result.structured is not None):
        return Text(text=only_text, **shared)
    return Blocks(result.content, result.structured, **shared)


def shared_facts(result: ToolResult) -> dict[str, Any]:
    """The fields that stay unchanged when a result is rebuilt."""
    return {
        "count": result.count if isinstance(result.count, int) else None,
        "cacheable": result.cacheable is True,
    }


def envelope_of(result: ToolResult) -> dict[str, Any] | None:
    """The envelope of a JSON result, if its text is one."""
    text = _only_text(result.content) if result.kind == "json" else None
    if text is None or len(text) > _LONGEST_ENVELOPE:
        return None
    try:
        decoded = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None
    whole = isinstance(decoded, dict) and decoded.keys() >= _ENVELOPE and decoded["success"] is True
    return decoded if whole and isinstance(decoded["message"], str) else None


def _message(envelope: dict[str, Any]) -> str:
    """The message with the note about earlier omissions, which still apply."""
    note = envelope.get(TRUNCATED)
    cut_message = note.get("message") if isinstance(note, dict) else None
    return f"{envelope['message']} {cut_message}" if isinstance(cut_message, str) else str(envelope["message"])


def _only_text(content: Any) -> str | None:
    """The text of a result that is one plain text block."""
    texts = _texts(content)
    return texts[0] if len(texts) == 1 == len(content) and len(content[0]) == 2 else None


def _texts(content: Any) -> list[str]:
    blocks = content if isinstance(content, list | tuple) else ()
    texts = (block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text")
    return [text for text in texts if isinstance(text, str)]
