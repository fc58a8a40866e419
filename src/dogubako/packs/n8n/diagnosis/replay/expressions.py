"""Expressions in the settings of a node, evaluated again for one item as n8n does it."""

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from dogubako.packs.n8n.diagnosis.javascript import LONGEST_CODE_FOLLOWED
from dogubako.packs.n8n.diagnosis.javascript_values import UNKNOWN, is_nan
from dogubako.packs.n8n.diagnosis.replay.interpreter import Interpreter
from dogubako.packs.n8n.diagnosis.replay.names import NOT_REPLAYED, N8nNames
from dogubako.packs.n8n.diagnosis.replay.statements import parse_script
from dogubako.packs.n8n.diagnosis.replay.values import Thrown, Val, text_of
from dogubako.packs.n8n.diagnosis.scene import RunPlace, Scene
from dogubako.packs.n8n.formatters.flow import Place

# n8n takes an expression to end at the first braces that close.
_BRACES = re.compile(r"\{\{((?:(?!\{\{|\}\}).){1,2000}+)\}\}", re.DOTALL)
# Methods of the language that n8n does not give to values of other types: a value without one of them raises.
_NEVER_ADDED: Final = frozenset(
    """
    toFixed toPrecision toUpperCase toLowerCase trim split replace replaceAll startsWith endsWith padStart padEnd
    substring charAt map filter forEach reduce join some every push flatMap
    """.split()  # noqa: SIM905 - a list of names reads best so
)
# What n8n adds to values works on null and undefined as well, or fails in ways of its own.
_ADDED: Final = re.compile(
    r"is[A-Z]\w*|to(?:Boolean|DateTime|Float|Int|Number|JsonString|SentenceCase|SnakeCase|TitleCase|WholeNumber"
    r"|CamelCase|Date)|first|last|compact|unique|sum|average|min|max|round|floor|ceil|abs|format|keys|values"
    r"|hash|length|quote|merge|chunk|pluck|base64\w*|extract\w*|remove\w*|url\w*|parseJson|smartJoin|randomItem"
    r"|union|intersection|difference|append|hasField|keepFieldsContaining|replaceSpecialChars|renameKeys"
)


class Outcome(NamedTuple):
    """What an expression came to: a value, or an error, in whose place n8n writes nothing."""

    body: str
    value: Val | None = None
    thrown: Thrown | None = None

    @property
    def text(self) -> str | None:
        """What stands in a text in its place; None if that is not known."""
        if self.thrown is not None or (self.value is not None and (self.value.is_nothing or is_nan(self.value.value))):
            return ""
        told = text_of(self.value.value) if self.value is not None and self.value.is_known else None
        return told if isinstance(told, str) else None


def bodies(written: Any) -> list[str]:
    """The JavaScript in the braces of a parameter that is an expression."""
    if not isinstance(written, str) or not written.startswith("=") or len(written) > LONGEST_CODE_FOLLOWED:
        return []
    return [one.strip() for one in _BRACES.findall(written[1:])]


def pieces(written: str) -> list[str]:
    """The words of a text with expressions, and between them the JavaScript in the braces: words, code, words, …"""
    return _BRACES.split(written.removeprefix("="))


def is_mixed(written: Any) -> bool:
    """Whether it is a text with expressions in it, and not one expression."""
    count = len(bodies(written))
    return count > 1 or (count == 1 and bool(_BRACES.sub("", written[1:]).strip()))


def evaluated(scene: Scene, at: RunPlace, place: Place | None, body: str) -> Outcome:
    """What this expression gives for an item; without a value and an error where that is not known."""
    interpreter = Interpreter(lambda _: None)
    index = place.item if place is not None else 0
    interpreter.restart(N8nNames(scene, at, place, index, interpreter.spend))
    try:
        return Outcome(body, interpreter.run(parse_script(f"return (\n{body}\n);")))
    except Thrown as thrown:
        return Outcome(body, None, thrown if _is_sure(thrown) else None)
    except NOT_REPLAYED:
        return Outcome(body)


def _is_sure(thrown: Thrown) -> bool:
    """Whether n8n raises this as well. It knows more names and methods than the replay."""
    if thrown.kind == "nothing":
        return _ADDED.fullmatch(thrown.message or "") is None
    return thrown.kind == "function" and thrown.message in _NEVER_ADDED


def text_again(written: str, outcomes: Sequence[Outcome]) -> str | None:
    """The text that these outcomes make; None if one of them is not known."""
    parts = [one.text for one in outcomes]
    if None in parts:
        return None
    filled = iter(parts)
    return _BRACES.sub(lambda _: str(next(filled)), written[1:])


def is_known(outcome: Outcome) -> bool:
    return outcome.thrown is not None or (outcome.value is not None and outcome.value.value is not UNKNOWN)
