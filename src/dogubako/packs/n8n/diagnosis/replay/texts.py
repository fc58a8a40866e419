"""Methods of texts, as far as they can be replayed. What is not known gives UNKNOWN."""

import math
import re
from collections.abc import Callable
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.evaluation import VARIABLE_REPEAT
from dogubako.packs.n8n.diagnosis.javascript_values import ABSENT, UNKNOWN
from dogubako.packs.n8n.diagnosis.replay.values import (
    Arr,
    Obj,
    Thrown,
    Val,
    made_of,
    short_text,
    text_of,
)

TEXT_METHODS: Final = frozenset(
    """
    trim trimStart trimEnd split toLowerCase toUpperCase toLocaleLowerCase toLocaleUpperCase replace replaceAll
    startsWith endsWith match matchAll padStart padEnd substring substr slice charAt charCodeAt codePointAt includes
    indexOf lastIndexOf concat repeat localeCompare search at normalize toString valueOf
    """.split()  # noqa: SIM905 - a list of names reads best so
)
_LONGEST_TEXT: Final = 5_000
_LONGEST_MATCHED: Final = 200
# What a search may cost: with each repeat of variable length, the length of the text once more.
_MOST_TRIES: Final = 40_000
_MOST_ALTERNATIVES: Final = 8
_NAMED_GROUP = re.compile(r"\(\?<[A-Za-z]\w{0,40}>")
# Repeated groups, looking ahead or behind, and back references.
_RISKY = re.compile(r"\)[*+{]|\(\?[=!<]|\\[1-9kpP]")
_TEXT_CALLS: Final[dict[str, Callable[..., Any]]] = {
    "trim": lambda text: text.strip(),
    "trimStart": lambda text: text.lstrip(),
    "trimEnd": lambda text: text.rstrip(),
    "toLowerCase": lambda text: text.lower(),
    "toUpperCase": lambda text: text.upper(),
    "startsWith": lambda text, start: text.startswith(start),
    "endsWith": lambda text, end: text.endswith(end),
    "includes": lambda text, part: part in text,
    "indexOf": lambda text, part: text.find(part),
    "toString": lambda text: text,
    "charAt": lambda text, place=0: text[place : place + 1] if place >= 0 else "",
}


def text_call(text: Val, name: str, given: list[Val], line: int) -> Val:
    """A method of a text. Arguments that are patterns are only tried where they cannot take long."""
    value, plain = text.value, [one.value for one in given]
    if name == "split" and (not given or isinstance(plain[0], str) or _is_pattern(plain[0])):
        return _split(text, plain)
    if name in ("replace", "replaceAll") and len(given) > 1:
        return made_of(_replaced(value, name, plain), text, *given)
    if name in ("match", "search") and given and _is_pattern(plain[0]):
        return _matched(text, plain[0], name)
    if name == "repeat" and given and isinstance(plain[0], (int, float)):
        if plain[0] < 0 or math.isinf(plain[0]):
            raise Thrown("count", f"Invalid count value: {text_of(plain[0])}", line, given[0])
        return made_of(UNKNOWN, text, *given)
    if name in ("slice", "substring", "at") and all(isinstance(one, int) for one in plain):
        return made_of(_cut(value, name, plain), text)
    if name in _TEXT_CALLS and all(isinstance(one, (str, int)) for one in plain):
        try:
            return made_of(_TEXT_CALLS[name](value, *plain), text, *given)
        except TypeError:
            return made_of(UNKNOWN, text, *given)
    return made_of(UNKNOWN, text, *given)


def _cut(text: str, name: str, plain: list[int]) -> Any:
    if name == "at":
        place = plain[0] if plain else 0
        return text[place] if -len(text) <= place < len(text) else ABSENT
    if name == "substring":
        first, second = (
            ([max(0, one) for one in plain] + [0, len(text)])[:2] if len(plain) > 1 else (max(0, plain[0]), len(text))
        )
        return text[min(first, second) : max(first, second)]
    return text[plain[0] : plain[1]] if len(plain) > 1 else text[plain[0] :]


def _is_pattern(value: Any) -> bool:
    return isinstance(value, Obj) and value.kind == "pattern"


def _split(text: Val, plain: list[Any]) -> Val:
    if len(text.value) > _LONGEST_TEXT:
        return made_of(UNKNOWN, text)
    if not plain:
        parts = [text.value]
    elif isinstance(plain[0], str):
        parts = text.value.split(plain[0]) if plain[0] else list(text.value)
    elif plain[0].fields["·body"].value in ("\\s+", "\\s", "\\s*,\\s*", ",\\s*", " +", "\\r?\\n", "\\n", ",", ";"):
        body = plain[0].fields["·body"].value
        parts = re.split(body, text.value[:_LONGEST_TEXT])
    else:
        return made_of(UNKNOWN, text)
    if len(plain) > 1 and isinstance(plain[1], int):
        parts = parts[: plain[1]]
    return Val(Arr([Val(one, None, text.spots) for one in parts], None, text.spots), None, text.spots)


def _replaced(text: str, name: str, plain: list[Any]) -> Any:
    """The text with something else in the place of a part; UNKNOWN where that is not tried."""
    part, other = plain[:2]
    if not isinstance(other, str) or "$" in other or len(text) > _LONGEST_TEXT:
        return UNKNOWN
    if isinstance(part, str):
        return short_text(text.replace(part, other, -1 if name == "replaceAll" else 1))
    found = is_match(part, text) if _is_pattern(part) else None
    # Python's \s knows fewer spaces than that of JavaScript.
    if found is None or ("\\s" in part.fields["·body"].value.lower() and not text.isascii()):
        return UNKNOWN
    body, flags = _NAMED_GROUP.sub("(", part.fields["·body"].value), part.fields["·flags"].value
    pattern = re.compile(body, re.ASCII | (re.IGNORECASE if "i" in flags else 0))
    return short_text(pattern.sub(lambda _: other, text, count=0 if "g" in flags else 1))


def _matched(text: Val, pattern: Obj, name: str) -> Val:
    found = is_match(pattern, text.value)
    if found is None or name == "search":
        return made_of(UNKNOWN, text)
    if not found:
        return not_matched(pattern, text)
    groups = _groups(pattern, text.value)
    if groups is None:
        return made_of(UNKNOWN, text)
    return Val(Arr([made_of(one, text) for one in groups], None, text.spots, matched=True), None, text.spots)


def _groups(pattern: Obj, text: str) -> list[Any] | None:
    """The text that a pattern finds and its groups; None where they are asked by name, or as a list of all."""
    body, flags = pattern.fields["·body"].value, pattern.fields["·flags"].value
    if _NAMED_GROUP.search(body) or "g" in flags or "\\s" in body.lower() or not text.isascii():
        return None
    found = re.search(body, text, re.ASCII | (re.IGNORECASE if "i" in flags else 0))
    return [ABSENT if one is None else one for one in (found[0], *found.groups())] if found is not None else None


def not_matched(pattern: Obj, text: Val) -> Val:
    """The null of a search that found nothing."""
    written = f"/{pattern.fields['·body'].value}/{pattern.fields['·flags'].value}"
    return Val(None, None, text.spots, unmatched=written)


def is_match(pattern: Obj, text: str) -> bool | None:
    """Whether a pattern of the code is found in a text; None where it is not tried, because it could take long."""
    body, flags = pattern.fields["·body"].value, pattern.fields["·flags"].value
    body = _NAMED_GROUP.sub("(", body)
    repeats = len(VARIABLE_REPEAT.findall(body.replace("(?:", "(")))
    if len(text) > _LONGEST_MATCHED or len(text) ** (repeats + 1) > _MOST_TRIES:
        return None
    if _RISKY.search(body) or body.count("|") > _MOST_ALTERNATIVES:
        return None
    try:
        return re.search(body, text, re.ASCII | (re.IGNORECASE if "i" in flags else 0)) is not None
    except (re.error, OverflowError, RecursionError):
        return None
