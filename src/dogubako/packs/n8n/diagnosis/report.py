"""`Diagnosis`: the small answer of `diagnose_execution`."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from dogubako.contract.output import Guidance, example_call
from dogubako.packs.n8n.diagnosis.explanations import cut, failure_words, is_handled, success_words
from dogubako.packs.n8n.diagnosis.failure_rules import cause_of, error_behind
from dogubako.packs.n8n.diagnosis.failures import Failure, failure_of, failure_of_item
from dogubako.packs.n8n.diagnosis.families import given_back, given_values, handed_down, told_giver
from dogubako.packs.n8n.diagnosis.flow_rules import ended_empty
from dogubako.packs.n8n.diagnosis.join_keys import pairs_vaguely
from dogubako.packs.n8n.diagnosis.logins import without_logins
from dogubako.packs.n8n.diagnosis.noticing import known_first, noticed_before, noticed_in
from dogubako.packs.n8n.diagnosis.readings import asked_with, beside, branch_taken, readings
from dogubako.packs.n8n.diagnosis.scene import Cause, Scene
from dogubako.packs.n8n.diagnosis.trace import went_on
from dogubako.packs.n8n.formatters.truncation import small_json, smaller, tokens_of
from dogubako.packs.n8n.models import Execution

# Limits, so that the answer is small for any items and messages.
_ITEM_TOKENS: Final = 400
_PATH_END: Final = 8
_MOST_OTHERS: Final = 2
_EMPTY: Final = "an empty list"
_GONE: Final = "is not there"
# That nothing is wrong cannot be known from the data.
NO_FAULT_FOUND: Final = "No rule found a fault in the recorded data; wrong values that look plausible are not noticed."


class Diagnosis:
    """Finds the cause of an execution's failure and reports it in a small answer.

    `children` are the diagnoses of its sub-workflows: a failure in one of them is explained there.
    """

    def __init__(self, execution: Execution, children: Sequence["Diagnosis"] = ()) -> None:
        self._execution = execution
        self._scene = Scene(execution)
        self._children = children
        # What is said of a child needs its callers, so nothing is looked for before all of them are known.
        family = [self._scene, *(one for child in children for one in child._scene.family)]
        for one in family:
            one.family = family

    @cached_property
    def _examined(self) -> tuple[Failure | None, list[Cause]]:
        """The failure and what was found, the cause first."""
        failure = failure_of(self._scene)
        if self._execution.status == "success":
            failure = failure or self._swallowed()
        return failure, list(self._find(failure))

    @property
    def _failure(self) -> Failure | None:
        return self._examined[0]

    @property
    def _causes(self) -> list[Cause]:
        return self._examined[1]

    @cached_property
    def _child(self) -> "Diagnosis | None":
        return self._guilty_child(self._children)

    @cached_property
    def _found(self) -> "tuple[Diagnosis, Cause] | None":
        """The cause, and the diagnosis of the execution in which it lies."""
        return self._located()

    def _located(self) -> "tuple[Diagnosis, Cause] | None":
        """Go on from the trigger of a child to who filled it, and from a call to who in the child made its answer."""
        child = self._child
        if child is None:
            return self._descended(self.cause) if self.cause is not None else None
        found = child._found
        if found is None or found[0] is not child:
            return found
        above = handed_down(self._scene, child._scene, found[1])
        if above is not None:
            return self, above
        reads = child._failure is not None and found[1].node == child._failure.node
        return child, told_giver(self._scene, child._scene, found[1]) if reads else found[1]

    def _descended(self, cause: Cause) -> "tuple[Diagnosis, Cause]":
        for child in self._children:
            inside = given_back(self._scene, child._scene, cause) or self._nothing_from(child, cause)
            if inside is not None:
                return child._descended(inside)
        return self, cause

    def _nothing_from(self, child: "Diagnosis", cause: Cause) -> Cause | None:
        """Who in the child left nothing over, if a call of it gave out nothing, or an empty item for that."""
        run = self._scene.run_of(cause.place) if cause.place is not None else None
        bare = cause.place is not None and cause.place.node in self._scene.nodes and self._scene.is_empty(cause.place)
        nothing = run is not None and (bare or not any(run.outputs[:1]))
        called = run.sub_execution if run is not None and nothing else None
        if called is None or str(called.get("executionId")) != str(child._execution.id):
            return None
        return ended_empty(child._scene)

    @property
    def cause(self) -> Cause | None:
        return self._causes[0] if self._causes else None

    @property
    def is_clean(self) -> bool:
        return self._failure is None and not self._causes and self._child is None

    def report(self) -> dict[str, Any]:
        execution = self._execution
        child = self._child
        facts: dict[str, Any] = {
            "executionId": str(execution.id),
            "workflowId": execution.workflow_id or execution.workflow.id,
            "workflowName": execution.workflow.name,
            "status": execution.status,
            "failure": self._told_failure(),
            "origin" if self._is_claimed() else "noticed": self._told_origin(),
            "values": self._values(),
            "path": self._path(),
            "explanation": self._explanation(),
            "alsoNoticed": [] if child or execution.status != "success" else self._told_others(),
            "childExecution": _told_child(child) if child else None,
        }
        told = {key: value for key, value in facts.items() if value not in (None, [])}
        return without_logins(told, self._scene.family)

    def _is_claimed(self) -> bool:
        """Whether something is known to be wrong. In a success, where nothing has failed, all may be as intended."""
        if self._execution.status == "success" and (self._failure is None or is_handled(self._failure)):
            return False
        return self._found is None or self._found[1].certain

    def _told_others(self) -> list[str]:
        """Further remarks, one for each node."""
        others = {one.node: one for one in reversed(self._causes) if self.cause and one.node != self.cause.node}
        return [f"'{one.node}': {cut(one.problem)}" for one in reversed(others.values())][:_MOST_OTHERS]

    def guidance(self) -> Guidance:
        """Where to repair it, or where to look if no cause was found."""
        owner, cause = self._found or (self._child or self, None)
        if owner is not self and cause is None:
            return owner.guidance()
        execution = owner._execution
        workflow_id = execution.workflow_id or execution.workflow.id
        name = cause.node if cause else self._failure.node if self._failure else None
        if name is not None and workflow_id is not None and execution.workflow.node(name) is not None:
            example = example_call("get_workflow_node", id=workflow_id, nodeName=name)
            known = cause is not None and self._is_claimed() and not _came_from_outside(owner._scene, cause)
            told = "update_workflow can change it" if known else "it is not known that it has to change"
            return Guidance(message=f"See how this node is set up; {told}.", example=example)
        return Guidance(message="See what ran.", example=example_call("get_execution", id=str(execution.id)))

    def _find(self, failure: Failure | None) -> Sequence[Cause]:
        if failure is not None and self._execution.status != "success":
            cause = cause_of(failure)
            return known_first(failure, cause, noticed_before(failure, cause)) if cause else []
        if self._execution.status != "success":
            return []
        passed_on = _passed_on(failure) if failure is not None else None
        return [*([passed_on] if passed_on else []), *noticed_in(self._scene)]

    def _swallowed(self) -> Failure | None:
        """The first error that was passed on as data."""
        first = next(iter(self._scene.facts.swallowed), None)
        return failure_of_item(self._scene, first) if first else None

    def _guilty_child(self, children: Sequence["Diagnosis"]) -> "Diagnosis | None":
        """The sub-workflow's execution in which the failure happened, or that shows a trace of a fault."""
        if self._failure is not None:
            wanted = self._failure.child_execution
            if wanted is None and self._failure.kind == "executeWorkflow":
                return next((one for one in children if one._failure is not None), None)
            return next((one for one in children if str(one._execution.id) == wanted), None)
        if self.cause is not None and self._scene.kind(self.cause.node) != "executeWorkflow":
            return None
        return next((one for one in children if not one.is_clean), None)

    def _told_failure(self) -> dict[str, Any] | None:
        failure = self._failure
        error = self._scene.facts.error
        if failure is not None and failure.swallowed:
            error = {"node": failure.node, "message": failure.message, "wentOn": True}
        if error is None:
            return None
        run = {"runIndex": failure.index} if failure else {}
        item = self._failing_item()
        return {**{key: small_json(value) for key, value in error.items()}, **run, **({"item": item} if item else {})}

    def _failing_item(self) -> Any:
        """The item that the failing node was working on, where it is known and is not shown anyway."""
        failure = self._failure
        shown = self.cause is not None and self.cause.place is not None
        if failure is None or shown or (failure.item_index is None and len(failure.places) != 1):
            return None
        return _glance(self._scene.json(failure.places[0])) if failure.places else None

    def _told_origin(self) -> dict[str, Any] | None:
        if self._found is None:
            return None
        owner, cause = self._found
        where = {"executionId": str(owner._execution.id)} if owner is not self else {}
        return owner._told_cause(cause) | where

    def _told_cause(self, cause: Cause) -> dict[str, Any]:
        node = self._execution.workflow.node(cause.node)
        facts: dict[str, Any] = {"nodeName": cause.node, "nodeType": node.type if node else "unknown"}
        place = cause.place
        if place is not None and place.node == cause.node:
            facts |= {"runIndex": place.run, "outputIndex": place.output}
        facts["problem"] = cut(cause.problem)
        source = next(iter(cause.walk), None)
        if place is not None and self._scene.item(place):
            shown = _glance(self._scene.json(place))
            own = {"item": shown} if place.node == cause.node else {"itemRead": shown, "itemFrom": place.node}
            facts |= {"itemIndex": place.item, **own}
            source = None if pairs_vaguely(self._scene, place) else next(iter(self._scene.parents(place)), None)
        if source is not None and source != place and self._scene.item(source):
            facts["madeFrom"] = {"nodeName": source.node, "item": _glance(self._scene.json(source))}
        return facts

    def _values(self) -> list[str]:
        """What the failing node read, where the cause does not tell everything about it."""
        if self._failure is None:
            return self._asked_in_vain()
        if self.cause is not None and self.cause.is_plain:
            return []
        if self._child is not None:
            return self._given_values(self._child)
        at = self.cause.read[0] if self.cause is not None and self.cause.read else None
        place = self.cause.place if self.cause is not None else None
        asked = asked_with(self._scene, place) if place is not None else []
        behind = error_behind(self._failure, self.cause)
        # What an earlier request read is told as what it asked with.
        told = readings(behind or self._failure, at) if behind is None or not asked else []
        problem = self.cause.problem if self.cause is not None else ""
        return [*told, *asked, *beside(self._failure), *branch_taken(self._failure, problem)]

    def _asked_in_vain(self) -> list[str]:
        """What a request was made from that brought nothing, where nothing failed."""
        cause = self.cause
        places = [cause.place, *cause.walk] if cause is not None and self._child is None else []
        asking = (one for one in places if one is not None and self._scene.kind(one.node) == "httpRequest")
        return next((told for one in asking if (told := asked_with(self._scene, one))), [])

    def _given_values(self, below: "Diagnosis") -> list[str]:
        """What a failing sub-workflow was given, at any depth."""
        callers = [self._scene]
        while below._child is not None:
            callers.insert(0, below._scene)
            below = below._child
        return given_values(callers, below._failure, below.cause) if below._failure is not None else []

    def _path(self) -> list[str] | None:
        """The nodes from the origin to the failing node."""
        if self.cause is None or self._failure is None or self._child is not None:
            return None
        names = list(dict.fromkeys([*(place.node for place in reversed(self.cause.walk)), self._failure.node]))
        start = names.index(self.cause.node) if self.cause.node in names else None
        if start is None:
            earlier = self._scene.leading_from(self.cause.node)
            names = [name for name in names if name not in earlier or name == self._failure.node]
        path = self._scene.joined(names[start:] if start is not None else [self.cause.node, *names])
        middle = path[_PATH_END:-_PATH_END]
        return [*path[:_PATH_END], f"… [{len(middle)} more]", *path[-_PATH_END:]] if len(middle) > 1 else path

    def _explanation(self, *, called: bool = False) -> str:
        """What happened; `called`: for a caller, who tells himself what he gave."""
        cause, failure = self.cause, self._failure
        if self._child is not None:
            return self._child_words(self._child, called)
        if cause is not None and failure is not None:
            before = self._told_others() if self._execution.status != "success" else []
            noticed = f" Also noticed: {'; '.join(before)}." if before else ""
            values = self._values()
            told = failure_words(failure, cause, noticed=bool(before), values=values)
            return told + _why_empty(cause, values) + self._inside_words() + noticed
        if cause is not None:
            return success_words(cause) + self._inside_words()
        if failure is not None:
            return failure_words(failure, None, values=self._values())
        return self._state_words()

    def _child_words(self, child: "Diagnosis", called: bool) -> str:
        where = f"sub-workflow '{child._execution.workflow.name}' (execution {child._execution.id})"
        if self._failure is not None:
            name = self._failure.node
            began = f"The execution counts as a success, because '{name}' is told to go on after errors. "
            failed = f"{began if self._execution.status == 'success' else ''}'{name}' failed"
            told = f"{failed} because its {where} did: {child._explanation(called=True)}"
            if self._found is None or (called and self._found[1].unset):
                return told
            owner, cause = self._found
            if owner is not self:
                added = cause.problem.removeprefix(child.cause.problem) if child.cause is not None else ""
                return f"{told}{_sentence(added)}" if owner is child else told
            if cause.node == self._failure.node and child._failure is not None:
                below = f"'{child._failure.node}' failed ({cut(child._failure.message)})"
                filled = f"It fills the input of the {where} itself: {cut(cause.problem)}"
                return f"{failed} because in its sub-workflow {below}. {filled}."
            return f"{told} What it was called with comes from '{cause.node}': {cut(cause.problem)}."
        return f"The {where} shows something: {child._explanation()}"

    def _inside_words(self) -> str:
        """The node of a sub-workflow that made what its caller gave out."""
        if self._found is None or self._found[0] is self:
            return ""
        owner, cause = self._found
        where = f"sub-workflow '{owner._execution.workflow.name}' (execution {owner._execution.id})"
        return f" In its {where} look at '{cause.node}': {cut(cause.problem)}."

    def _state_words(self) -> str:
        execution = self._execution
        if execution.withheld:
            return "n8n holds the data of this execution back, so nothing can be told from it."
        if execution.status == "success":
            return NO_FAULT_FOUND
        if not execution.tells_what_ran:
            return f"The execution is {execution.status}; n8n does not tell which of its nodes ran, or failed."
        return f"The execution is {execution.status}; no node of it has failed."


def _why_empty(cause: Cause, values: Sequence[str]) -> str:
    """What a request was asked with that brought an empty list, or the branch that sent an item with one on."""
    signs = (f"'{cause.node}' asked with this", " sent the item this way by ")
    found = [one for sign in signs for one in values if sign in one and _GONE not in one]
    return f" {found[0]}." if _EMPTY in cause.problem and found else ""


def _passed_on(failure: Failure) -> Cause:
    """An error that was passed on as data, traced to its cause."""
    return cause_of(failure) or Cause(
        node=failure.node, problem=went_on(failure.message), place=failure.passed_on, certain=False
    )


def _told_child(child: Diagnosis) -> dict[str, Any]:
    report = child.report()
    kept = ("executionId", "workflowId", "workflowName", "status", "failure", "path")
    return {key: report[key] for key in kept if key in report}


def _came_from_outside(scene: Scene, cause: Cause) -> bool:
    """Whether it is about what a service or a caller gave: then the node may be as it should."""
    given_out = cause.place is not None and cause.place.node == cause.node
    return given_out and (scene.kind(cause.node) == "httpRequest" or not scene.leading_to(cause.node))


def _sentence(added: str) -> str:
    """What was added to a problem behind a semicolon, as a sentence of its own."""
    words = added.removeprefix("; ")
    return f" {words[:1].upper()}{words[1:]}." if words and words != added else ""


def _glance(data: Any) -> Any:
    """A shortened item; only the field names of one with very many fields."""
    view = small_json(data)
    if tokens_of(view) <= _ITEM_TOKENS:
        return view
    keys = [str(key) for key in data] if isinstance(data, Mapping) else []
    return smaller(view, _ITEM_TOKENS) or {"fields": small_json(keys)}
