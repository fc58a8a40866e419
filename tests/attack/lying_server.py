"""A tool that passes on whatever another MCP server might answer. Test-only."""

import base64
import os
from collections.abc import Callable
from typing import Any

from dogubako import Effect, tool
from dogubako.output import Blocks

_WORD = {"type": "text", "text": "word"}
_ENCODED = base64.b64encode(bytes(range(256)) * 400).decode()


def _key() -> str:
    return os.environ["N8N_API_KEY"]


def _deep(levels: int) -> dict[str, Any]:
    deep: dict[str, Any] = {}
    for _ in range(levels):
        deep = {"a": deep}
    return deep


ANSWERS: dict[str, Callable[[], Blocks]] = {
    "100,000 texts": lambda: Blocks([_WORD] * 100_000),
    "100,000 videos": lambda: Blocks([{"type": "video"}] * 100_000),
    "100,000 numbers": lambda: Blocks(list(range(100_000))),  # type: ignore[arg-type]
    "10,000 kinds of blocks": lambda: Blocks([{"type": f"kind {number}"} for number in range(10_000)]),
    "1,000 texts of 10,000 characters": lambda: Blocks([{"type": "text", "text": "a word " * 1_500}] * 1_000),
    "10 MB of text": lambda: Blocks([{"type": "text", "text": "a line of ten\n" * 700_000}]),
    "10 MB of base64": lambda: Blocks([{"type": "image", "data": _ENCODED * 75, "mimeType": "image/png"}]),
    "1,000 pictures": lambda: Blocks([{"type": "image", "data": _ENCODED[:8_000], "mimeType": "image/png"}] * 1_000),
    "no base64": lambda: Blocks([{"type": "audio", "data": "%" * 9_000, "mimeType": "audio/wav"}]),
    "10 MB of _meta": lambda: Blocks([{**_WORD, "_meta": {"a": ["word"] * 1_500_000}}]),
    "deep _meta": lambda: Blocks([{**_WORD, "_meta": _deep(50_000)}]),
    "deep _meta that is nearly allowed": lambda: Blocks([{**_WORD, "_meta": _deep(900)}]),
    "large annotations": lambda: Blocks([{**_WORD, "annotations": {"audience": ["user"] * 1_000_000}}]),
    "half characters": lambda: Blocks([{"type": "text", "text": "\ud800 \udfff" * 1_000}]),
    "no number": lambda: Blocks([{**_WORD, "_meta": {"a": float("nan")}, "annotations": {"priority": float("inf")}}]),
    "nested resources": lambda: Blocks([{"type": "resource", "resource": {"type": "resource", "resource": _deep(9)}}]),
    "a long address": lambda: Blocks([{"type": "resource_link", "uri": "x:" + "a" * 3_000_000, "name": "n"}]),
    "the key everywhere": lambda: Blocks(
        [
            {"type": "text", "text": _key(), "_meta": {_key(): [_key()]}, "annotations": {"lastModified": _key()}},
            {"type": "resource", "resource": {"uri": f"x:{_key()}", "text": f"{_key()} " * 5_000}},
            {"type": "image", "data": base64.b64encode(_key().encode()).decode(), "mimeType": "image/png"},
            {"type": "resource_link", "uri": "x:y", "name": _key(), "title": _key(), "description": _key()},
            {"type": _key()},
        ],
        {"key": _key()},
    ),
    "the key as data": lambda: Blocks([], {"key": _key(), _key(): [_key()] * 90_000}),
    "nothing": lambda: Blocks([]),
    "no list": lambda: Blocks("text"),  # type: ignore[arg-type]
    "data that is no JSON": lambda: Blocks((), _deep(50_000)),
}


@tool(effect=Effect.READ)
async def far_away(answer: str) -> Blocks:
    """Pass on the answer of another server."""
    return ANSWERS[answer]()
