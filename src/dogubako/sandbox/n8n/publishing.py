"""Drafts and what is published of them. Webhooks run the published version, whatever the draft says."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from dogubako.sandbox.n8n.asking import RefusedError
from dogubako.sandbox.n8n.clock import now_text
from dogubako.sandbox.n8n.node_types import triggers, unknown_type, webhooks
from dogubako.sandbox.n8n.store import OWNER, Store, licensed, with_ids
from dogubako.sandbox.n8n.workflow_parts import Json

_REPLACED = ("name", "connections", "nodeGroups", "staticData", "pinData", "description")
_NO_TRIGGER = (
    "Workflow cannot be activated because it has no trigger node. "
    "At least one trigger, webhook, or polling node is required."
)


def save(workflow: Json, body: Mapping[str, Any]) -> None:
    """Replace what is in the body; settings that are not in it stay. A new version begins when the graph changes."""
    before = (workflow["nodes"], workflow["connections"], workflow["nodeGroups"])
    workflow.update({name: body[name] for name in _REPLACED if name in body})
    workflow["nodes"] = [with_ids(node) for node in body["nodes"]]
    workflow["settings"] = {**workflow["settings"], **licensed(body["settings"])}
    workflow["updatedAt"] = now_text()
    if before != (workflow["nodes"], workflow["connections"], workflow["nodeGroups"]):
        workflow["versionId"] = str(uuid4())
        workflow["versionCounter"] += 1


def publish(store: Store, workflow: Json) -> None:
    """The draft becomes what runs, if it can run."""
    _refuse_unfit(store, workflow)
    if workflow["activeVersionId"] != workflow["versionId"]:
        workflow["activeVersion"] = _version(workflow)
    workflow["active"] = True
    workflow["activeVersionId"] = workflow["versionId"]


def unpublish(workflow: Json) -> None:
    workflow.update(active=False, activeVersionId=None, activeVersion=None)


def _refuse_unfit(store: Store, workflow: Json) -> None:
    if workflow["isArchived"]:
        raise RefusedError(400, "Cannot activate an archived workflow.")
    unknown = unknown_type(workflow["nodes"])
    if unknown is not None:
        raise RefusedError(400, f"Unrecognized node type: {unknown}")
    if not triggers(workflow["nodes"]):
        raise RefusedError(400, _NO_TRIGGER)
    others = [each for each in store.workflows.values() if each["active"] and each["id"] != workflow["id"]]
    if any(webhooks(workflow["nodes"]) & webhooks(each["activeVersion"]["nodes"]) for each in others):
        raise RefusedError(409, "There is a conflict with one of the webhooks.")


def _version(workflow: Json) -> Json:
    now = now_text()
    event = {
        "id": workflow["versionCounter"],
        "workflowId": workflow["id"],
        "versionId": workflow["versionId"],
        "event": "activated",
        "userId": OWNER["id"],
        "createdAt": now,
    }
    return {
        "versionId": workflow["versionId"],
        "workflowId": workflow["id"],
        "nodes": workflow["nodes"],
        "connections": workflow["connections"],
        "nodeGroups": workflow["nodeGroups"],
        "authors": f"{OWNER['firstName']} {OWNER['lastName']}",
        "name": None,
        "description": None,
        "autosaved": False,
        "createdAt": now,
        "updatedAt": now,
        "workflowPublishHistory": [event],
    }
