"""The draft of a workflow beside its published version: whether they differ, and who saved the draft."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from dogubako.contract.errors import ApiError, ConflictError
from dogubako.contract.offload import offload_if_large
from dogubako.contract.output import example_call
from dogubako.packs.n8n.merging import is_same, normal_form

if TYPE_CHECKING:
    from dogubako.packs.n8n.client import N8nClient

JsonObject = dict[str, Any]

GRAPH: Final = ("nodes", "connections")
_PUBLISHED: Final = ("active", "activeVersionId")
_RECENT: Final = 20
_EVENTS_OF_A_PUBLICATION: Final = 2


def published_graph(workflow: Mapping[str, Any]) -> JsonObject | None:
    """Nodes and connections of the published version; None if nothing is published."""
    version = workflow.get("activeVersion")
    if not workflow.get("active") or not isinstance(version, Mapping):
        return None
    return {part: version.get(part) for part in GRAPH}


def same_graph(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    left, right = (normal_form({part: each.get(part) for part in GRAPH}) for each in (one, other))
    return is_same(left, right)


def has_unpublished_changes(workflow: Mapping[str, Any]) -> bool:
    """Whether the draft is not what runs. Two versions may have the same content."""
    if workflow.get("versionId") == workflow.get("activeVersionId"):
        return False
    published = published_graph(workflow)
    return published is not None and not same_graph(workflow, published)


async def publish_unless_changed(
    client: "N8nClient", before: Mapping[str, Any], version_id: str | None
) -> Mapping[str, Any]:
    """Publish a version, if what is published is still what we have read: else it would take that off unasked.

    Returns the workflow as it was right before.
    """
    now = await client.workflows.get(str(before["id"]), "activate workflow")
    refuse_other_live(before, now)
    await client.workflows.publish(str(before["id"]), version_id)
    return now


def published_between(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether n8n published or unpublished anything between what was live before and what is live now.

    n8n numbers these events, of all workflows: to put one version in the place of another one takes two.
    """
    was, last = (_last_event(one) for one in (before, now))
    return was is not None and last is not None and last - was > _EVENTS_OF_A_PUBLICATION


def _last_event(workflow: Mapping[str, Any]) -> int | None:
    version = workflow.get("activeVersion")
    events = version.get("workflowPublishHistory") if isinstance(version, Mapping) else None
    numbers = [one.get("id") for one in events if isinstance(one, Mapping)] if isinstance(events, list) else []
    return max((one for one in numbers if isinstance(one, int)), default=None)


def refuse_other_live(before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise if somebody published or unpublished since `before`."""
    if any(now.get(key) != before.get(key) for key in _PUBLISHED):
        message = f"What is published of workflow '{before['id']}' was changed a moment ago"
        call = example_call("workflow_history", id=str(before["id"]))
        raise ConflictError(message, hint=f"Nothing was published. See with {call} what is published now.")


async def unpublished_draft(client: "N8nClient", workflow: Mapping[str, Any]) -> JsonObject | None:
    """Which version is published, and who saved the draft that is not; None if nothing waits."""
    if not await offload_if_large(workflow, has_unpublished_changes, workflow):
        return None
    published = workflow.get("activeVersion") or {}
    facts = {
        **await saved_draft(client, workflow),
        "publishedVersionId": workflow.get("activeVersionId"),
        "publishedVersionSavedAt": published.get("createdAt"),
    }
    return {key: value for key, value in facts.items() if value is not None}


async def saved_draft(client: "N8nClient", workflow: Mapping[str, Any]) -> JsonObject:
    """The version of the draft, and who saved it when."""
    rows = await recent_versions(client, str(workflow["id"]))
    saved = next((row for row in rows if row["versionId"] == workflow.get("versionId")), {})
    facts = {
        "versionId": workflow.get("versionId"),
        "savedBy": saved.get("authors"),
        "savedAt": saved.get("createdAt") or workflow.get("updatedAt"),
    }
    return {key: value for key, value in facts.items() if value is not None}


async def recent_versions(client: "N8nClient", workflow_id: str) -> list[JsonObject]:
    """The newest versions; none if n8n does not tell. A write that succeeded must not fail for want of its history."""
    try:
        page = await client.workflows.history(workflow_id, _RECENT)
    except ApiError:
        return []
    return list(page["data"]) if page else []
