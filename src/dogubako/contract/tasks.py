"""Tasks: calls that go on after they were answered, and are asked for later."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, Protocol

import msgspec

from dogubako.contract.call import ToolCall, ToolResult
from dogubako.contract.conversation import InputAnswer, InputRequests
from dogubako.contract.errors import DogubakoError
from dogubako.contract.timestamps import utc_text

TaskStatus = Literal["working", "input_required", "completed", "failed", "cancelled"]
ENDED: Final[frozenset[TaskStatus]] = frozenset({"completed", "failed", "cancelled"})


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a task. A tool that failed has `completed` its task; `failed` says that it could not be run."""

    id: str
    tool: str
    status: TaskStatus
    # What it does now, in the words of its tool, or why it ended.
    message: str | None = None
    # How much of how much is done, as the tool counts.
    progress: tuple[float, float | None] | None = None
    # Seconds since the epoch.
    created: float
    updated: float
    # How long it is kept, from its creation.
    ttl_ms: int
    # How often it makes sense to look.
    poll_ms: int
    # What it waits for, by the key under which the answer is given.
    requests: InputRequests = {}
    result: ToolResult | None = None
    error: DogubakoError | None = None

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    def fields(self) -> dict[str, Any]:
        """The fields that every client sees, by their names in MCP."""
        message = {"statusMessage": self.message} if self.message else {}
        return {
            "taskId": self.id,
            "status": self.status,
            **message,
            "createdAt": utc_text(self.created),
            "lastUpdatedAt": utc_text(self.updated),
            "ttlMs": self.ttl_ms,
            "pollIntervalMs": self.poll_ms,
        }


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

    def of(self, caller: Any) -> CallerTasks: ...
