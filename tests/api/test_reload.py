"""`serve --reload`: what changes in a tools file is served at once; what is broken is named, and the old stays."""

import os
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from dogubako.reload import Reloader
from dogubako.testing import client
from tests.doors.processes import run, serving

FIRST = '''
from collections.abc import AsyncIterator
from dogubako import Context, lifespan, resource, tool

@lifespan
async def shared() -> AsyncIterator[list[str]]:
    lines = ["first"]
    yield lines
    lines.append("closed")

@tool(effect="read")
async def hello(context: Context) -> str:
    """Greet."""
    return context.client[0]

@resource("hello://there")
async def there() -> str:
    """There."""
    return "first"
'''
SECOND = FIRST.replace('"first"', '"second"').replace("async def hello", "async def hello_again")


async def test_a_changed_file_is_served_with_what_it_shares(tmp_path: Path) -> None:
    path = tmp_path / "greet.py"
    path.write_text(FIRST)
    async with client(path) as box:
        reloader, old = Reloader(box.box), box.box.packs["greet"].client
        assert reloader.changed() == []
        # Of the same length, in the same second: only the content tells.
        path.write_text(SECOND)
        os.utime(path, ns=(1, 1))
        assert reloader.changed() == [path]
        await reloader.reload(path)

        assert (await box.call("hello_again")).text == "second"
        assert (await box.call("hello")).error.code == "TOOL_NOT_FOUND"  # type: ignore[union-attr]
        assert await box.read("hello://there") == "second"
        assert box.box.packs["greet"].client == ["second"]
    assert old == ["first", "closed"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("def broken(:\n", "line 1", id="a syntax error"),
        pytest.param("x = 1\n", "has no tools", id="no tools"),
        pytest.param(
            FIRST.replace('"""Greet."""', "").replace("Greet", ""), "description is required", id="a bad tool"
        ),
        pytest.param(
            FIRST.replace("async def hello", "async def search_tools"), "already registered", id="a taken name"
        ),
    ],
)
async def test_a_broken_file_is_named_and_the_old_tools_stay(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "greet.py"
    path.write_text(FIRST)
    async with client(path) as box:
        path.write_text(text)
        with capture_logs() as logs:
            await Reloader(box.box).reload(path)

        assert (await box.call("hello")).text == "first"
        assert await box.read("hello://there") == "first"
    complaint: Any = next(line for line in logs if line["event"] == "Tools file could not be reloaded")
    assert reason in complaint["reason"]


def test_a_running_server_serves_the_changed_file(tmp_path: Path) -> None:
    path = tmp_path / "greet.py"
    path.write_text(FIRST)
    with serving(path, folder=tmp_path, words=["--reload"]) as server:
        server.url()
        path.write_text(SECOND)
        server.stderr.first(lambda line: b"Tools file reloaded" in line and b"hello_again" in line)


def test_several_workers_do_not_watch(tmp_path: Path) -> None:
    outcome = run("serve", "--port", "0", "--reload", "--workers", "2", folder=tmp_path)

    assert outcome.returncode == 2
    assert "--reload watches tools files in one process" in outcome.stderr


def test_a_failing_file_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "greet.py"
    path.write_text("from dogubako import tool\n\n\ntool.nothing()\n")
    outcome = run("tools", "list", "--tools", str(path), folder=tmp_path)

    assert outcome.returncode == 2
    assert f"{path}, line 4, could not be loaded: AttributeError" in outcome.stderr


LIFESPAN = """
import anyio
from collections.abc import AsyncIterator
from dogubako import lifespan, tool

@lifespan
async def shared() -> AsyncIterator[None]:
    {action}
    yield

@tool(effect="read")
async def hello() -> str:
    "Greet."
    return "broken"
"""


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("raise KeyboardInterrupt", id="interrupts"),
        pytest.param("import asyncio\nraise asyncio.CancelledError", id="cancels"),
        pytest.param("raise BaseExceptionGroup('two', [SystemExit(1)])", id="raises a group"),
        pytest.param("TOOLS = 5", id="no tools"),
        pytest.param(LIFESPAN.format(action="raise RuntimeError('no')"), id="a lifespan that raises"),
        pytest.param(LIFESPAN.format(action="raise SystemExit(3)"), id="a lifespan that exits"),
        pytest.param(LIFESPAN.format(action="await anyio.sleep_forever()"), id="a lifespan that hangs"),
    ],
)
async def test_whatever_a_file_does_the_old_tools_stay_and_the_next_change_is_served(
    tmp_path: Path, content: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dogubako.reload._MOST_SECONDS", 0.2)
    path = tmp_path / "greet.py"
    path.write_text(FIRST)
    async with client(path) as box:
        reloader = Reloader(box.box)
        path.write_text(content)
        with capture_logs() as logs:
            await reloader.reload(path)
        assert [line["event"] for line in logs if line["log_level"] == "error"] == ["Tools file could not be reloaded"]
        assert (await box.call("hello")).text == "first"

        path.write_text(SECOND)
        await reloader.reload(path)
        assert (await box.call("hello_again")).text == "second"
