"""Which fields of its input a node reads: found in its expressions and its code."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from dogubako.packs.n8n.formatters.items import is_absent, value_at

# Nothing that these have read is read again in another way: code may be long, and strange.
_NAME = r"[A-Za-z_$][\w$]*+"
_QUOTED = r"""(?:'(?:[^'\\\n]++|\\.)+'|"(?:[^"\\\n]++|\\.)+")"""
# What $('Other node').item.json.x reads is no input.
_OTHERS = re.compile(rf"\$\(\s*+{_QUOTED}\s*+\)(?:\??\.\w++(?:\([^)]*+\))?)*")
# $json.email.trim, $json["a b"].c, item.json.lines, $input.first().json.x.
_READ = re.compile(rf"(?:(?<!\w)\$json|(?<![\w)])[\w)]++\.json)((?:\??\.{_NAME}|\??\.?\[\s*+{_QUOTED}\s*+\])+)")
_STEP = re.compile(rf"(\?)?\.({_NAME})|(\?)?\.?\[\s*+({_QUOTED})\s*+\]")
_PROPERTY_OF_NOTHING = re.compile(r"Cannot read propert(?:y|ies) of (?:null|undefined) \(reading '([^']+)'\)")


class Step(NamedTuple):
    """One name on a path; `optional` when it is reached by `?.`, so that nobody minds if there is nothing before."""

    name: str
    optional: bool


Reading = tuple[Step, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Gap:
    """A field that is read and has no value. `certain` when the error itself speaks of it."""

    path: tuple[str, ...]
    absent: bool
    certain: bool

    @property
    def name(self) -> str:
        return ".".join(self.path)


def fields_read(parameters: Any) -> list[Reading]:
    """Every path below `json`, with the method that is called on it as its last step."""
    own = (_OTHERS.sub("", text) for text in _texts(parameters))
    found = [_steps(match[1]) for text in own for match in _READ.finditer(text)]
    return list(dict.fromkeys(found))


def gaps_in(data: Any, paths: list[Reading], message: str) -> list[Gap]:
    """What is missing in this item, the likeliest first."""
    wanted = _PROPERTY_OF_NOTHING.search(message)
    step = wanted[1] if wanted else None
    gaps = [gap for path in paths if (gap := _gap(data, path, step))]
    return sorted(gaps, key=lambda gap: not gap.certain)


def _steps(written: str) -> Reading:
    found = _STEP.findall(written)
    return tuple(Step(plain or quoted[1:-1], bool(mark or other)) for mark, plain, other, quoted in found)


def _gap(data: Any, path: Reading, step: str | None) -> Gap | None:
    names = tuple(one.name for one in path)
    for size in range(1, len(path) + 1):
        value = value_at(data, names[:size])
        if is_absent(value) or value is None:
            following = path[size] if size < len(path) else None
            if following is not None and following.optional:
                return None
            certain = following is not None and following.name == step
            return Gap(path=names[:size], absent=is_absent(value), certain=certain)
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
