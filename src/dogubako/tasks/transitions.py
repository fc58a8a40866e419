"""How a task changes: each function returns the changed record, or None if the change no longer applies.

```text
            ┌──────────── answered ────────────┐
            ▼                                  │
created → working ── begun … asked ──▶ input_required
            │  ▲                               │
            │  └ given_back (repeatable)       │
            ├── finished ──▶ completed, failed │
            ├── begun, after its process was killed: runs again, or failed if it is not repeatable
            └── cancelled ◀────────────────────┘
```
"""

import json
import time
from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from dogubako.contract.call import TaskStatus, ToolResult
from dogubako.contract.errors import (
    AuthenticationError,
    CapabilityRequiredError,
    DogubakoError,
    InternalError,
    ToolExecutionError,
    ToolNotFoundError,
)
from dogubako.engine.input_requests import read_answer
from dogubako.tasks.records import StoredError, StoredResult, TaskRecord, asked_of

# A repeatable task that ends its process each time must not do so for ever.
MOST_RUNS: Final = 5
# Errors of the protocol or of the server itself: the tool was not run, or nobody knows how it ended.
_PROTOCOL_ERRORS: Final = (ToolNotFoundError, CapabilityRequiredError, InternalError, AuthenticationError)
# All answers are kept until the task ends.
_LONGEST_ANSWER: Final = 100_000
_LOOK_FIRST: Final = "It may have been done, or a part of it: look first."


def begun(record: TaskRecord, run: str) -> TaskRecord | None:
    """A run takes the task. One that began before and did not end was killed: only repeatable tasks run again."""
    if record.status != "working":
        return None
    if record.run is not None and not record.repeatable:
        message = f"The process that ran {record.tool} ended in the middle, and it must not run twice."
        return _ended(record, "failed", error=ToolExecutionError(message, hint=_LOOK_FIRST))
    if record.run is not None and record.runs >= MOST_RUNS:
        message = f"The process that ran {record.tool} ended in the middle, {record.runs} times."
        return _ended(record, "failed", error=ToolExecutionError(message, hint="The log of the server may say why."))
    return replace(record, run=run, runs=record.runs + 1, updated=time.time())


def given_back(record: TaskRecord, run: str) -> TaskRecord | None:
    """The process stops before the run has ended."""
    if record.run != run:
        return None
    if record.repeatable:
        return replace(record, run=None, runs=record.runs - 1, updated=time.time())
    message = f"The server stopped while {record.tool} ran, and it must not run twice."
    return _ended(record, "failed", error=ToolExecutionError(message, hint=_LOOK_FIRST))


def progressed(
    record: TaskRecord, run: str, done: float, total: float | None, message: str | None
) -> TaskRecord | None:
    if record.run != run:
        return None
    return replace(record, progress=(done, total), message=message or record.message, updated=time.time())


def finished(record: TaskRecord, run: str, result: ToolResult) -> TaskRecord | None:
    """The run has ended: with an answer, an error, or questions."""
    if record.run != run:
        return None
    if result.pending is not None:
        asked = asked_of(record, result.pending)
        status: TaskStatus = "input_required"
        questions = record.questions + len(asked)
        return replace(record, status=status, run=None, asked=asked, questions=questions, updated=time.time())
    if isinstance(result.error, _PROTOCOL_ERRORS):
        return _ended(record, "failed", error=result.error)
    return replace(_ended(record, "completed"), result=StoredResult.of(result))


def answered(record: TaskRecord, answers: Mapping[str, Any]) -> TaskRecord | None:
    """A client answers questions. What does not fit its question is asked again; the rest still waits."""
    fitting = {}
    for key in record.asked.keys() & answers.keys():
        digest, request = record.question(key)
        written = json.dumps(answers[key])
        if len(written) <= _LONGEST_ANSWER and read_answer(request, answers[key]) is not None:
            fitting[key] = (digest, written)
    if record.status != "input_required" or not fitting:
        return None
    left = {key: question for key, question in record.asked.items() if key not in fitting}
    status: TaskStatus = "input_required" if left else "working"
    known = record.answers | dict(fitting.values())
    return replace(record, status=status, asked=left, answers=known, updated=time.time())


def cancelled(record: TaskRecord) -> TaskRecord | None:
    if record.ended:
        return None
    return replace(_ended(record, "cancelled"), message="The task was cancelled.")


def _ended(record: TaskRecord, status: TaskStatus, *, error: DogubakoError | None = None) -> TaskRecord:
    """What only the run needed is dropped."""
    return replace(
        record,
        status=status,
        run=None,
        asked={},
        answers={},
        parameters="{}",
        credentials=(),
        message=error.message if error is not None else record.message,
        error=StoredError.of(error) if error is not None else None,
        updated=time.time(),
    )
