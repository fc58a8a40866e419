"""What workflow definitions are built from: nodes, wires between them, and ids that never change."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple
from uuid import NAMESPACE_URL, uuid5

Json = dict[str, Any]
ResponseMode = Literal["lastNode", "onReceived"]
CodeMode = Literal["runOnceForAllItems", "runOnceForEachItem"]

SETTINGS = {"executionOrder": "v1", "saveManualExecutions": True, "saveDataSuccessExecution": "all"}


@dataclass(frozen=True, kw_only=True)
class Workflow:
    """A definition as it is posted to n8n, and what one must know to run it."""

    key: str
    body: Mapping[str, Any]
    webhook_path: str | None
    published: bool
    response_mode: ResponseMode | None
    calls: str | None = None
    """The key of the sub-workflow that the body calls; `body_calling` puts its id in."""

    @property
    def name(self) -> str:
        return str(self.body["name"])

    def body_calling(self, workflow_id: str) -> Json:
        """The body, with the id that n8n gave to the sub-workflow."""
        body = deepcopy(dict(self.body))
        for node in body["nodes"]:
            if "workflowId" in node["parameters"]:
                node["parameters"]["workflowId"]["value"] = workflow_id
        return body


class Wire(NamedTuple):
    """A connection from an output of one node to an input of another."""

    source: str
    target: str
    output: int = 0
    input: int = 0


def chain(*names: str) -> list[Wire]:
    return [Wire(source, target) for source, target in pairwise(names)]


def on_webhook(
    key: str,
    name: str,
    nodes: Sequence[Json],
    wires: Sequence[Wire],
    *,
    mode: ResponseMode = "lastNode",
    ids_like: str = "",
) -> Workflow:
    """A published workflow that starts with the node `Webhook`; its path is the key.

    The mode `lastNode` makes the caller of the webhook wait for the end. `ids_like` names the workflow whose node ids
    this one shares.
    """
    parameters = {"path": key, "httpMethod": "POST", "responseMode": mode, "options": {}}
    trigger = node("Webhook", "webhook", 2, parameters, webhookId=stable_id(key, "webhook"))
    return Workflow(
        key=key,
        body=body(ids_like or key, name, [trigger, *nodes], wires),
        webhook_path=key,
        published=True,
        response_mode=mode,
    )


def body(key: str, name: str, nodes: Sequence[Json], wires: Sequence[Wire]) -> Json:
    """What is posted: nodes in a row, each with an id made of the workflow's key and its own name."""
    placed = [
        {"id": stable_id(key, each["name"]), **each, "position": [220 * place, 0]} for place, each in enumerate(nodes)
    ]
    return {"name": name, "nodes": placed, "connections": _connections(wires), "settings": dict(SETTINGS)}


def stable_id(*names: str) -> str:
    return str(uuid5(NAMESPACE_URL, "/".join(("dogubako", *names))))


def node(name: str, kind: str, version: float, parameters: Json | None = None, **options: Any) -> Json:
    return {
        "name": name,
        "type": f"n8n-nodes-base.{kind}",
        "typeVersion": version,
        "parameters": parameters or {},
        **options,
    }


def pass_on(name: str, **options: Any) -> Json:
    return node(name, "noOp", 1, **options)


def code(name: str, script: str, *, mode: CodeMode = "runOnceForAllItems", **options: Any) -> Json:
    return node(name, "code", 2, {"mode": mode, "jsCode": script}, **options)


def make_items(name: str, count: int, more_fields: str = "") -> Json:
    fields = f"id: i + 1, name: 'item ' + (i + 1), even: i % 2 === 0{more_fields}"
    return code(name, f"return Array.from({{ length: {count} }}, (_, i) => ({{ json: {{ {fields} }} }}));")


def set_fields(name: str, kind: Literal["string", "object"] = "string", **fields: str) -> Json:
    """A Set node that keeps all other fields."""
    assignments = [
        {"id": stable_id(name, field), "name": field, "value": value, "type": kind} for field, value in fields.items()
    ]
    return node(
        name, "set", 3.4, {"assignments": {"assignments": assignments}, "includeOtherFields": True, "options": {}}
    )


def get_closed_port(name: str, **options: Any) -> Json:
    """An HTTP request that is refused at once, on every machine."""
    return node(name, "httpRequest", 4.2, {"url": "http://127.0.0.1:9/closed", "options": {}}, **options)


def condition(left: str, operation: str, *, kind: str = "boolean", right: str = "") -> Json:
    """The parameters of an IF or a Filter with one condition."""
    operator: Json = {"type": kind, "operation": operation}
    if not right:
        operator["singleValue"] = True
    rule = {"id": stable_id(left, operation), "leftValue": left, "rightValue": right, "operator": operator}
    options = {"caseSensitive": True, "leftValue": "", "typeValidation": "strict", "version": 2}
    return {"conditions": {"options": options, "conditions": [rule], "combinator": "and"}, "options": {}}


def _connections(wires: Sequence[Wire]) -> Json:
    """n8n's form: source name, then `main`, then one list of targets per output."""
    found: Json = {}
    for wire in wires:
        outputs = found.setdefault(wire.source, {"main": []})["main"]
        outputs.extend([] for _ in range(wire.output + 1 - len(outputs)))
        outputs[wire.output].append({"node": wire.target, "type": "main", "index": wire.input})
    return found
