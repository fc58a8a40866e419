"""`/workflows`: each endpoint of n8n leaves other keys out of what it shows."""

from typing import Any
from uuid import uuid4

from dogubako.sandbox.n8n.asking import Ask, RefusedError, one_of
from dogubako.sandbox.n8n.bodies import check_new, check_update, expect
from dogubako.sandbox.n8n.paging import page_by_offset
from dogubako.sandbox.n8n.publishing import publish, save, unpublish
from dogubako.sandbox.n8n.store import Store
from dogubako.sandbox.n8n.workflow_parts import Json

_NOT_IN_LISTS = ("description", "versionCounter", "sourceWorkflowId", "parentFolder")


def list_workflows(store: Store, ask: Ask) -> Any:
    """In the order of their ids, which are random."""
    active = one_of(ask.query, "active", "true", "false")
    wanted = set(filter(None, ask.query.get("tags", "").split(",")))
    found = [
        _listed(each, ask)
        for _, each in sorted(store.workflows.items())
        if active in (None, str(each["active"]).lower())
        and wanted <= {tag["name"] for tag in each["tags"]}
        and ask.query.get("name", "").lower() in each["name"].lower()
        and ask.query.get("projectId") in (None, store.project()["id"])
    ]
    return page_by_offset(found, ask.query)


def create_workflow(store: Store, ask: Ask) -> Any:
    check_new(ask.body)
    return store.add_workflow(ask.body)


def get_workflow(store: Store, ask: Ask) -> Any:
    return _shown(store.workflow(ask.path["id"]), "parentFolder", *_pins(ask))


def get_version(store: Store, ask: Ask) -> Any:
    """Old versions are not kept; this is here because it makes `POST /workflows/{id}/run` a 405."""
    workflow = store.workflow(ask.path["id"])
    if workflow["activeVersionId"] != ask.path["version"]:
        raise RefusedError(404, "Version not found")
    return _shown(workflow["activeVersion"], "workflowPublishHistory")


def update_workflow(store: Store, ask: Ask) -> Any:
    """A published workflow is published again; when that fails, the draft has been saved all the same."""
    check_update(ask.body)
    workflow = _permitted(store, ask, "update")
    if workflow["isArchived"]:
        raise RefusedError(400, "Cannot update an archived workflow.")
    save(workflow, ask.body)
    if workflow["active"] and ask.says("publishIfActive", default="true"):
        publish(store, workflow)
    return _shown(workflow, "shared", "parentFolder")


def delete_workflow(store: Store, ask: Ask) -> Any:
    """Its executions go with it."""
    workflow = store.workflow(ask.path["id"])
    if workflow["active"]:
        raise RefusedError(409, "Cannot delete a published workflow. Unpublish it before deleting.")
    if workflow["id"] in store.unpublishing:
        # n8n takes a moment; here it is over as soon as somebody has noticed.
        store.unpublishing.discard(workflow["id"])
        raise RefusedError(409, "Workflow is still being unpublished. Please try again in a few moments.")
    del store.workflows[workflow["id"]]
    for number in [number for number, each in store.executions.items() if each["workflowId"] == workflow["id"]]:
        del store.executions[number]
    return _shown(workflow, "tags", "activeVersion", "parentFolder")


def publish_workflow(store: Store, ask: Ask) -> Any:
    workflow = _permitted(store, ask, "activate")
    version = (ask.body or {}).get("versionId")
    if version not in (None, workflow["versionId"]):
        raise RefusedError(404, "Version not found")
    publish(store, workflow)
    answer = _shown(workflow, "tags", "shared", "parentFolder")
    # n8n registers the triggers later, so the first answer does not count them yet.
    workflow["triggerCount"] = 1
    return answer


def unpublish_workflow(store: Store, ask: Ask) -> Any:
    workflow = _permitted(store, ask, "deactivate")
    if workflow["active"]:
        store.unpublishing.add(workflow["id"])
    unpublish(workflow)
    return _shown(workflow, "tags", "parentFolder")


def archive_workflow(store: Store, ask: Ask) -> Any:
    workflow = store.workflows.get(ask.path["id"])
    if workflow is None:
        raise RefusedError(404, "Workflow not found")
    if not workflow["isArchived"]:
        unpublish(workflow)
        workflow.update(isArchived=True, versionId=str(uuid4()))
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


def _permitted(store: Store, ask: Ask, act: str) -> Json:
    """For changes, n8n does not tell a missing workflow from somebody else's."""
    try:
        return store.workflow(ask.path["id"])
    except RefusedError as error:
        reason = f"You do not have permission to {act} this workflow. Ask the owner to share it with you."
        raise RefusedError(404, reason) from error


def _listed(workflow: Json, ask: Ask) -> Json:
    version = workflow["activeVersion"]
    return _shown(workflow, *_NOT_IN_LISTS, *_pins(ask)) | {
        "shared": [_shown(each, "project") for each in workflow["shared"]],
        "activeVersion": version and _shown(version, "workflowPublishHistory"),
    }


def _pins(ask: Ask) -> tuple[str, ...]:
    return ("pinData",) if ask.says("excludePinnedData") else ()


def _shown(whole: Json, *without: str) -> Json:
    return {name: value for name, value in whole.items() if name not in without}
