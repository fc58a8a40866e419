"""Format a workflow: its nodes, and how they are connected."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from dogubako.contract.errors import NotFoundError, NotFoundErrorContext
from dogubako.packs.n8n.drafts import has_unpublished_changes
from dogubako.packs.n8n.models import WORKFLOW_ROW, row_of

JsonObject = dict[str, Any]

# An unknown name is compared and repeated up to this length.
_LONGEST_SHOWN = 100
_NOTABLE = ("disabled", "onError", "retryOnFail", "executeOnce", "alwaysOutputData", "notes")


def row(workflow: Mapping[str, Any]) -> JsonObject:
    """One row of a list."""
    facts = {
        "tags": tag_names(workflow) or None,
        "nodes": len(workflow.get("nodes") or []),
        "archived": workflow.get("isArchived") or None,
        "unpublishedDraft": has_unpublished_changes(workflow) or None,
    }
    return row_of({**workflow, **facts}, WORKFLOW_ROW)


def overview(workflow: Mapping[str, Any], draft: Mapping[str, Any] | None = None) -> JsonObject:
    """Nodes without their parameters, connections as lines, and what is known of a draft that is not published."""
    facts = row(workflow) | {
        **({"unpublishedDraft": draft} if draft else {}),
        "createdAt": workflow.get("createdAt"),
        "versionId": workflow.get("versionId"),
        "settings": workflow.get("settings") or {},
        "nodes": [node_line(node) for node in workflow.get("nodes") or []],
        "connections": [line(one) for one in connections(workflow)],
        "pinnedNodes": list(workflow.get("pinData") or {}) or None,
    }
    return {key: value for key, value in facts.items() if value is not None}


def node_line(node: Mapping[str, Any]) -> JsonObject:
    facts: JsonObject = {"name": node.get("name"), "type": node.get("type")}
    facts |= {key: node[key] for key in _NOTABLE if node.get(key)}
    if isinstance(node.get("credentials"), Mapping):
        facts["credentials"] = list(node["credentials"])
    return facts


def connections(workflow: Mapping[str, Any]) -> Iterator[JsonObject]:
    """Every connection."""
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
    """`Loop[1] → Body`: outputs and inputs are numbered if they are not the first."""
    source = f"{connection['from']}[{connection['output']}]" if connection["output"] else connection["from"]
    target = f"{connection['to']}[{connection['input']}]" if connection["input"] else connection["to"]
    kind = "" if connection["type"] == "main" else f" ({connection['type']})"
    return f"{source} → {target}{kind}"


def find_node(workflow: Mapping[str, Any], name: str) -> JsonObject:
    """The node with this name, or an error with similar names."""
    nodes = workflow.get("nodes") or []
    for node in nodes:
        if node.get("name") == name:
            return dict(node)
    raise node_not_found(workflow, name)


def node_not_found(workflow: Mapping[str, Any], name: str) -> NotFoundError:
    """The error that proposes similar names."""
    names = [str(node.get("name")) for node in workflow.get("nodes") or []]
    name = name[:_LONGEST_SHOWN]
    near = get_close_matches(name, names, n=3, cutoff=0.4) or names[:3]
    hint = f"Did you mean {' or '.join(repr(one) for one in near)}?" if near else "The workflow has no nodes."
    context = NotFoundErrorContext(operation="find node", resource_type="Node", resource_id=name)
    return NotFoundError(f"Node '{name}' not found in workflow '{workflow.get('id')}'", context=context, hint=hint)


def node_details(workflow: Mapping[str, Any], name: str) -> JsonObject:
    """One complete node, with its neighbours."""
    node = find_node(workflow, name)
    every = list(connections(workflow))
    return {
        "workflowId": workflow.get("id"),
        "workflowName": workflow.get("name"),
        "versionId": workflow.get("versionId"),
        "node": node,
        "receivesFrom": [one for one in every if one["to"] == name],
        "leadsTo": [one for one in every if one["from"] == name],
        "pinnedData": (workflow.get("pinData") or {}).get(name),
        **draft_flag(workflow),
    }


def draft_flag(workflow: Mapping[str, Any]) -> JsonObject:
    """A warning for views of the draft: something else is published."""
    return {"unpublishedDraft": True} if has_unpublished_changes(workflow) else {}


def tag_names(workflow: Mapping[str, Any]) -> list[str]:
    return [str(tag.get("name")) for tag in workflow.get("tags") or []]
