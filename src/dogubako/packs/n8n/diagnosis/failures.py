"""A failure to explain: the error of a run, or an error that a node passed on as an item."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.gaps import gap
from dogubako.packs.n8n.diagnosis.references import (
    LONGEST_CODE,
    Reference,
    reference_of,
    references,
    texts,
)
from dogubako.packs.n8n.diagnosis.scene import CODE_TYPES, Cause, Scene
from dogubako.packs.n8n.diagnosis.trace import trace_missing, trace_value
from dogubako.packs.n8n.formatters.facts import SwallowedErrors, error_facts
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.javascript_names import of_names
from dogubako.packs.n8n.models import Run

_TAIL = re.compile(r"\[(?:line|item|condition)\b[^\]\[]{0,100}+\]\s*+$")
_ITEM = re.compile(r"\[(?:line \d+, for |condition \d+, )?item (\d{1,9})\]")
_LINE = re.compile(r"\[line (\d{1,9})")
_STATUS = re.compile(r"(?:status code|^)\s?([45]\d\d)\b")
OF_NOTHING = re.compile(r"Cannot (?:read|set) propert(?:y|ies) of (?:null|undefined)(?: \(\w+ '([^']+)'\))?")
# Messages may be of any length; the patterns need only their beginning.
_LONGEST_MESSAGE: Final = 2_000
# n8n puts the kind of an error of the language into its description.
LANGUAGE_ERRORS: Final = ("TypeError", "ReferenceError", "SyntaxError", "RangeError", "URIError", "EvalError")
_THROWN = of_names(r"(?<![\w$.])throw\b([^;]{1,400}+)")
_QUOTED = re.compile(r"'([^'\\\n]{4,80})'|\"([^\"\\\n]{4,80})\"|`([^`\\$]{4,80})")


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One failed run, or one item for which a run failed.

    `raw` is n8n's error object. `passed_on` is the item that holds the error, if the node was told to go on.
    """

    scene: Scene
    node: str
    index: int
    run: Run
    message: str
    raw: Mapping[str, Any]
    item_index: int | None
    passed_on: Place | None = None

    @property
    def swallowed(self) -> bool:
        """Whether the node was told to go on, and gave out the error as an item."""
        return self.passed_on is not None

    @property
    def plain(self) -> str:
        """The message without n8n's note of line and item."""
        return _TAIL.sub("", self.message).rstrip()

    @cached_property
    def line(self) -> int | None:
        number = self.raw.get("lineNumber")
        told = _LINE.search(self.message)
        return number if isinstance(number, int) else int(told[1]) if told else None

    @cached_property
    def thrown_line(self) -> int | None:
        """The line of the `throw`, if n8n tells it: in functions and sub-workflows its number may be of another one."""
        lines = self.code.split("\n")
        told = lines[self.line - 1] if self.line is not None and 0 < self.line <= len(lines) else ""
        return self.line if "throw" in told else None

    @property
    def kind(self) -> str:
        return self.scene.kind(self.node)

    @property
    def is_code(self) -> bool:
        return self.kind in CODE_TYPES

    @cached_property
    def is_thrown(self) -> bool:
        """Whether the code of the node throws this itself: its words are the author's, and no error of the language."""
        if not self.is_code or "throw" not in self.code or self.raw.get("description") in LANGUAGE_ERRORS:
            return False
        if isinstance(self.raw.get("lineNumber"), int) and self.raw.get("description") is None:
            return True
        written = [one for thrown in _THROWN.findall(self.code) for groups in _QUOTED.findall(thrown) for one in groups]
        return any(one and one in self.plain for one in written)

    @cached_property
    def settings(self) -> dict[str, Any]:
        return self.scene.settings.get(self.node, {})

    @cached_property
    def code(self) -> str:
        written = self.settings.get("jsCode") or self.settings.get("functionCode") or ""
        return "\n".join(texts(written))[:LONGEST_CODE]

    @cached_property
    def references(self) -> list[Reference]:
        return references(self.settings)

    def on_line(self) -> list[Reference]:
        """The references on the line of the error; all, where the line is unknown or has none."""
        if self.line is None or not self.is_code:
            return self.references
        return [one for one in self.references if one.line == self.line] or self.references

    def named(self, text: str) -> Reference | None:
        """What an expression that the error quotes refers to, by the aliases of the code."""
        return reference_of(text.strip(), self.code)

    def read(self, reference: Reference) -> list[Place]:
        """The items that the reference reads, for every item that may have failed."""
        places: list[Place | None] = [*self.places] if reference.pick == "item" else []
        found = [one for place in places or [None] for one in self.scene.places_read(reference, place, self.run)]
        return list(dict.fromkeys(found))

    def values(self, reference: Reference) -> Iterator[tuple[Place, Any]]:
        """What the reference reads in each of these items."""
        for place in self.read(reference):
            yield place, self.scene.value(place, reference.names)

    def trace_gap(self, reference: Reference, place: Place) -> Cause:
        """Who is to blame that the reference finds nothing in this item."""
        path = gap(self.scene.json(place), reference) or reference.names
        return trace_missing(self.scene, self.node, reference, place, path)

    def trace(self, reference: Reference, place: Place, described: str) -> Cause:
        """Who made the value that the reference finds in this item."""
        return trace_value(self.scene, place, reference.names, described)

    def missing(self, reference: Reference) -> list[tuple[Place, tuple[str, ...]]]:
        """The items in which the reference meets null or nothing, with the path that is missing there."""
        paths = ((place, gap(self.scene.json(place), reference)) for place in self.read(reference))
        return [(place, path) for place, path in paths if path is not None]

    @property
    def context(self) -> Mapping[str, Any]:
        found = self.raw.get("context")
        return found if isinstance(found, Mapping) else {}

    @cached_property
    def places(self) -> list[Place]:
        """The items that may have made it fail: the one that the error names, or all that it received."""
        return self.scene.input_places(self.run, self.item_index)

    @cached_property
    def http_code(self) -> str | None:
        """The status of an HTTP answer, or the code of a network failure such as ECONNREFUSED."""
        for value in (self.raw.get("httpCode"), self.raw.get("status"), self.raw.get("code")):
            if isinstance(value, (str, int)) and not isinstance(value, bool) and str(value).strip():
                return str(value)
        told = _STATUS.search(self.message)
        return told[1] if told else None

    @property
    def child_execution(self) -> str | None:
        """The execution of the sub-workflow in which it really happened."""
        found = self.raw.get("executionId")
        told = self.scene.item(self.passed_on).get("metadata") if self.passed_on is not None else None
        called = told.get("subExecution") if isinstance(told, Mapping) else None
        if found is None and isinstance(called, Mapping):
            found = called.get("executionId")
        return str(found) if isinstance(found, (str, int)) and not isinstance(found, bool) else None


def failure_of(scene: Scene) -> Failure | None:
    """The failure that ended the execution."""
    failing = scene.facts.failing
    if failing is None:
        return None
    name, index, run = failing
    raw = run.error or scene.execution.result.error or {}
    facts = error_facts(raw, name)
    return Failure(
        scene=scene,
        node=name,
        index=index,
        run=run,
        message=str(facts["message"])[:_LONGEST_MESSAGE],
        raw=raw,
        item_index=_item_number(facts.get("itemIndex"), str(facts["message"])),
    )


def failure_of_item(scene: Scene, swallowed: SwallowedErrors) -> Failure | None:
    """The failure that a node passed on as an item."""
    place = Place(node=swallowed.node, run=swallowed.run, output=swallowed.output, item=swallowed.item)
    run = scene.run_of(place)
    if run is None:
        return None
    data = scene.json(place)
    error = data.get("error") if isinstance(data, Mapping) else None
    parent = next(iter(scene.parents(place)), None)
    return Failure(
        scene=scene,
        node=swallowed.node,
        index=swallowed.run,
        run=run,
        message=swallowed.message[:_LONGEST_MESSAGE],
        raw=error if isinstance(error, Mapping) else scene.item(place).get("error") or {},
        item_index=parent.item if parent is not None else _item_number(None, swallowed.message),
        passed_on=place,
    )


def _item_number(index: Any, message: str) -> int | None:
    if isinstance(index, int) and not isinstance(index, bool) and index >= 0:
        return index
    told = _ITEM.search(message)
    return int(told[1]) if told else None
