"""Observers hear that a call started, how far it is, and how it ended."""

from typing import Any

import pytest

from dogubako import Context, Effect, tool
from dogubako.contract.errors import NotFoundError, ReadOnlyError
from dogubako.contract.redaction import Redactor
from dogubako.contract.storage import MemoryCache
from dogubako.engine.executor import ToolExecutor
from dogubako.engine.pipeline import Pipeline
from dogubako.engine.registry import ToolRegistry
from dogubako.response.builder import ToolResponseBuilder
from dogubako.tools import CallEnd, CallObserver, ToolCall, ToolMetadata


class Notes(CallObserver):
    """Writes down what it hears."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def started(self, call: ToolCall, tool: ToolMetadata) -> None:
        self.heard.append(("started", tool.name))

    def progressed(self, call: ToolCall, done: float, total: float | None, message: str | None) -> None:
        self.heard.append(("progressed", done, total, message))

    def ended(self, call: ToolCall, end: CallEnd) -> None:
        self.heard.append(("ended", call.name, end.code, end.changing))


class Refusing(Notes):
    def started(self, call: ToolCall, tool: ToolMetadata) -> None:
        raise ReadOnlyError("not now")


@tool(effect=Effect.WRITE)
async def dig(context: Context[None], deep: bool = True) -> str:
    """Dig a hole."""
    await context.progress(1, 2, "half, with s3cr3t-s3cr3t")
    await context.progress(2, 2)
    if not deep:
        raise NotFoundError("No spade")
    return "dug"


def path(*observers: Notes, cache: MemoryCache | None = None) -> Pipeline:
    registry = ToolRegistry()
    registry.register(dig)
    return Pipeline(
        registry,
        observers=observers,
        executor=ToolExecutor(cache=cache),
        responses=ToolResponseBuilder(redactor=Redactor(["s3cr3t-s3cr3t"])),
    )


@pytest.mark.parametrize(("deep", "code"), [(True, "OK"), (False, "NOT_FOUND")])
async def test_every_observer_hears_start_progress_and_end_in_order(deep: bool, code: str) -> None:
    one, other = Notes(), Notes()

    await path(one, other).handle(ToolCall(name="dig", parameters={"deep": deep}))

    assert one.heard == other.heard
    assert [event[0] for event in one.heard] == ["started", "progressed", "progressed", "ended"]
    assert one.heard[-1] == ("ended", "dig", code, True)
    # As the client hears it: our secrets are masked.
    _, done, total, message = one.heard[1]
    assert (done, total) == (1, 2) and message.startswith("half, with ") and "s3cr3t" not in message


@pytest.mark.parametrize(
    ("name", "parameters", "code"),
    [
        pytest.param("nothing", {}, "TOOL_NOT_FOUND", id="unknown"),
        pytest.param("dig", {"deep": "very"}, "VALIDATION_ERROR", id="wrong arguments"),
    ],
)
async def test_a_refused_call_ends_and_has_not_started(name: str, parameters: dict[str, Any], code: str) -> None:
    notes = Notes()

    await path(notes).handle(ToolCall(name=name, parameters=parameters))

    assert notes.heard == [("ended", name, code, name == "dig")]


async def test_an_observer_that_refuses_keeps_the_tool_from_running() -> None:
    notes = Refusing()

    result = await path(notes).handle(ToolCall(name="dig"))

    assert (result.code, result.content[0]["text"]) == ("READ_ONLY", "not now")
    assert notes.heard == [("ended", "dig", "READ_ONLY", True)]
