"""The routes `/v1/tasks…`: calls that go on after they were answered."""

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from dogubako.contract.call import Task, error_facts
from dogubako.contract.errors import DogubakoError
from dogubako.contract.tasks import CallerTasks
from dogubako.engine.input_requests import written_requests
from dogubako.engine.validation import ModelValidator
from dogubako.transports.http.errors import json_response
from dogubako.transports.http.request import caller_in, decode_object, read_body, require_json
from dogubako.transports.rest.models import UpdateTask
from dogubako.transports.toolbox import ServedToolbox

TASKS_PATH: Final = "/v1/tasks"
_UPDATE = ModelValidator(UpdateTask)


class TaskRoutes:
    """Lists, shows, answers and cancels tasks of the caller."""

    def __init__(self, inside: ServedToolbox) -> None:
        self._inside = inside

    def routes(self) -> list[BaseRoute]:
        return [
            Route(TASKS_PATH, self._all, methods=["GET"]),
            Route(f"{TASKS_PATH}/{{id}}", self._one, methods=["GET", "DELETE"]),
            Route(f"{TASKS_PATH}/{{id}}/update", self._update, methods=["POST"]),
        ]

    async def _all(self, request: Request) -> Response:
        tasks = await self._tasks(request).all()
        return json_response({"tasks": [task_info(task, whole=False) for task in tasks]})

    async def _one(self, request: Request) -> Response:
        tasks, task_id = self._tasks(request), request.path_params["id"]
        if request.method == "DELETE":
            await tasks.cancel(task_id)
            tasks = self._inside.tasks.of(caller_in(request.scope))
        return json_response(task_info(await tasks.get(task_id)))

    async def _update(self, request: Request) -> Response:
        # JSON is required, so that no page of another site can send it.
        require_json(request.scope)
        body = _UPDATE.check(decode_object(await read_body(request.receive)))
        task_id = request.path_params["id"]
        await self._tasks(request).update(task_id, body.input_responses)
        return json_response(task_info(await self._inside.tasks.of(caller_in(request.scope)).get(task_id)))

    def _tasks(self, request: Request) -> CallerTasks:
        return self._inside.tasks.through("rest", caller_in(request.scope))


def task_info(task: Task, *, whole: bool = True) -> dict[str, Any]:
    """A task in camelCase; `whole` with what it answered or waits for."""
    info = {**task.fields(), "tool": task.tool}
    if task.progress is not None:
        done, total = task.progress
        info["progress"] = {"done": done} | ({"total": total} if total is not None else {})
    if not whole:
        return info
    if task.requests:
        info["inputRequests"] = written_requests(task.requests)
    error = task.error or (task.result.error if task.result is not None else None)
    if error is not None:
        info["error"] = _failed(error)
    elif task.result is not None:
        info["result"] = task.result.value
    return info


def _failed(error: DogubakoError) -> dict[str, Any]:
    return {"error": error.message, **error_facts(error)}
