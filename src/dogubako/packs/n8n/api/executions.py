"""Executions: list, look at, retry, stop, delete."""

import hashlib
from typing import Any, Final

import msgspec

from dogubako.contract.errors import ApiError
from dogubako.contract.offload import offload
from dogubako.contract.state import Cache
from dogubako.outbound.bounds import MEGABYTE, Bound
from dogubako.outbound.http import Asked
from dogubako.packs.n8n.api.service import N8nService, missing, place
from dogubako.packs.n8n.models import MOST_NODES, MOST_RUNS, Execution, TooManyParts, read_execution

# n8n answers a retry only when the retried execution has ended.
RETRY_SECONDS: Final = 110.0
# With the data of every node it may be far larger than anything else. Its items stay as they come: they are decoded
# one by one, when somebody looks at them.
_LARGEST: Final = Bound(most_bytes=32 * MEGABYTE, most_values=1_200_000)
_SHORT: Final = 64 * 1024
_FIND_OTHERS: Final = "list_executions shows which executions there are."
_FORGOTTEN: Final = b""
_UNREADABLE: Final = (msgspec.DecodeError, UnicodeError, RecursionError)


class ExecutionsApi:
    """What has run, and is running. Executions that have ended never change, so they may be kept."""

    def __init__(self, service: N8nService, cache: Cache, scope: str) -> None:
        self._service = service
        self._cache = cache
        self._scope = hashlib.sha256(scope.encode()).hexdigest()[:16]

    async def page(self, **filters: Any) -> dict[str, Any]:
        """One page, newest first: `data` and `nextCursor`. n8n shows what is still running only to those who ask."""
        page = await self._page(**filters)
        if "status" in filters or filters.get("cursor"):
            return page
        running = await self._page(**filters, status="running")
        known = {one["id"] for one in page["data"]}
        every = [*page["data"], *(one for one in running["data"] if one["id"] not in known)]
        return {**page, "data": sorted(every, key=lambda one: int(one["id"]), reverse=True)}

    async def _page(self, **filters: Any) -> dict[str, Any]:
        return await self._service.page(place("executions"), Asked(operation="list executions"), **filters)

    async def get(self, execution_id: str) -> Execution:
        """All of it, with the data of every node."""
        asked = _asked("get execution", execution_id)
        if (kept := await self._kept(execution_id)) is not None:
            return kept
        execution = await self._fetch(asked, execution_id)
        if execution.withheld:
            execution = await self._insist(asked, execution)
        if execution.ended:
            await self._cache.put(self._key(execution_id), execution.received)
        return execution

    async def brief(self, execution_id: str, operation: str = "get execution") -> dict[str, Any]:
        """Without the data of its nodes: cheap, whatever its size."""
        asked = _asked(operation, execution_id)
        try:
            answer = await self._service.ask("GET", place("executions", execution_id), asked)
        except ApiError as error:
            raise _missing_if(error, asked) from error
        return await self._service.object_in(answer, asked, "id")

    async def retry(self, execution_id: str, *, with_current_workflow: bool) -> dict[str, Any]:
        """The new execution, once it has ended."""
        body = {"loadWorkflow": with_current_workflow}
        path, asked = place("executions", execution_id, "retry"), _asked("retry execution", execution_id)
        try:
            answer = await self._service.ask("POST", path, asked, json=body, seconds=RETRY_SECONDS)
        except ApiError as error:
            raise _missing_if(error, asked) from error
        await self._forget(execution_id)
        return await self._service.object_in(answer, asked, "id")

    async def stop(self, execution_id: str) -> dict[str, Any]:
        return await self._change("POST", "stop execution", execution_id, "stop")

    async def delete(self, execution_id: str) -> dict[str, Any]:
        return await self._change("DELETE", "delete execution", execution_id)

    async def _change(self, method: str, operation: str, execution_id: str, *more: str) -> dict[str, Any]:
        asked = _asked(operation, execution_id)
        try:
            answer = await self._service.ask(method, place("executions", execution_id, *more), asked)
        except ApiError as error:
            raise _missing_if(error, asked) from error
        await self._forget(execution_id)
        return await self._service.object_in(answer, asked)

    async def _fetch(self, asked: Asked, execution_id: str, **params: Any) -> Execution:
        path = place("executions", execution_id)
        try:
            answer = await self._service.ask(
                "GET", path, asked, params={"includeData": True, **params}, at_most=_LARGEST
            )
        except ApiError as error:
            raise _missing_if(error, asked) from error
        try:
            return await self._read(answer.body)
        except TooManyParts:
            raise self._service.too_large(asked, f"{MOST_RUNS:,} runs or {MOST_NODES:,} nodes") from None
        except _UNREADABLE:
            raise self._service.cut_off(asked) from None

    async def _kept(self, execution_id: str) -> Execution | None:
        key = self._key(execution_id)
        body = await self._cache.get(key)
        if not body:
            return None
        try:
            return await self._read(body)
        except (TooManyParts, *_UNREADABLE):
            await self._cache.delete(key)
            return None

    async def _read(self, body: bytes) -> Execution:
        return read_execution(body) if len(body) <= _SHORT else await offload(read_execution, body)

    async def _insist(self, asked: Asked, execution: Execution) -> Execution:
        """Newer versions hand out data above their size limit to those who insist; older ones refuse the wish."""
        try:
            return await self._fetch(asked, str(execution.id), ignoreDataSizeLimit=True)
        except ApiError as error:
            if error.status_code != 400:
                raise
            return execution

    async def _forget(self, execution_id: str) -> None:
        await self._cache.put(self._key(execution_id), _FORGOTTEN)

    def _key(self, execution_id: str) -> str:
        # Two servers with other keys may share a cache, and may not see the same.
        return f"dogubako:n8n:{self._scope}:execution:{execution_id}"


def _asked(operation: str, execution_id: str) -> Asked:
    return Asked(operation=operation, resource_type="Execution", resource_id=execution_id)


def _missing_if(error: ApiError, asked: Asked) -> Exception:
    """n8n answers 400 for an id that is no number, and 404 otherwise. Both mean: there is no such execution."""
    not_a_number = error.status_code == 400 and not (asked.resource_id or "").isdecimal()
    return missing(asked, _FIND_OTHERS) if error.status_code == 404 or not_a_number else error
