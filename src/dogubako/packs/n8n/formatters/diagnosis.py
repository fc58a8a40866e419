"""`diagnose_execution`: from the failing node back along its inputs, to the first place where data went wrong."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Final

from dogubako.contract.guidance import Guidance, example_call
from dogubako.packs.n8n.formatters.failures import error_facts, failing_run, item_error, main_error, swallowed_errors
from dogubako.packs.n8n.formatters.flow import Place, before, inputs_of, item_at
from dogubako.packs.n8n.formatters.items import is_absent, smaller, value_at
from dogubako.packs.n8n.formatters.references import Gap, fields_read, gaps_in
from dogubako.packs.n8n.formatters.shortening import shortened, small_json, tokens_of
from dogubako.packs.n8n.models import Execution, Run

_LONGEST_WALK: Final = 200
_MOST_ITEMS: Final = 5_000
# It is one small answer, whatever the items and messages are like.
_ITEM_TOKENS: Final = 400
_LONGEST_TEXT: Final = 200
_PATH_END: Final = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """The first place where data went wrong, and how it shows there."""

    place: Place
    problem: str
    walk: Sequence[Place] = ()
    certain: bool = True


class Diagnosis:
    """Finds the origin of one execution's trouble, and tells it in one small answer."""

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._failing = failing_run(execution)
        self._origin = self._find()

    def told(self) -> dict[str, Any]:
        execution = self._execution
        facts: dict[str, Any] = {
            "executionId": str(execution.id),
            "workflowId": execution.workflow_id or execution.workflow.id,
            "workflowName": execution.workflow.name,
            "status": execution.status,
            "failure": self._failure(),
            "origin": self._told_origin(),
            "path": self._path(),
            "explanation": self._explanation(),
        }
        return {key: value for key, value in facts.items() if value is not None}

    def guidance(self) -> Guidance:
        """Where to repair it, or where to look when no origin was found."""
        execution = self._execution
        workflow_id = execution.workflow_id or execution.workflow.id
        name = self._origin.place.node if self._origin else self._failing[0] if self._failing else None
        if name is not None and workflow_id is not None and execution.workflow.node(name) is not None:
            example = example_call("get_workflow_node", id=workflow_id, nodeName=name)
            return Guidance(message="See how this node is set up; update_workflow can change it.", example=example)
        return Guidance(message="See what ran.", example=example_call("get_execution", id=str(execution.id)))

    def _find(self) -> Origin | None:
        if self._failing is not None:
            name, _, run = self._failing
            return self._behind_failure(name, run)
        if self._execution.status != "success":
            return None
        return self._swallowed() or self._dried_up()

    def _behind_failure(self, name: str, run: Run) -> Origin | None:
        """The item that the failing node could not work with, traced back to where it became so."""
        node = self._execution.workflow.node(name)
        facts = error_facts(run.error or {}, name)
        paths = fields_read(node.settings) if node else []
        best: tuple[Gap, Place] | None = None
        for place, item in self._given(run, facts.get("itemIndex")):
            if item_error(item) is not None and (origin := self._error_item(self._walk(place))) is not None:
                return origin
            for gap in gaps_in(item.get("json"), paths, facts["message"])[:1]:
                if best is None or (gap.certain and not best[0].certain):
                    best = gap, place
        return replace(self._of_gap(best[0], self._walk(best[1])), certain=best[0].certain) if best else None

    def _given(self, run: Run, item_index: Any) -> list[tuple[Place, dict[str, Any]]]:
        """The items of the failing run; only the one that the error names, if it names one."""
        found = []
        for given in inputs_of(self._execution, run):
            for index in range(min(len(given.items), _MOST_ITEMS)):
                place = Place(node=given.node, run=given.run, output=given.output, item=index)
                if item_index in (None, index):
                    found.append((place, self._item(place)))
        return found

    def _walk(self, place: Place) -> list[Place]:
        """This item and what it was made from, the nearest first."""
        walk = [place]
        while len(walk) < _LONGEST_WALK:
            previous = next(before(self._execution, walk[-1]), None)
            if previous is None or previous in walk:
                break
            walk.append(previous)
        return walk

    def _error_item(self, walk: list[Place]) -> Origin | None:
        """An error that was swallowed earlier travels on as data. Elsewhere a field called `error` is just a field."""
        count = next((i for i, one in enumerate(walk) if item_error(self._item(one)) is None), len(walk))
        place = walk[count - 1]
        node, message = self._execution.workflow.node(place.node), item_error(self._item(place))
        if node is None or message is None or not node.goes_on_after_errors:
            return None
        return Origin(place=place, problem=_went_on(message), walk=walk[:count])

    def _of_gap(self, gap: Gap, walk: list[Place]) -> Origin:
        values = [value_at(self._item(place).get("json"), gap.path) for place in walk]
        if not gap.absent:
            empty = next((i for i, value in enumerate(values) if is_absent(value) or value is not None), len(walk))
            return Origin(place=walk[empty - 1], problem=f"{gap.name} is null", walk=walk[:empty])
        had = next((i for i, value in enumerate(values) if not is_absent(value)), None)
        if had is not None:
            return Origin(place=walk[had - 1], problem=f"{gap.name} is lost here", walk=walk[:had])
        return self._misnamed(gap, walk) or self._never_set(gap, walk)

    def _misnamed(self, gap: Gap, walk: list[Place]) -> Origin | None:
        """Nobody wrote `customer`, but somebody wrote `custmer`."""
        *parents, wanted = gap.path
        keys = _keys(value_at(self._item(walk[0]).get("json"), parents))
        near = get_close_matches(wanted, keys, n=1, cutoff=0.7)
        if not near:
            return None
        path = (*parents, near[0])
        has = [not is_absent(value_at(self._item(place).get("json"), path)) for place in walk]
        count = has.index(False) if False in has else len(has)
        problem = f"there is no {gap.name}, but a field called {'.'.join(path)}, first written here"
        return Origin(place=walk[count - 1], problem=problem, walk=walk[:count])

    def _never_set(self, gap: Gap, walk: list[Place]) -> Origin:
        if self._is_traced_to_the_start(walk):
            return Origin(place=walk[0], problem=f"no node before ever sets {gap.name}", walk=walk[:1])
        problem = f"there is no {gap.name}, and n8n does not tell what this item was made from"
        return Origin(place=walk[-1], problem=problem, walk=walk)

    def _is_traced_to_the_start(self, walk: list[Place]) -> bool:
        return not inputs_of(self._execution, self._execution.runs[walk[-1].node][walk[-1].run])

    def _swallowed(self) -> Origin | None:
        for one in swallowed_errors(self._execution):
            place = Place(node=one.node, run=one.run, output=one.output, item=one.item)
            return Origin(place=place, problem=_went_on(one.message), walk=[place])
        return None

    def _dried_up(self) -> Origin | None:
        """The first node that was given items, leads on, and handed on nothing."""
        runs = [(own[0].execution_index, name, own[0]) for name, own in self._execution.runs.items() if len(own) == 1]
        for _, name, run in sorted(runs, key=lambda one: one[0]):
            given = [one for one in inputs_of(self._execution, run) if one.items]
            leads = self._execution.workflow.connections.get(name, {}).get("main", [])
            connected = [number for number, links in enumerate(leads) if links]
            gave = [run.outputs[number] for number in connected if number < len(run.outputs)]
            if given and connected and not any(gave):
                count = sum(len(one.items) for one in given)
                problem = f"it was given {count} item{'s' if count > 1 else ''} and handed on none"
                source = Place(node=given[0].node, run=given[0].run, output=given[0].output, item=0)
                place = Place(node=name, run=0, output=connected[0], item=0)
                return Origin(place=place, problem=problem, walk=[source])
        return None

    def _failure(self) -> dict[str, Any] | None:
        error = main_error(self._execution)
        if error is None:
            return None
        run = {"runIndex": self._failing[1]} if self._failing else {}
        return {**{key: small_json(value) for key, value in error.items()}, **run}

    def _told_origin(self) -> dict[str, Any] | None:
        if self._origin is None:
            return None
        place = self._origin.place
        node = self._execution.workflow.node(place.node)
        facts: dict[str, Any] = {
            "nodeName": place.node,
            "nodeType": node.type if node else "unknown",
            "runIndex": place.run,
            "outputIndex": place.output,
            "problem": self._origin.problem,
        }
        source = next(iter(self._origin.walk), None)
        if (shown := item_at(self._execution, place)) is not None:
            facts |= {"itemIndex": place.item, "item": _glance(shown.get("json"))}
            source = next(before(self._execution, place), None)
        made_from = item_at(self._execution, source) if source else None
        if source is not None and made_from is not None:
            facts["madeFrom"] = {"nodeName": source.node, "item": _glance(made_from.get("json"))}
        return facts

    def _path(self) -> list[str] | None:
        """From the origin to the failing node."""
        if self._origin is None or self._failing is None:
            return None
        names = [place.node for place in reversed(self._origin.walk)]
        path = list(dict.fromkeys([*names, self._failing[0]]))
        middle = path[_PATH_END:-_PATH_END]
        return [*path[:_PATH_END], f"… [{len(middle)} more]", *path[-_PATH_END:]] if len(middle) > 1 else path

    def _explanation(self) -> str:
        execution, origin = self._execution, self._origin
        if origin is not None and self._failing is not None:
            said = shortened((main_error(execution) or {}).get("message", ""), _LONGEST_TEXT)
            cause = f"because of what '{origin.place.node}' gave out: {origin.problem}"
            return f"'{self._failing[0]}' failed ({said}) {'' if origin.certain else 'probably '}{cause}."
        if origin is not None:
            return f"The execution counts as a success, but look at '{origin.place.node}': {origin.problem}."
        if self._failing is not None:
            return f"No earlier place was found; the trouble starts in '{self._failing[0]}' itself."
        if execution.withheld:
            return "n8n holds the data of this execution back, so nothing can be told from it."
        if execution.status == "success":
            return "Nothing went wrong that the data would show."
        return f"The execution is {execution.status}; no node of it has failed."

    def _item(self, place: Place) -> dict[str, Any]:
        return item_at(self._execution, place) or {}


def _went_on(message: str) -> str:
    return f"it failed for this item and was told to go on: {shortened(message, _LONGEST_TEXT)}"


def _glance(data: Any) -> Any:
    """An item in small; of one with very many fields only their names."""
    view = small_json(data)
    return (
        view if tokens_of(view) <= _ITEM_TOKENS else smaller(view, _ITEM_TOKENS) or {"fields": small_json(_keys(data))}
    )


def _keys(data: Any) -> list[str]:
    return [str(key) for key in data] if isinstance(data, dict) else []
