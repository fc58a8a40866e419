"""Told to stop, the server lets running calls finish, ends what only waits, leaves behind what never ends: code 0."""

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from . import messages
from .pipe import speaking
from .processes import HERE, PATIENCE, WORKBENCH, Command, run, serving, tool_words
from .waiting import says

_ODD = HERE / "odd_tools.py"
_TOOLS = (WORKBENCH, _ODD)
_TALKATIVE = {"LOG_LEVEL": "debug"}
# Whoever waits in vain waits for this, which is longer than the patience of a test.
_LONG_GRACE = {"DOGUBAKO_SHUTDOWN_GRACE": "600"}


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as threads:
        yield threads


def _post(url: str, path: str, body: Any, headers: dict[str, str] | None = None) -> httpx2.Response:
    return httpx2.post(f"{url}{path}", json=body, headers=headers, timeout=PATIENCE)


def _stop(command: Command, number: int = signal.SIGTERM) -> int:
    """The exit code. Who waits for something that does not end is not done within the patience of a test."""
    command.signal(number)
    return command.wait()


async def test_serve_answers_its_running_calls_before_it_ends(tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    with serving(*_TOOLS, folder=tmp_path, settings=_TALKATIVE) as server:
        url = server.url()
        first, second = ({"marker": str(tmp_path / name), "seconds": 0.7} for name in ("rest", "mcp"))
        modern = messages.request("tools/call", messages.call("pause", second, modern=True))
        talking = messages.request("tools/call", messages.call("slow", {"seconds": 0.7}, modern=True))
        answers = [
            threads.submit(_post, url, "/v1/tools/call", {"name": "pause", "parameters": first}),
            threads.submit(_post, url, "/mcp", modern, messages.modern_headers("tools/call", "pause")),
            threads.submit(_post, url, "/mcp", talking, messages.modern_headers("tools/call", "slow")),
        ]
        await says(tmp_path / "rest", "started")
        await says(tmp_path / "mcp", "started")
        server.stderr.first(lambda line: b"Tool invoked" in line and b"slow" in line)
        assert _stop(server) == 0
        assert answers[0].result().json()["result"] == "done"
        assert answers[1].result().json()["result"]["content"][0]["text"] == "done"
        assert answers[2].result().json()["result"]["content"][0]["text"] == "Took 0.7 s."


async def test_stdio_answers_its_running_calls_before_it_ends(tmp_path: Path) -> None:
    with speaking(*_TOOLS, folder=tmp_path, settings=_TALKATIVE) as pipe:
        pipe.open()
        talking = pipe.start_call("slow", {"seconds": 1})
        plain = pipe.start_call("pause", {"marker": str(tmp_path / "marker"), "seconds": 0.7})
        await says(tmp_path / "marker", "started")
        pipe.command.stderr.first(lambda line: b"Tool invoked" in line and b"slow" in line)
        assert _stop(pipe.command) == 0
        assert pipe.response(plain)["result"]["content"][0]["text"] == "done"
        assert pipe.response(talking)["result"]["content"][0]["text"] == "Took 1 s."


@pytest.mark.slow
async def test_a_call_that_outlasts_the_grace_time_is_cancelled(tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    markers = {door: tmp_path / door for door in ("rest", "stdio")}
    grace = {"DOGUBAKO_SHUTDOWN_GRACE": "1"}
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with (
        serving(*_TOOLS, folder=tmp_path / "a", settings=grace) as server,
        speaking(*_TOOLS, folder=tmp_path / "b", settings=grace) as pipe,
    ):
        body = {"name": "linger", "parameters": {"marker": str(markers["rest"])}}
        waiting = threads.submit(_post, server.url(), "/v1/tools/call", body)
        pipe.open()
        pipe.start_call("linger", {"marker": str(markers["stdio"])})
        for marker in markers.values():
            await says(marker, "started")
        ends = threads.submit(_stop, server), threads.submit(_stop, pipe.command)

        assert [end.result() for end in ends] == [0, 0]
        answer = waiting.result()
    assert [marker.read_text() for marker in markers.values()] == ["cancelled", "cancelled"]
    assert (answer.status_code, answer.json()["code"], answer.json()["retryable"]) == (503, "BUSY", True)
    assert "Traceback" not in server.stderr.text()


@pytest.mark.slow
async def test_an_answer_that_has_begun_as_a_stream_ends_in_order(tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    marker = tmp_path / "marker"
    body = messages.request("tools/call", messages.call("linger_talking", {"marker": str(marker)}, modern=False))
    with serving(*_TOOLS, folder=tmp_path, settings={"DOGUBAKO_SHUTDOWN_GRACE": "1"}) as server:
        opening = messages.request("initialize", messages.initialize())
        session = _post(server.url(), "/mcp", opening, messages.legacy_headers()).headers["mcp-session-id"]
        ready = messages.notification("notifications/initialized")
        _post(server.url(), "/mcp", ready, messages.legacy_headers(session))
        waiting = threads.submit(_post, server.url(), "/mcp", body, messages.legacy_headers(session))
        await says(marker, "started")
        assert _stop(server) == 0
        answer = waiting.result()

    assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, "text/event-stream")
    assert "without completing response" not in server.stderr.text()


@pytest.mark.slow
def test_open_streams_do_not_keep_the_server(tmp_path: Path) -> None:
    with serving(*_TOOLS, folder=tmp_path, settings=_LONG_GRACE) as server, ExitStack() as stack:
        client = stack.enter_context(httpx2.Client(base_url=server.url(), timeout=PATIENCE))
        opened = client.post(
            "/mcp", json=messages.request("initialize", messages.initialize()), headers=messages.legacy_headers()
        )
        listening = {"notifications": {"toolsListChanged": True}, "_meta": messages.envelope()}
        modern = stack.enter_context(
            client.stream(
                "POST",
                "/mcp",
                json=messages.request("subscriptions/listen", listening),
                headers=messages.modern_headers("subscriptions/listen"),
            )
        )
        assert "acknowledged" in next(line for line in modern.iter_lines() if line.startswith("data:"))
        legacy = stack.enter_context(
            client.stream("GET", "/mcp", headers=messages.legacy_headers(opened.headers["mcp-session-id"]))
        )
        assert legacy.status_code == 200

        # Nothing was running that could need the grace time.
        assert _stop(server, signal.SIGINT) == 0


@pytest.mark.slow
def test_tools_that_never_end_do_not_keep_the_process(tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with (
        serving(_ODD, folder=tmp_path / "a", settings=_LONG_GRACE) as server,
        speaking(_ODD, folder=tmp_path / "b", settings=_LONG_GRACE) as pipe,
    ):
        pipe.open()
        for tool, arguments in (("never_end", {}), ("block", {"seconds": 300})):
            call = {"name": tool, "parameters": arguments, "options": {"timeout": 50}}
            answer = threads.submit(_post, server.url(), "/v1/tools/call", call)
            result = pipe.call(tool, arguments, options={"timeout": 50})["result"]
            assert answer.result().json()["code"] == result["_meta"]["code"] == "TIMEOUT"
        ends = threads.submit(_stop, server), threads.submit(_stop, pipe.command)

        assert [end.result() for end in ends] == [0, 0]


@pytest.mark.slow
def test_lines_that_were_refused_are_not_waited_for(tmp_path: Path) -> None:
    with speaking(WORKBENCH, folder=tmp_path, settings=_LONG_GRACE) as pipe:
        pipe.open()
        for line in (
            b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}\n',
            b'{"jsonrpc": "2.0", "id": 8, "method": "ping", "params": [1]}\n',
            b'{"jsonrpc": "2.0", "id": 9, "method": 5}\n',
        ):
            pipe.oddity(line)

        assert _stop(pipe.command) == 0


@pytest.mark.slow
def test_requests_from_a_file_are_all_answered(tmp_path: Path) -> None:
    script = [
        messages.request("initialize", messages.initialize(), request_id=0),
        messages.notification("notifications/initialized"),
        messages.request("tools/call", messages.call("echo", {"text": "a"}, modern=False), request_id=1),
        messages.request("tools/call", messages.call("slow", {"seconds": 0.2}, modern=False), request_id=2),
        messages.request("tools/list", request_id=3),
    ]
    (tmp_path / "requests.jsonl").write_text("".join(messages.line(one) for one in script))
    with (tmp_path / "requests.jsonl").open("rb") as requests:
        ended = run("stdio", *tool_words(*_TOOLS), folder=tmp_path, stdin=requests)
    answers = {one["id"]: one for one in messages.lines(ended.stdout) if "method" not in one}

    assert ended.returncode == 0
    assert answers.keys() == {0, 1, 2, 3}
    assert answers[2]["result"]["content"][0]["text"] == "Took 0.2 s."
