"""What a checker of statements asks the recorded data for, and the list of all checkers."""

import json
import re
import unicodedata
from collections.abc import Callable
from typing import Any, Final

from .recorded_facts import Item, Recorded, paths_of, values_at, values_in
from .report_statements import NODE, VALUE, Masked, Shown, Statement

_PARTS: Final = {
    "<V>": VALUE,
    "<N>": NODE,
    "<D>": r"(\d+)",
    # A field, whose name may have spaces; one that has none.
    "<F>": "([^;()\ue000-\ue003]+?)",
    "<W>": r"([^\s;,()]+)",
    # Any text, as long or as short as can be.
    "<T>": "(.+)",
    "<L>": "(.+?)",
}


class View:
    """One statement with what the recorded data have about it."""

    def __init__(self, statement: Statement, family: list[Recorded], masked: Masked) -> None:
        self.statement = statement
        self.family = family
        self.masked = masked
        self.execution = statement.execution
        self.node = statement.node
        self.at = 0
        """Where in the statement the part stands that is looked at."""

    def home(self, node: str | None) -> Recorded:
        """The execution that has this node; the one that is spoken of comes first."""
        near = [self.execution, self.execution.parent, *self.family]
        return next((one for one in near if one is not None and node in one.nodes), self.execution)

    def homes(self, node: str | None) -> list[Recorded]:
        """The same; all executions that have it where it is of a sub-workflow, which may have been called often."""
        near = [one for one in (self.execution, self.execution.parent) if one is not None and node in one.nodes]
        return near[:1] or [one for one in self.family if node in one.nodes] or [self.execution]

    def out(self, node: str | None) -> list[Item]:
        return [item for one in self.homes(node) for item in one.items(node)]

    def given(self, node: str | None = None) -> list[Item]:
        return [item for one in self.homes(node or self.node) for item in one.received(node or self.node)]

    def spoken_of(self) -> list[Item]:
        """The items that a clause may be about: what the nodes in it were given and gave out."""
        names = [self.node, *self.masked.nodes_in(self.statement.text)]
        return [item for name in names for item in (*self.out(name), *self.given(name))]

    def has_anywhere(self, shown: Shown) -> bool:
        return any(is_shown(shown, one) for _, _, item in self.everything() for one in values_in(item.json))

    def everything(self) -> list[tuple[Recorded, str, Item]]:
        return [(one, name, item) for one in self.family for name in one.runs for item in one.items(name)]


Check = Callable[..., str | None]
CHECKS: Final[list[tuple[re.Pattern[str], str, Check]]] = []


def states(*templates: str) -> Callable[[Check], Check]:
    """Register a checker for the statements of these forms; it gives back what the data really say, or None."""

    def registered(check: Check) -> Check:
        for template in templates:
            kinds = "".join(re.findall(r"<([VNDFWTL])>", template))
            pattern = re.sub(r"<[VNDFWTL]>", lambda found: _PARTS[found[0]], template)
            CHECKS.append((re.compile(pattern, re.DOTALL), kinds, check))
        return check

    return registered


def arguments(found: re.Match[str], kinds: str, masked: Masked) -> list[Any]:
    """The parts of a statement: values, names of nodes, numbers and texts."""
    return [_part(kind, text, masked) for kind, text in zip(kinds, found.groups(), strict=False)]


def _part(kind: str, text: str | None, masked: Masked) -> Any:
    if text is None:
        return None
    if kind == "V":
        return masked.values[int(text)]
    if kind == "N":
        return masked.names[int(text)]
    return int(text) if kind == "D" else masked.plain(text).strip()


def is_shown(shown: Shown, raw: Any) -> bool:
    """Whether a report shows this recorded value."""
    if isinstance(raw, str):
        return shown.is_of(raw, visible(raw))
    return shown.is_of(raw, json.dumps(raw, ensure_ascii=False))


def visible(text: str) -> str:
    """A text with characters that do not show escaped, as reports write it."""
    return "".join(
        one if one.isprintable() or unicodedata.category(one) == "Zs" else one.encode("unicode_escape").decode("ascii")
        for one in text
    )


def has_value(items: list[Item], path: str, shown: Shown) -> bool:
    """Whether one of the items has this value at this path, or under the same name elsewhere in it."""
    if any(is_shown(shown, one) for item in items for one in values_at(item.json, path)):
        return True
    last = path.rpartition(".")[2]
    return any(
        is_shown(shown, value) for item in items for at, value in paths_of(item.json) if at.rpartition(".")[2] == last
    )


def endings(text: str) -> list[str]:
    """What a field may be called whose name may have spaces, and before which other words may stand."""
    words = re.sub(r",? which$|, by which it compares,$", "", text).split(" ")
    return [" ".join(words[-count:]).strip() for count in range(1, min(len(words), 6) + 1)]


def with_path(items: list[Item], path: str) -> list[Item]:
    return [item for item in items if values_at(item.json, path)]


def told(items: list[Item], path: str, most: int = 4) -> str:
    """What the items have there, for a message."""
    held = [values_at(item.json, path) for item in items[:most]]
    return ", ".join(json.dumps(one[0], ensure_ascii=False)[:80] if one else "not there" for one in held) or "no items"
