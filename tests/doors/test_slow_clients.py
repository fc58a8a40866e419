"""Clients that dawdle with their request, or leave while it is on its way."""

import asyncio
from typing import Any

import anyio
import pytest

from . import messages
from .asgi import Client, Visit
from .processes import PATIENCE

_REST = ("/v1/tools/call", {"content-type": "application/json"})
_SEARCH = ("/v1/tools/search", {"content-type": "application/json"})
_MODERN = ("/mcp", messages.modern_headers("tools/call", "echo"))
_LEGACY = ("/mcp", messages.legacy_headers("whoever"))
ROUTES = pytest.mark.parametrize(
    ("path", "headers"),
    [
        pytest.param(*_REST, id="call"),
        pytest.param(*_SEARCH, id="search"),
        pytest.param(*_MODERN, id="2026"),
        pytest.param(*_LEGACY, id="2025"),
    ],
)


def _piece(body: bytes) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": True}


async def _visit(web: Client, visit: Visit, path: str, headers: dict[str, str]) -> None:
    with anyio.fail_after(PATIENCE):
        await web.run(visit, "POST", path, headers)


@ROUTES
async def test_a_body_that_stalls_is_not_waited_for(
    web: Client, path: str, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dogubako.transports.http.request.BODY_SECONDS", 0.05)
    visit = Visit()
    visit.incoming.put_nowait(_piece(b'{"name": "ec'))
    await _visit(web, visit, path, headers)

    assert (visit.status, visit.json["code"], visit.json["retryable"]) == (408, "TIMEOUT", True)
    assert visit.json["error"] == "The request body did not arrive within 0.05 seconds."


@ROUTES
async def test_a_client_that_leaves_in_the_middle_of_its_body_is_let_go(
    web: Client, path: str, headers: dict[str, str]
) -> None:
    visit = Visit()
    visit.incoming.put_nowait(_piece(b'{"name": "ec'))
    visit.leave()
    await _visit(web, visit, path, headers)

    assert (visit.status, visit.json["code"]) == (499, "CANCELLED")


async def test_a_body_that_trickles_but_arrives_is_served(web: Client) -> None:
    visit = Visit()
    body = b'{"name": "echo", "parameters": {"text": "drop by drop"}}'
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_visit, web, visit, *_REST)
        for byte in body:
            visit.incoming.put_nowait(_piece(bytes([byte])))
            await asyncio.sleep(0)
        visit.incoming.put_nowait({"type": "http.request", "body": b"", "more_body": False})

    assert visit.json["result"] == "drop by drop"


async def test_a_body_that_grows_and_grows_is_stopped_early(web: Client) -> None:
    visit = Visit()
    for _ in range(6):
        visit.incoming.put_nowait(_piece(b" " * 1_000_000))
    await _visit(web, visit, *_REST)

    assert (visit.status, visit.json["code"]) == (413, "PAYLOAD_TOO_LARGE")
    assert visit.incoming.qsize() >= 1


async def test_while_one_client_dawdles_others_are_served(web: Client) -> None:
    slow = Visit()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_visit, web, slow, *_REST)
        quick = await web.post("/v1/tools/call", {"name": "echo", "parameters": {"text": "me first"}})
        answered_meanwhile = slow.answered
        slow.leave()

    assert quick.json["result"] == "me first" and not answered_meanwhile
