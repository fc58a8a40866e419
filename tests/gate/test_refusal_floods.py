"""Strangers who are refused again and again cost a line a second, and hide nobody."""

import json
import socket
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.doors.processes import PATIENCE, WORKBENCH, Command, serving
from tests.doors.waiting import until

_MANY = 1_000
_GUARDED = {"DOGUBAKO_AUTH": "keys"}


def _about(command: Command, event: str, **fields: Any) -> list[dict[str, Any]]:
    """Lines of this kind, summaries included."""
    lines = [line for line in command.log_lines if line["event"].startswith(event)]
    return [line for line in lines if all(line.get(key) == value for key, value in fields.items())]


def _count(lines: list[dict[str, Any]]) -> int:
    return sum(line.get("count", 1) for line in lines)


def _say_nonsense(url: str) -> None:
    """What is no HTTP, on a connection of its own, and wait for the answer."""
    place = httpx2.URL(url)
    with socket.create_connection((place.host, place.port or 80), timeout=PATIENCE) as connection:
        connection.sendall(b"\x16\x03\x01 this is TLS, or nothing\r\n\r\n")
        assert connection.recv(1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("headers", "fields"),
    [
        pytest.param({}, {"status": 401, "reason": "An API key is required."}, id="no key"),
        pytest.param(
            {"x-api-key": "dgb_00000000_wrong"}, {"status": 401, "reason": "The API key is not valid."}, id="a bad key"
        ),
        pytest.param(
            {"host": "evil.example"}, {"status": 403, "reason": "This host name is not allowed."}, id="a host"
        ),
    ],
)
async def test_a_flood_of_refusals_is_a_line_a_second_and_does_not_hide_another_kind(
    tmp_path: Path, headers: dict[str, str], fields: dict[str, Any]
) -> None:
    with serving(WORKBENCH, folder=tmp_path, settings=_GUARDED) as command:
        began = time.monotonic()
        with httpx2.Client(base_url=command.url(), timeout=PATIENCE, trust_env=False) as client:
            for number in range(_MANY):
                client.get("/v1/tools", headers=headers)
                if number == _MANY // 2:
                    client.get("/nowhere", headers={"x-api-key": "x", "host": "evil.test:1"})
                    client.post("/v1/tools/call", headers={"x-api-key": "dgb_1"})
        took = time.monotonic() - began
        await until(lambda: _count(_about(command, "HTTP error")) == _MANY + 2, "all refusals are in the log")

    lines = _about(command, "HTTP error", **fields)
    assert _MANY <= _count(lines) <= _MANY + 1
    assert len(lines) <= took + 3
    assert lines[0]["client"] == "127.0.0.1" and "count" not in lines[0]
    assert lines[1]["event"] == f"HTTP error: {lines[1]['count']:,} more like this"
    assert lines[1]["clients"] == ["127.0.0.1"]
    for other in ("This host name is not allowed.", "The API key is not valid."):
        assert _about(command, "HTTP error", reason=other)


@pytest.mark.slow
async def test_a_flood_of_what_is_no_http_is_a_line_a_second(tmp_path: Path) -> None:
    with serving(WORKBENCH, folder=tmp_path, settings=_GUARDED) as command:
        began = time.monotonic()
        for _ in range(200):
            _say_nonsense(command.url())
        took = time.monotonic() - began
        await until(lambda: _count(_about(command, "Invalid HTTP request")) == 200, "all of them are in the log")

    assert len(_about(command, "Invalid HTTP request")) <= took + 3


@pytest.mark.slow
def test_what_strangers_sent_is_in_no_summary(tmp_path: Path) -> None:
    with serving(WORKBENCH, folder=tmp_path, settings=_GUARDED) as command:
        with httpx2.Client(base_url=command.url(), timeout=PATIENCE, trust_env=False) as client:
            for _ in range(20):
                client.get("/v1/tools", headers={"x-api-key": "dgb_00000000_canary"})
        command.process.terminate()
        assert command.wait() == 0

    assert "canary" not in command.log_file + command.stderr.text()
    assert json.loads(command.log_file.splitlines()[0])
