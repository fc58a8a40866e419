"""Items as n8n has them, as many as fit, narrowed to the fields that somebody asked for."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from dogubako.packs.n8n.formatters.shortening import shortened, tokens_of
from dogubako.packs.n8n.models import Items

_LONGEST_BASE64: Final = 120
_ABSENT: Final = object()


class Narrowing:
    """Keeps some fields below `json`, by dotted paths; all of them when none is named."""

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
        for path in self._paths:
            value = value_at(data, path)
            if value is not _ABSENT:
                _put(kept, path, value)
        return kept


def fitting_items(items: Items, offset: int, limit: int | None, tokens: int, narrowing: Narrowing) -> list[Any]:
    """Whole items from `offset` on. One that alone is too large is shown with its long texts shortened."""
    end = len(items) if limit is None else min(offset + limit, len(items))
    shown: list[Any] = []
    for item in items[offset:end]:
        one = narrowing.of(msgspec.json.decode(item))
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
    """What a dotted path leads to, or `_ABSENT`. Numbers step into lists."""
    for key in path:
        if isinstance(data, Mapping) and key in data:
            data = data[key]
        elif isinstance(data, list) and key.isdecimal() and int(key) < len(data):
            data = data[int(key)]
        else:
            return _ABSENT
    return data


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
    """A file in base64 tells an agent nothing; its name, type and size do."""
    if not isinstance(binary, Mapping) or not isinstance(binary.get("data"), str):
        return binary
    content = binary["data"]
    if len(content) <= _LONGEST_BASE64:
        return dict(binary)
    return {**binary, "data": f"[base64, {len(content):,} characters; raw shows them]"}


def smaller(value: Any, tokens: int) -> Any:
    """Long texts and lists cut to an ever shorter length, until it fits; None when nothing is left to cut."""
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
