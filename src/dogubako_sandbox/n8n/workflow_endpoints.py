"""The endpoints of workflows: drafts, and the published versions that webhooks run."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from dogubako_sandbox.n8n.bodies import check_new, check_update, expect
from dogubako_sandbox.n8n.node_types import refusal
from dogubako_sandbox.n8n.request import Ask, RefusedError, one_of, page_by_offset
from dogubako_sandbox.n8n.store import OWNER, Store, licensed, now_text, with_ids
from dogubako_sandbox.n8n.workflow_parts import JsonObject, triggers, unknown_type, webhooks

_GRAPH = ("nodes", "connections", "nodeGroups")
# Values at which n8n forgets a setting.
_FORGOTTEN = {"timezone": "DEFAULT", "executionTimeout": -1, "errorWorkflow": "DEFAULT"}
# n8n counts changes of these. A change of connections alone is a new version, and is not counted.
_COUNTED = ("settings", "nodes", "nodeGroups")
_REPLACED = ("name", "connections", "nodeGroups", "staticData", "pinData", "description")
_NO_TRIGGER = (
    "Workflow cannot be activated because it has no trigger node. "
    "At least one trigger, webhook, or polling node is required."
)


def save(store: Store, workflow: JsonObject, body: Mapping[str, Any]) -> None:
    """Replace the fields in the body and keep other settings. A changed graph creates a new version."""
    graph, counted = _parts(workflow, *_GRAPH), _parts(workflow, *_COUNTED)
    workflow.update({name: body[name] for name in _REPLACED if name in body})
    workflow["nodes"] = [with_ids(node) for node in body["nodes"]]
    settings = {**workflow["settings"], **licensed(body["settings"])}
    workflow["settings"] = {name: value for name, value in settings.items() if _FORGOTTEN.get(name) != value}
    workflow["updatedAt"] = now_text()
    if counted != _parts(workflow, *_COUNTED):
        workflow["versionCounter"] += 1
    if graph != _parts(workflow, *_GRAPH):
        _new_version(store, workflow)


def _parts(workflow: JsonObject, *names: str) -> tuple[Any, ...]:
    return tuple(workflow[name] for name in names)


def _new_version(store: Store, workflow: JsonObject) -> None:
    workflow["versionId"] = str(uuid4())
    store.add_version(workflow)


def publish(store: Store, workflow: JsonObject, version_id: str | None = None) -> None:
    """Publish a version, or the draft, if it can run. The draft stays as it is."""
    version = store.version(workflow["id"], version_id or workflow["versionId"])
    _refuse_unfit(store, workflow, version["nodes"])
    if workflow["activeVersionId"] != version["versionId"]:
        # One event for what goes off, and one for what goes live.
        store.publications += 2 if workflow["active"] else 1
        workflow["activeVersion"] = _published(store, workflow, version)
    workflow["active"] = True
    workflow["activeVersionId"] = version["versionId"]


def unpublish(workflow: JsonObject) -> None:
    workflow.update(active=False, activeVersionId=None, activeVersion=None)


def _refuse_unfit(store: Store, workflow: JsonObject, nodes: Sequence[JsonObject]) -> None:
    if workflow["isArchived"]:
        raise RefusedError(400, "Cannot activate an archived workflow.")
    unknown = unknown_type(nodes)
    if unknown is not None:
        raise RefusedError(400, f"Unrecognized node type: {unknown}")
    if not triggers(nodes):
        raise RefusedError(400, _NO_TRIGGER)
    for reason in filter(None, map(refusal, workflow["nodes"])):
        raise RefusedError(400, reason)
    others = [each for each in store.workflows.values() if each["active"] and each["id"] != workflow["id"]]
    if any(webhooks(nodes) & webhooks(each["activeVersion"]["nodes"]) for each in others):
        raise RefusedError(409, "There is a conflict with one of the webhooks.")


def _published(store: Store, workflow: JsonObject, version: JsonObject) -> JsonObject:
    event = {
        "id": store.publications,
        "workflowId": workflow["id"],
        "versionId": version["versionId"],
        "event": "activated",
        "userId": OWNER["id"],
        "createdAt": now_text(),
    }
    return {**version, "autosaved": False, "workflowPublishHistory": [event]}


_NOT_IN_LISTS = ("description", "versionCounter", "sourceWorkflowId", "parentFolder")


def list_workflows(store: Store, ask: Ask) -> Any:
    """List workflows in the order of their ids, which are random."""
    active = one_of(ask.query, "active", "true", "false")
    wanted = set(filter(None, ask.query.get("tags", "").split(",")))
    workflows = [
        _listed(each, ask)
        for _, each in sorted(store.workflows.items())
        if active in (None, str(each["active"]).lower())
        and wanted <= {tag["name"] for tag in each["tags"]}
        and ask.query.get("name", "").lower() in each["name"].lower()
        and ask.query.get("projectId") in (None, store.project()["id"])
    ]
    return page_by_offset(workflows, ask.query)


def create_workflow(store: Store, ask: Ask) -> Any:
    check_new(ask.body)
    return store.add_workflow(ask.body)


def get_workflow(store: Store, ask: Ask) -> Any:
    return _shown(store.workflow(ask.path["id"]), "parentFolder", *_pins(ask))


def get_version(store: Store, ask: Ask) -> Any:
    return store.version(ask.path["id"], ask.path["version"])


def list_versions(store: Store, ask: Ask) -> Any:
    """The newest first, without their content."""
    workflow = store.workflow(ask.path["id"])
    rows = [_shown(each, *_GRAPH) for each in reversed(store.versions[workflow["id"]])]
    return page_by_offset(rows, ask.query)


def update_workflow(store: Store, ask: Ask) -> Any:
    """A published workflow is published again; if that fails, the draft is saved nevertheless."""
    check_update(ask.body)
    workflow = _permitted(store, ask, "update")
    if workflow["isArchived"]:
        raise RefusedError(400, "Cannot update an archived workflow.")
    save(store, workflow, ask.body)
    if workflow["active"] and ask.says("publishIfActive", default="true"):
        publish(store, workflow)
    return _shown(workflow, "shared", "parentFolder")


def delete_workflow(store: Store, ask: Ask) -> Any:
    """Delete a workflow and its executions."""
    workflow = store.workflow(ask.path["id"])
    if workflow["active"]:
        raise RefusedError(409, "Cannot delete a published workflow. Unpublish it before deleting.")
    if workflow["id"] in store.unpublishing:
        # n8n takes a moment; here it ends with the first refusal.
        store.unpublishing.discard(workflow["id"])
        raise RefusedError(409, "Workflow is still being unpublished. Please try again in a few moments.")
    del store.workflows[workflow["id"]]
    for number in [number for number, each in store.executions.items() if each["workflowId"] == workflow["id"]]:
        del store.executions[number]
    return _shown(workflow, "tags", "activeVersion", "parentFolder")


def publish_workflow(store: Store, ask: Ask) -> Any:
    workflow = _permitted(store, ask, "activate")
    publish(store, workflow, (ask.body or {}).get("versionId"))
    answer = _shown(workflow, "tags", "shared", "parentFolder")
    # n8n registers triggers later, so the first answer does not count them.
    workflow["triggerCount"] = 1
    return answer


def unpublish_workflow(store: Store, ask: Ask) -> Any:
    workflow = _permitted(store, ask, "deactivate")
    if workflow["active"]:
        store.publications += 1
        store.unpublishing.add(workflow["id"])
    unpublish(workflow)
    return _shown(workflow, "tags", "parentFolder")


def archive_workflow(store: Store, ask: Ask) -> Any:
    workflow = store.workflows.get(ask.path["id"])
    if workflow is None:
        raise RefusedError(404, "Workflow not found")
    if not workflow["isArchived"]:
        unpublish(workflow)
        workflow["isArchived"] = True
        _new_version(store, workflow)
    return _shown(workflow, "tags", "parentFolder")


def unarchive_workflow(store: Store, ask: Ask) -> Any:
    workflow = store.workflows.get(ask.path["id"])
    if workflow is None:
        raise RefusedError(404, "Workflow not found")
    if not workflow["isArchived"]:
        raise RefusedError(400, "Workflow is not archived.")
    workflow["isArchived"] = False
    _new_version(store, workflow)
    return _shown(workflow, "tags", "parentFolder")


def get_workflow_tags(store: Store, ask: Ask) -> Any:
    return store.workflow(ask.path["id"])["tags"]


def set_workflow_tags(store: Store, ask: Ask) -> Any:
    expect(ask.body, list, "request/body")
    for place, each in enumerate(ask.body):
        expect(each, dict, f"request/body/{place}")
    workflow = store.workflow(ask.path["id"])
    wanted = [store.tags.get(each.get("id")) for each in ask.body]
    if None in wanted:
        raise RefusedError(404, "Some tags not found")
    workflow["tags"] = wanted
    return wanted


def _permitted(store: Store, ask: Ask, act: str) -> JsonObject:
    """The workflow to change. n8n does not distinguish a missing workflow from a foreign one."""
    try:
        return store.workflow(ask.path["id"])
    except RefusedError as error:
        reason = f"You do not have permission to {act} this workflow. Ask the owner to share it with you."
        raise RefusedError(404, reason) from error


def _listed(workflow: JsonObject, ask: Ask) -> JsonObject:
    version = workflow["activeVersion"]
    return _shown(workflow, *_NOT_IN_LISTS, *_pins(ask)) | {
        "shared": [_shown(each, "project") for each in workflow["shared"]],
        "activeVersion": version and _shown(version, "workflowPublishHistory"),
    }


def _pins(ask: Ask) -> tuple[str, ...]:
    return ("pinData",) if ask.says("excludePinnedData") else ()


def _shown(whole: JsonObject, *without: str) -> JsonObject:
    return {name: value for name, value in whole.items() if name not in without}
