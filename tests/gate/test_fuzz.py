"""Whatever comes in, the server answers in its own words, soon, and goes on: over HTTP and over stdio."""

import json
from pathlib import Path
from typing import Any

import pytest

from dogubako.transports.http.app import HttpApp
from tests.doors import messages
from tests.doors.asgi import Client, Visit, opened
from tests.doors.pipe import speaking

from .fuzzing import mutated
from .sheds import SHED, key_in, log_in, shed_in

SOON = 30.0
both_eras = pytest.mark.parametrize("modern", [False, True], ids=["2025", "2026"])


async def session_of(web: Client, key: str) -> str:
    opening = messages.request("initialize", messages.initialize())
    opened = await web.post("/mcp", opening, {**messages.legacy_headers(), "x-api-key": key})
    return opened.headers["mcp-session-id"]


def is_ours(visit: Visit) -> bool:
    """An answer, or a refusal with a reason; never an accident."""
    if not visit.answered or visit.status >= 500:
        return False
    return b"INTERNAL_ERROR" not in visit.body and b"Traceback" not in visit.body


@pytest.mark.slow
@both_eras
@pytest.mark.parametrize("seed", range(3))
async def test_mutated_conversations_over_http_break_nothing(tmp_path: Path, modern: bool, seed: int) -> None:
    key = key_in(tmp_path, "ann", "admin")
    async with opened(HttpApp(shed_in(tmp_path, auth="keys"))) as web:
        for attempt in mutated(300, seed=seed, modern=modern):
            # A session that an attempt has ended is not the next one's fault.
            session = "" if modern else await session_of(web, key)
            headers = [*attempt.headers_in(session), (b"x-api-key", key.encode())]
            visit = await web.request("POST", "/mcp", headers=headers, body=attempt.body(), seconds=SOON)
            assert is_ours(visit), (visit.status, visit.body[:500], attempt)
        after = await web.post(
            "/v1/tools/call",
            {"name": "look", "parameters": {"text": "on"}},
            {"content-type": "application/json", "x-api-key": key},
        )

    assert after.json["result"] == "seen: on"
    assert all(json.loads(line) for line in log_in(tmp_path).read_text().splitlines())


@pytest.mark.slow
@both_eras
@pytest.mark.parametrize("seed", range(2))
def test_mutated_conversations_over_stdio_break_nothing(tmp_path: Path, modern: bool, seed: int) -> None:
    settings = {"DOGUBAKO_AUDIT": "true", "DOGUBAKO_DATA_DIR": str(tmp_path / "data")}
    with speaking(SHED, folder=tmp_path, modern=modern, settings=settings) as pipe:
        if modern:
            pipe.call("look", {"text": "the first request decides the era"})
        else:
            pipe.open()
        for number, attempt in enumerate(mutated(250, seed=seed, modern=modern)):
            pipe.send(attempt.body() + b"\n")
            if number % 10 == 9:
                assert said(pipe.call("look", {"text": str(number)})) == f"seen: {number}"
        pipe.command.stdin.close()
        code = pipe.command.wait()

    answers = [json.loads(line) for line in pipe.command.stdout.text().splitlines()]
    assert code == 0 and len(answers) > 100
    assert all(one["jsonrpc"] == "2.0" for one in answers)
    assert "INTERNAL_ERROR" not in str(answers) and "Internal error" not in pipe.command.stderr.text()
    assert all(json.loads(line) for line in log_in(tmp_path / "data").read_text().splitlines())


def said(response: dict[str, Any]) -> str:
    return str(response["result"]["content"][0]["text"])
