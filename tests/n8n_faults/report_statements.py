"""Reports of a diagnosis, taken apart into single statements with the node and the execution that they are about."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from .recorded_facts import Json, Recorded, type_of

VALUE: Final = "\ue000(\\d+)\ue001"
NODE: Final = "\ue002(\\d+)\ue003"
_SHOWN = re.compile(
    r"(?:(?<= is )|(?<= as )|(?<= for )|(?<=with )|(?<= or )|(?<= has )|(?<= and )|(?<= over )|(?<=\), )|(?<=\': ))(?:"
    r'"(?P<text>.*?)(?:"|(?P<cut>… \[[\d,]+ more characters\])) \(string\)'
    r"|(?P<plain>-?[\d.]+(?:e[+-]?\d+)?(?= \(number)|null(?= \(null)|(?:true|false)(?= \(b)|[\[{].*?(?=…| \([ao]))"
    r"(?P<short>… \[[\d,]+ more characters\])? \((?P<type>number|null|boolean|array|object)\))",
    re.DOTALL,
)
_FRAME = re.compile(
    rf"{NODE} failed because its sub-workflow '(?P<below>.*?)' \(execution (?P<child>\w+)\) did: "
    rf"|The sub-workflow '(?P<seen>.*?)' \(execution (?P<shows>\w+)\) shows something: "
    rf"|{NODE} failed because in its sub-workflow (?={NODE})"
    rf"|{NODE}(?:, which)? failed(?: for (?P<failed>\d+) of its (?P<given>\d+) items)?(?:, which left by [a-z ]+,)?"
    rf"(?: and was told to go on)? \((?P<message>.*?)\)"
    rf"(?= because of |\. Look at |: |\. No earlier|\.$|\. It )(?:: )?"
    rf"|(?: because of|(?:\. )?Look at|, look at) (?:what )?{NODE}(?: gave out)?: "
    rf"|(?P<called>What it was called with comes from) {NODE}: "
    rf"|In its sub-workflow '(?P<inner>.*?)' \(execution (?P<inside>\w+)\) look at {NODE}: "
    rf"|(?:look at|Also noticed:) {NODE}: "
    rf"|(?P<doubt>Whether (?:that node, another on the way or )?{NODE}(?: or another node)? has to change)",
    re.DOTALL,
)


class Shown(NamedTuple):
    """A value as a report shows it."""

    text: str
    type: str
    is_cut: bool

    def is_of(self, raw: Any, written: str) -> bool:
        if type_of(raw) != self.type:
            return False
        if self.text == "***":
            # A login is masked.
            return True
        return written.startswith(self.text) if self.is_cut else written == self.text


@dataclass(frozen=True)
class Statement:
    """One clause, the node that it is about, and the whole text in which it stands."""

    text: str
    whole: str
    execution: Recorded
    node: str | None
    failing: str | None
    part: Json = field(default_factory=dict, compare=False)

    @property
    def key(self) -> tuple[str, str, str | None]:
        return self.text, self.execution.id, self.node


@dataclass
class Masked:
    """Texts in which values and names of nodes are replaced by signs, so that they can be cut into clauses."""

    names: list[str]
    values: list[Shown] = field(default_factory=list)

    def mask(self, text: str) -> str:
        masked = self._without_values(text)
        for number, name in sorted(enumerate(self.names), key=lambda one: -len(one[1])):
            masked = masked.replace(f"'{name}'", f"\ue002{number}\ue003")
        return masked

    def _without_values(self, text: str) -> str:
        made, done, start = "", 0, 0
        while found := _SHOWN.search(text, start):
            start = found.start() + 1
            if found["type"] is None or found["short"] or _is_json(found["plain"]):
                shown = found["text"] if found["text"] is not None else found["plain"]
                self.values.append(Shown(shown, found["type"] or "string", bool(found["cut"] or found["short"])))
                made += f"{text[done : found.start()]}\ue000{len(self.values) - 1}\ue001"
                done = start = found.end()
        return made + text[done:]

    def plain(self, text: str) -> str:
        """The text as it was."""
        shown = re.sub(NODE, lambda one: f"'{self.names[int(one[1])]}'", text)
        return re.sub(VALUE, lambda one: self._told(self.values[int(one[1])]), shown)

    def nodes_in(self, text: str) -> list[str]:
        return [self.names[int(one)] for one in re.findall(NODE, text)]

    def _told(self, value: Shown) -> str:
        quoted = f'"{value.text}"' if value.type == "string" else value.text
        return f"{quoted} ({value.type})"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def statements_of(report: Json, main: Recorded, masked: Masked) -> list[Statement]:
    """Every clause of the texts of a report, each once."""
    failing = (report.get("failure") or {}).get("node")
    found: list[Statement] = []
    for part in (report[key] for key in ("origin", "noticed") if key in report):
        where = _by_id(main, part.get("executionId"))
        found += clauses(masked.mask(part["problem"]), where, part["nodeName"], failing, masked, part)
    for text in report.get("values", ()):
        found.append(Statement(masked.mask(text), masked.mask(text), main, failing, failing))
    for text in report.get("alsoNoticed", ()):
        found += clauses(masked.mask(text), main, None, failing, masked)
    found += _explained(masked.mask(report["explanation"]), main, masked)
    return list({one.key: one for one in reversed(found)}.values())


def clauses(
    text: str, where: Recorded, node: str | None, failing: str | None, masked: Masked, part: Json | None = None
) -> list[Statement]:
    """The parts of a problem between semicolons; a name with a colon says that another node is meant."""
    found = []
    for one in re.split(r"; (?!\})", text):
        head = re.match(rf"(?:Of the error itself|(?:of )?{NODE}(?: tests it| splits it| reads it| is known)?): ", one)
        node = masked.names[int(head[1])] if head and head[1] else node
        clause = one[head.end() :] if head else one
        if clause.strip(" ."):
            found.append(Statement(clause, text, where, node, failing, part or {}))
        expecting = re.search(rf"where {NODE} expected", one)
        node = masked.names[int(expecting[1])] if expecting else node
    return found


def _explained(text: str, main: Recorded, masked: Masked) -> Iterator[Statement]:
    where, node, failing, start = main, None, None, 0
    for found in _FRAME.finditer(text):
        yield from _sentences(text[start : found.start()], where, node, failing, masked)
        start = found.end()
        names = masked.nodes_in(found[0])
        yield Statement(found[0], found[0], where, names[0] if names else None, failing, {"frame": found})
        child = found["child"] or found["shows"] or found["inside"]
        if found["doubt"]:
            node = None
            continue
        where = _by_id(main, child) if child else _with_node(main, where, names[:1], bool(found["called"]))
        node = None if found["child"] or not names else names[0] if found["message"] is not None else names[-1]
        failing = node if found["message"] is not None else failing
    yield from _sentences(text[start:], where, node, failing, masked)


def _sentences(
    text: str, where: Recorded, node: str | None, failing: str | None, masked: Masked
) -> Iterator[Statement]:
    for one in re.split(r"\. (?=It |What it was|No earlier|Also noticed|In |Of )|\.$", text.strip()):
        if one.strip(" ."):
            yield from clauses(one.strip(), where, node, failing, masked)


def _by_id(main: Recorded, wanted: str | None) -> Recorded:
    return next((one for one in main.family() if one.id == wanted), main)


def _with_node(main: Recorded, where: Recorded, names: list[str], above: bool) -> Recorded:
    near = [where.parent, where] if above else [where, where.parent]
    chosen = [one for one in (*near, *main.family()) if one is not None and names and names[-1] in one.nodes]
    return chosen[0] if chosen else where
