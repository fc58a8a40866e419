"""The raw JSON of recorded executions, read without any code of the diagnosis, so that reports can be audited by it."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

Json = dict[str, Any]

# Reports show no more fields of an object.
_MOST_FIELDS: Final = 20
_NAMED = re.compile(r"\[(?:'([^']*)'|\"([^\"]*)\"|(\d+))\]")


@dataclass(frozen=True)
class Item:
    """One item that a node gave out, and where it stands."""

    run: int
    output: int
    index: int
    json: Any
    binary: Any
    paired: Any


@dataclass(frozen=True)
class Recorded:
    """One recorded execution."""

    raw: Json
    parent: "Recorded | None" = None
    children: "list[Recorded]" = field(default_factory=list)

    @property
    def id(self) -> str:
        return str(self.raw["id"])

    @property
    def name(self) -> str:
        return str(self.raw["workflowData"].get("name"))

    @cached_property
    def nodes(self) -> dict[str, Json]:
        return {str(one["name"]): one for one in self.raw["workflowData"]["nodes"]}

    @cached_property
    def runs(self) -> dict[str, list[Json]]:
        found: dict[str, list[Json]] = (self.raw.get("data") or {}).get("resultData", {}).get("runData") or {}
        return found

    def items(self, node: str | None) -> list[Item]:
        """Everything that a node gave out."""
        return [one for run in range(len(self.runs.get(node or "", ()))) for one in self.given_out(node or "", run)]

    def given_out(self, node: str, run: int) -> list[Item]:
        outputs = outputs_of(self.runs[node][run]) if run < len(self.runs.get(node, ())) else []
        return [
            Item(run, output, index, item.get("json"), item.get("binary"), item.get("pairedItem"))
            for output, items in enumerate(outputs)
            for index, item in enumerate(items or ())
        ]

    def received(self, node: str | None, run: int | None = None) -> list[Item]:
        """Everything that a node was given, in all runs or in one."""
        runs = self.runs.get(node or "", [])
        return [one for number, each in enumerate(runs) if run in (None, number) for one in self._sent_to(each)]

    def _sent_to(self, run: Json) -> Iterator[Item]:
        for source in run.get("source") or ():
            if source:
                output = source.get("previousNodeOutput") or 0
                given = self.given_out(source["previousNode"], source.get("previousNodeRun") or 0)
                yield from (one for one in given if one.output == output)

    def read(self, node: str | None) -> list[tuple[str, Item]]:
        """What a node can read: the items that it was given, and those of the nodes that its settings name."""
        given = [
            (source["previousNode"], item)
            for run in self.runs.get(node or "", [])
            for source in run.get("source") or ()
            if source
            for item in self._sent_to({"source": [source]})
        ]
        written = " ".join(texts_in(self.settings(node)))
        named = [name for name in self.runs if any(f"{sign}{name}{sign}" in written for sign in "'\"`")]
        return [*given, *((name, item) for name in named for item in self.items(name))]

    def sources(self, node: str) -> set[str]:
        """The nodes whose items a node was given."""
        runs = self.runs.get(node, [])
        return {source["previousNode"] for run in runs for source in run.get("source") or () if source}

    def led_to(self, start: str, end: str) -> bool:
        """Whether items went from one node to another, over any number of nodes."""
        seen: set[str] = set()
        waiting = {end}
        while waiting:
            seen |= waiting
            waiting = {one for name in waiting for one in self.sources(name)} - seen
        return start in seen and start != end

    def leads_on(self, node: str | None, output: int) -> bool:
        """Whether a connection leads from this output somewhere."""
        outputs = self.raw["workflowData"].get("connections", {}).get(node, {}).get("main", [])
        return output < len(outputs) and bool(outputs[output])

    @property
    def pinned(self) -> Json:
        """The items that were pinned by hand, by node."""
        of_run = (self.raw.get("data") or {}).get("resultData", {}).get("pinData") or {}
        return {**(self.raw["workflowData"].get("pinData") or {}), **of_run}

    def before(self, node: str) -> set[str]:
        """The nodes from which connections lead to this one."""
        leads: dict[str, set[str]] = {}
        for name, channels in self.raw["workflowData"].get("connections", {}).items():
            ends = [end for outputs in channels.values() for output in outputs or () for end in output or ()]
            for end in ends:
                leads.setdefault(end["node"], set()).add(name)
        found: set[str] = set()
        ahead = [node]
        while ahead:
            fresh = leads.get(ahead.pop(), set()) - found
            found |= fresh
            ahead += fresh
        return found

    def settings(self, node: str | None) -> Any:
        return self.nodes.get(node or "", {}).get("parameters", {})

    def kind(self, node: str | None) -> str:
        return str(self.nodes.get(node or "", {}).get("type", "")).rpartition(".")[2]

    def is_disabled(self, node: str | None) -> bool:
        return bool(self.nodes.get(node or "", {}).get("disabled"))

    def errors(self) -> list[Any]:
        """Every error of the execution, and every item that could be one that was passed on."""
        own = [(self.raw.get("data") or {}).get("resultData", {}).get("error")]
        of_runs = [run.get("error") for runs in self.runs.values() for run in runs]
        passed_on = [one for name in self.runs for item in self.items(name) for one in _error_parts(item.json)]
        whole = [item for runs in self.runs.values() for run in runs for item in _items_with_error(run)]
        return [one for one in (*own, *of_runs, *passed_on, *whole) if one]

    def family(self) -> "list[Recorded]":
        """This execution and all that it started."""
        return [self, *(one for child in self.children for one in child.family())]


def recorded(recording: Json, parent: Recorded | None = None) -> Recorded:
    """A recording with its children, as `recordings.load` gives it."""
    made = Recorded(recording["execution"], parent)
    made.children.extend(recorded(one, made) for one in recording["children"])
    return made


def outputs_of(run: Json) -> list[list[Json] | None]:
    channels = run.get("data") or {}
    found: list[list[Json] | None] = channels.get("main") or next(iter(channels.values()), [])
    return found


def _error_parts(data: Any) -> list[Any]:
    return [data[key] for key in ("error", "message", "errorMessage") if key in data] if isinstance(data, dict) else []


def _items_with_error(run: Json) -> list[Any]:
    return [item["error"] for items in outputs_of(run) for item in items or () if item.get("error")]


def texts_in(data: Any) -> Iterator[str]:
    """Every text in settings or data, names of fields left out."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, (dict, list)):
        for one in data.values() if isinstance(data, dict) else data:
            yield from texts_in(one)


def values_at(data: Any, path: str) -> list[Any]:
    """What stands at a path as a report writes it; a name may have dots in it, and [] stands for every element."""
    literal = re.fullmatch(r"\[['\"]([^'\"]+)['\"]\]", path)
    if literal:
        return [data[literal[1]]] if isinstance(data, dict) and literal[1] in data else []
    plain = _NAMED.sub(lambda found: f".{found[1] or found[2] or found[3]}", path).lstrip(".")
    return list(_values(data, plain.replace("[]", ".[]").replace("..", ".").lstrip(".")))


def _values(data: Any, path: str) -> Iterator[Any]:
    if not path:
        yield data
    if isinstance(data, dict):
        for key in data:
            if path == key:
                yield data[key]
            elif path.startswith(f"{key}."):
                yield from _values(data[key], path[len(key) + 1 :])
    first, _, rest = path.partition(".")
    if isinstance(data, list) and first in ("[]", "*"):
        for one in data:
            yield from _values(one, rest)
    if isinstance(data, list) and re.fullmatch(r"-?\d+", first) and -len(data) <= int(first) < len(data):
        yield from _values(data[int(first)], rest)
    if path == "length" and isinstance(data, (list, str)):
        yield len(data)


def values_in(data: Any) -> list[Any]:
    """The data and everything in them."""
    return [data, *(value for _, value in paths_of(data))]


def paths_of(data: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Every path of an item with what stands there."""
    if isinstance(data, (dict, list)):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            path = f"{before}.{key}" if before else str(key)
            yield path, value
            yield from paths_of(value, path)


def type_of(value: Any) -> str:
    kinds = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return "null" if value is None else kinds[type(value)]


def holds(shown: Any, raw: Any) -> bool:
    """Whether a shortened part of a report is a view of the recorded data."""
    if isinstance(shown, str):
        return _is_text_of(shown, raw)
    if isinstance(shown, dict) and isinstance(raw, dict):
        if set(shown) == {"fields"} and "fields" not in raw:
            return all(one in raw or "…" in one for one in shown["fields"])
        whole = len(shown) == min(len(raw), _MOST_FIELDS)
        return whole and all(key in raw and holds(value, raw[key]) for key, value in shown.items())
    if isinstance(shown, list) and isinstance(raw, list):
        more = re.fullmatch(r"… \[(\d+) more\]", str(shown[-1])) if shown else None
        kept = shown[:-1] if more else shown
        return len(kept) + (int(more[1]) if more else 0) == len(raw) and all(map(holds, kept, raw))
    return type(shown) is type(raw) and bool(shown == raw)


def _is_text_of(shown: str, raw: Any) -> bool:
    cut = re.fullmatch(r"(.*)… \[([\d,]+) more characters\]", shown, re.DOTALL)
    if cut and isinstance(raw, str):
        return raw.startswith(cut[1]) and len(raw) - len(cut[1]) == int(cut[2].replace(",", ""))
    if isinstance(raw, (dict, list)):
        return shown in (f"{{{len(raw)} fields}}", f"[{len(raw)} items]")
    if "***" in shown and isinstance(raw, str):
        # A login is masked.
        return re.fullmatch(".+".join(map(re.escape, shown.split("***"))), raw, re.DOTALL) is not None
    return bool(shown == raw)


def squeezed(text: str) -> str:
    """A text without spaces, quotes and escapes, in which two ways to write it are the same."""
    return re.sub(r"\\+[nrt]|[\s\"'\\]+", "", text)


def dumped(data: Any) -> str:
    return squeezed(json.dumps(data, ensure_ascii=False))
