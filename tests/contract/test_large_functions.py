"""Functions that return more than any answer can hold are refused before anything is made of it."""

from typing import Any

import pytest

from dogubako import Toolbox, prompt, resource, tool
from dogubako.contract.errors import AnswerTooLargeError
from dogubako.tools import ToolPack


class Untouched(list[Any]):
    """A list that nobody may go through: three million messages took five seconds of the event loop."""

    def __iter__(self) -> Any:
        raise AssertionError("somebody went through the list")


@prompt
async def endless() -> Any:
    """Say too much."""
    return Untouched([None] * 20_000)


@resource("much://data")
async def much() -> dict[str, int]:
    """Hold too much."""
    return dict.fromkeys(map(str, range(200_000)), 1)


@resource("much://text")
async def long() -> str:
    """Hold a very long text."""
    return "x" * 34_000_000


@tool
async def give_up() -> str:
    """Cancel the task that it runs in."""
    import asyncio  # noqa: PLC0415 - as an author would write it

    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(1)
    return "never"


def pack() -> ToolPack:
    made = ToolPack("much", (give_up,))
    made.prompts = (endless,)
    made.resources = (much, long)  # type: ignore[assignment]
    return made


async def test_a_prompt_of_too_many_messages_is_refused_by_their_number() -> None:
    async with Toolbox.open(pack(), packs=["core"]) as box:
        with pytest.raises(AnswerTooLargeError, match="20,000 messages"):
            await box.render("endless", {})


@pytest.mark.parametrize("uri", ["much://data", "much://text"])
async def test_a_resource_that_nothing_could_show_is_refused(uri: str) -> None:
    async with Toolbox.open(pack(), packs=["core"]) as box:
        with pytest.raises(AnswerTooLargeError):
            await box.read(uri)


async def test_a_tool_that_cancels_itself_has_not_timed_out() -> None:
    async with Toolbox.open(pack(), packs=["core"]) as box:
        result = await box.call("give_up")

    assert (result.code, result.error.retryable if result.error else None) == ("TOOL_EXECUTION_ERROR", False)
