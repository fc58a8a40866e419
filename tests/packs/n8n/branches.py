"""Executions of nodes whose outputs lead to several others, and what is told of them."""

from typing import Any

from dogubako.packs.n8n.diagnosis.report import Diagnosis

from .made import JsonObject, as_read, made, node

FILTER = "n8n-nodes-base.filter"
FORK = "n8n-nodes-base.if"
HTTP = "n8n-nodes-base.httpRequest"
LOOP = "n8n-nodes-base.splitInBatches"
SET = "n8n-nodes-base.set"


def links(**targets: list[list[str]]) -> JsonObject:
    """Connections: for each node the nodes behind each of its outputs."""
    return {
        name: {"main": [[{"node": one, "type": "main", "index": 0} for one in output] for output in outputs]}
        for name, outputs in targets.items()
    }


def told(runs: JsonObject, *nodes: JsonObject, connections: JsonObject, **options: Any) -> JsonObject:
    execution = made(runs, *nodes, **options)
    execution["workflowData"]["connections"] = connections
    return Diagnosis(as_read(execution)).report()


def fields(name: str, values: JsonObject, **more: Any) -> JsonObject:
    rows = [{"name": key, "value": value, "type": "string"} for key, value in values.items()]
    parameters = {"assignments": {"assignments": rows}, "includeOtherFields": True}
    return node(name, type=SET, parameters=parameters, **more)


def from_output(name: str, output: int, round_number: int = 0) -> list[JsonObject | str | None]:
    return [{"previousNode": name, "previousNodeOutput": output, "previousNodeRun": round_number}]
