"""A call with a known head is answered without ASGI, exactly as the same call before it that was an ASGI request."""

import json
import random
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from dogubako.app import Toolbox, build
from dogubako.contract.fair_queue import work_owner
from dogubako.gate.api_keys import KeyStore
from dogubako.settings import Sources
from dogubako.transports.http import known_heads
from dogubako.transports.http.app import HttpApp
from scripts.call_driver import WORKBENCH, HttpConnection, post

from .asgi import opened
from .messages import modern_headers
from .messages import request as message_of
from .mutations import attempts
from .oddities import ODD_VALUES
from .waiting import until

pytestmark = pytest.mark.anyio

_OWN_TO_EACH: Final = re.compile(
    rb"(?:date|content-length): [^\r]*\r\n|[0-9a-f]+\r\n(?=event|\r\n)"
    rb'|"executionTime":\d+|"timestamp":"[^"]*"|"errorId":"[^"]*"'
)
_META: Final = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1.0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
_TOOLS: Final = '''
import asyncio
from contextvars import ContextVar

from dogubako import tool
from dogubako.contract.fair_queue import work_owner

seen = ContextVar("seen", default="nothing")
stopped = []
go_on = asyncio.Event()


@tool(effect="read")
async def short(text: str) -> str:
    """Wait for a moment."""
    await asyncio.sleep(0)
    return text


@tool(effect="read")
async def long() -> str:
    """Wait until somebody says so."""
    try:
        await go_on.wait()
    except asyncio.CancelledError:
        stopped.append("long")
        raise
    return "at last"


@tool(effect="read")
async def failing() -> str:
    """Wait, and fail."""
    await asyncio.sleep(0)
    raise ValueError("no")


@tool(effect="read")
async def tidy(wait: bool) -> str:
    """Leave something in the context."""
    before = seen.get()
    seen.set("something")
    if wait:
        await asyncio.sleep(0)
    return before


TOOLS = (short, long, failing, tidy)
'''


class _AtOnce:
    """Counts responses that were written without ASGI, and requests that became ASGI requests."""

    def __init__(self) -> None:
        self.written = self.requests = 0

    @contextmanager
    def counted(self, monkeypatch: pytest.MonkeyPatch) -> Iterator["_AtOnce"]:
        write, start = known_heads.KnownHeadsProtocol._write_whole, known_heads.KnownHeadsProtocol._start_known

        def written(protocol: known_heads.KnownHeadsProtocol, response: bytes) -> None:
            self.written += 1
            write(protocol, response)

        def started(protocol: known_heads.KnownHeadsProtocol, *request: Any) -> None:
            self.requests += 1
            start(protocol, *request)

        with monkeypatch.context() as patched:
            patched.setattr(known_heads.KnownHeadsProtocol, "_write_whole", written)
            patched.setattr(known_heads.KnownHeadsProtocol, "_start_known", started)
            yield self


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[_AtOnce]:
    with _AtOnce().counted(monkeypatch) as counted:
        yield counted


@asynccontextmanager
async def _served(tmp_path: Path, **overrides: Any) -> AsyncIterator[tuple[HttpApp, Toolbox]]:
    (tmp_path / "waiting.py").write_text(_TOOLS)
    chosen = {"tools": (WORKBENCH, tmp_path / "waiting.py"), "packs": ("core",), **overrides}
    box = build(Sources(overrides=chosen, environ={}, env_file=None))
    app = HttpApp(box)
    async with app._lifespan(app):
        yield app, box


def _rest(name: str, parameters: Mapping[str, Any] | None = None, key: str | None = None) -> bytes:
    headers = {} if key is None else {"x-api-key": key}
    return post("/v1/tools/call", {"name": name, "parameters": parameters or {}}, headers)


def _mcp(name: str, arguments: Mapping[str, Any] | None = None) -> bytes:
    params = {"name": name, "arguments": arguments or {}, "_meta": _META}
    return post("/mcp", message_of("tools/call", params), modern_headers("tools/call", name))


def _raw(path: str, headers: list[tuple[bytes, bytes]], body: bytes) -> bytes:
    named = [(b"host", b"127.0.0.1:3000"), *headers, (b"content-length", b"%d" % len(body))]
    lines = b"".join(b"%b: %b\r\n" % header for header in named)
    return b"POST %b HTTP/1.1\r\n%b\r\n%b" % (path.encode(), lines, body)


async def _twice(app: HttpApp, raw: bytes) -> tuple[bytes, bytes]:
    """What a connection says to a request, and to the same request again."""
    connection = HttpConnection(app)
    with anyio.fail_after(30):
        first = await connection.request(raw)
        second = first if connection._transport.is_closing() else await connection.request(raw)
    connection.close()
    return _OWN_TO_EACH.sub(b"", first), _OWN_TO_EACH.sub(b"", second)


@pytest.mark.parametrize("modern", [pytest.param(True, id="2026"), pytest.param(False, id="2025")])
async def test_mutated_calls_over_mcp_get_the_same_answer_again(box: Toolbox, modern: bool, at_once: _AtOnce) -> None:
    app, different, asked = HttpApp(box), list[Any](), 600
    async with opened(app) as client:
        session = await client.open_session()
        for attempt in attempts(asked, seed=93, modern=modern):
            raw = _raw("/mcp", attempt.headers_in(session), attempt.body())
            # The SDK gives a new session to whoever has none.
            others = re.compile(rb"(?<=mcp-session-id: )(?!%b)[0-9a-f]{32}" % session.encode())
            first, second = (others.sub(b"new", answer) for answer in await _twice(app, raw))
            if first != second:
                different.append((raw, first, second))

    assert different == []
    # Of the others, most have something that no simple call has.
    assert at_once.written > asked / 30


async def test_mutated_calls_over_rest_get_the_same_answer_again(box: Toolbox, at_once: _AtOnce) -> None:
    chance, app, different, asked = random.Random(93), HttpApp(box), list[Any](), 300
    async with opened(app):
        for _ in range(asked):
            raw = _raw("/v1/tools/call", [(b"content-type", b"application/json")], _mutated_body(chance))
            first, second = await _twice(app, raw)
            if first != second:
                different.append((raw, first, second))

    assert different == []
    assert at_once.written > asked / 30


def _mutated_body(chance: random.Random) -> bytes:
    said: dict[str, Any] = {
        "name": "echo",
        "parameters": {"text": chance.choice(("hello", "道具箱 \u2028", "x" * 300))},
    }
    match chance.randrange(6):
        case 0:
            said[chance.choice(("name", "parameters", "options", "version", "more"))] = chance.choice(ODD_VALUES)
        case 1:
            said["parameters"][chance.choice(("text", "more"))] = chance.choice(ODD_VALUES)
        case 2:
            del said[chance.choice(tuple(said))]
        case 3:
            body = json.dumps(said).encode()
            place = chance.randrange(len(body))
            return body[:place] + bytes([chance.randrange(256)]) + body[place + 1 :]
        case 4:
            return json.dumps(said).encode().replace(b'"name"', b'"name": "fail", "name"', 1)
    return json.dumps(said, ensure_ascii=chance.random() < 0.5).encode()


@pytest.mark.parametrize("request_of", [_rest, _mcp])
@pytest.mark.parametrize("name", ["short", "failing"])
async def test_a_call_that_waits_gets_the_same_answer_again(
    request_of: Callable[..., bytes], name: str, tmp_path: Path, at_once: _AtOnce
) -> None:
    async with _served(tmp_path) as (app, _):
        first, second = await _twice(app, request_of(name, {"text": "hello"} if name == "short" else {}))

    assert first == second
    # An error has words and a status of its own, which an ASGI request has.
    assert (at_once.written, at_once.requests) == ((1, 0) if name == "short" else (0, 1))


async def test_a_call_that_takes_long_becomes_an_asgi_request_and_is_answered(tmp_path: Path, at_once: _AtOnce) -> None:
    async with _served(tmp_path) as (app, box):
        connection, raw = HttpConnection(app), _rest("long")
        _module_of(box)["go_on"].set()
        await connection.request(raw)
        _module_of(box)["go_on"].clear()
        connection.send(raw)
        assert at_once.requests == 0
        await until(lambda: at_once.requests == 1, "the call takes long")
        _module_of(box)["go_on"].set()
        await until(lambda: b"at last" in connection.written, "it is answered")
        connection.close()


async def test_what_arrives_while_a_call_waits_is_answered_after_it(tmp_path: Path) -> None:
    async with _served(tmp_path) as (app, _):
        connection = HttpConnection(app)
        await connection.request(_rest("short", {"text": "hello"}))
        connection.send(_rest("short", {"text": "first"}))
        connection._protocol.data_received(_rest("echo", {"text": "other"}) + _rest("short", {"text": "third"}))
        await until(lambda: connection.written.count(b"HTTP/1.1 200") == 3, "all are answered")
        written = connection.written
        connection.close()

    assert written.index(b"first") < written.index(b"other") < written.index(b"third")


@pytest.mark.parametrize("request_of", [_rest, _mcp])
async def test_a_client_that_leaves_stops_a_call_that_waits_without_asgi(
    request_of: Callable[..., bytes], tmp_path: Path, at_once: _AtOnce
) -> None:
    async with _served(tmp_path) as (app, box):
        connection, raw = HttpConnection(app), request_of("long")
        _module_of(box)["go_on"].set()
        await connection.request(raw)
        _module_of(box)["go_on"].clear()
        connection.send(raw)
        assert (connection.written, at_once.requests) == (b"", 0)
        connection.close()

        await until(lambda: _module_of(box)["stopped"] == ["long"], "the tool is cancelled")


async def test_a_server_that_stops_lets_a_call_end_that_waits_without_asgi(tmp_path: Path) -> None:
    async with _served(tmp_path) as (app, box):
        connection, raw = HttpConnection(app), _rest("long")
        _module_of(box)["go_on"].set()
        await connection.request(raw)
        _module_of(box)["go_on"].clear()
        connection.send(raw)
        connection._protocol.shutdown()
        _module_of(box)["go_on"].set()
        await until(lambda: b"at last" in connection.written, "it is answered")

    assert b"connection: close" in connection.written


async def test_a_call_that_waits_keeps_its_place_until_it_ends(tmp_path: Path) -> None:
    secret, _ = KeyStore(tmp_path).create("somebody", ["admin"])
    async with _served(tmp_path, auth="keys", data_dir=tmp_path, caller_concurrency=1) as (app, box):
        first, second = HttpConnection(app), HttpConnection(app)
        raw, other = _rest("long", key=secret), _rest("echo", {"text": "hello"}, key=secret)
        _module_of(box)["go_on"].set()
        await first.request(raw)
        await second.request(other)
        _module_of(box)["go_on"].clear()
        first.send(raw)
        refused = await second.request(other)
        _module_of(box)["go_on"].set()
        await until(lambda: b"at last" in first.written, "the first is answered")
        allowed = await second.request(other)
        first.close()
        second.close()

    assert (refused[:12], allowed[:12]) == (b"HTTP/1.1 503", b"HTTP/1.1 200")


async def test_nothing_stays_in_the_context_of_the_connection(tmp_path: Path) -> None:
    async with _served(tmp_path) as (app, _):
        connection = HttpConnection(app)
        for wait in (False, False, True, True, False):
            answer = await connection.request(_rest("tidy", {"wait": wait}))
            assert b'"result":"nothing"' in answer
        connection.close()

        assert work_owner.get() is None


async def test_a_secret_that_is_learned_later_is_masked_in_the_next_answer(tmp_path: Path, at_once: _AtOnce) -> None:
    async with _served(tmp_path) as (app, box):
        connection, raw = HttpConnection(app), _rest("echo", {"text": "correct-horse"})
        answers = [await connection.request(raw) for _ in range(2)]
        box.redactor.add("correct-horse")
        answers.append(await connection.request(raw))
        connection.close()

    assert [b"correct-horse" in answer for answer in answers] == [True, True, False]
    assert at_once.written == 2


async def test_a_tool_that_is_switched_off_is_refused_although_its_calls_were_prepared(tmp_path: Path) -> None:
    async with _served(tmp_path) as (app, box):
        connection, raw = HttpConnection(app), _mcp("echo", {"text": "hello"})
        answers = [await connection.request(raw) for _ in range(2)]
        box.registry.disable("echo")
        answers.append(await connection.request(raw))
        box.registry.enable("echo")
        answers.append(await connection.request(raw))
        connection.close()

    assert [b"Tool is disabled" in answer for answer in answers] == [False, False, True, False]


async def test_a_mistake_of_ours_is_answered_with_a_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with _served(tmp_path) as (app, box):
        connection, raw = HttpConnection(app), _rest("echo", {"text": "hello"})
        await connection.request(raw)

        def broken(_call: Any) -> None:
            raise ZeroDivisionError("our own mistake")

        monkeypatch.setattr(box.pipeline, "begin", broken)
        answer = await connection.request(raw)
        connection.close()

    assert answer.startswith(b"HTTP/1.1 500 ") and b"errorId" in answer
    assert b"our own mistake" not in answer


def _module_of(box: Toolbox) -> dict[str, Any]:
    """What stands in the file of the tools."""
    tool: Any = box.registry.get("long").implementation
    names: dict[str, Any] = tool.function.__globals__
    return names
