"""Whatever a service answers, the event loop goes on."""

from pathlib import Path
from typing import Any, Final

import anyio
import httpx2
import pytest

from dogubako.app import build
from dogubako.settings import Sources
from tests.heartbeat import Heartbeat, best_of_three, check_stall, frozen_heap
from tests.large_answers import LARGE_ANSWERS, ME_BODY, LargeAnswer
from tests.packs.n8n.wired import Pieces
from tests.packs.through import Through

# Measured alone: two busy processes on one core take twice as long, and so does a measured coverage.
pytestmark = pytest.mark.stall

SETTINGS: Final = {
    "REDMINE_URL": "http://redmine.test",
    "REDMINE_API_KEY": "a" * 40,
    "N8N_URL": "http://n8n.test",
    "N8N_API_KEY": "key-of-n8n",
    "DOGUBAKO_PACKS": "redmine,n8n",
}


class Lying(httpx2.AsyncBaseTransport):
    """Knows one path."""

    def __init__(self, answer: LargeAnswer) -> None:
        self._path, self._status = answer.path, answer.status
        self._body = answer.body()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path
        status, body = (self._status, self._body) if path == self._path else (200, ME_BODY)
        if path not in (self._path, "/users/current.json"):
            status, body = 404, b""
        return httpx2.Response(status, headers={"content-type": "application/json"}, stream=Pieces(body))


# `tests/attack/test_oversized_answers.py` asks a real server for the same, which writes XML. n8n has one form.
CASES: Final = [pytest.param(one, id=one.name) for one in LARGE_ANSWERS if one.pack != "n8n"]


@pytest.mark.parametrize("answer", CASES)
@best_of_three
async def test_no_answer_of_a_service_holds_up_the_event_loop(answer: LargeAnswer, tmp_path: Path) -> None:
    settings = {**SETTINGS, "REDMINE_FORMAT": "json", "DOGUBAKO_DATA_DIR": str(tmp_path)}
    box = build(Sources(environ=settings, env_file=None))
    app: Any = None
    box.packs[answer.pack].sandbox = Through(settings={}, app=app, wire=Lying(answer))

    async with box.running():
        with frozen_heap(), Heartbeat() as heart:
            await anyio.sleep(0.03)
            heart.take()
            result = await box.call(answer.tool, dict(answer.parameters))
            await anyio.sleep(0.03)
            stall = heart.take()

    assert result.code in ("OK", "API_ERROR", "ANSWER_TOO_LARGE"), result.content
    check_stall(stall)
