"""A workflow as an agent reads it: what it is made of, and how its parts are connected."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from dogubako.contract.errors import NotFoundError, NotFoundErrorContext

Json = dict[str, Any]

# A name that is not there is compared and repeated up to here.
_LONGEST_SHOWN = 100
_NOTABLE = ("disabled", "onError", "retryOnFail", "executeOnce", "alwaysOutputData", "notes")


def row(workflow: Mapping[str, Any]) -> Json:
    """One line of a list."""
    nodes = workflow.get("nodes") or []
    facts = {
        "id": workflow["id"],
        "name": workflow.get("name"),
        "active": workflow.get("active"),
        "tags": tag_names(workflow) or None,
        "nodes": len(nodes),
        "updatedAt": workflow.get("updatedAt"),
        "archived": workflow.get("isArchived") or None,
    }
    return {key: value for key, value in facts.items() if value is not None}


def overview(workflow: Mapping[str, Any]) -> Json:
    """Nodes without their parameters, connections as lines."""
    facts = row(workflow) | {
        "createdAt": workflow.get("createdAt"),
        "versionId": workflow.get("versionId"),
        "settings": workflow.get("settings") or {},
        "nodes": [node_line(node) for node in workflow.get("nodes") or []],
        "connections": [line(one) for one in connections(workflow)],
        "pinnedNodes": list(workflow.get("pinData") or {}) or None,
    }
    return {key: value for key, value in facts.items() if value is not None}


def node_line(node: Mapping[str, Any]) -> Json:
    facts: Json = {"name": node.get("name"), "type": node.get("type")}
    facts |= {key: node[key] for key in _NOTABLE if node.get(key)}
    if isinstance(node.get("credentials"), Mapping):
        facts["credentials"] = list(node["credentials"])
    return facts


def connections(workflow: Mapping[str, Any]) -> Iterator[Json]:
    """Every connection, one by one."""
    for source, channels in (workflow.get("connections") or {}).items():
        for channel, outputs in (channels or {}).items():
            for output, links in enumerate(outputs or []):
                for link in links or []:
                    yield {
                        "from": source,
                        "output": output,
                        "to": link.get("node"),
                        "input": link.get("index", 0),
                        "type": channel,
                    }


def line(connection: Mapping[str, Any]) -> str:
    """`Loop[1] → Body`: outputs and inputs are named where they are not the first."""
    source = f"{connection['from']}[{connection['output']}]" if connection["output"] else connection["from"]
    target = f"{connection['to']}[{connection['input']}]" if connection["input"] else connection["to"]
    kind = "" if connection["type"] == "main" else f" ({connection['type']})"
    return f"{source} → {target}{kind}"


def find_node(workflow: Mapping[str, Any], name: str) -> Json:
    """The node of this name, or an error with the nearest ones."""
    nodes = workflow.get("nodes") or []
    for node in nodes:
        if node.get("name") == name:
            return dict(node)
    names = [str(node.get("name")) for node in nodes]
    name = name[:_LONGEST_SHOWN]
    near = get_close_matches(name, names, n=3, cutoff=0.4) or names[:3]
    hint = f"Did you mean {' or '.join(repr(one) for one in near)}?" if near else "The workflow has no nodes."
    context = NotFoundErrorContext(operation="find node", resource_type="Node", resource_id=name)
    raise NotFoundError(f"Node '{name}' not found in workflow '{workflow.get('id')}'", context=context, hint=hint)


def node_details(workflow: Mapping[str, Any], name: str) -> Json:
    """One node whole, with its neighbours."""
    node = find_node(workflow, name)
    every = list(connections(workflow))
    return {
        "workflowId": workflow.get("id"),
        "workflowName": workflow.get("name"),
        "node": node,
        "receivesFrom": [one for one in every if one["to"] == name],
        "leadsTo": [one for one in every if one["from"] == name],
        "pinnedData": (workflow.get("pinData") or {}).get(name),
    }


def tag_names(workflow: Mapping[str, Any]) -> list[str]:
    return [str(tag.get("name")) for tag in workflow.get("tags") or []]
