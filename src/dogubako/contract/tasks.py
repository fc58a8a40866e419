"""Tasks: calls that go on after they were answered, and are asked for later."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from dogubako.contract.call import Caller, Task, ToolCall, ToolResult
from dogubako.contract.conversation import InputAnswer


class CallerTasks(Protocol):
    """The tasks that one caller may see: its own, or for an administrator those of all."""

    async def get(self, task_id: str) -> Task:
        """The state of a task, or NotFoundError."""

    async def update(self, task_id: str, answers: Mapping[str, Any]) -> None:
        """Answer what a task waits for, in the form of MCP. Answers to what nobody asked are ignored."""

    async def answer(self, task: Task, answers: Mapping[str, InputAnswer]) -> None:
        """Answer what a task waits for."""

    async def wait(self, task_id: str, seconds: float) -> Task:
        """The task when it has ended or asks something, or after this time."""

    async def cancel(self, task_id: str) -> None:
        """Cancel a task. One that has ended stays as it is."""

    async def all(self) -> Sequence[Task]:
        """The caller's own tasks that are kept, the newest first."""


class TaskStarter(Protocol):
    """Starts tasks, and finds them again."""

    async def start(self, call: ToolCall, *, repeatable: bool) -> ToolResult:
        """Begin a task that runs this call. It is stored when this returns."""

    def of(self, caller: Caller) -> CallerTasks: ...
