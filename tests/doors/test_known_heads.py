"""A head that came before is not parsed again, and the answer is the one that a new connection gets."""

import asyncio
import json
import random
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from dogubako.app import build
from dogubako.gate.api_keys import KeyStore
from dogubako.settings import Sources
from dogubako.transports.http import known_heads, whole_responses
from dogubako.transports.http.app import HttpApp
from scripts.call_driver import WORKBENCH, HttpConnection, post
from tests.doors.waiting import until

pytestmark = pytest.mark.anyio

_META: Final = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1.0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
_MODERN: Final = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "echo",
}
_CHANGING: Final = re.compile(
    rb"(?:date|mcp-session-id): [^\r]*\r\n|content-length: \d+\r\n"
    rb'|"executionTime":\d+|"timestamp":"[^"]*"|"errorId":"[^"]*"'
)


_SLOW_TOOL: Final = '''
import asyncio

from dogubako import tool


@tool(effect="read")
async def dawdle() -> str:
    """Answer after some turns of the event loop."""
    for _ in range(5):
        await asyncio.sleep(0)
    return "at last"


TOOLS = (dawdle,)
'''
_MORE_HEADERS: Final = (
    b"connection: close",
    b"expect: 100-continue",
    b"transfer-encoding: chunked",
    b"host: evil.example",
    b"content-length: 3",
    b"origin: http://evil.example",
    b"mcp-name: other",
    b"x: 1\n y",
    b"accept: text/html",
)


def _rest(text: str, **headers: str) -> bytes:
    return post("/v1/tools/call", {"name": "echo", "parameters": {"text": text}}, headers)


def _mcp(text: str, **headers: str) -> bytes:
    params = {"name": "echo", "arguments": {"text": text}, "_meta": _META}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return post("/mcp", message, {**_MODERN, **headers})


@asynccontextmanager
async def _app(**overrides: Any) -> AsyncIterator[HttpApp]:
    chosen = {"tools": (WORKBENCH,), "packs": ("core",), **overrides}
    app = HttpApp(build(Sources(overrides=chosen, environ={}, env_file=None)))
    async with app._lifespan(app):
        yield app


class _Taken:
    """Counts the requests that did not need the parser."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        # Of these, those that were answered without ASGI.
        self.at_once = 0
        take, write = known_heads.KnownHeadsProtocol._is_taken, known_heads.KnownHeadsProtocol._write_whole

        def counted(protocol: known_heads.KnownHeadsProtocol, data: bytes) -> bool:
            is_taken = take(protocol, data)
            self.count += is_taken
            return is_taken

        def written(protocol: known_heads.KnownHeadsProtocol, response: bytes) -> None:
            self.at_once += 1
            write(protocol, response)

        monkeypatch.setattr(known_heads.KnownHeadsProtocol, "_is_taken", counted)
        monkeypatch.setattr(known_heads.KnownHeadsProtocol, "_write_whole", written)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> _Taken:
    return _Taken(monkeypatch)


def _said(answer: bytes) -> bytes:
    """What does not differ from call to call."""
    return _CHANGING.sub(b"", answer)


async def _answer(connection: HttpConnection, raw: bytes) -> bytes:
    """What the server says within some turns of the loop: a request gets no answer before its rest arrives."""
    connection.send(raw)
    for _ in range(50):
        await asyncio.sleep(0)
    return _said(connection.written)


@pytest.mark.parametrize("request_of", [_rest, _mcp])
async def test_the_second_request_is_taken_and_answered_in_the_same_way(request_of: Any, taken: _Taken) -> None:
    async with _app() as app:
        connection = HttpConnection(app)
        first = await connection.request(request_of("hello"))
        counts = [taken.count]
        second = await connection.request(request_of("world"))
        counts.append(taken.count)
        connection.close()

    assert counts == [0, 1]
    assert taken.at_once == 1
    assert _said(second) == _said(first).replace(b"hello", b"world")


@pytest.mark.parametrize("request_of", [_rest, _mcp])
async def test_mutated_requests_get_the_answers_of_a_server_that_remembers_nothing(
    request_of: Any, taken: _Taken, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each mutation follows its original on one connection. On the other connection nothing is remembered."""
    chance, raw, seen, tries = random.Random(21), request_of("hello"), 0, 400
    async with _app() as app:
        for _ in range(tries):
            mutated = _mutated(raw, chance)
            remembering, forgetful = HttpConnection(app), HttpConnection(app)
            await remembering.request(raw)
            before = taken.count
            actual = await _answer(remembering, mutated)
            seen += taken.count - before
            with monkeypatch.context() as patched:
                patched.setattr(known_heads.KnownHeadsProtocol, "_remember", lambda *_: None)
                await forgetful.request(raw)
                expected = await _answer(forgetful, mutated)
            remembering.close()
            forgetful.close()
            assert actual == expected, mutated

    # Some mutations change the body alone.
    assert seen > tries / 40


def _mutated(raw: bytes, chance: random.Random) -> bytes:
    head, _, body = raw.partition(b"\r\n\r\n")
    where = chance.randrange(3)
    if where == 0:
        place = chance.randrange(len(body))
        return head + b"\r\n\r\n" + body[:place] + bytes([chance.randrange(32, 127)]) + body[place + 1 :]
    place = chance.randrange(len(head))
    if where == 1:
        head = head[:place] + bytes([chance.randrange(256)]) + head[place + 1 :]
    else:
        lines = head.split(b"\r\n")
        extra = chance.choice(_MORE_HEADERS)
        lines.insert(chance.randrange(1, len(lines) + 1), extra)
        head = b"\r\n".join(lines)
    return head + b"\r\n\r\n" + body


async def test_a_request_in_pieces_or_with_more_behind_it_is_parsed(taken: _Taken) -> None:
    async with _app() as app:
        connection = HttpConnection(app)
        raw = _rest("hello")
        await connection.request(raw)
        connection.send(raw[:-3])
        assert b'"hello"' in await connection.request(raw[-3:])
        both = await connection.request(raw + _rest("world"), responses=2)
        connection.close()

    assert taken.count == 0
    assert both.index(b"hello") < both.index(b"world")


async def test_a_body_that_looks_like_a_known_request_stays_a_body(taken: _Taken) -> None:
    async with _app() as app:
        connection = HttpConnection(app)
        known = _rest("hello")
        await connection.request(known)
        head = "POST /v1/tools/call HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        connection.send(f"{head}content-length: {len(known)}\r\n\r\n".encode())
        answer = await connection.request(known)
        connection.close()

    assert b"The request body is not valid JSON." in answer
    assert answer.count(b"HTTP/1.1") == 1
    assert taken.count == 0


async def test_a_known_request_inside_of_a_header_stays_there(taken: _Taken) -> None:
    async with _app() as app:
        connection = HttpConnection(app)
        await connection.request(_rest("hello"))
        connection.send(b"POST /v1/tools/call HTTP/1.1\r\nx: ")
        answer = await connection.request(_rest("hello"))
        connection.close()

    assert answer.count(b"HTTP/1.1 200") == 1
    assert taken.count == 0


async def test_a_known_request_waits_for_the_answer_before_it(tmp_path: Path) -> None:
    slow = tmp_path / "slow.py"
    slow.write_text(_SLOW_TOOL)
    async with _app(tools=(WORKBENCH, slow)) as app:
        connection = HttpConnection(app)
        await connection.request(_rest("hello"))
        connection.send(post("/v1/tools/call", {"name": "dawdle", "parameters": {}}, {}))
        connection._protocol.data_received(_rest("hello"))
        await until(lambda: connection.written.count(b"HTTP/1.1 200") == 2, "both are answered", 30)
        written = connection.written
        connection.close()

    assert written.index(b"at last") < written.index(b"hello")


@pytest.mark.parametrize(
    "header",
    [{"connection": "close"}, {"expect": "100-continue"}, {"connection": "keep-alive"}, {"x-long": "x" * 1_100}],
)
async def test_an_unusual_head_is_not_remembered(header: dict[str, str], taken: _Taken) -> None:
    async with _app() as app:
        connection = HttpConnection(app)
        for _ in range(2):
            await _answer(connection, _rest("hello", **header))
        connection.close()

    assert taken.count == 0


async def test_few_heads_are_remembered() -> None:
    async with _app() as app:
        connection = HttpConnection(app)
        for number in range(20):
            await connection.request(_rest("hello", number=str(number)))
        known = connection._protocol._known
        connection.close()

    assert known is not None
    assert len(known) <= known_heads._MOST_HEADS


async def test_a_refused_head_is_refused_again(taken: _Taken) -> None:
    async with _app() as app:
        connection = HttpConnection(app)
        answers = [await connection.request(_rest("hello", host="evil.example")) for _ in range(2)]
        connection.close()

    assert [answer.split(b"\r\n")[0] for answer in answers] == [b"HTTP/1.1 403 Forbidden"] * 2
    assert taken.count == 1


async def test_a_revoked_key_stops_working_although_its_head_is_known(tmp_path: Path, taken: _Taken) -> None:
    keys = KeyStore(tmp_path)
    secret, key = keys.create("somebody", ["admin"])
    raw, statuses = _rest("hello", **{"x-api-key": secret}), list[bytes]()
    async with _app(auth="keys", data_dir=tmp_path) as app:
        connection = HttpConnection(app)
        for _ in range(2):
            statuses.append((await connection.request(raw))[:12])
        keys.revoke(key.id)
        with anyio.fail_after(30):
            while statuses[-1] == b"HTTP/1.1 200":
                await anyio.sleep(0.05)
                statuses.append((await connection.request(raw))[:12])
        connection.close()

    assert statuses[-1] == b"HTTP/1.1 401"
    assert taken.count == len(statuses) - 1


async def test_an_unproven_version_of_uvicorn_parses_everything(taken: _Taken, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_responses, "IS_PROVEN", False)
    async with _app() as app:
        connection = HttpConnection(app)
        for _ in range(2):
            assert json.loads((await connection.request(_rest("hello"))).partition(b"\r\n\r\n")[2])["success"]
        connection.close()

    assert taken.count == 0
