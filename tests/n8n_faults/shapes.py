"""Shapes of workflows that a fault is put into, and the finished cases."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from dogubako_sandbox.n8n.workflow_parts import (
    JsonObject,
    Wire,
    body,
    chain,
    code,
    condition,
    node,
    pass_on,
    stable_id,
)

from .failing_kinds import FAILING
from .fault import CHECKING, START, TUNING, CaseSet, Fault, Truth, Words, expression_set
from .own_kinds import OWN
from .quiet_kinds import QUIET
from .whole_kinds import WHOLE

# The child's id is known only once it is created; the recorder puts it in.
CHILD: Final = "id-of-the-child"
GRANDCHILD: Final = "id-of-the-grandchild"


@dataclass(frozen=True, kw_only=True)
class Case:
    """One broken workflow, the workflow that it calls if any, the one that this calls, and the truth."""

    kind: str
    shape: str
    case_set: CaseSet
    workflow: JsonObject
    truth: Truth
    child: JsonObject | None = None
    grandchild: JsonObject | None = None

    @property
    def key(self) -> str:
        return f"{self.case_set}/{self.shape}/{self.kind}"

    @property
    def path(self) -> str | None:
        """The path of its webhook, which is its first node; None for one that is started by hand."""
        path = self.workflow["nodes"][0]["parameters"].get("path")
        return str(path) if path else None


Drawing = tuple[list[JsonObject], list[Wire]]


def linear(fault: Fault, w: Words) -> Drawing:
    nodes = [fault.source, fault.culprit, _step(w, 0), fault.victim, pass_on(w.steps[2])]
    return nodes, chain(*(one["name"] for one in nodes))


def branch(fault: Fault, w: Words) -> Drawing:
    test = "仕分け" if w.checking else "Worth it?"
    fork = node(test, "if", 2.2, condition("={{ $json.keep }}", "true"))
    nodes = [fault.source, fault.culprit, fork, _step(w, 0), fault.victim, pass_on(w.steps[1]), pass_on(w.steps[2])]
    names = (fault.source["name"], fault.culprit["name"], test, w.steps[0], fault.victim["name"], w.steps[2])
    return nodes, [*chain(*names), Wire(test, w.steps[1], output=1)]


def loop(fault: Fault, w: Words) -> Drawing:
    name = "繰り返し" if w.checking else "Loop Over Items"
    rounds = node(name, "splitInBatches", 3, {"batchSize": 1, "options": {}})
    nodes = [fault.source, fault.culprit, rounds, _step(w, 0), fault.victim, pass_on(w.steps[2])]
    wires = [
        *chain(fault.source["name"], fault.culprit["name"], name, w.steps[2]),
        Wire(name, w.steps[0], output=1),
        *chain(w.steps[0], fault.victim["name"], name),
    ]
    return nodes, wires


def merge(fault: Fault, w: Words) -> Drawing:
    other = "別の一覧" if w.checking else "Read stock"
    stock = code(other, "return [1, 2, 3].map((stock) => ({ json: { stock, keep: true } }));")
    options = {"includeUnpaired": True}
    join = node(
        w.name("merge"), "merge", 3.1, {"mode": "combine", "combineBy": "combineByPosition", "options": options}
    )
    # With fewer items than the other side, the rest would be new broken items.
    limit = node("最初だけ" if w.checking else "First only", "limit", 1, {"maxItems": 1})
    nodes = [fault.source, fault.culprit, stock, limit, join, fault.victim, pass_on(w.steps[2])]
    names = (fault.source["name"], fault.culprit["name"], join["name"], fault.victim["name"], w.steps[2])
    wires = [*chain(*names), Wire(other, limit["name"]), Wire(limit["name"], join["name"], input=1)]
    return nodes, [*wires, Wire(START, other)]


def error_output(fault: Fault, w: Words) -> Drawing:
    nodes, wires = linear(fault, w)
    failing = next(one for one in nodes if one["name"] == fault.victim["name"])
    failing["onError"] = "continueErrorOutput"
    handler = pass_on(w.steps[1])
    # A node with several outputs of its own has the error output behind them.
    behind = 2 if failing["type"].endswith(".if") else 1
    return [*nodes, handler], [*wires, Wire(failing["name"], handler["name"], output=behind)]


SHAPES: Final[Mapping[str, Callable[[Fault, Words], Drawing]]] = {
    "linear": linear,
    "branch": branch,
    "loop": loop,
    "merge": merge,
    "sub-workflow": linear,
    "error output": error_output,
}


def cases(case_set: CaseSet) -> Iterator[Case]:
    """Every kind of fault in every shape in which it can happen."""
    words = TUNING if case_set == "tuning" else CHECKING
    for make in (*FAILING, *OWN, *QUIET):
        for shape in SHAPES:
            fault = make(words)
            if shape not in fault.not_in and not (fault.quiet and shape == "error output"):
                yield _case(fault, shape, words)
    for draw in WHOLE:
        for shape in ("linear", "sub-workflow"):
            whole = draw(words)
            yield finished(whole.kind, shape, words, list(whole.nodes), list(whole.wires), whole.truth)


def _case(fault: Fault, shape: str, w: Words) -> Case:
    nodes, wires = SHAPES[shape](fault, w)
    roles = {"source": fault.source, "culprit": fault.culprit, "victim": fault.victim}
    names: dict[str, str] = {role: one["name"] for role, one in roles.items()}
    truth = Truth(
        cause=names[fault.cause] if fault.cause else None,
        failing=None if fault.quiet else names["victim"],
        says=fault.says,
        also=[names[role] for role in fault.also],
    )
    return finished(fault.kind, shape, w, nodes, wires, truth)


def finished(
    kind: str,
    shape: str,
    w: Words,
    nodes: list[JsonObject],
    wires: list[Wire],
    truth: Truth,
) -> Case:
    """The case with its triggers; in a sub-workflow, if the shape says so."""
    key = f"{w.case_set}/{shape}/{kind}"
    begun = [Wire(START, nodes[0]["name"]), *wires]
    path = stable_id(key)
    trigger = _webhook(path)
    if shape != "sub-workflow":
        main = body(key, key, [trigger, *nodes], begun)
        return Case(kind=kind, shape=shape, case_set=w.case_set, workflow=main, truth=truth)
    called = node(START, "executeWorkflowTrigger", 1.1, {"inputSource": "passthrough"})
    child = body(f"{key}/child", f"{key} (child)", [called, *nodes], begun)
    call_name = "下請けを呼ぶ" if w.checking else "Call helper"
    call = node(
        call_name, "executeWorkflow", 1.2, {"workflowId": {"__rl": True, "mode": "id", "value": CHILD}, "options": {}}
    )
    parent = [trigger, code("Prepare", "return [{ json: { order: 1, note: null } }];"), call, pass_on("Thanks")]
    main = body(key, key, parent, chain(START, "Prepare", call_name, "Thanks"))
    return Case(kind=kind, shape=shape, case_set=w.case_set, workflow=main, truth=truth, child=child)


def _webhook(path: str) -> JsonObject:
    parameters = {"path": path, "httpMethod": "POST", "responseMode": "lastNode", "options": {}}
    return node(START, "webhook", 2, parameters, webhookId=path)


def _step(w: Words, place: int) -> JsonObject:
    return expression_set(w.steps[place], {"subject": "=No. {{ $json.number }}"})
