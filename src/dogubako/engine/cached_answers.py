"""Answers as they are kept in a cache, and checked when they come back."""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from dogubako.contract.call import ToolResult
from dogubako.response.check import assert_mcp_tool_response
from dogubako.response.tokens import count_tokens, far_above


class _CachedAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fields of a successful answer."""

    content: tuple[dict[str, Any], ...]
    kind: Literal["json", "text", "blocks"]
    structured: Any
    tokens: int
    count: int | None
    trimmed: bool


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_CachedAnswer).decode


def encode_answer(result: ToolResult) -> bytes:
    return _encode(
        _CachedAnswer(
            content=result.content,
            kind=result.kind,
            structured=result.structured,
            tokens=result.tokens,
            count=result.count,
            trimmed=result.trimmed,
        )
    )


def decode_answer(value: bytes, max_tokens: int) -> ToolResult | None:
    """The answer, or None for one that is not valid or does not fit; another version of us may have written it."""
    try:
        kept = _decode(value)
        result = ToolResult(**msgspec.structs.asdict(kept), cacheable=True)
        assert_mcp_tool_response(result.to_mcp())
        # As REST and Python callers will read it.
        _ = result.value
    except (msgspec.DecodeError, UnicodeError, RecursionError, AssertionError, LookupError, TypeError):
        return None
    return result if _fits(result, max_tokens) else None


def _fits(result: ToolResult, max_tokens: int) -> bool:
    texts = [*_texts(result.content)]
    if result.structured is not None:
        texts.append(_encode(result.structured).decode())
    if any(far_above(text, max_tokens) for text in texts):
        return False
    return max(result.tokens, sum(map(count_tokens, texts))) <= max_tokens


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)
