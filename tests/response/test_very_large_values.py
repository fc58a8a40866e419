"""Values of tools, resources and prompts that are far larger than any honest one: the event loop goes on."""

import io
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import reduce
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import anyio
import pytest
import structlog

from dogubako import Context, Effect, Pack, logs, tool
from dogubako.app import Toolbox, build
from dogubako.contract.call import ToolCall
from dogubako.contract.conversation import InputRequests
from dogubako.contract.errors import ApiError, ApiErrorContext, DogubakoError
from dogubako.contract.redaction import Redactor
from dogubako.output import Blocks, Embedded, Image, Json, Markdown, Mixed, Text, Xml, XmlElement
from dogubako.settings import Sources
from dogubako.tools import Prompt, PromptMessage, Resource, ToolResult
from tests.heartbeat import Heartbeat, best_of_three, check_stall, frozen_heap

# Measured alone: two busy processes on one core take twice as long, and so does a measured coverage.
pytestmark = pytest.mark.stall

SECRET: Final = "Sup3rSecretKey-abcdef0123456789"
HUGE: Final = 200_000_000
# Just below the bound of 32 MB: this is not refused, but cut.
LARGE: Final = 32 * 1024 * 1024 - 1_000
MANY: Final = 2_900_000
ANY_CODE: Final = ("OK", "ANSWER_TOO_LARGE", "TOOL_EXECUTION_ERROR", "API_ERROR", "CAPABILITY_REQUIRED")


class OtherText(str):
    """What parsers return."""


def _nested(depth: int, inner: Any) -> Any:
    return reduce(lambda value, _: [value], range(depth), inner)


def _chained() -> Exception:
    error = RuntimeError("first")
    for _ in range(50_000):
        later = RuntimeError("later")
        later.__cause__, error = error, later
    return error


def _noted() -> Exception:
    error = RuntimeError("x")
    error.add_note("lorem " * (HUGE // 12))
    return error


def _text_result(text: str, **more: Any) -> ToolResult:
    return ToolResult(content=({"type": "text", "text": text},), **more)


RETURNED: Final[dict[str, Callable[[], Any]]] = {
    "a text of 200 MB": lambda: "lorem ipsum " * (HUGE // 12),
    "a text of 200 MB as Text": lambda: Text(text="lorem ipsum " * (HUGE // 12)),
    "200 million lines": lambda: "\n" * HUGE,
    "32 million lines": lambda: "\n" * LARGE,
    "32 million control characters": lambda: "\x01" * LARGE,
    "many secrets": lambda: f"{SECRET} " * (LARGE // 32),
    "Japanese": lambda: "あ" * (LARGE // 3),
    "half characters": lambda: "a\ud800" * 300_000,
    "another class of text": lambda: OtherText("lorem " * (LARGE // 6)),
    "another class of text in data": lambda: {"a": OtherText("lorem " * (HUGE // 12))},
    "a block of 200 MB": lambda: Markdown(blocks=["lorem ipsum " * (HUGE // 12)]),
    "a text of 200 MB in data": lambda: {"a": "lorem ipsum " * (HUGE // 12)},
    "a text of 32 MB in data": lambda: {"a": "\x01" * LARGE},
    "30 texts of 1 MB in data": lambda: {"a": ["\x01" * (LARGE // 30)] * 30},
    "a name of 32 MB": lambda: {"\x01" * LARGE: 1},
    "bytes of 100 MB": lambda: b"\x00\xff" * 50_000_000,
    "bytes of 32 MB in data": lambda: {"a": b"\x00\xff" * (LARGE // 2)},
    "a list of 3,000,000 items": lambda: list(range(3_000_000)),
    "a dict of 500,000 fields": lambda: {f"k{number}": number for number in range(500_000)},
    "a mapping of 300,000 fields": lambda: MappingProxyType({f"k{number}": 1 for number in range(300_000)}),
    "a million items, 60 levels deep": lambda: _nested(60, list(range(1_000_000))),
    "100,000 levels": lambda: _nested(100_000, 1),
    "an integer of six million digits": lambda: {"a": 1 << 20_000_000},
    "a picture of 100 MB": lambda: Image(data=bytes(100_000_000), mime_type="image/png"),
    "a picture of 100 MB with a link": lambda: Image(data=bytes(100_000_000), mime_type="image/png", uri="x:y"),
    "a file of 100 MB": lambda: Embedded(uri="x:y", body=bytes(100_000_000)),
    "a media type of 32 MB": lambda: Image(data=b"abc", mime_type="i" * LARGE),
    "parts of 20 MB": lambda: Mixed(parts=["lorem " * 3_300_000] * 10),
    "an element of 32 MB": lambda: Xml(root=XmlElement("a", {}, "<\x01" * (LARGE // 2))),
    "an attribute of 32 MB": lambda: Xml(root=XmlElement("a", {"b": "<\x01" * (LARGE // 2)}, "x")),
    "a foreign text of 200 MB": lambda: Blocks([{"type": "text", "text": "lorem " * (HUGE // 6)}]),
    "a foreign text of 32 MB": lambda: Blocks([{"type": "text", "text": "\x01" * LARGE}]),
    "a foreign picture": lambda: Blocks([{"type": "image", "mimeType": "image/png", "data": "AAAA" * (LARGE // 4)}]),
    "a foreign file": lambda: Blocks([{"type": "resource", "resource": {"uri": "x:y", "blob": "AAAA" * (LARGE // 4)}}]),
    "a foreign type": lambda: Blocks([{"type": "\x01" * LARGE}]),
    "a foreign link": lambda: Blocks([{"type": "resource_link", "uri": "y" * LARGE, "name": "n"}]),
    "foreign metadata": lambda: Blocks([{"type": "text", "text": "a", "_meta": {"a": list(range(MANY))}}]),
    "foreign data": lambda: Blocks([], {"a": "lorem " * (LARGE // 6)}),
    "200,000 foreign blocks": lambda: Blocks([{"type": "text", "text": "a"}] * 200_000),
    "a result by hand": lambda: _text_result("\x01" * LARGE, kind="text"),
    "a failure by hand": lambda: _text_result("\x01" * LARGE, is_error=True),
    "JSON by hand": lambda: _text_result("[" + "1," * 16_000_000 + "1]", kind="json"),
    "a message of 32 MB": lambda: Json(data=1, message="\x01" * LARGE),
}
SHOWN: Final = (
    "a text of 200 MB",
    "32 million lines",
    "another class of text",
    "a text of 32 MB in data",
    "a name of 32 MB",
    "bytes of 100 MB",
    "a list of 3,000,000 items",
    "100,000 levels",
    "a file of 100 MB",
    "a foreign text of 32 MB",
    "a result by hand",
)
RAISED: Final[dict[str, Callable[[], Exception]]] = {
    "a message of 200 MB": lambda: RuntimeError("lorem " * (HUGE // 6)),
    "a Japanese message": lambda: RuntimeError("あ" * 50_000_000),
    "a list as message": lambda: ValueError(list(range(3_000_000))),
    "our own error": lambda: ApiError("lorem " * (HUGE // 6), status_code=500, hint="lorem " * (HUGE // 6)),
    "our own error with a list": lambda: ApiError(list(range(3_000_000)), status_code=500),  # type: ignore[arg-type]
    "300,000 errors": lambda: ExceptionGroup("x", [RuntimeError("lorem")] * 300_000),
    "50,000 causes": _chained,
    "a note of 100 MB": _noted,
    "details of 100 MB": lambda: ApiError(
        "x", status_code=500, context=ApiErrorContext(operation="x", error_details="lorem " * (HUGE // 12))
    ),
    "3,000,000 details": lambda: ApiError(
        "x",
        status_code=500,
        context=ApiErrorContext(operation="x", error_details={"a": list(range(3_000_000))}),  # type: ignore[arg-type]
    ),
}
SAID: Final[dict[str, Callable[[], Any]]] = {
    "log": lambda: "lorem " * (HUGE // 6),
    "progress": lambda: "あ" * 50_000_000,
    "ask": lambda: "lorem " * (HUGE // 6),
    "form": lambda: {"type": "object", "properties": {f"k{number}": {"type": "string"} for number in range(300_000)}},
    "sample": lambda: "あ" * 50_000_000,
}
_made: dict[str, Any] = {}


@tool(effect=Effect.READ)
async def answer(how: str) -> Any:
    """Return or raise what was made before."""
    made = _made.pop(how)
    if isinstance(made, Exception):
        raise made
    return made


@tool(effect=Effect.READ)
async def say(how: str, context: Context) -> str:
    """Tell the client what was made before, or ask it."""
    made = _made.pop(how)
    if how == "log":
        await context.log("error", made)
    elif how == "progress":
        await context.progress(1, 2, made)
    elif how == "sample":
        await context.sample(made)
    else:
        await context.ask("?" if how == "form" else made, made if how == "form" else {"type": "object"})
    return "said"


async def _read(context: Any, variables: Mapping[str, str]) -> Any:
    return _made.pop("how")


async def _render(context: Any, arguments: Mapping[str, str]) -> list[PromptMessage]:
    return [PromptMessage(content=_made.pop("how"))]


class LargePack(Pack[Any, None]):
    name = "large"
    tools = (answer, say)
    resources = (Resource(uri="large://value", name="value", read=_read),)
    prompts = (Prompt(name="large", description="Large.", render=_render),)


class _Listening:
    """A client that takes everything and answers nothing."""

    def supports(self, capability: str) -> bool:
        return True

    async def progress(self, done: float, total: float | None, message: str | None) -> None: ...

    async def log(self, level: str, message: str) -> None: ...

    async def request(self, requests: InputRequests) -> Mapping[str, Any]:
        raise ConnectionError


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Toolbox]:
    """A toolbox with the log of a server: an error is written down while the loop stands still."""
    settings = {"DOGUBAKO_DATA_DIR": str(tmp_path), "N8N_API_KEY": SECRET, "N8N_URL": "http://127.0.0.1:9"}
    sinks = logs.configure("info", tmp_path, Redactor([SECRET]), stderr=io.StringIO())
    yield build(Sources(environ=settings, env_file=None), packs=[LargePack()])
    sinks.close()
    structlog.reset_defaults()


async def _stall(box: Toolbox, work: Callable[[], Awaitable[Any]]) -> tuple[Any, float]:
    async with box.running():
        _made["first"] = "a"
        await box.call("answer", {"how": "first"})
        with frozen_heap(), Heartbeat() as heart:
            await anyio.sleep(0.03)
            heart.take()
            try:
                result = await work()
            except DogubakoError as error:
                result = error
            await anyio.sleep(0.03)
            return result, heart.take()


@pytest.mark.parametrize("how", [*RETURNED, *RAISED])
@best_of_three
async def test_no_value_of_a_tool_keeps_the_event_loop(box: Toolbox, how: str) -> None:
    _made[how] = {**RETURNED, **RAISED}[how]()

    result, stall = await _stall(box, lambda: box.call("answer", {"how": how}))

    check_stall(stall)
    assert result.code in ANY_CODE, result.content
    assert result.content
    assert result.tokens <= 25_000


@pytest.mark.parametrize("how", SAID)
@best_of_three
async def test_nothing_that_a_tool_says_keeps_the_event_loop(box: Toolbox, how: str) -> None:
    _made[how] = SAID[how]()
    call = ToolCall(name="say", parameters={"how": how}, conversation=_Listening())

    result, stall = await _stall(box, lambda: box.pipeline.handle(call))

    check_stall(stall)
    assert result.code in ANY_CODE, result.content


@pytest.mark.parametrize("how", SHOWN)
@pytest.mark.parametrize("kind", ["resource", "prompt"])
@best_of_three
async def test_no_resource_and_no_prompt_keeps_the_event_loop(box: Toolbox, how: str, kind: str) -> None:
    _made["how"] = RETURNED[how]()

    async def show() -> Any:
        try:
            return await (box.read("large://value") if kind == "resource" else box.render("large", {}))
        except (TypeError, ValueError, RecursionError) as error:
            # Not a text and not JSON.
            return error

    _, stall = await _stall(box, show)

    check_stall(stall)
