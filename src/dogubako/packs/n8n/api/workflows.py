"""Workflows: list, look at, write, publish, tag, delete. Writes send only what this version of n8n takes."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import anyio

from dogubako.contract.errors import ApiError, NotFoundError
from dogubako.contract.output import example_call
from dogubako.outbound.bounds import JSON_ANSWER
from dogubako.outbound.http import Operation
from dogubako.packs.n8n.api.service import N8nService, are_objects, missing, place

# Required by every version.
REQUIRED: Final = ("name", "nodes", "connections", "settings")
# Accepted by newer versions. If a version refuses one of these, the body is sent again without them.
OPTIONAL: Final = ("pinData", "staticData", "nodeGroups", "description")
_HAS_NO_VERSIONS: Final = (404, 405)

# Settings that may be written. A GET returns more than a PUT accepts.
KNOWN_SETTINGS: Final = frozenset(
    {
        "availableInMCP",
        "callerIds",
        "callerPolicy",
        "errorWorkflow",
        "executionOrder",
        "executionTimeout",
        "saveDataErrorExecution",
        "saveDataSuccessExecution",
        "saveExecutionProgress",
        "saveManualExecutions",
        "timeSavedPerExecution",
        "timezone",
    }
)

# Values that make n8n forget a setting. What is left out stays, and other settings cannot be removed.
REMOVED_BY: Final[Mapping[str, Any]] = {"timezone": "DEFAULT", "executionTimeout": -1, "errorWorkflow": "DEFAULT"}

# Thousands of nodes, which is more than n8n's own editor can show.
LARGEST_WORKFLOW: Final = replace(JSON_ANSWER, most_containers=60_000)
UNPUBLISH_SECONDS: Final = 10.0
# Right after publishing and unpublishing, n8n may answer a deletion with a 500.
_NOT_YET: Final = (409, 500)
_PAUSE_SECONDS: Final = 0.25
_FIND_OTHERS: Final = "list_workflows shows which workflows there are."


class WorkflowsApi:
    """Workflows. A GET decides whether one exists: n8n's other answers mention permissions instead."""

    def __init__(self, service: N8nService) -> None:
        self._service = service

    async def page(self, **filters: Any) -> dict[str, Any]:
        """One page: `data` and `nextCursor`."""
        return await self._service.page(place("workflows"), Operation(name="list workflows"), **filters)

    async def get(self, workflow_id: str, name: str = "get workflow") -> dict[str, Any]:
        operation = _operation(name, workflow_id)
        try:
            answer = await self._service.ask(
                "GET", place("workflows", workflow_id), operation, at_most=LARGEST_WORKFLOW
            )
        except ApiError as error:
            if error.status_code == 404:
                raise missing(operation, _FIND_OTHERS) from error
            raise
        workflow = await self._service.object_in(answer, operation, "id", "nodes")
        if not are_objects(workflow["nodes"], "name"):
            raise self._service.cut_off(operation)
        return workflow

    async def find(self, workflow_id: str) -> None:
        """Raise NotFoundError if there is no workflow with this id. Its hint has the id of one with this name."""
        try:
            await self.get(workflow_id, "list executions")
        except NotFoundError as error:
            named = (await self.page(name=workflow_id, limit=5, excludePinnedData=True))["data"]
            if named:
                ids = " or ".join(f"'{one['id']}'" for one in named)
                error.hint = f"That is a name. The id of such a workflow is {ids}."
            raise

    async def create(self, workflow: Mapping[str, Any]) -> dict[str, Any]:
        operation = Operation(name="create workflow", resource_type="Workflow")
        return await self._write("POST", place("workflows"), _bodies(workflow, workflow["settings"]), operation)

    async def update(
        self, workflow_id: str, workflow: Mapping[str, Any], insisted: Collection[str] = ()
    ) -> dict[str, Any]:
        """Save a draft; what is published stays. `insisted` settings may be refused, but not dropped."""
        operation = _operation("update workflow", workflow_id)
        path, bodies = place("workflows", workflow_id), _bodies(workflow, insisted)
        try:
            return await self._write("PUT", path, bodies, operation, publishIfActive="false")
        except ApiError as error:
            raise await self._missing_or(error, operation) from error

    async def history(self, workflow_id: str, limit: int, cursor: str | None = None) -> dict[str, Any] | None:
        """One page of saved versions, newest first; None where this n8n has no history."""
        operation, path = _operation("list versions of workflow", workflow_id), place("workflows", workflow_id)
        try:
            return await self._service.page(f"{path}/history", operation, key="versionId", limit=limit, cursor=cursor)
        except ApiError as error:
            if error.status_code not in _HAS_NO_VERSIONS:
                raise
            await self.get(workflow_id, operation.name)
            return None

    async def version(self, workflow_id: str, version_id: str) -> dict[str, Any]:
        """Nodes and connections of a saved version, with its author."""
        operation = Operation(name="get version of workflow", resource_type="Version", resource_id=version_id)
        try:
            answer = await self._service.ask(
                "GET", place("workflows", workflow_id, version_id), operation, at_most=LARGEST_WORKFLOW
            )
        except ApiError as error:
            if error.status_code == 404:
                raise missing(operation, "workflow_history lists the versions that n8n still has.") from error
            raise
        version = await self._service.object_in(answer, operation, "versionId", "nodes", "connections")
        if not are_objects(version["nodes"], "name"):
            raise self._service.cut_off(operation)
        return version

    async def delete(self, workflow_id: str) -> None:
        """Delete a workflow. n8n unpublishes in the background, and refuses to delete until that is done."""
        with anyio.move_on_after(UNPUBLISH_SECONDS):
            while (await self.get(workflow_id, "delete workflow")).get("active") is False:
                try:
                    await self._change("DELETE", "delete workflow", workflow_id)
                except ApiError as error:
                    if error.status_code not in _NOT_YET:
                        raise
                    await anyio.sleep(_PAUSE_SECONDS)
                else:
                    return
        await self._change("DELETE", "delete workflow", workflow_id)

    async def publish(self, workflow_id: str, version_id: str | None = None) -> None:
        """Publish a version, or the draft."""
        body = {"versionId": version_id} if version_id else None
        try:
            await self._change("POST", "activate workflow", workflow_id, "activate", json=body)
        except ApiError as error:
            if error.status_code == 409 and error.hint is None and "webhook" in error.message:
                error.hint = await self._same_paths(workflow_id)
            raise

    async def _same_paths(self, workflow_id: str) -> str:
        """Which paths this workflow has, of which another one has the same."""
        nodes = (await self.get(workflow_id, "activate workflow"))["nodes"]
        settings = [one["parameters"] for one in nodes if isinstance(one.get("parameters"), dict)]
        paths = [str(one["path"])[:100] for one in settings if one.get("path")]
        return f"A published workflow, or another node of this one, has the same path: {', '.join(paths[:10])}."

    async def unpublish(self, workflow_id: str) -> None:
        await self._change("POST", "deactivate workflow", workflow_id, "deactivate")

    async def archive(self, workflow_id: str, *, archived: bool) -> None:
        name = "archive" if archived else "unarchive"
        await self._change("POST", f"{name} workflow", workflow_id, name)

    async def set_tags(self, workflow_id: str, tag_ids: Sequence[str]) -> list[dict[str, Any]]:
        body = [{"id": tag_id} for tag_id in tag_ids]
        operation = _operation("set tags of workflow", workflow_id)
        try:
            answer = await self._service.ask("PUT", place("workflows", workflow_id, "tags"), operation, json=body)
        except ApiError as error:
            raise await self._missing_or(error, operation) from error
        tags = await self._service.decoded(answer, operation)
        if not are_objects(tags, "name"):
            raise self._service.cut_off(operation)
        return tags

    async def _change(self, method: str, name: str, workflow_id: str, *more: str, json: Any = None) -> None:
        operation = _operation(name, workflow_id)
        try:
            await self._service.ask(method, place("workflows", workflow_id, *more), operation, json=json)
        except ApiError as error:
            raise await self._missing_or(error, operation) from error

    async def _write(
        self, method: str, path: str, bodies: Iterable[dict[str, Any]], operation: Operation, **params: str
    ) -> dict[str, Any]:
        """Send the full body, then only what every version accepts. Report the first refusal."""
        first: ApiError | None = None
        for body in bodies:
            try:
                answer = await self._service.ask(method, path, operation, params=params, json=body)
            except ApiError as error:
                if error.status_code != 400:
                    raise
                first = first or error
            else:
                return await self._service.object_in(answer, operation, "id")
        assert first is not None
        raise first

    async def _missing_or(self, error: ApiError, operation: Operation) -> Exception:
        if error.status_code not in (400, 403, 404):
            return error
        try:
            workflow = await self.get(operation.resource_id or "", operation.name)
        except NotFoundError as absent:
            return absent
        except ApiError:
            # The first refusal is more useful than a second failure.
            return error
        if workflow.get("isArchived"):
            error.hint = archived_hint(workflow)
        return error


def archived_hint(workflow: Mapping[str, Any]) -> str:
    """How to use a workflow that n8n neither changes nor runs."""
    example = example_call("archive_workflow", id=str(workflow["id"]), unarchive=True)
    return f"It is archived. Take it out of the archive first: {example}"


def _operation(name: str, workflow_id: str) -> Operation:
    return Operation(name=name, resource_type="Workflow", resource_id=workflow_id)


def _bodies(workflow: Mapping[str, Any], insisted: Collection[str]) -> Iterator[dict[str, Any]]:
    """The bodies to try, in order."""
    required = {key: workflow[key] for key in REQUIRED if key in workflow}
    optional = {key: workflow[key] for key in OPTIONAL if workflow.get(key) is not None}
    yield required | optional
    if optional:
        yield required
    settings = required.get("settings") or {}
    odd = [key for key in settings if key not in KNOWN_SETTINGS and key not in insisted]
    if odd:
        yield required | {"settings": {key: value for key, value in settings.items() if key not in odd}}
