"""The endpoints of executions, and the webhooks that start them."""

import hashlib
from collections.abc import Awaitable, Callable
from typing import Any, Final

import anyio

from dogubako.contract.errors import ApiError
from dogubako.contract.storage import Cache, NoCache
from dogubako.outbound.bounds import MEGABYTE, Bound
from dogubako.outbound.http import Operation, ServiceResponse
from dogubako.outbound.json_answers import UnreadableJson
from dogubako.packs.n8n.api.service import N8nService, missing, place
from dogubako.packs.n8n.models import MOST_NODES, MOST_RUNS, Execution, TooManyParts, load_execution
from dogubako.packs.n8n.triggers import TriggerRequest

# A workflow that was just published gets its webhook a little later.
REGISTRATION_SECONDS: Final = 8.0
_PAUSE_SECONDS: Final = 0.25
# The page that n8n shows instead of a form that is not published.
_NO_FORM: Final = b"<title>Problem loading form</title>"
# n8n's words to a caller whose address is not on the list of a webhook or form; older versions say "whitelisted".
_WRONG_ADDRESS: Final = b"IP is not "


class WebhooksApi:
    """Calls webhooks of workflows, without the API key: webhooks have their own authentication."""

    def __init__(self, service: N8nService) -> None:
        self._service = service
        # The value of our own header in executions that were looked at, by id: calls side by side share it.
        self.markers: dict[str, str] = {}

    async def call(
        self, request: TriggerRequest, operation: Operation, seconds: float, has_run: Callable[[], Awaitable[bool]]
    ) -> ServiceResponse:
        """The workflow's answer. Retries for some seconds while the webhook is not registered yet.

        A workflow may itself answer in the words of n8n, for example with what another n8n has told it. So a call is
        repeated only if it has started no execution.
        """
        answer = await self._send(request, operation, seconds)
        with anyio.move_on_after(REGISTRATION_SECONDS):
            while nobody_listens(answer):
                await anyio.sleep(_PAUSE_SECONDS)
                if await has_run():
                    break
                answer = await self._send(request, operation, seconds)
        return answer

    async def _send(self, request: TriggerRequest, operation: Operation, seconds: float) -> ServiceResponse:
        return await self._service.knock(
            request.method,
            request.path,
            operation,
            params=request.query,
            content=request.content,
            headers=request.headers,
            seconds=seconds,
        )


def nobody_listens(answer: ServiceResponse) -> bool:
    """Whether n8n itself says that no webhook or form is registered. A 404 of the workflow means that it has run."""
    if answer.status == 404 and _NO_FORM in answer.body:
        return True
    try:
        body = answer.short_json()
    except ValueError:
        return False
    return answer.status == 404 and isinstance(body, dict) and body.get("code") == 404 and "message" in body


def refused_by_n8n(answer: ServiceResponse) -> bool:
    """Whether n8n itself did not let a call in. A 401 or 403 of the workflow means that it has run."""
    return answer.status in (401, 403) and ("www-authenticate" in answer.headers or is_about_address(answer))


def is_about_address(answer: ServiceResponse) -> bool:
    return answer.status == 403 and answer.body.startswith(_WRONG_ADDRESS)


# n8n answers a retry only when the retried execution has ended.
RETRY_SECONDS: Final = 110.0
# With the data of every node it may be far larger than other answers. Items are decoded one by one, on demand.
_LARGEST: Final = Bound(most_bytes=32 * MEGABYTE, most_values=1_200_000)
_FIND_OTHERS: Final = "list_executions shows which executions there are."
_FORGOTTEN: Final = b""
_UNREADABLE: Final = (ValueError, RecursionError)


class ExecutionsApi:
    """Executions. Those that have ended never change, so they are cached."""

    def __init__(self, service: N8nService, cache: Cache, scope: str) -> None:
        self._service = service
        # None without a cache: then nothing is asked of it.
        self._cache = None if isinstance(cache, NoCache) else cache
        # Parameters that n8n ignored in ended executions, by id.
        self.ignored: dict[str, list[dict[str, Any]]] = {}
        self._scope = hashlib.sha256(scope.encode()).hexdigest()[:16]

    async def page(self, **filters: Any) -> dict[str, Any]:
        """One page, newest first: `data` and `nextCursor`. n8n lists running executions only on request."""
        page = await self._page(**filters)
        if "status" in filters or filters.get("cursor"):
            return page
        running = await self._page(**filters, status="running")
        listed = {one["id"] for one in page["data"]}
        every = [*page["data"], *(one for one in running["data"] if one["id"] not in listed)]
        return {**page, "data": sorted(every, key=lambda one: int(one["id"]), reverse=True)}

    async def _page(self, **filters: Any) -> dict[str, Any]:
        return await self._service.page(place("executions"), Operation(name="list executions"), **filters)

    async def get(self, execution_id: str) -> Execution:
        """The execution with the data of every node."""
        operation = _operation("get execution", execution_id)
        if (kept := await self._kept(execution_id)) is not None:
            return kept
        execution = await self._fetch(operation, execution_id)
        if execution.withheld:
            execution = await self._insist(operation, execution)
        if execution.ended and self._cache is not None:
            await self._cache.put(self._key(execution_id), execution.received)
        return execution

    async def brief(self, execution_id: str, name: str = "get execution") -> dict[str, Any]:
        """The execution without the data of its nodes."""
        operation = _operation(name, execution_id)
        try:
            answer = await self._service.ask("GET", place("executions", execution_id), operation)
        except ApiError as error:
            raise _missing_if(error, operation) from error
        return await self._service.object_in(answer, operation, "id")

    async def retry(self, execution_id: str, *, with_current_workflow: bool) -> dict[str, Any]:
        """The new execution, after it has ended."""
        body = {"loadWorkflow": with_current_workflow}
        path, operation = place("executions", execution_id, "retry"), _operation("retry execution", execution_id)
        try:
            answer = await self._service.ask("POST", path, operation, json=body, seconds=RETRY_SECONDS)
        except ApiError as error:
            raise _missing_if(error, operation) from error
        await self._forget(execution_id)
        return await self._service.object_in(answer, operation, "id")

    async def stop(self, execution_id: str) -> dict[str, Any]:
        return await self._change("POST", "stop execution", execution_id, "stop")

    async def delete(self, execution_id: str) -> dict[str, Any]:
        return await self._change("DELETE", "delete execution", execution_id)

    async def _change(self, method: str, name: str, execution_id: str, *more: str) -> dict[str, Any]:
        operation = _operation(name, execution_id)
        try:
            answer = await self._service.ask(method, place("executions", execution_id, *more), operation)
        except ApiError as error:
            raise _missing_if(error, operation) from error
        await self._forget(execution_id)
        return await self._service.object_in(answer, operation)

    async def _fetch(self, operation: Operation, execution_id: str, **params: Any) -> Execution:
        path = place("executions", execution_id)
        try:
            answer = await self._service.ask(
                "GET", path, operation, params={"includeData": True, **params}, at_most=_LARGEST
            )
        except ApiError as error:
            raise _missing_if(error, operation) from error
        try:
            return await load_execution(answer.body)
        except TooManyParts:
            raise self._service.too_large(operation, f"{MOST_RUNS:,} runs or {MOST_NODES:,} nodes") from None
        except UnreadableJson as error:
            raise self._service.unreadable(operation, error) from None
        except _UNREADABLE:
            raise self._service.cut_off(operation) from None

    async def _kept(self, execution_id: str) -> Execution | None:
        if self._cache is None:
            return None
        key = self._key(execution_id)
        body = await self._cache.get(key)
        if not body:
            return None
        try:
            return await load_execution(body)
        except _UNREADABLE:
            await self._cache.delete(key)
            return None

    async def _insist(self, operation: Operation, execution: Execution) -> Execution:
        """Request data above n8n's size limit: newer versions return it, older ones reject the parameter."""
        try:
            return await self._fetch(operation, str(execution.id), ignoreDataSizeLimit=True)
        except ApiError as error:
            if error.status_code != 400:
                raise
            return execution

    async def _forget(self, execution_id: str) -> None:
        if self._cache is not None:
            await self._cache.put(self._key(execution_id), _FORGOTTEN)

    def _key(self, execution_id: str) -> str:
        # Servers with different keys may share a cache, but may not see the same executions.
        return f"dogubako:n8n:{self._scope}:execution:{execution_id}"


def _operation(name: str, execution_id: str) -> Operation:
    return Operation(name=name, resource_type="Execution", resource_id=execution_id)


def _missing_if(error: ApiError, operation: Operation) -> Exception:
    """Translate n8n's 400 (the id is no number) and 404 to "not found"."""
    not_a_number = error.status_code == 400 and not (operation.resource_id or "").isdecimal()
    return missing(operation, _FIND_OTHERS) if error.status_code == 404 or not_a_number else error
