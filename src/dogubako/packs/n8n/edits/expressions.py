"""Node names inside expressions and code: `$('Old')`, `$node["Old"]`, `$items("Old")`."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from dogubako.packs.n8n.javascript_names import NAME, of_names

# These hold code or templates, which n8n evaluates without a leading `=`.
_CODE: Final = frozenset({"jsCode", "pythonCode", "functionCode", "code", "html"})
_IDENTIFIER = re.compile(NAME)
# `$(name)`, `$node[name]`, and a name that is put together.
_COMPUTED = re.compile(r"(?:[$_](?:items)?+\s*+\(|[$_]node\s*+\[)\s*+(?:[^\s'\"`)\]]|`[^`\n]{0,200}?\$\{)")
_DEEPEST: Final = 60
_QUOTES: Final = "'\"`"
_LONGEST_LINE: Final = 500


class Renaming:
    """Rewrites references to one node. The patterns are literal, so a hostile text costs no more than its length."""

    def __init__(self, old: str, new: str) -> None:
        self._new = new
        spelt = [(quote, one) for quote in _QUOTES for one in _spellings(old, quote)]
        self._spellings = {one for _, one in spelt}
        quoted = "|".join(f"{quote}{re.escape(one)}{quote}" for quote, one in spelt)
        self._quoted = re.compile(rf"((?:[$_](?:items)?+\s*+\(|[$_]node\s*+\[)\s*+)({quoted})")
        self._anywhere = re.compile(quoted)
        # `$node.Old` can be written for names that are identifiers only.
        self._dotted = (
            of_names(rf"([$_]node)\s*+\.\s*+{re.escape(old)}(?![\w$])") if _IDENTIFIER.fullmatch(old) else None
        )

    def finds(self, text: str) -> bool:
        """Whether a text of `evaluated_text` refers to the name."""
        if not any(spelling in text for spelling in self._spellings):
            return False
        return bool(self._quoted.search(text) or (self._dotted and self._dotted.search(text)))

    def may_compute(self, text: str) -> bool:
        """Whether a text has the name in quotes and looks a node up by a name that is not written there."""
        return _COMPUTED.search(text) is not None and self._anywhere.search(text) is not None

    def apply(self, value: Any, key: str = "", depth: int = 0) -> Any:
        """The parameters with every reference renamed. What refers to nothing is returned as it is."""
        if isinstance(value, str):
            return self._renamed(value) if _is_evaluated(value, key) else value
        if depth >= _DEEPEST:
            return value
        if isinstance(value, dict):
            return {name: self.apply(part, name, depth + 1) for name, part in value.items()}
        if isinstance(value, list):
            return [self.apply(part, key, depth + 1) for part in value]
        return value

    def _renamed(self, text: str) -> str:
        text = self._quoted.sub(lambda match: match[1] + self._in_quotes(match[2][0], _around(match)), text)
        return self._dotted.sub(rf"\1[{_literal(self._in_quotes(chr(34)))}]", text) if self._dotted else text

    def _in_quotes(self, quote: str, around: str = "") -> str:
        """The new name as a text. `around`: the quotes of the texts in which this one stands."""
        escaped = _escaped(self._new, quote)
        for one in around.replace(quote, ""):
            escaped = escaped.replace(one, f"\\{one}")
        return f"{quote}{escaped}{quote}"


def _around(match: re.Match[str]) -> str:
    """The quotes that are open before this place of its line: it is inside of another text."""
    before = match.string[max(0, match.start() - _LONGEST_LINE) : match.start()]
    line = before.rpartition("\n")[2]
    return "".join(quote for quote in _QUOTES if line.count(quote) % 2)


def _spellings(name: str, quote: str) -> list[str]:
    """How a name may be written in these quotes: as it has to be, and with the other quotes escaped as well."""
    needed = full = _escaped(name, quote)
    for one in _QUOTES.replace(quote, ""):
        full = full.replace(one, f"\\{one}")
    return list(dict.fromkeys([needed, full]))


def evaluated_text(parameters: Any) -> str:
    """Everything in a node's parameters that n8n evaluates, to look for names in it."""
    return "\n".join(_evaluated(parameters))


def _evaluated(value: Any, key: str = "", depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        if _is_evaluated(value, key):
            yield value
    elif depth < _DEEPEST and isinstance(value, Mapping):
        for name, part in value.items():
            yield from _evaluated(part, str(name), depth + 1)
    elif depth < _DEEPEST and isinstance(value, list):
        for part in value:
            yield from _evaluated(part, key, depth + 1)


def _is_evaluated(text: str, key: str) -> bool:
    return text.startswith("=") or key in _CODE


def _escaped(name: str, quote: str) -> str:
    escaped = name.replace("\\", "\\\\").replace(quote, f"\\{quote}").replace("\n", "\\n").replace("\r", "\\r")
    return escaped.replace("${", "\\${") if quote == "`" else escaped


def _literal(replacement: str) -> str:
    return replacement.replace("\\", "\\\\")
