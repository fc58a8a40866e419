"""Small views of large things. What an answer as a whole may cost is `response`'s business; this is about its parts."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dogubako.response.tokens import count_tokens


def shortened(text: str, longest: int) -> str:
    """The beginning, and how much is missing."""
    return text if len(text) <= longest else f"{text[:longest]}… [{len(text) - longest:,} more characters]"


def tokens_of(value: Any) -> int:
    return count_tokens(msgspec.json.encode(value).decode())


def within(parts: Sequence[Any], tokens: int, *, frame: Mapping[str, Any] | None = None) -> int:
    """How many of the parts fit beside the frame."""
    room = tokens - (tokens_of(frame) if frame else 0)
    for index, part in enumerate(parts):
        room -= tokens_of(part) + 1
        if room < 0:
            return index
    return len(parts)


def small_json(value: Any, longest: int = 200, depth: int = 0) -> Any:
    """The same data with long texts shortened, long lists cut, and nothing nested for ever."""
    if isinstance(value, str):
        return shortened(value, longest)
    if isinstance(value, Mapping):
        if depth >= 4:
            return f"{{{len(value)} fields}}"
        return {key: small_json(part, longest, depth + 1) for key, part in list(value.items())[:20]}
    if isinstance(value, list):
        if depth >= 4:
            return f"[{len(value)} items]"
        kept = [small_json(part, longest, depth + 1) for part in value[:5]]
        return [*kept, f"… [{len(value) - 5} more]"] if len(value) > 5 else kept
    return value
