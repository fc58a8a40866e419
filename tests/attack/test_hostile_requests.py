"""Requests that cost a server much and a caller little: the event loop goes on all the same."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.doors import messages
from tests.doors.hostile import MESSAGES, RESTS, kind_of
from tests.doors.pipe import Pipe
from tests.doors.processes import HERE, PATIENCE, ROOT, WORKBENCH, running, tool_words
from tests.heartbeat import MOST_SECONDS, TRIES

from .conftest import Tally
from .server import HEARTBEAT, Target, target

pytestmark = pytest.mark.attack

_JSON: Final = {"content-type": "application/json"}
MEASURING: Final = HERE / "measuring_pack.py"
# Tools are built when they are first called, and the index of the search when something is first searched.
USED: Final = ("list_issues", "create_issue", "text_length", "picky", "picky_list", "echo", "ask", "call_tool")


def test_hostile_rest_requests(tmp_path: Path, tally: Tally) -> None:
    with _attacked(tmp_path, tally) as aim:
        for one in RESTS:
            ask = partial(aim.http.request, one.method, one.path, content=one.body().encode(), headers=_JSON)
            kind = kind_of(ask().json())
            tally.check(kind == one.kind, f"{one.name}: {kind}, not {one.kind}")
            aim.check_loop(tally, one.name, ask)


# `tests/doors/test_loop_stalls.py` sends all messages of both eras over both doors in one process. Here a real server
# gets them, each era over one door.
@pytest.mark.parametrize("modern", [True], ids=["2026"])
def test_hostile_messages_over_http(tmp_path: Path, tally: Tally, modern: bool) -> None:
    with _attacked(tmp_path, tally) as aim:
        session = None if modern else _session(aim)
        for one in MESSAGES:
            body = one.body(modern=modern)
            ask = partial(aim.http.post, "/mcp", content=body, headers=one.headers(body, session))
            answer = ask()
            kind = kind_of(messages.response_in(answer.headers["content-type"], answer.content))
            expected = one.expected(modern=modern)
            tally.check(kind == expected, f"{one.name}: {kind}, not {expected}")
            aim.check_loop(tally, one.name, ask)


@pytest.mark.parametrize("modern", [False], ids=["2025"])
def test_hostile_messages_over_stdio(tmp_path: Path, tally: Tally, modern: bool) -> None:
    words = ["stdio", *tool_words(WORKBENCH, HEARTBEAT, MEASURING), "--sandbox"]
    with running(*words, folder=tmp_path, settings={"PYTHONPATH": str(ROOT)}) as command:
        pipe = Pipe(command, modern=modern)
        if not modern:
            pipe.open()
        _warm_up(pipe.call)
        pipe.request("prompts/list", {"_meta": messages.envelope()} if modern else {})
        pipe.call("heartbeat")
        for one in MESSAGES:
            line, stalls = one.body(modern=modern) + b"\n", list[float]()
            while len(stalls) < TRIES and (not stalls or min(stalls) > MOST_SECONDS):
                start = command.stdout.count()
                pipe.send(line)
                # Some of the ids are hostile too; no other request is under way.
                answer = json.loads(command.stdout.first(lambda line: "method" not in json.loads(line), start=start))
                stalls.append(_structured(pipe.call("heartbeat"))["stall_ms"] / 1000)
            kind, expected = kind_of(answer), one.expected(modern=modern)
            tally.check(kind == expected, f"{one.name}: {kind}, not {expected}")
            tally.check_stall(min(stalls), one.name)


def test_hostile_framing(tmp_path: Path, tally: Tally) -> None:
    """Bodies in tiny pieces, floods of headers and of requests: what is dear before there is a body at all."""
    head = b"POST /v1/tools/call HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    rows = {
        "a body in pieces of one byte": head + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\n \r\n" * 600_000,
        "a flood of headers": head + b"a:\r\n" * 500_000,
        "a flood of requests": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50_000,
        "a header without an end": head + b"X: " + b"a" * 2_000_000,
        "an address without an end": b"GET /" + b"a" * 2_000_000,
        "a flood of chunk extensions": head + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"a=b;" * 500_000,
    }
    with _attacked(tmp_path, tally) as aim:
        for name, sent in rows.items():
            _pour(aim.url, sent)
            aim.check_loop(tally, name, partial(_pour, aim.url, sent))


def _pour(url: str, sent: bytes) -> None:
    """Send as much of it as the server takes, and read whatever it says."""
    place = urlsplit(url)
    with socket.create_connection((place.hostname, place.port), PATIENCE) as connection:
        connection.settimeout(PATIENCE)
        reader = threading.Thread(target=_drain, args=(connection,), daemon=True)
        reader.start()
        try:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
        except (ConnectionError, OSError):
            # It was refused before it had been read.
            pass
        reader.join(PATIENCE)


def _drain(connection: socket.socket) -> None:
    try:
        while connection.recv(65_536):
            pass
    except OSError:
        return


def _session(aim: Target) -> str:
    opening = messages.request("initialize", messages.initialize())
    session = str(aim.http.post("/mcp", json=opening, headers=messages.legacy_headers()).headers["mcp-session-id"])
    ready = messages.notification("notifications/initialized")
    aim.http.post("/mcp", json=ready, headers=messages.legacy_headers(session))
    return session


def _warm_up(call: Callable[..., Any]) -> None:
    for name in USED:
        call(name, {"unknown": 1})
    call("search_tools", {"query": "a"})


def _structured(answer: dict[str, Any]) -> dict[str, float]:
    data = json.loads(answer["result"]["content"][0]["text"])["data"]
    assert isinstance(data, dict)
    return data


@contextmanager
def _attacked(folder: Path, tally: Tally) -> Iterator[Target]:
    """A server that has been used before, and that somebody else asks all the time how it is."""
    with target(MEASURING, folder=folder) as aim:
        _warm_up(lambda name, arguments: aim.call(name, **arguments))
        aim.heartbeat()
        with _neighbour(aim.url) as answers:
            yield aim
        tally.check(len(answers) > 0 and set(answers) == {200}, f"/healthz answered {sorted(set(answers))}")


@contextmanager
def _neighbour(url: str) -> Iterator[list[int]]:
    """Another client, which asks for the server's health until the block ends."""
    answers: list[int] = []
    over = threading.Event()

    def ask() -> None:
        with httpx2.Client(base_url=url, timeout=PATIENCE, trust_env=False) as client:
            while not over.wait(0.05):
                answers.append(client.get("/healthz").status_code)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    try:
        yield answers
    finally:
        over.set()
        asking.join(PATIENCE)
