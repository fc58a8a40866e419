"""Clients of both protocol eras before servers of both eras: tools, progress, cancellation and questions, 4 of 4.

The client is the official SDK's, `dogubako` is a process of its own, and so are the servers behind it.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Literal

import mcp
import mcp_types
import pytest

from tests.doors.processes import PATIENCE, Command, environment, serving
from tests.doors.waiting import until

from .upstreams import FAKE

pytestmark = pytest.mark.slow

Mode = Literal["legacy", "2026-07-28"]
_MODES: Final[tuple[Mode, ...]] = ("legacy", "2026-07-28")
_ERAS: Final = ("legacy", "modern")


def _table(folder: Path, era: str) -> str:
    lines = [
        f"[servers.{era}]",
        f"command = {json.dumps(sys.executable)}",
        f"args = {json.dumps(['-I', '-S', str(FAKE), era])}",
        'pinning = "off"',
        f"[servers.{era}.env]",
        f"MARKS = {json.dumps(str(folder / f'{era}.marks'))}",
    ]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module", params=_ERAS)
def box(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Command, Path]]:
    """`dogubako serve` before a server of one era, and the file where that server notes what it does."""
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "dogubako.toml").write_text(_table(folder, request.param))
    settings = {"DOGUBAKO_DATA_DIR": str(folder / "data"), "DOGUBAKO_DISCOVERY": "full"}
    with serving(folder=folder, settings=settings) as server:
        yield server, folder / f"{request.param}.marks"


class Person:
    """The user of a client, who answers every question."""

    def __init__(self) -> None:
        self.questions: list[str] = []

    async def asked(self, context: Any, params: mcp_types.ElicitRequestParams) -> mcp_types.ElicitResult:
        self.questions.append(params.message)
        if isinstance(params, mcp_types.ElicitRequestURLParams):
            self.questions.append(params.url)
            return mcp_types.ElicitResult(action="accept")
        return mcp_types.ElicitResult(action="accept", content={"name": "Aiko"})

    async def sampled(self, context: Any, params: Any) -> mcp_types.CreateMessageResult:
        text = mcp_types.TextContent(type="text", text="Hello!")
        return mcp_types.CreateMessageResult(role="assistant", content=text, model="a-model")

    async def folders(self, context: Any) -> mcp_types.ListRootsResult:
        return mcp_types.ListRootsResult(roots=[mcp_types.Root(uri="file:///work", name="work")])


@asynccontextmanager
async def connected(target: Any, mode: Mode, person: Person | None = None) -> AsyncIterator[mcp.Client]:
    person = person or Person()
    async with mcp.Client(
        target,
        mode=mode,
        elicitation_callback=person.asked,
        sampling_callback=person.sampled,
        list_roots_callback=person.folders,
        read_timeout_seconds=PATIENCE,
    ) as client:
        # The first list comes from the store, which is empty in a new folder: the server is still starting.
        async with asyncio.timeout(PATIENCE):
            while "echo" not in [tool.name for tool in (await client.list_tools()).tools]:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        yield client


def text_of(result: mcp_types.CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, mcp_types.TextContent)
    return block.text


def marked(marks: Path, text: str) -> int:
    return sum(line.startswith(text) for line in marks.read_text().splitlines()) if marks.exists() else 0


@pytest.mark.parametrize("mode", _MODES)
async def test_tools(box: tuple[Command, Path], mode: Mode) -> None:
    async with connected(f"{box[0].url()}/mcp", mode) as client:
        assert text_of(await client.call_tool("echo", {"text": "道具箱"})) == "道具箱"
        failed = await client.call_tool("fail", {})

    assert failed.is_error
    assert "The disk is full." in str(failed.content[0])


@pytest.mark.parametrize("mode", _MODES)
async def test_progress(box: tuple[Command, Path], mode: Mode) -> None:
    seen: list[float] = []

    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    async with connected(f"{box[0].url()}/mcp", mode) as client:
        assert text_of(await client.call_tool("steps", {}, progress_callback=progressed)) == "stepped"
    assert seen[-1] == 3.0


@pytest.mark.parametrize("mode", _MODES)
async def test_cancellation(box: tuple[Command, Path], mode: Mode) -> None:
    server, marks = box
    before = marked(marks, "waiting"), marked(marks, "cancelled")
    async with connected(f"{server.url()}/mcp", mode) as client:
        call = asyncio.create_task(client.call_tool("wait", {}))
        await until(lambda: marked(marks, "waiting") > before[0], "the call reaches the server")
        call.cancel()
        await until(lambda: marked(marks, "cancelled") > before[1], "the cancellation reaches the server")


@pytest.mark.parametrize("mode", _MODES)
async def test_cancellation_of_a_call_that_has_talked(box: tuple[Command, Path], mode: Mode) -> None:
    server, marks = box
    before, seen = marked(marks, "cancelled"), list[float]()

    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    async with connected(f"{server.url()}/mcp", mode) as client:
        call = asyncio.create_task(client.call_tool("pace", {}, progress_callback=progressed))
        await until(lambda: seen == [0.5], "the progress of the call")
        call.cancel()
        await until(lambda: marked(marks, "cancelled") > before, "the cancellation reaches the server")


@pytest.mark.parametrize("mode", _MODES)
async def test_elicitation(box: tuple[Command, Path], mode: Mode) -> None:
    person = Person()
    async with connected(f"{box[0].url()}/mcp", mode, person) as client:
        answer = json.loads(text_of(await client.call_tool("ask", {})))

    assert answer == {"action": "accept", "content": {"name": "Aiko"}}
    assert person.questions == ["Who are you?"]


@pytest.mark.parametrize("mode", _MODES)
async def test_elicitation_by_url(box: tuple[Command, Path], mode: Mode) -> None:
    person = Person()
    async with connected(f"{box[0].url()}/mcp", mode, person) as client:
        answer = json.loads(text_of(await client.call_tool("page", {})))

    assert answer == {"action": "accept"}
    assert person.questions == ["Please pay.", "https://pay.example/1"]


@pytest.mark.parametrize("mode", _MODES)
async def test_sampling_and_roots(box: tuple[Command, Path], mode: Mode) -> None:
    async with connected(f"{box[0].url()}/mcp", mode) as client:
        sampled = json.loads(text_of(await client.call_tool("sample", {})))
        folders = json.loads(text_of(await client.call_tool("folders", {})))

    assert sampled["content"] == {"type": "text", "text": "Hello!"}
    assert folders == {"roots": [{"uri": "file:///work", "name": "work"}]}


@pytest.mark.parametrize("mode", _MODES)
@pytest.mark.parametrize("era", _ERAS)
async def test_the_same_over_stdio(era: str, mode: Mode, tmp_path: Path) -> None:
    (tmp_path / "dogubako.toml").write_text(_table(tmp_path, era))
    settings = {"DOGUBAKO_DATA_DIR": str(tmp_path / "data"), "DOGUBAKO_DISCOVERY": "full"}
    words = ["-m", "dogubako", "stdio"]
    env = environment(tmp_path, settings)
    server = mcp.StdioServerParameters(command=sys.executable, args=words, env=env, cwd=tmp_path)
    person = Person()
    seen: list[float] = []

    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    with (tmp_path / "stderr").open("w") as errors:
        async with connected(mcp.stdio_client(server, errlog=errors), mode, person) as client:
            echoed = text_of(await client.call_tool("echo", {"text": "a"}))
            answer = json.loads(text_of(await client.call_tool("ask", {})))
            stepped = text_of(await client.call_tool("steps", {}, progress_callback=progressed))
            # A call that has talked, and so was handed over, is cancelled like any other.
            call = asyncio.create_task(client.call_tool("pace", {}, progress_callback=progressed))
            await until(lambda: 0.5 in seen, "the progress of the call")
            call.cancel()
            await until(lambda: marked(tmp_path / f"{era}.marks", "cancelled") > 0, "the cancellation")
            again = text_of(await client.call_tool("echo", {"text": "b"}))

    assert (echoed, stepped, again) == ("a", "stepped", "b")
    assert 3.0 in seen
    assert answer == {"action": "accept", "content": {"name": "Aiko"}}
