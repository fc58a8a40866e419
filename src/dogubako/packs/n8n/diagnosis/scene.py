"""One index of an execution for all rules: runs in order, items in and out, parents of items, nodes that never ran."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.references import Reference
from dogubako.packs.n8n.diagnosis.shown import shown_fields
from dogubako.packs.n8n.formatters.facts import ExecutionFacts, facts_of
from dogubako.packs.n8n.formatters.flow import Input, Place, before, inputs_of, item_at, output_items
from dogubako.packs.n8n.formatters.truncation import value_at
from dogubako.packs.n8n.models import Execution, Node, Run

_MOST_ITEMS: Final = 2_000
_LONGEST_WALK: Final = 200
_MOST_KEPT: Final = 5_000
_MOST_SIBLINGS: Final = 500
_FIRST_RUNS: Final = 10
CODE_TYPES: Final = frozenset({"code", "function", "functionItem"})
_STICKY: Final = "n8n-nodes-base.stickyNote"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunPlace:
    """One run of one node."""

    node: str
    index: int
    run: Run


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    """A node that is to blame, and the evidence: the item that shows it and the way to the failing node."""

    node: str
    problem: str
    place: Place | None = None
    walk: tuple[Place, ...] = ()
    certain: bool = True
    lost: bool = False
    """Whether the node dropped a field that its input had, or got an answer that says why it is not there."""
    path: tuple[str, ...] = ()
    """The field of `place` that is bad or missing, if it is one field."""
    read: tuple[Place, tuple[str, ...]] | None = None
    """The item and the field that the failing node read, where a value was traced from there."""
    misread: bool = False
    """Whether the item has under another name what the node reads: then the reader is wrong for sure."""
    unset: bool = False
    """Whether no node of this workflow sets or loses the field: a workflow that calls it may."""
    wrong: bool = False
    """Whether the result is wrong for sure, although it is not known which node has to change."""
    likely: bool = False
    """Whether its rule has never spoken of an execution that was as it should be."""
    unmeant: bool = False
    """Whether nobody means such a result, whoever has to change: NaN or [object Object] in a text."""
    own: bool = False
    """Whether the node cannot work as it is, whatever the data are: a name that does not exist, broken syntax."""
    described: str = ""
    """Why the value in `path` is bad, for a caller that has handed it down: `so there is no code in it`."""

    @property
    def is_plain(self) -> bool:
        """Whether it needs no look at the values that were read."""
        return self.certain and (self.own or self.misread)

    def in_doubt(self) -> "Cause":
        """The same as something that is wrong, of which it is not known who has to change."""
        return replace(self, certain=False, wrong=True)

    def told_at(self, node: str) -> str:
        """The problem for a sentence about a node: in it, "it" is that node."""
        return self.problem if self.node == node else f"of '{self.node}' is known: {self.problem}"

    def with_problem(self, problem: str) -> "Cause":
        return replace(self, problem=problem)


class Scene:
    """What the rules ask an execution for. Items are decoded once."""

    def __init__(self, execution: Execution) -> None:
        self.execution = execution
        # The executions that are looked at together: this one, its callers and those that it called.
        self.family: list[Scene] = [self]
        # Names that were looked for in the whole family, by who reads them.
        self.set_nowhere: dict[tuple[str, str], bool] = {}
        # What the code of a run returns in the replay.
        self.replayed: dict[tuple[str, int], Any] = {}
        self._items: dict[Place, dict[str, Any]] = {}

    @cached_property
    def facts(self) -> ExecutionFacts:
        return facts_of(self.execution)

    @cached_property
    def nodes(self) -> dict[str, Node]:
        return {node.name: node for node in self.execution.workflow.nodes}

    @cached_property
    def settings(self) -> dict[str, dict[str, Any]]:
        """The parameters of every node, decoded."""
        return {name: node.settings for name, node in self.nodes.items()}

    @cached_property
    def runs(self) -> list[RunPlace]:
        """Every run in the order of execution; a disabled node only passes items on, and did nothing to them."""
        every = [
            RunPlace(node=name, index=index, run=run)
            for name, own in self.execution.runs.items()
            for index, run in enumerate(own)
            if not self.is_disabled(name)
        ]
        return sorted(every, key=lambda one: one.run.execution_index)

    def is_disabled(self, name: str) -> bool:
        node = self.nodes.get(name)
        return node is not None and node.disabled

    @cached_property
    def first_runs(self) -> list[RunPlace]:
        """The first runs of every node: rules about settings see there what they see in all rounds of a loop."""
        return [at for at in self.runs if at.index < _FIRST_RUNS]

    def kind(self, name: str) -> str:
        """The type of a node without its package: `httpRequest`."""
        node = self.nodes.get(name)
        return node.type.rpartition(".")[2] if node else "unknown"

    def item(self, place: Place) -> dict[str, Any]:
        if place not in self._items:
            if len(self._items) >= _MOST_KEPT:
                self._items.clear()
            self._items[place] = item_at(self.execution, place) or {}
        return self._items[place]

    def json(self, place: Place) -> Any:
        return self.item(place).get("json")

    def is_empty(self, place: Place) -> bool:
        """Whether an item has neither fields nor files."""
        return self.json(place) == {} and not self.item(place).get("binary")

    def value(self, place: Place, path: tuple[str, ...]) -> Any:
        return value_at(self.json(place), path)

    def inputs(self, run: Run) -> list[Input]:
        return inputs_of(self.execution, run)

    def input_places(self, run: Run, index: int | None = None) -> list[Place]:
        """The items that a run received; only the one that the error names, if it names one."""
        places = []
        for one in self.inputs(run):
            wanted = range(min(len(one.items), _MOST_ITEMS)) if index is None else (index,)
            places += [
                Place(node=one.node, run=one.run, output=one.output, item=number)
                for number in wanted
                if number < len(one.items)
            ]
        return places

    def received(self, name: str) -> list[Place]:
        """The items that a node received, in all of its runs."""
        runs = self.execution.runs.get(name, [])
        return [place for run in runs[:_MOST_ITEMS] for place in self.input_places(run)][:_MOST_ITEMS]

    def outputs(self, at: RunPlace) -> Iterator[Place]:
        for output, items in enumerate(at.run.outputs):
            for number in range(min(len(items or ()), _MOST_ITEMS)):
                yield Place(node=at.node, run=at.index, output=output, item=number)

    def siblings(self, place: Place) -> list[Place]:
        """The other items of the same output of the same run."""
        items = output_items(self.execution, place.node, place.run, place.output)
        numbers = range(min(len(items), _MOST_SIBLINGS))
        return [replace(place, item=number) for number in numbers if number != place.item]

    def count(self, place: Place) -> int:
        """How many items the output has that this one is of."""
        return len(output_items(self.execution, place.node, place.run, place.output))

    def run_of(self, place: Place) -> Run | None:
        own = self.execution.runs.get(place.node, [])
        return own[place.run] if 0 <= place.run < len(own) else None

    def item_told(self, place: Place) -> str:
        """What an item has that a node read, and which node gave it out: all sentences about it are made here."""
        files = " but files" if self.json(place) == {} and self.item(place).get("binary") else ""
        return f"item comes from '{place.node}' and has {shown_fields(self.json(place))}{files}"

    def parents(self, place: Place) -> list[Place]:
        """The items that this one was made from; empty where n8n does not tell it."""
        return list(before(self.execution, place))

    def possible_parents(self, place: Place) -> list[Place]:
        """All items that the run received, for an item whose pairing is unknown."""
        run = self.run_of(place)
        return self.input_places(run) if run is not None else []

    def walk(self, place: Place) -> list[Place]:
        """This item and the items that it was made from, nearest first."""
        walk = [place]
        while len(walk) < _LONGEST_WALK:
            parent = next(iter(self.parents(walk[-1])), None)
            if parent is None or parent in walk:
                break
            walk.append(parent)
        return walk

    def places_read(self, reference: Reference, place: Place | None, run: Run) -> list[Place]:
        """The items that a reference reads while this item is processed."""
        if reference.node is None:
            return self._own_places(reference.pick, place, run)
        if reference.pick == "item" and place is not None:
            paired = next((one for one in self.walk(place) if one.node == reference.node), None)
            if paired is not None:
                return self._all_paired(place, reference.node) or [paired]
        return self._picked(reference, run)

    def _all_paired(self, place: Place, node: str) -> list[Place]:
        """The items of a node from which this one was made: several, if one on the way was made of several."""
        waiting, seen = [place], {place}
        found: list[Place] = []
        while waiting and len(seen) < _LONGEST_WALK:
            here = waiting.pop(0)
            if here.node == node:
                found.append(here)
                continue
            fresh = [one for one in self.parents(here) if one not in seen]
            seen.update(fresh)
            waiting += fresh
        return found

    def _own_places(self, pick: str, place: Place | None, run: Run) -> list[Place]:
        if pick == "item" and place is not None:
            return [place]
        places = self.input_places(run)
        if pick in ("all", "item"):
            return places
        number = 0 if pick == "first" else -1 if pick == "last" else int(pick[1:])
        return places[number : number + 1] if number >= 0 else places[-1:]

    def _picked(self, reference: Reference, reader: Run) -> list[Place]:
        """Items of another node, of its latest run and of one of its outputs."""
        name = reference.node or ""
        own = self.execution.runs.get(name, [])
        if not own:
            return []
        output = reference.output if reference.output is not None else self.output_read(name, reader)
        every = self.outputs(RunPlace(node=name, index=len(own) - 1, run=own[-1]))
        places = [place for place in every if place.output == output]
        if reference.pick == "last":
            return places[-1:]
        if reference.pick.startswith("#"):
            number = int(reference.pick[1:])
            return places[number : number + 1]
        return places if reference.pick == "all" else places[:1]

    def output_read(self, name: str, reader: Run) -> int:
        """The output of a node that a run reads by its name: the one that leads to it, else the first."""
        direct = next((one.output for one in self.inputs(reader) if one.node == name), None)
        if direct is not None:
            return direct
        waiting = [one.node for one in self.inputs(reader)]
        seen = set(waiting)
        while waiting:
            target = waiting.pop(0)
            for source, outputs in self._targets.items():
                way = next((number for number, targets in enumerate(outputs) if target in targets), None)
                if way is not None and source == name:
                    return way
                if way is not None and source not in seen:
                    seen.add(source)
                    waiting.append(source)
        return 0

    @cached_property
    def _targets(self) -> dict[str, list[list[str]]]:
        """The nodes behind every output of a node."""
        return {
            name: [[link.node for link in links or ()] for links in channels.get("main") or ()]
            for name, channels in self.execution.workflow.connections.items()
        }

    def behind(self, name: str, output: int | None = None) -> list[str]:
        """The nodes that an output leads to, or that any output leads to."""
        outputs = self._targets.get(name, [])
        chosen = outputs if output is None else outputs[output : output + 1]
        return list(dict.fromkeys(target for targets in chosen for target in targets))

    def leading_to(self, name: str) -> list[str]:
        """The nodes that lead directly to this one."""
        return [source for source in self._targets if name in self.behind(source)]

    def leading_from(self, name: str, itself: bool = False) -> set[str]:
        """All nodes that lead to this one, near and far; the node itself only if it is asked for and in a loop."""
        waiting, seen = [name], set[str]()
        while waiting:
            for source in self.leading_to(waiting.pop()):
                if source not in seen:
                    seen.add(source)
                    waiting.append(source)
        return seen if itself else seen - {name}

    def joined(self, names: list[str]) -> list[str]:
        """These nodes, with those between them through which items went from one to the next."""
        whole = names[:1]
        for name in names[1:]:
            whole += [*self._between(whole[-1], name), name]
        return list(dict.fromkeys(whole))

    def _between(self, start: str, end: str) -> list[str]:
        """The nodes on the shortest way on which items went from one node to another."""
        ways: dict[str, list[str]] = {end: []}
        waiting = [end]
        while waiting:
            name = waiting.pop(0)
            for source in dict.fromkeys(
                one.node for run in self.execution.runs.get(name, []) for one in self.inputs(run)
            ):
                if source == start:
                    return ways[name]
                if source not in ways:
                    ways[source] = [source, *ways[name]]
                    waiting.append(source)
        return []

    def left_out(self, name: str) -> list[str]:
        """Merges behind this node that ran without any item of it."""
        return [one for one in self.behind(name) if self.kind(one) == "merge" and self.execution.runs.get(one)]

    def reached(self, starts: list[str], until: str | None = None) -> list[str]:
        """These nodes and all behind them, in the order of the connections; not further than `until`."""
        waiting, seen = list(starts), dict.fromkeys(starts)
        while waiting:
            name = waiting.pop(0)
            for target in self.behind(name) if name != until else ():
                if target not in seen:
                    seen[target] = None
                    waiting.append(target)
        return list(seen)

    def are_parted(self, one: str, other: str) -> bool:
        """Whether a node before both of them sends some items to the one, and the others to the other."""
        for name in self.leading_from(one) & self.leading_from(other):
            outputs = [set(self.reached(self.behind(name, number))) for number in range(len(self._targets[name]))]
            ways = [{number for number, reached in enumerate(outputs) if node in reached} for node in (one, other)]
            if ways[0] and ways[1] and not ways[0] & ways[1]:
                return True
        return False

    def never_ran(self, starts: list[str]) -> list[str]:
        """The nodes from these on that did not run."""
        ran = self.execution.runs
        return [name for name in self.reached(starts) if not ran.get(name) and not self._is_off(name)]

    def _is_off(self, name: str) -> bool:
        node = self.nodes.get(name)
        return node is None or node.disabled or node.type == _STICKY


def conditions_of(settings: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The conditions of an IF, a Filter or a Switch."""
    holders = [settings.get("conditions")]
    rules = settings.get("rules")
    listed = rules.get("values") if isinstance(rules, Mapping) else None
    holders += [one.get("conditions") for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    found = [one.get("conditions") for one in holders if isinstance(one, Mapping)]
    return [each for one in found if isinstance(one, list) for each in one if isinstance(each, Mapping)]


def conditions_for(settings: Mapping[str, Any], output: int) -> list[Mapping[str, Any]]:
    """The conditions by which an item went to this output: those of its rule, or all where there is none for it."""
    rules = settings.get("rules")
    listed = rules.get("values") if isinstance(rules, Mapping) else None
    if isinstance(listed, list) and output < len(listed):
        return conditions_of({"rules": {"values": [listed[output]]}})
    return conditions_of(settings)


def conditions_met(scene: Scene, at: RunPlace) -> list[Mapping[str, Any]]:
    """The conditions that decided which way the items went: of a Switch that sent all one way, those of its rule."""
    settings = scene.settings.get(at.node, {})
    taken = [number for number, items in enumerate(at.run.outputs) if items]
    return conditions_for(settings, taken[0]) if len(taken) == 1 else conditions_of(settings)
