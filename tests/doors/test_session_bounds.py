"""Sessions where authentication is off: so many for each address, so many in all, and what each of them keeps."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from dogubako.app import build
from dogubako.settings import Sources
from dogubako.transports.http.app import HttpApp
from dogubako.transports.mcp import sdk_internals as sessions
from dogubako.transports.mcp.sdk_internals import LONGEST_INITIALIZE, MOST_INITIALIZE_VALUES, MOST_SESSIONS_EACH

from . import messages
from .asgi import Client, Visit, opened
from .processes import PATIENCE, WORKBENCH, serving
from .waiting import until

_OPENING = messages.request("initialize", messages.initialize())


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with serving(WORKBENCH, folder=tmp_path) as server:
        yield server.url()


def _from(address: str, url: str) -> httpx2.Client:
    """A client at this address of the loopback network."""
    way = httpx2.HTTPTransport(local_address=address)
    return httpx2.Client(base_url=url, timeout=PATIENCE, transport=way)


def _open(client: httpx2.Client, headers: dict[str, str] | None = None) -> str:
    answer = client.post("/mcp", json=_OPENING, headers={**messages.legacy_headers(), **(headers or {})})
    assert answer.status_code == 200, answer.text
    return str(answer.headers["mcp-session-id"])


def _ping(client: httpx2.Client, session: str) -> int:
    return client.post("/mcp", json=messages.request("ping"), headers=messages.legacy_headers(session)).status_code


@pytest.mark.slow
def test_an_address_that_opens_many_sessions_loses_its_oldest_and_nobody_else_loses_any(url: str) -> None:
    with _from("127.0.0.2", url) as other, _from("127.0.0.1", url) as greedy:
        of_other = _open(other)
        # What a client writes about where it comes from does not count.
        opened = [_open(greedy, {"x-forwarded-for": f"10.0.0.{number}"}) for number in range(MOST_SESSIONS_EACH + 3)]
        alive = [_ping(greedy, session) for session in (*opened[:3], opened[20], opened[-1])]

        assert _ping(other, of_other) == 200
    assert alive == [404, 404, 404, 200, 200]


@pytest.fixture
def door() -> HttpApp:
    return HttpApp(build(Sources(overrides={"tools": (WORKBENCH,)}, environ={}, env_file=None)))


@pytest.fixture
async def client(door: HttpApp) -> AsyncIterator[Client]:
    async with opened(door) as client:
        yield client


async def _alive(client: Client, session: str) -> bool:
    return (await client.post("/mcp", messages.request("ping"), messages.legacy_headers(session))).status == 200


async def test_a_session_in_use_does_not_give_way(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST_SESSIONS_EACH", 2)
    oldest, other = await client.open_session(), await client.open_session()
    # Whoever asks again is no longer the one that was idle for the longest time.
    assert await _alive(client, oldest)
    newest = await client.open_session()

    assert [await _alive(client, one) for one in (oldest, other, newest)] == [True, False, True]


async def test_when_all_sessions_of_an_address_are_in_use_the_next_is_refused(
    client: Client, door: HttpApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MOST_SESSIONS_EACH", 1)
    session = await client.open_session()
    stream = Visit()
    stream.incoming.put_nowait({"type": "http.request", "body": b"", "more_body": False})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.run, stream, "GET", "/mcp", messages.legacy_headers(session))
        await until(lambda: stream.answered, "the stream is open")
        refused = await client.post("/mcp", _OPENING, messages.legacy_headers())
        of_other = await Client(door, address="192.0.2.7").open_session()
        stream.leave()

    assert (refused.status, refused.json["code"], refused.json["retryable"]) == (503, "BUSY", True)
    assert refused.json["error"] == "Too many sessions are open, and all of them are in use."
    assert of_other


async def test_when_there_are_too_many_in_all_whoever_has_the_most_loses_one(
    client: Client, door: HttpApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MOST_SESSIONS", 4)
    modest = Client(door, address="192.0.2.7")
    of_modest = await modest.open_session()
    of_greedy = [await client.open_session() for _ in range(3)]
    of_newcomer = await Client(door, address="192.0.2.8").open_session()

    alive = [await _alive(client, one) for one in (of_modest, *of_greedy, of_newcomer)]
    assert alive == [True, False, True, True, True]


LARGE: list[Any] = [
    pytest.param({"x": {"y": "z" * LONGEST_INITIALIZE}}, id="bytes"),
    pytest.param({f"x{number}": {} for number in range(MOST_INITIALIZE_VALUES)}, id="values"),
    pytest.param({"x": {"y": [[]] * MOST_INITIALIZE_VALUES}}, id="lists"),
]


@pytest.mark.parametrize("experimental", LARGE)
async def test_a_session_keeps_no_large_introduction(client: Client, experimental: dict[str, Any]) -> None:
    refused = await _introduced(client, experimental)
    fine = await _introduced(client, {"x": {"y": "z" * (LONGEST_INITIALIZE // 2)}})

    assert (refused.status, refused.json["code"]) == (413, "PAYLOAD_TOO_LARGE")
    assert refused.json["error"] == "The initialize request has more than 32,768 bytes or 1,000 values."
    assert fine.status == 200


async def _introduced(client: Client, experimental: dict[str, Any]) -> Visit:
    params = messages.initialize(capabilities={"experimental": experimental})
    return await client.post("/mcp", messages.request("initialize", params), messages.legacy_headers())
