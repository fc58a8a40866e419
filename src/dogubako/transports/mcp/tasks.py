"""The tasks extension (`io.modelcontextprotocol/tasks`, SEP-2663): its methods, and news of tasks on a stream."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

import anyio
import mcp_types as types
from mcp.server.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, Field

from dogubako.contract.call import Caller, Door, Task, error_facts
from dogubako.contract.conversation import TASKS
from dogubako.contract.errors import CapabilityRequiredError, DogubakoError, ValidationError
from dogubako.contract.tasks import CallerTasks
from dogubako.engine.input_requests import written_requests
from dogubako.transports.mcp.conversation import Context
from dogubako.transports.mcp.protocol import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    MODERN_VERSION,
    Refusal,
    call_result,
)
from dogubako.transports.toolbox import ServedToolbox

ParamsT = TypeVar("ParamsT", bound="TaskParams")
Handler = Callable[[Context, Any], Awaitable[dict[str, Any]]]
CallerOf = Callable[[Context], Caller]

_NAME_HEADER: Final = b"mcp-name"
# Tasks that one stream may follow. Each is looked at once in a while.
_MOST_FOLLOWED: Final = 100
_LOOK_SECONDS: Final = 1.0
_CODES: Final = {"CAPABILITY_REQUIRED": MISSING_CAPABILITY, "TOOL_NOT_FOUND": INVALID_PARAMS}


class TaskParams(types.RequestParams):
    """The params of `tasks/get` and `tasks/cancel`."""

    task_id: str = Field(max_length=200)


class UpdateParams(TaskParams):
    """The params of `tasks/update`."""

    input_responses: dict[str, Any]


class TaskMethods:
    """Answers `tasks/get`, `tasks/update` and `tasks/cancel` for clients that declare the extension."""

    def __init__(self, inside: ServedToolbox, caller_of: CallerOf) -> None:
        self._inside = inside
        self._caller_of = caller_of

    @property
    def offered(self) -> dict[str, dict[str, Any]]:
        """The extension, if this server runs tasks."""
        return {TASKS: {}} if self._inside.tasks.unavailable is None else {}

    def handlers(self) -> dict[str, tuple[type[BaseModel], Handler]]:
        return {
            "tasks/get": (TaskParams, self._checked(self._get)),
            "tasks/update": (UpdateParams, self._checked(self._update)),
            "tasks/cancel": (TaskParams, self._checked(self._cancel)),
        }

    def _checked(self, handler: Callable[[CallerTasks, ParamsT], Awaitable[dict[str, Any]]]) -> Handler:
        async def checked(ctx: Context, params: ParamsT) -> dict[str, Any]:
            if ctx.protocol_version != MODERN_VERSION or not self.offered:
                raise MCPError(METHOD_NOT_FOUND, "Method not found", ctx.method)
            if not takes_tasks(ctx):
                raise CapabilityRequiredError(TASKS)
            _check_header(ctx, params.task_id)
            door: Door = "stdio" if ctx.request is None else "http"
            return await handler(self._inside.tasks.through(door, self._caller_of(ctx)), params)

        return checked

    async def _get(self, tasks: CallerTasks, params: TaskParams) -> dict[str, Any]:
        return detailed(await tasks.get(params.task_id))

    async def _update(self, tasks: CallerTasks, params: UpdateParams) -> dict[str, Any]:
        await tasks.update(params.task_id, params.input_responses)
        return {}

    async def _cancel(self, tasks: CallerTasks, params: TaskParams) -> dict[str, Any]:
        await tasks.cancel(params.task_id)
        return {}

    async def listen(
        self,
        ctx: Context,
        params: types.SubscriptionsListenRequestParams,
        listen: Callable[[Context, types.SubscriptionsListenRequestParams], Awaitable[types.SubscriptionsListenResult]],
    ) -> types.SubscriptionsListenResult:
        """Serve a stream of subscriptions, with `notifications/tasks` for the tasks that the client names."""
        followed = _followed(params)
        if not followed or not self.offered or not takes_tasks(ctx):
            return await listen(ctx, params)
        seen = {one: await self._inside.tasks.of(self._caller_of(ctx)).get(one) for one in followed}
        stream = _AcknowledgingSession(ctx.session, followed)
        # It sends what the handler sends; nothing else of a session is used.
        acknowledging: Any = stream
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._tell, ctx, stream.acknowledged, seen)
            result = await listen(replace(ctx, session=acknowledging), params)
            tasks.cancel_scope.cancel()
        return result

    async def _tell(self, ctx: Context, acknowledged: anyio.Event, seen: dict[str, Task]) -> None:
        """Tell each change of these tasks, and at once which have ended already."""
        await acknowledged.wait()
        tasks = self._inside.tasks.of(self._caller_of(ctx))
        for task in seen.values():
            if task.ended:
                await _notify(ctx, task)
        open_tasks = {key: task for key, task in seen.items() if not task.ended}
        while open_tasks:
            await self._inside.tasks.changed(open_tasks, _LOOK_SECONDS)
            for key, before in list(open_tasks.items()):
                try:
                    task = await tasks.get(key)
                except DogubakoError as error:
                    if not error.retryable:
                        del open_tasks[key]
                    continue
                if task.updated != before.updated or task.status != before.status:
                    await _notify(ctx, task)
                    open_tasks[key] = task
                if task.ended:
                    del open_tasks[key]


class _AcknowledgingSession:
    """The session of a stream. It adds the tasks that are followed to what the SDK acknowledges."""

    def __init__(self, session: Any, followed: list[str]) -> None:
        self._session = session
        self._followed = followed
        self.acknowledged = anyio.Event()

    async def send_notification(self, notification: Any, related_request_id: Any = None) -> None:
        if isinstance(notification, types.SubscriptionsAcknowledgedNotification):
            honored = notification.params.notifications.model_dump(by_alias=True, exclude_none=True)
            notification.params.notifications = types.SubscriptionFilter(**honored, taskIds=self._followed)
        await self._session.send_notification(notification, related_request_id=related_request_id)
        self.acknowledged.set()


async def _notify(ctx: Context, task: Task) -> None:
    params = {**detailed(task), "_meta": {SUBSCRIPTION_ID_META_KEY: ctx.request_id}}
    notification: Any = types.Notification[dict[str, Any], str](method="notifications/tasks", params=params)
    await ctx.session.send_notification(notification, related_request_id=ctx.request_id)


def takes_tasks(ctx: Context) -> bool:
    """Whether the client of this request declared the extension."""
    capabilities = ctx.session.client_capabilities
    return ctx.protocol_version == MODERN_VERSION and TASKS in ((capabilities and capabilities.extensions) or {})


def detailed(task: Task) -> dict[str, Any]:
    """A task with its result, its error, or what it waits for."""
    fields = task.fields()
    if task.status == "completed" and task.result is not None:
        return fields | {"result": call_result(task.result, modern=True)}
    if task.status == "failed" and task.error is not None:
        error = task.error
        return fields | {
            "error": Refusal(_CODES.get(error.code, INTERNAL_ERROR), error.message, error_facts(error)).as_json()
        }
    return fields | ({"inputRequests": written_requests(task.requests)} if task.status == "input_required" else {})


def _followed(params: types.SubscriptionsListenRequestParams) -> list[str]:
    wanted = (params.notifications.model_extra or {}).get("taskIds") or []
    if not isinstance(wanted, list) or len(wanted) > _MOST_FOLLOWED or not all(isinstance(one, str) for one in wanted):
        message = f"Invalid value for parameter taskIds: a list of at most {_MOST_FOLLOWED} ids"
        raise ValidationError.of("taskIds", message)
    return list(dict.fromkeys(wanted))


def _check_header(ctx: Context, task_id: str) -> None:
    """Over HTTP, a header repeats the id, for whoever routes requests without reading them."""
    if ctx.request is None:
        return
    headers: Mapping[bytes, bytes] = dict(ctx.request.scope["headers"])
    if headers.get(_NAME_HEADER, b"").decode("latin-1") != task_id:
        raise MCPError(HEADER_MISMATCH, "The header Mcp-Name and the taskId differ.")
