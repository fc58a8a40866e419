"""Truncate data to fit: whole items, requested fields, long strings and long lists."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from dogubako.packs.n8n.models import Items, read_part
from dogubako.response.tokens import count_tokens

_LONGEST_BASE64: Final = 120
_ABSENT: Final = object()


def shortened(text: str, longest: int) -> str:
    """The beginning of a text, and the number of missing characters; the whole text where that is shorter."""
    cut = f"{text[:longest]}… [{len(text) - longest:,} more characters]"
    return text if len(text) <= max(longest, len(cut)) else cut


def tokens_of(value: Any) -> int:
    return count_tokens(msgspec.json.encode(value).decode())


class Narrowing:
    """Keeps some fields below `json`, by dotted paths; all if none is named."""

    def __init__(self, fields: Sequence[str]) -> None:
        self._paths = [field.split(".") for field in fields]

    def of(self, item: Any) -> Any:
        if not isinstance(item, dict):
            return item
        shown = {key: value for key, value in item.items() if key != "binary"}
        if isinstance(item.get("binary"), Mapping):
            shown["binary"] = {name: _without_bytes(one) for name, one in item["binary"].items()}
        if self._paths and isinstance(item.get("json"), dict):
            shown["json"] = self._narrowed(item["json"])
        return shown

    def _narrowed(self, data: dict[str, Any]) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for parts in self._paths:
            path = _path_of(data, parts)
            if path is not None:
                _put(kept, path, value_at(data, path))
        return kept


def fitting_items(items: Items, offset: int, limit: int | None, tokens: int, narrowing: Narrowing) -> list[Any]:
    """Whole items from `offset` on. A single item that is too large is shown with its long strings shortened."""
    end = len(items) if limit is None else min(offset + limit, len(items))
    shown: list[Any] = []
    for item in items[offset:end]:
        one = narrowing.of(read_part(item))
        cost = tokens_of(one) + 1
        if cost > tokens and not shown:
            advice = f"[an item of about {cost:,} tokens; name some fields, or read it raw]"
            return [smaller(one, tokens) or {"json": advice}]
        if cost > tokens:
            break
        tokens -= cost
        shown.append(one)
    return shown


def value_at(data: Any, path: Sequence[str]) -> Any:
    """The value at a dotted path, or `_ABSENT`. Numbers index lists."""
    for key in path:
        if isinstance(data, Mapping) and key in data:
            data = data[key]
        elif isinstance(data, list) and key.isdecimal() and int(key) < len(data):
            data = data[int(key)]
        else:
            return _ABSENT
    return data


def _path_of(data: Any, parts: Sequence[str]) -> tuple[str, ...] | None:
    """The path that a dotted one means in these data: names of fields may have dots in them."""
    if not parts:
        return ()
    for size in range(1, len(parts) + 1):
        key = ".".join(parts[:size])
        inner = value_at(data, (key,))
        if inner is not _ABSENT and (rest := _path_of(inner, parts[size:])) is not None:
            return (key, *rest)
    return None


def is_absent(value: Any) -> bool:
    return value is _ABSENT


def _put(target: dict[str, Any], path: Sequence[str], value: Any) -> None:
    for key in path[:-1]:
        inner = target.setdefault(key, {})
        if not isinstance(inner, dict):
            return
        target = inner
    target[path[-1]] = value


def _without_bytes(binary: Any) -> Any:
    """File data without its base64 content: name, type and size."""
    if not isinstance(binary, Mapping) or not isinstance(binary.get("data"), str):
        return binary
    content = binary["data"]
    if len(content) <= _LONGEST_BASE64:
        return dict(binary)
    return {**binary, "data": f"[base64, {len(content):,} characters; raw shows them]"}


def smaller(value: Any, tokens: int) -> Any:
    """Shorten strings and lists until the value fits; None if nothing is left to shorten."""
    longest = max(tokens, 100)
    while longest >= 20:
        cut = _cut(value, longest)
        if tokens_of(cut) <= tokens:
            return cut
        longest //= 2
    return None


def _cut(value: Any, longest: int) -> Any:
    if isinstance(value, str):
        return shortened(value, longest)
    if isinstance(value, Mapping):
        return {key: _cut(part, longest) for key, part in value.items()}
    if isinstance(value, list):
        kept = [_cut(part, longest) for part in value[:longest]]
        return [*kept, f"… [{len(value) - longest:,} more]"] if len(value) > longest else kept
    return value


def small_json(value: Any, longest: int = 200, depth: int = 0) -> Any:
    """The data with long strings shortened, long lists truncated and a limited depth."""
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
