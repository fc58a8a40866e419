"""Tools that take long, ask, fail, and leave marks where they ran; `dogubako serve --tools slow_tools.py`."""

import os
from pathlib import Path
from typing import Any

import anyio
from pydantic import BaseModel

from dogubako import Context, Effect, tool
from dogubako.errors import ApiError
from dogubako.tools import ElicitRequest, ElicitResult

_TICK = 0.02
_MOST_TICKS = 100_000


class Name(BaseModel):
    name: str


def _run_noted(folder: Path) -> int:
    folder.mkdir(exist_ok=True)
    number = len(list(folder.glob("run-*"))) + 1
    (folder / f"run-{number}").write_text(str(os.getpid()))
    return number


async def _hold(marks: str, context: Context[Any]) -> str:
    """Note the run in a folder, and wait until a file `go` is there."""
    number = _run_noted(Path(marks))
    await context.progress(1, 2, "half of it")
    for _ in range(_MOST_TICKS):
        if (Path(marks) / "go").exists():
            return f"run {number} went to the end"
        await anyio.sleep(_TICK)
    raise AssertionError("nobody said go")


@tool(effect="read", long_running=True)
async def read_slowly(marks: str, context: Context) -> str:
    """Read something that takes long; it may be repeated."""
    return await _hold(marks, context)


@tool(long_running=True)
async def write_slowly(marks: str, context: Context) -> str:
    """Write something that takes long, and must not be written twice."""
    return await _hold(marks, context)


@tool(long_running="required")
async def only_as_task() -> str:
    """Never answer while somebody waits."""
    return "done"


@tool(long_running=True)
async def fail_slowly() -> str:
    """Fail."""
    raise ApiError("The service refused.", status_code=500)


@tool(long_running=True)
async def ask_twice(context: Context) -> str:
    """Ask two questions, one after the other."""
    first = await context.ask("Your first name?", Name)
    last = await context.ask("Your last name?", Name)
    return f"{first.content['name']} {last.content['name']}"


@tool(long_running=True)
async def ask_at_once(context: Context) -> str:
    """Ask two questions at once."""
    schema = Name.model_json_schema()
    answers = await context.request(
        one=ElicitRequest(message="One?", schema=schema), other=ElicitRequest(message="Other?", schema=schema)
    )
    return " ".join(str(one.content["name"]) for one in answers.values() if isinstance(one, ElicitResult))


@tool
async def ask_then_work(context: Context) -> str:
    """Ask while the caller waits, then go on as a task."""
    answer = await context.ask("Your name?", Name)
    await context.become_task()
    return f"worked for {answer.content['name']}"


@tool(effect=Effect.DESTROY)
async def shred(marks: str) -> str:
    """Shred papers."""
    return f"shredded in run {_run_noted(Path(marks))}"


@tool(effect="read")
async def whoami(context: Context) -> str:
    """Name the caller."""
    return f"{context.caller.name} {sorted(context.caller.scopes)}"


@tool(effect="read", timeout=60_000)
async def many_lines(count: int) -> list[str]:
    """Return many lines."""
    return [f"line {number} of a long answer" for number in range(count)]


TOOLS = (
    read_slowly, write_slowly, only_as_task, fail_slowly, ask_twice, ask_at_once, ask_then_work, shred, whoami,
    many_lines,
)  # fmt: skip
