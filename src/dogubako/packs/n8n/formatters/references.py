"""Which fields of its input a node reads: found in its expressions and its code."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dogubako.packs.n8n.formatters.items import is_absent, value_at

# $json.email.trim, $json["a b"].c, item.json.lines, but not $('Other node').item.json.x: that is no input.
_READ = re.compile(
    r"(?<!\w)(?<!\)\.item)(?:\$json|(?:\w|\))+\.json)((?:\??\.[A-Za-z_$][\w$]*|\??\.?\[\s*(['\"]).+?\2\s*\])+)"
)
_STEP = re.compile(r"\??\.([A-Za-z_$][\w$]*)|\[\s*['\"](.+?)['\"]\s*\]")
_PROPERTY_OF_NOTHING = re.compile(r"Cannot read propert(?:y|ies) of (?:null|undefined) \(reading '([^']+)'\)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Gap:
    """A field that is read and has no value. `certain` when the error itself speaks of it."""

    path: tuple[str, ...]
    absent: bool
    certain: bool

    @property
    def name(self) -> str:
        return ".".join(self.path)


def fields_read(parameters: Any) -> list[tuple[str, ...]]:
    """Every path below `json`, with the method that is called on it as its last step."""
    found: dict[tuple[str, ...], None] = {}
    for text in _texts(parameters):
        for match in _READ.finditer(text):
            found[tuple(first or second for first, second in _STEP.findall(match[1]))] = None
    return list(found)


def gaps_in(data: Any, paths: list[tuple[str, ...]], message: str) -> list[Gap]:
    """What is missing in this item, the likeliest first."""
    wanted = _PROPERTY_OF_NOTHING.search(message)
    step = wanted[1] if wanted else None
    gaps = [gap for path in paths if (gap := _gap(data, path, step))]
    return sorted(gaps, key=lambda gap: not gap.certain)


def _gap(data: Any, path: tuple[str, ...], step: str | None) -> Gap | None:
    for size in range(1, len(path) + 1):
        value = value_at(data, path[:size])
        if is_absent(value) or value is None:
            following = path[size] if size < len(path) else None
            certain = step is not None and following == step
            return Gap(path=path[:size], absent=is_absent(value), certain=certain)
        if not isinstance(value, Mapping):
            # What follows is a method of text, numbers or lists.
            return None
    return None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)
