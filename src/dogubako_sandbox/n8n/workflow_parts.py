"""The node types that this n8n knows. Others can be saved, as in the real one, but not published."""

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Literal, NamedTuple
from uuid import NAMESPACE_URL, uuid5

_BASE: Final = "n8n-nodes-base."
WEBHOOK: Final = f"{_BASE}webhook"

# Types that can start a published workflow.
_TRIGGERS: Final = frozenset({"webhook", "scheduleTrigger", "formTrigger", "errorTrigger", "executeWorkflowTrigger"})
_OTHERS: Final = frozenset(
    {
        "aggregate",
        "code",
        "dateTime",
        "executeWorkflow",
        "filter",
        "httpRequest",
        "if",
        "limit",
        "manualTrigger",
        "merge",
        "noOp",
        "removeDuplicates",
        "respondToWebhook",
        "set",
        "sort",
        "splitInBatches",
        "splitOut",
        "stickyNote",
        "stopAndError",
        "summarize",
        "switch",
        "wait",
    }
)


def unknown_type(nodes: Iterable[Mapping[str, Any]]) -> str | None:
    """The first unknown type."""
    known = {_BASE + name for name in _TRIGGERS | _OTHERS}
    return next((str(node["type"]) for node in nodes if node["type"] not in known), None)


def triggers(nodes: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    names = {_BASE + name for name in _TRIGGERS}
    return [node for node in nodes if node["type"] in names and not node.get("disabled")]


def webhooks(nodes: Iterable[Mapping[str, Any]]) -> set[tuple[str, str]]:
    """Method and path of every webhook of these nodes."""
    listening = [node["parameters"] for node in triggers(nodes) if node["type"] == WEBHOOK]
    return {(str(each.get("httpMethod", "GET")), str(each.get("path", ""))) for each in listening}


JsonObject = dict[str, Any]
ResponseMode = Literal["lastNode", "onReceived"]
CodeMode = Literal["runOnceForAllItems", "runOnceForEachItem"]

SETTINGS = {"executionOrder": "v1", "saveManualExecutions": True, "saveDataSuccessExecution": "all"}


@dataclass(frozen=True, kw_only=True)
class Workflow:
    """A workflow definition as posted to n8n, and facts for running it."""

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

    def body_calling(self, workflow_id: str) -> JsonObject:
        """The body with n8n's id of the sub-workflow."""
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
    nodes: Sequence[JsonObject],
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


def body(key: str, name: str, nodes: Sequence[JsonObject], wires: Sequence[Wire]) -> JsonObject:
    """The body: nodes in a row, each with an id made of the workflow's key and its own name."""
    placed = [
        {"id": stable_id(key, each["name"]), **each, "position": [220 * place, 0]} for place, each in enumerate(nodes)
    ]
    return {"name": name, "nodes": placed, "connections": _connections(wires), "settings": dict(SETTINGS)}


def stable_id(*names: str) -> str:
    return str(uuid5(NAMESPACE_URL, "/".join(("dogubako", *names))))


def node(name: str, kind: str, version: float, parameters: JsonObject | None = None, **options: Any) -> JsonObject:
    return {
        "name": name,
        "type": f"n8n-nodes-base.{kind}",
        "typeVersion": version,
        "parameters": parameters or {},
        **options,
    }


def pass_on(name: str, **options: Any) -> JsonObject:
    return node(name, "noOp", 1, **options)


def code(name: str, script: str, *, mode: CodeMode = "runOnceForAllItems", **options: Any) -> JsonObject:
    return node(name, "code", 2, {"mode": mode, "jsCode": script}, **options)


def make_items(name: str, count: int, more_fields: str = "") -> JsonObject:
    fields = f"id: i + 1, name: 'item ' + (i + 1), even: i % 2 === 0{more_fields}"
    return code(name, f"return Array.from({{ length: {count} }}, (_, i) => ({{ json: {{ {fields} }} }}));")


def set_fields(name: str, kind: Literal["string", "object"] = "string", **fields: str) -> JsonObject:
    """A Set node that keeps all other fields."""
    assignments = [
        {"id": stable_id(name, field), "name": field, "value": value, "type": kind} for field, value in fields.items()
    ]
    return node(
        name, "set", 3.4, {"assignments": {"assignments": assignments}, "includeOtherFields": True, "options": {}}
    )


def get_closed_port(name: str, **options: Any) -> JsonObject:
    """An HTTP request that is refused at once, on every machine."""
    return node(name, "httpRequest", 4.2, {"url": "http://127.0.0.1:9/closed", "options": {}}, **options)


def condition(left: str, operation: str, *, kind: str = "boolean", right: str = "") -> JsonObject:
    """The parameters of an IF or a Filter with one condition."""
    operator: JsonObject = {"type": kind, "operation": operation}
    if not right:
        operator["singleValue"] = True
    rule = {"id": stable_id(left, operation), "leftValue": left, "rightValue": right, "operator": operator}
    options = {"caseSensitive": True, "leftValue": "", "typeValidation": "strict", "version": 2}
    return {"conditions": {"options": options, "conditions": [rule], "combinator": "and"}, "options": {}}


def _connections(wires: Sequence[Wire]) -> JsonObject:
    """n8n's form: source name, then `main`, then one list of targets per output."""
    connections: JsonObject = {}
    for wire in wires:
        outputs = connections.setdefault(wire.source, {"main": []})["main"]
        outputs.extend([] for _ in range(wire.output + 1 - len(outputs)))
        outputs[wire.output].append({"node": wire.target, "type": "main", "index": wire.input})
    return connections
