"""Authors observe calls: with `OBSERVERS` of a tools file, `observers` of a pack, and `Toolbox.observe`."""

import json
import urllib.request
from pathlib import Path
from typing import Any

import anyio.lowlevel

from dogubako import Context, prompt, resource, tool
from dogubako.reload import Reloader
from dogubako.testing import client
from dogubako.tools import CallEnd, CallObserver, Resource, ToolCall, ToolMetadata, ToolPack
from tests.doors.processes import serving


class Recorder(CallObserver):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[Any] = []

    def started(self, call: ToolCall, tool: ToolMetadata) -> None:
        self.events.append(("started", tool.name, tool.effect.value))

    def progressed(self, call: ToolCall, done: float, total: float | None, message: str | None) -> None:
        self.events.append(("progressed", done, total, message))

    def ended(self, call: ToolCall, end: CallEnd) -> None:
        self.events.append(("ended", call.name, end.code))


@tool
async def dig(context: Context) -> str:
    """Dig a hole."""
    await context.progress(1, 1, "done")
    return "dug"


async def test_an_observer_of_a_pack_is_told_of_start_progress_and_end() -> None:
    recorder = Recorder()
    pack = ToolPack("garden", (dig,))
    pack.observers = (recorder,)

    async with client(pack) as box:
        await box.call("dig")
        await box.call("search_tools", query=5)

    assert recorder.events == [
        ("started", "dig", "write"),
        ("progressed", 1, 1, "done"),
        ("ended", "dig", "OK"),
        ("ended", "search_tools", "VALIDATION_ERROR"),
    ]


async def test_an_observer_of_a_toolbox_can_be_removed() -> None:
    recorder = Recorder()
    async with client(dig) as box:
        remove = box.box.observe(recorder)
        await box.call("dig")
        remove()
        await box.call("dig")

    assert [event[0] for event in recorder.events] == ["started", "progressed", "ended"]


async def test_an_observer_of_a_file_goes_when_the_file_is_reloaded_without_it(tmp_path: Path) -> None:
    path = tmp_path / "watched.py"
    path.write_text(OBSERVED.replace("raise", "return  #"), encoding="utf-8")
    async with client(path) as box:
        await box.call("greet", name="Ada")
        path.write_text(OBSERVED.replace("OBSERVERS", "NOTHING"), encoding="utf-8")
        await Reloader(box.box).reload(path)
        await box.call("greet", name="Ada")

    assert (tmp_path / "calls.txt").read_text() == "greet OK\n"


OBSERVED = '''
from pathlib import Path

from dogubako import tool
from dogubako.tools import CallEnd, CallObserver, ToolCall, ToolMetadata


class Counter:
    def started(self, call: ToolCall, tool: ToolMetadata) -> None:
        pass

    def progressed(self, call: ToolCall, done: float, total: float | None, message: str | None) -> None:
        pass

    def ended(self, call: ToolCall, end: CallEnd) -> None:
        with Path(__file__).with_name("calls.txt").open("a") as file:
            file.write(f"{call.name} {end.code}\\n")
        raise RuntimeError("the observer failed")


OBSERVERS = [Counter()]


@tool(effect="read")
async def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello, {name}!"
'''


def _call(url: str, name: str) -> Any:
    body = json.dumps({"name": "greet", "parameters": {"name": name}}).encode()
    request = urllib.request.Request(f"{url}/v1/tools/call", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


def test_a_failing_observer_of_a_file_is_logged_and_the_call_is_answered(tmp_path: Path) -> None:
    path = tmp_path / "watched.py"
    path.write_text(OBSERVED, encoding="utf-8")

    with serving(path, folder=tmp_path) as server:
        url = server.url().rstrip("/")
        assert _call(url, "s3cr3t-name")["result"] == "Hello, s3cr3t-name!"
        server.stderr.first(lambda line: b"Counter.ended" in line)

    assert (tmp_path / "calls.txt").read_text() == "greet OK\n"
    assert "RuntimeError: the observer failed" in server.log_file
    assert "s3cr3t-name" not in server.log_file + server.stderr.text()


@resource("garden://bed")
async def bed() -> str:
    """The flower bed."""
    return "tulips"


@prompt
async def plant() -> str:
    """Plant something."""
    return "Plant tulips."


async def test_an_observer_hears_of_resources_and_prompts_too() -> None:
    recorder = Recorder()
    pack = ToolPack("garden", (dig,))
    assert isinstance(bed, Resource)
    pack.observers, pack.resources, pack.prompts = (recorder,), (bed,), (plant,)

    async with client(pack) as box:
        await box.read("garden://bed")
        await box.prompt("plant")
        # Observers are told on the next turn of the loop.
        await anyio.lowlevel.checkpoint()

    assert recorder.events == [("ended", "resources/read", "OK"), ("ended", "prompts/get", "OK")]
