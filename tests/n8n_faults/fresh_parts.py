"""The parts of workflows of another hand, and their cases."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dogubako_sandbox.n8n.workflow_parts import JsonObject, Wire, body, chain, code, condition, node, stable_id

from .fault import SERVICE, START, Truth
from .shapes import CHILD, Case

HOTEL = [
    {"guest": "Mori", "room": "204", "nights": 3, "rate": "8,500", "arrival": "2026-11-20", "mail": "mori@example.com"},
    {
        "guest": "Lopez",
        "room": "311",
        "nights": 0,
        "rate": "12,000",
        "arrival": "20.11.2026",
        "mail": "lopez@example.com",
    },
]


def data(name: str, rows: Sequence[Mapping[str, Any]]) -> JsonObject:
    items = json.dumps([{"json": row} for row in rows], ensure_ascii=False)
    return code(name, f"return {items};")


def every(name: str, script: str, **options: Any) -> JsonObject:
    return code(name, script, mode="runOnceForEachItem", **options)


def get(name: str, path: str, **parameters: Any) -> JsonObject:
    options = {key: parameters.pop(key) for key in ("onError", "alwaysOutputData", "retryOnFail") if key in parameters}
    return node(name, "httpRequest", 4.2, {"url": f"{SERVICE}{path}", "options": {}, **parameters}, **options)


def case(
    kind: str,
    nodes: Sequence[JsonObject],
    truth: Truth,
    wires: Sequence[Wire] | None = None,
    child: tuple[Sequence[JsonObject], Sequence[Wire] | None] | None = None,
    grandchild: tuple[Sequence[JsonObject], Sequence[Wire] | None] | None = None,
) -> Case:
    """A workflow on a webhook; without wires its nodes stand in a row."""
    key = f"fresh/hand/{kind}"
    # n8n refuses a workflow with a node that answers, if its webhook does not wait for that node.
    mode = "responseNode" if any(one["type"].endswith(".respondToWebhook") for one in nodes) else "lastNode"
    trigger = {"path": stable_id(key), "httpMethod": "POST", "responseMode": mode, "options": {}}
    hook = node(START, "webhook", 2, trigger, webhookId=stable_id(key))
    main = body(key, key, [hook, *nodes], [Wire(START, nodes[0]["name"]), *(_row(nodes) if wires is None else wires)])
    inner = _called(f"{key}/child", child) if child else None
    inmost = _called(f"{key}/grandchild", grandchild) if grandchild else None
    return Case(kind=kind, shape="hand", case_set="fresh", workflow=main, truth=truth, child=inner, grandchild=inmost)


def by_hand(made: Case, pins: Mapping[str, Sequence[Mapping[str, Any]]]) -> Case:
    """The case as it is started in the editor, with pinned items."""
    first, *others = made.workflow["nodes"]
    manual = {**node(START, "manualTrigger", 1), "id": first["id"], "position": first["position"]}
    pinned = {name: [{"json": row} for row in rows] for name, rows in pins.items()}
    return replace(made, workflow={**made.workflow, "nodes": [manual, *others], "pinData": pinned})


def _called(key: str, drawing: tuple[Sequence[JsonObject], Sequence[Wire] | None]) -> JsonObject:
    """A workflow that another one calls."""
    start = node("Called", "executeWorkflowTrigger", 1.1, {"inputSource": "passthrough"})
    parts, links = drawing
    inside = [Wire("Called", parts[0]["name"]), *(_row(parts) if links is None else links)]
    return body(key, f"{key.rpartition('/')[0]} ({key.rpartition('/')[2]})", [start, *parts], inside)


def _row(nodes: Sequence[JsonObject]) -> list[Wire]:
    return chain(*(one["name"] for one in nodes))


def call_child(name: str, called: str = CHILD, **options: Any) -> JsonObject:
    workflow = {"__rl": True, "mode": "id", "value": called}
    return node(name, "executeWorkflow", 1.2, {"workflowId": workflow, "options": {}}, **options)


def truth(
    cause: str | None, failing: str | None, *says: str, also: Sequence[str] = (), short: Sequence[str] = ()
) -> Truth:
    return Truth(cause=cause, failing=failing, says=says, also=also, short=short)


def compare(left: str, kind: str, operation: str, right: Any) -> JsonObject:
    test = condition(left, operation, kind=kind, right="x")
    test["conditions"]["conditions"][0]["rightValue"] = right
    return test
