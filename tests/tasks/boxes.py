"""Toolboxes with slow tools, and clients that follow their tasks."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio

from dogubako.app import Toolbox, build
from dogubako.contract.call import TRUSTED, Caller, Task
from dogubako.packs.core.pack import CORE
from dogubako.settings import Sources
from dogubako.tools import ExecutionOptions, ToolPack, ToolResult
from dogubako.transports.http.app import HttpApp
from tests.doors import messages
from tests.doors.asgi import Client, Visit, opened
from tests.doors.processes import PATIENCE

from .slow_tools import TOOLS

_TICK: Final = 0.01
AS_TASK: Final = ExecutionOptions(task=True)
EXTENSION: Final = "io.modelcontextprotocol/tasks"
TAKES_TASKS: Final[dict[str, Any]] = {"elicitation": {"form": {}}, "extensions": {EXTENSION: {}}}


def toolbox(folder: Path, **settings: Any) -> Toolbox:
    chosen = {"data_dir": folder, **settings}
    return build(Sources(overrides=chosen, environ={}, env_file=None), packs=[CORE, ToolPack("slow", TOOLS)])


async def started(box: Toolbox, name: str, **arguments: Any) -> str:
    """The id of a task that runs this call."""
    result = await box.call(name, arguments, AS_TASK)
    assert result.task is not None, result.text
    return result.task.id


async def ended(box: Toolbox, task_id: str, caller: Caller = TRUSTED) -> Task:
    """The task, when it does not work any more."""
    task = await box.tasks.of(caller).wait(task_id, PATIENCE)
    assert task.status != "working"
    return task


def result_of(task: Task) -> ToolResult:
    assert task.result is not None, task
    return task.result


class McpClient:
    """A 2026-07-28 client."""

    def __init__(self, http: Client, capabilities: dict[str, Any], inside: Toolbox) -> None:
        self.http = http
        self.inside = inside
        self._capabilities = capabilities

    async def visit(self, method: str, params: dict[str, Any], name: str | None) -> Visit:
        said = {**params, "_meta": {**messages.envelope(self._capabilities), **params.get("_meta", {})}}
        return await self.http.post("/mcp", messages.request(method, said), messages.modern_headers(method, name))

    async def ask(self, method: str, params: dict[str, Any], name: str | None) -> dict[str, Any]:
        return (await self.visit(method, params, name)).response

    async def call(self, name: str, arguments: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        return await self.ask("tools/call", {"name": name, "arguments": arguments or {}, **more}, name)

    async def task(self, method: str, task_id: str, **more: Any) -> dict[str, Any]:
        return await self.ask(f"tasks/{method}", {"taskId": task_id, **more}, task_id)

    async def until(self, task_id: str, *statuses: str) -> dict[str, Any]:
        """The task as soon as it has one of these statuses; the last look may be a second late."""
        for _ in range(round(PATIENCE / _TICK)):
            found: dict[str, Any] = (await self.task("get", task_id))["result"]
            if found["status"] in statuses:
                return found
            assert found["status"] in ("working", "input_required"), found
            await anyio.sleep(_TICK)
        raise AssertionError(f"the task did not become {statuses}")


@asynccontextmanager
async def served(box: Toolbox, capabilities: dict[str, Any] | None = None) -> AsyncIterator[McpClient]:
    async with opened(HttpApp(box)) as http:
        yield McpClient(http, TAKES_TASKS if capabilities is None else capabilities, box)
