"""Workflows: list, look at, write, publish, tag, delete. Writes send only what this version of n8n takes."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import anyio

from dogubako.contract.errors import ApiError, NotFoundError
from dogubako.outbound.bounds import JSON_ANSWER
from dogubako.outbound.http import Asked
from dogubako.packs.n8n.api.service import N8nService, are_objects, missing, place

# What every version takes, and must be given.
REQUIRED: Final = ("name", "nodes", "connections", "settings")
# What newer versions take too. A version that refuses one of these gets the body again without them.
OPTIONAL: Final = ("pinData", "staticData", "nodeGroups", "description")

# Settings that may be written. A GET shows more than a PUT takes.
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

# Thousands of nodes, which is more than n8n's own editor can show.
_LARGEST: Final = replace(JSON_ANSWER, most_containers=60_000)
UNPUBLISH_SECONDS: Final = 10.0
# Right after publishing and unpublishing, n8n's own bookkeeping may trip over a deletion: that is a 500.
_NOT_YET: Final = (409, 500)
_PAUSE_SECONDS: Final = 0.25
_FIND_OTHERS: Final = "list_workflows shows which workflows there are."


class WorkflowsApi:
    """Automations. Whether one exists is decided by a GET: n8n's other answers speak of permissions instead."""

    def __init__(self, service: N8nService) -> None:
        self._service = service

    async def page(self, **filters: Any) -> dict[str, Any]:
        """One page: `data` and `nextCursor`."""
        return await self._service.page(place("workflows"), Asked(operation="list workflows"), **filters)

    async def get(self, workflow_id: str, operation: str = "get workflow") -> dict[str, Any]:
        asked = _asked(operation, workflow_id)
        try:
            answer = await self._service.ask("GET", place("workflows", workflow_id), asked, at_most=_LARGEST)
        except ApiError as error:
            if error.status_code == 404:
                raise missing(asked, _FIND_OTHERS) from error
            raise
        workflow = await self._service.object_in(answer, asked, "id", "nodes")
        if not are_objects(workflow["nodes"], "name"):
            raise self._service.cut_off(asked)
        return workflow

    async def create(self, workflow: Mapping[str, Any]) -> dict[str, Any]:
        asked = Asked(operation="create workflow", resource_type="Workflow")
        return await self._write("POST", place("workflows"), _bodies(workflow, workflow["settings"]), asked)

    async def update(
        self, workflow_id: str, workflow: Mapping[str, Any], insisted: Collection[str] = ()
    ) -> dict[str, Any]:
        """`insisted` are settings that somebody asked for: they are refused rather than left out."""
        asked = _asked("update workflow", workflow_id)
        try:
            return await self._write("PUT", place("workflows", workflow_id), _bodies(workflow, insisted), asked)
        except ApiError as error:
            raise await self._missing_or(error, asked) from error

    async def delete(self, workflow_id: str) -> None:
        """n8n unpublishes in the background, and refuses to delete until that is done."""
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

    async def publish(self, workflow_id: str) -> None:
        await self._change("POST", "activate workflow", workflow_id, "activate")

    async def unpublish(self, workflow_id: str) -> None:
        await self._change("POST", "deactivate workflow", workflow_id, "deactivate")

    async def set_tags(self, workflow_id: str, tag_ids: Sequence[str]) -> list[dict[str, Any]]:
        body = [{"id": tag_id} for tag_id in tag_ids]
        asked = _asked("set tags of workflow", workflow_id)
        try:
            answer = await self._service.ask("PUT", place("workflows", workflow_id, "tags"), asked, json=body)
        except ApiError as error:
            raise await self._missing_or(error, asked) from error
        tags = await self._service.decoded(answer, asked)
        if not are_objects(tags, "name"):
            raise self._service.cut_off(asked)
        return tags

    async def _change(self, method: str, operation: str, workflow_id: str, *more: str) -> None:
        asked = _asked(operation, workflow_id)
        try:
            await self._service.ask(method, place("workflows", workflow_id, *more), asked)
        except ApiError as error:
            raise await self._missing_or(error, asked) from error

    async def _write(self, method: str, path: str, bodies: Iterable[dict[str, Any]], asked: Asked) -> dict[str, Any]:
        """All that we have; else only what every version takes. The first refusal is the one worth telling."""
        first: ApiError | None = None
        for body in bodies:
            try:
                answer = await self._service.ask(method, path, asked, json=body)
            except ApiError as error:
                if error.status_code != 400:
                    raise
                first = first or error
            else:
                return await self._service.object_in(answer, asked, "id")
        assert first is not None
        raise first

    async def _missing_or(self, error: ApiError, asked: Asked) -> Exception:
        if error.status_code not in (400, 403, 404):
            return error
        try:
            await self.get(asked.resource_id or "", asked.operation)
        except NotFoundError as absent:
            return absent
        except ApiError:
            # What was refused first is worth more than a second failure.
            return error
        return error


def _asked(operation: str, workflow_id: str) -> Asked:
    return Asked(operation=operation, resource_type="Workflow", resource_id=workflow_id)


def _bodies(workflow: Mapping[str, Any], insisted: Collection[str]) -> Iterator[dict[str, Any]]:
    """What to send, and what to send when that is refused."""
    required = {key: workflow[key] for key in REQUIRED if key in workflow}
    optional = {key: workflow[key] for key in OPTIONAL if workflow.get(key) not in (None, [], {})}
    yield required | optional
    if optional:
        yield required
    settings = required.get("settings") or {}
    odd = [key for key in settings if key not in KNOWN_SETTINGS and key not in insisted]
    if odd:
        yield required | {"settings": {key: value for key, value in settings.items() if key not in odd}}
