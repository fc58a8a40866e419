"""What a stdio server may do wrong: each time the call ends with a helpful error, and the server is usable again."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from dogubako.contract.errors import AnswerTooLargeError, ApiError, ToolNotFoundError
from dogubako.gateway import connection, handshake, stdio_process
from tests.process_tree import is_alive

from .upstreams import client, fake, running, until

pytestmark = pytest.mark.slow


async def test_a_server_that_is_killed_in_a_call_is_started_again_and_the_call_is_not_repeated(tmp_path: Path) -> None:
    async with running(fake("legacy"), tmp_path) as server:
        with pytest.raises(ApiError) as raised:
            await server.call("die")

        assert raised.value.hint == "It may have been done all the same: look first."
        assert not raised.value.transient
        assert await server.call("echo", text="again") == "again"
        assert server.marked("call die") == 1


async def test_a_lost_answer_of_a_reading_tool_may_be_asked_for_again(tmp_path: Path) -> None:
    async with running(fake("legacy"), tmp_path) as server:
        with pytest.raises(ApiError) as raised:
            await server.call("die", idempotent=True)

        assert raised.value.transient


async def test_a_server_that_ignores_the_end_of_its_input_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio_process, "EOF_SECONDS", 0.1)
    async with running(fake("legacy", "ignore_eof"), tmp_path) as server:
        await server.is_in("ready")
        [pid] = server.pids()
        assert is_alive(pid)

    assert not is_alive(pid)


async def test_noise_on_stdout_is_counted_and_shown(tmp_path: Path) -> None:
    async with running(fake("legacy", "noise"), tmp_path) as server:
        assert await server.call("echo", text="a") == "a"
        state = server.upstream.state

    assert (state.noise_lines, state.last_stderr) == (3, "[1, 2]")


async def test_a_line_of_50_megabytes_is_refused_and_the_process_goes_on(tmp_path: Path) -> None:
    async with running(fake("legacy"), tmp_path) as server:
        with pytest.raises(AnswerTooLargeError, match="larger than 32 MB"):
            await server.call("big", text=str(50 * 1024 * 1024))

        assert await server.call("echo", text="still here") == "still here"
        assert len(server.pids()) == 1


async def test_a_line_of_10_megabytes_arrives(tmp_path: Path) -> None:
    async with running(fake("legacy"), tmp_path) as server:
        assert len(await server.call("big", text=str(10 * 1024 * 1024))) == 10 * 1024 * 1024


async def test_a_server_that_never_answers_initialize_is_unreachable_and_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handshake, "START_SECONDS", 1.0)
    async with running(fake("legacy", "hang_initialize"), tmp_path) as server:
        with pytest.raises(ApiError, match="did not answer in time"):
            await server.call("echo")
        pid = server.pids()[0]
        await until(lambda: not is_alive(pid))


async def test_a_server_that_exits_on_discover_is_started_in_the_older_era(tmp_path: Path) -> None:
    async with running(fake("legacy", "exit_on_discover"), tmp_path) as server:
        assert await server.call("echo", text="a") == "a"

        assert (len(server.pids()), server.definitions[0].protocol) == (2, "2025-11-25")


@pytest.mark.parametrize(("era", "protocol"), [("legacy", "2025-11-25"), ("modern", "2026-07-28")])
async def test_a_server_that_is_silent_at_first_is_asked_in_both_eras_at_once(
    era: str, protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Both answers arrive after the first message has waited long enough.
    monkeypatch.setattr(handshake, "DISCOVER_SECONDS", 0.0)
    faults = ["silent_discover"] if era == "legacy" else []
    async with running(fake(era, *faults), tmp_path) as server:
        assert await server.call("echo", text="a") == "a"

        assert (len(server.pids()), server.definitions[0].protocol) == (1, protocol)


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_storm_of_changes_is_one_reading_of_the_lists(
    era: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "DEBOUNCE_SECONDS", 0.3)
    async with running(fake(era), tmp_path) as server:
        await server.is_in("ready")
        await asyncio.sleep(0)
        assert await server.call("storm") == "stormed"
        await server.call("grow")
        await until(lambda: len(server.definitions) == 2)

        assert "grown" in {tool["name"] for tool in server.definitions[-1].tools}
        # At the start, and after the changes: at most once for each of the two calls.
        assert server.marked("list") <= 3


async def test_a_tool_without_a_schema_costs_no_other_tool(tmp_path: Path) -> None:
    async with running(fake("legacy", "no_schema"), tmp_path) as server:
        await server.is_in("ready")

        [definitions] = server.definitions
    assert len(definitions.tools) > 10
    assert definitions.faults == (f"Tool {len(definitions.tools) + 1} (bare) has no inputSchema.",)


async def test_the_last_words_of_a_process_are_the_reason(tmp_path: Path) -> None:
    async with running(fake("legacy", "stderr"), tmp_path) as server:
        with pytest.raises(ApiError, match=r"The variable TOKEN is missing\."):
            await server.call("echo")

        assert server.upstream.state.last_stderr == "The variable TOKEN is missing."


async def test_a_missing_command_is_not_tried_again(tmp_path: Path) -> None:
    settings = fake("legacy").model_copy(update={"command": "no-such-command"})
    async with running(settings, tmp_path) as server:
        await server.is_in("broken_configuration")
        since = server.upstream.state.since
        with pytest.raises(ApiError, match="'no-such-command' is not installed"):
            await server.call("echo")

        assert server.upstream.state.since == since


async def test_one_sick_server_costs_the_others_nothing(tmp_path: Path) -> None:
    async with (
        running(fake("legacy", "hang_initialize"), tmp_path, "hanging"),
        running(fake("legacy", "stderr"), tmp_path, "dying"),
        running(fake("modern"), tmp_path, "well") as well,
    ):
        waiting = asyncio.create_task(well.call("wait"))
        assert await well.call("echo", text="a") == "a"
        waiting.cancel()


async def test_a_stopped_process_does_not_block_the_loop(tmp_path: Path) -> None:
    async with running(fake("legacy"), tmp_path) as server:
        await server.is_in("ready")
        [pid] = server.pids()
        os.kill(pid, signal.SIGSTOP)
        started = time.process_time()
        calls = [asyncio.create_task(server.call("echo", text="x" * 100_000)) for _ in range(20)]
        await asyncio.sleep(0.2)
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)
        os.kill(pid, signal.SIGCONT)

        assert time.process_time() - started < 5
        assert await server.call("echo", text="awake") == "awake"


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_an_unknown_tool_is_our_error_in_our_words(era: str, tmp_path: Path) -> None:
    async with running(fake(era), tmp_path) as server:
        with pytest.raises(ToolNotFoundError, match="The server 'fake' no longer has this tool"):
            await server.call("nonsense")


async def test_an_error_of_a_tool_has_the_words_of_the_server(tmp_path: Path) -> None:
    async with running(fake("legacy"), tmp_path) as server:
        with pytest.raises(ApiError, match=r"The server 'fake' reports an error: The disk is full\."):
            await server.call("fail")


async def test_a_server_sleeps_when_idle_and_wakes_on_a_call(tmp_path: Path) -> None:
    async with running(fake("legacy", idle_timeout=0.2), tmp_path) as server:
        await server.is_in("sleeping")
        await until(lambda: not is_alive(server.pids()[0]))

        assert await server.call("echo", client(), text="awake") == "awake"
        assert len(server.pids()) == 2


async def test_a_restart_begins_a_new_process(tmp_path: Path) -> None:
    async with running(fake("modern"), tmp_path) as server:
        await server.is_in("ready")
        await server.upstream.restart()
        await until(lambda: len(server.pids()) == 2)

        assert await server.call("echo", text="again") == "again"


async def test_memory_beyond_the_limit_ends_the_process(tmp_path: Path) -> None:
    async with running(fake("legacy", memory_limit=100), tmp_path) as server:
        with pytest.raises(ApiError, match="more than 100 MB of memory and was ended"):
            await server.call("hog")

        assert await server.call("echo", text="again") == "again"


async def test_half_a_character_in_an_argument_or_an_answer_costs_no_call(tmp_path: Path) -> None:
    async with running(fake("legacy"), tmp_path) as server:
        assert await server.call("echo", text="a\ud800b") == "a\ufffdb"
        # The server writes it as an escape, which strict readers refuse.
        assert await server.call("half") == "\ufffd"
        assert server.upstream.state.noise_lines == 0
