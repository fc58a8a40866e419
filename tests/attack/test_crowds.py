"""Silent and slow crowds against a server that may open few files: everybody else is answered all the same."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.doors import messages
from tests.doors.processes import PATIENCE

from .conftest import Tally
from .crowd import HALF_A_BODY, HALF_A_HEAD, NEVER_READING, SILENT, Crowd, listening, many_open_files
from .server import Target, target

pytestmark = pytest.mark.attack

_LIMIT = 1_024
_CROWD = 1_500
_STEP = 100
_CROWDED = "Too many connections are open"


@pytest.fixture(autouse=True)
def _room_for_the_crowd() -> Iterator[None]:
    with many_open_files():
        yield


def _ask(aim: Target, tally: Tally, when: str) -> None:
    """A normal client on a new connection: a call and the health of the server."""
    with httpx2.Client(base_url=aim.url, timeout=PATIENCE, trust_env=False) as client:
        for method, path, body in (
            ("GET", "/healthz", None),
            ("POST", "/v1/tools/call", {"name": "echo", "parameters": {"text": "a"}}),
        ):
            try:
                status: object = client.request(method, path, json=body).status_code
            except httpx2.HTTPError as error:
                status = repr(error)
            tally.check(status == 200, f"{method} {path} {when}: {status}")


def _crowded_lines(aim: Target) -> list[str]:
    return [line["event"] for line in aim.command.log_lines if line["event"] == _CROWDED]


@pytest.mark.parametrize(
    ("limit", "begin", "drop"),
    [
        pytest.param(_LIMIT, SILENT, b"", id="silent"),
        pytest.param(256, SILENT, b"", id="silent, few files"),
        pytest.param(_LIMIT, HALF_A_HEAD, b"x", id="a byte of a head now and then"),
        pytest.param(_LIMIT, HALF_A_BODY, b" ", id="a byte of a body now and then"),
    ],
)
def test_a_crowd_keeps_nobody_out(tmp_path: Path, tally: Tally, limit: int, begin: bytes, drop: bytes) -> None:
    with target(folder=tmp_path, open_files=limit) as aim, Crowd(aim.url) as crowd:
        for _ in range(_CROWD // _STEP):
            crowd.grow(_STEP, begin)
            crowd.drip(drop)
            _ask(aim, tally, f"beside {len(crowd)} sockets")
        aim.heartbeat()
        crowd.grow(_STEP, begin)
        aim.check_loop(tally, "a crowd that comes", lambda: crowd.grow(_STEP, begin))
        tally.check(_crowded_lines(aim) == [_CROWDED], "the crowd is in the log once")
        lines = [line for line in aim.command.log_lines if line["level"] != "INFO"]
        tally.check(len(lines) == 1, f"{len(lines)} lines in the log for one crowd")


def test_a_crowd_that_never_reads_keeps_nobody_out(tmp_path: Path, tally: Tally) -> None:
    with target(folder=tmp_path, open_files=128) as aim, Crowd(aim.url, buffer=4_096) as crowd:
        for _ in range(15):
            crowd.grow(10, NEVER_READING)
            _ask(aim, tally, f"beside {len(crowd)} sockets")


def test_a_crowd_keeps_nobody_out_of_several_workers(tmp_path: Path, tally: Tally) -> None:
    with target(folder=tmp_path, open_files=256, words=("--workers", "2")) as aim, Crowd(aim.url) as crowd:
        aim.command.stderr.first(lambda line: b"Application startup complete" in line, nth=2)
        for begin in (SILENT, HALF_A_BODY):
            for _ in range(6):
                crowd.grow(_STEP, begin)
                _ask(aim, tally, f"beside {len(crowd)} sockets")


@pytest.mark.parametrize("era", ["2025", "2026"])
def test_a_crowd_that_only_listens_keeps_nobody_out(tmp_path: Path, tally: Tally, era: str) -> None:
    with target(folder=tmp_path, open_files=128) as aim, Crowd(aim.url) as crowd:
        for number in range(100):
            crowd.grow(1, listening(_session(aim) if era == "2025" else None))
            if number % 10 == 9:
                _ask(aim, tally, f"beside {len(crowd)} sockets")


def _session(aim: Target) -> str:
    opening = messages.request("initialize", messages.initialize())
    with httpx2.Client(base_url=aim.url, timeout=PATIENCE, trust_env=False) as client:
        answer = client.post("/mcp", json=opening, headers=messages.legacy_headers())
    return answer.headers.get("mcp-session-id", "")
