"""What the scenarios of the tasks extension want to find on a server."""

from typing import Any

import anyio
from pydantic import BaseModel

from dogubako import Context, tool
from dogubako.errors import ApiError
from dogubako.tools import ElicitRequest, ElicitResult


class Confirmation(BaseModel):
    confirm: bool


class Name(BaseModel):
    name: str


@tool(effect="read")
async def greet(name: str) -> str:
    """Greet somebody, at once."""
    return f"Hello, {name}!"


@tool(effect="read", long_running=True)
async def slow_compute(seconds: float, label: str = "") -> str:
    """Compute for some seconds."""
    await anyio.sleep(seconds)
    return f"{label} took {seconds} s"


@tool(long_running="required")
async def failing_job() -> str:
    """Fail after a second."""
    await anyio.sleep(1)
    raise ApiError("The job failed.", status_code=500)


@tool(effect="read", long_running=True)
async def protocol_error_job(context: Context) -> str:
    """Ask for something that the client of the suite does not have."""
    return str(len(await context.roots()))


@tool(long_running=True)
async def confirm_delete(filename: str, context: Context) -> str:
    """Ask before it would delete a file."""
    answer = await context.ask(f"Delete {filename}?", Confirmation)
    return f"{filename}: {answer.content.get('confirm')}"


@tool(long_running=True)
async def multi_input(context: Context) -> str:
    """Ask two questions at once."""
    schema: dict[str, Any] = Name.model_json_schema()
    answers = await context.request(
        first=ElicitRequest(message="The first name?", schema=schema),
        second=ElicitRequest(message="The second name?", schema=schema),
    )
    return ", ".join(str(one.content.get("name")) for one in answers.values() if isinstance(one, ElicitResult))


@tool
async def test_tool_with_task(context: Context) -> str:
    """Ask while the caller waits, and go on as a task."""
    answer = await context.ask("What is your name?", Name, key="user_name")
    await context.become_task()
    return f"Hello, {answer.content.get('name')}!"


TOOLS = (
    greet,
    slow_compute,
    failing_job,
    protocol_error_job,
    confirm_delete,
    multi_input,
    test_tool_with_task,
)
