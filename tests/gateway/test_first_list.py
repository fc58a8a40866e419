"""The first list of a server, and changes right after it: none is missed, however many servers start at once."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from .upstreams import fake, running, until

pytestmark = pytest.mark.slow

_AT_ONCE = 12


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_change_right_after_the_first_list_is_not_missed(era: str, tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(running(fake(era, "late_tools"), tmp_path, f"s{number}"))
            for number in range(_AT_ONCE)
        ]
        await until(lambda: all(one.definitions and one.definitions[-1].tools for one in servers))
        answers = await asyncio.gather(*(one.call("echo", text=str(at)) for at, one in enumerate(servers)))

    assert answers == [str(at) for at in range(_AT_ONCE)]


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_list_that_fails_once_is_read_again(era: str, tmp_path: Path) -> None:
    async with running(fake(era, "flaky_list"), tmp_path) as server:
        await server.is_in("ready")
        await server.call("grow")

        await until(lambda: any(tool["name"] == "grown" for tool in server.definitions[-1].tools))
        assert server.marked("list") == 3


async def test_a_server_started_again_and_again_has_its_tools_every_time(tmp_path: Path) -> None:
    async with running(fake("modern", "late_tools"), tmp_path) as server:
        for start in range(1, 9):
            await until(lambda start=start: sum(bool(one.tools) for one in server.definitions) >= start)  # type: ignore[misc]
            if start < 8:
                await server.upstream.restart()
