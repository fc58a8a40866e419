"""Resources and prompts that raise or return what they should not: an error for their caller and for nobody else."""

import asyncio
from typing import Any

import pytest

from dogubako import Toolbox, prompt, resource
from dogubako.errors import NotFoundError
from dogubako.tools import PromptMessage, ToolPack, ToolResult


@resource("lies://{kind}")
async def lies(kind: str) -> str:
    """Raise what was asked for."""
    raise {"base": BaseException("b"), "cancelled": asyncio.CancelledError(), "exit": SystemExit(3)}[kind]


@prompt
async def confused(kind: str) -> Any:
    """Answer with something that is no message."""
    if kind == "role":
        return PromptMessage(content="lorem", role="system")  # type: ignore[arg-type]
    failed = NotFoundError("Nothing there")
    if kind == "failed":
        return PromptMessage(content=ToolResult(content=(), is_error=True, error=failed))  # type: ignore[arg-type]
    return "fine"


def pack() -> ToolPack:
    made = ToolPack("liars", ())
    made.resource_templates, made.prompts = (lies,), (confused,)  # type: ignore[assignment]
    return made


@pytest.mark.parametrize("kind", ["base", "cancelled", "exit"])
async def test_whatever_a_resource_raises_is_an_error_of_this_call(kind: str) -> None:
    async with Toolbox.open(pack(), packs=["core"]) as box:
        with pytest.raises(RuntimeError, match="it raised"):
            await box.read(f"lies://{kind}")
        _, messages = await box.render("confused", {"kind": "well"})

    assert messages == [{"role": "user", "content": {"type": "text", "text": "fine"}}]


@pytest.mark.parametrize(("kind", "error"), [("role", ValueError), ("failed", NotFoundError)])
async def test_a_prompt_without_a_message_is_refused(kind: str, error: type[Exception]) -> None:
    async with Toolbox.open(pack(), packs=["core"]) as box:
        with pytest.raises(error):
            await box.render("confused", {"kind": kind})


async def test_what_a_pack_takes_back_is_not_found() -> None:
    async with Toolbox.open(pack(), packs=["core"]) as box:
        box.catalog.remove_resource("liars", "lies://{kind}")
        box.catalog.remove_prompt("liars", "confused")
        box.catalog.remove_prompt("somebody else", "confused")
        with pytest.raises(NotFoundError):
            await box.read("lies://base")
        with pytest.raises(NotFoundError):
            await box.render("confused", {"kind": "well"})
