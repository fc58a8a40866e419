"""A server in shapes that nobody uses costs nobody anything: not its other calls, no terminal, and not the budget."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import structlog.testing

from dogubako.app import Toolbox
from dogubako.cli.upstreams import show_tools
from dogubako.contract.call import ToolCall
from dogubako.contract.errors import ApiError
from dogubako.gateway.servers import Servers, ServerSources
from dogubako.gateway.settings import ServerSettings
from dogubako.settings import Sources

from . import hostile_server
from .boxes import Fleet, eventually, offering
from .upstreams import FakeClient, Running, client, running, until

HOSTILE = Path(hostile_server.__file__)
TABLE = {"command": sys.executable, "args": ["-I", "-S", str(HOSTILE)], "pinning": "off"}

slow = pytest.mark.slow


@asynccontextmanager
async def hostile(folder: Path) -> AsyncIterator[Running]:
    settings = ServerSettings(command=sys.executable, args=("-I", "-S", str(HOSTILE)))
    async with running(settings, folder) as server:
        await server.is_in("ready")
        yield server


@slow
async def test_questions_before_the_greeting_and_endless_pages_cost_nothing(tmp_path: Path) -> None:
    async with hostile(tmp_path) as server:
        names = [tool["name"] for tool in server.definitions[-1].tools]

        assert names == hostile_server.NAMES
        assert await server.call("課題を探す") == "課題を探す"


@slow
@pytest.mark.parametrize(
    ("name", "text"),
    [("twice", "first"), ("another_id", "by a string"), ("odd_questions", "asked"), ("true_id", "mine")],
)
async def test_an_odd_answer_is_for_nobody_else(tmp_path: Path, name: str, text: str) -> None:
    async with hostile(tmp_path) as server:
        assert await server.call(name) == text
        assert await asyncio.gather(*(server.call("echo") for _ in range(5))) == ["echo"] * 5


@slow
async def test_numbers_that_nobody_can_read_fail_their_call_at_once(tmp_path: Path) -> None:
    conversation = FakeClient()
    async with hostile(tmp_path) as server:
        with pytest.raises(ApiError, match="cannot be read"):
            await server.call("huge_numbers", client(conversation))

        assert conversation.progressed == []
        assert await server.call("echo") == "echo"


@slow
async def test_a_list_that_is_none_does_not_take_tools_away(tmp_path: Path) -> None:
    async with hostile(tmp_path) as server:
        with structlog.testing.capture_logs() as logs:
            assert await server.call("answer_lists_with_a_result") == "changed"
            await until(lambda: any("no list of tools" in str(line.get("reason")) for line in logs))

        assert [tool["name"] for tool in server.definitions[-1].tools] == hostile_server.NAMES
        assert await server.call("echo") == "echo"


@slow
async def test_a_server_that_closes_its_output_and_stays_is_started_again(tmp_path: Path) -> None:
    async with hostile(tmp_path) as server:
        with pytest.raises(ApiError, match="was lost"):
            await server.call("close_stdout")

        assert await server.call("echo") == "echo"


@slow
async def test_five_thousand_blocks_fit_the_budget(tmp_path: Path) -> None:
    settings = Sources.only({"data_dir": tmp_path, "max_response_tokens": 2_000}).load()
    sources = ServerSources(
        tables={"one": TABLE}, environ={}, data_dir=tmp_path, config_file=tmp_path / "dogubako.toml"
    )
    box = Toolbox(settings, [], servers=Servers(sources))
    async with box.running():
        await until(lambda: "many_blocks" in box.servers.packs["one"].served)
        answer = await box.pipeline.handle(ToolCall(name="many_blocks"))

    assert not answer.is_error
    assert answer.tokens <= 2_000
    assert answer.content[0]["text"].startswith("塊 0")


async def served(folder: Path, *names: str) -> dict[str, str]:
    fleet = Fleet(lists={"one": offering(*(hostile_server.definition(name) for name in names))})
    box = fleet.box(folder, {"one": {"pinning": "off"}})
    async with box.running():
        await eventually(lambda: bool(box.servers.packs["one"].served))
        found = {tool.remote_name: name for name, tool in box.servers.packs["one"].served.items()}
        for name in found.values():
            assert not (await box.pipeline.handle(ToolCall(name=name))).is_error
    return found


async def test_names_that_differ_only_in_case_are_different_tools(tmp_path: Path) -> None:
    long = [name for name in hostile_server.NAMES if len(name) == 64]

    assert len(long) == 3
    assert await served(tmp_path, *long) == {name: name for name in long}


async def test_names_in_another_script_get_names_that_last(tmp_path: Path) -> None:
    first = await served(tmp_path, "課題を探す", "課題を閉じ", "API-get")
    second = await served(tmp_path, "課題を閉じ", "API-get", "課題を探す")

    assert first == second
    assert first["API-get"] == "API-get"
    assert len(set(first.values())) == 3
    assert all(name.startswith("tool_") for tool, name in first.items() if not tool.isascii())


async def test_a_tool_is_found_by_its_name_in_another_script(tmp_path: Path) -> None:
    plain: dict[str, Any] = {**hostile_server.definition("課題を探す"), "description": "Does it."}
    box = Fleet(lists={"one": offering(plain)}).box(tmp_path, {"one": {"pinning": "off"}})
    async with box.running():
        await eventually(lambda: bool(box.servers.packs["one"].served))
        [tool] = box.servers.packs["one"].tools

    assert "課題を探す" in tool.keywords["en"]


def test_a_description_cannot_steer_the_terminal_of_who_approves_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    servers = Fleet().servers(tmp_path, {"one": {"pinning": "off"}})
    pack = servers.packs["one"]
    pack.look_at(offering(*(hostile_server.definition(name) for name in hostile_server.NAMES)))
    show_tools(pack)
    printed = capsys.readouterr().out

    assert "課題を言葉で探します。" in printed
    assert "\\x1b[2J" in printed
    assert not {"\x1b", "\x07", "\u202e"} & set(printed)
