"""Many connections ask for large answers at once and read none: memory stays bounded, and others are answered."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from .conftest import Tally
from .crowd import Crowd, many_open_files
from .server import target

pytestmark = pytest.mark.attack

_TOOLS: Final = Path(__file__).with_name("large_tools.py")
_CONNECTIONS: Final = 60
_EACH: Final = 3
_MOST_MEGABYTES: Final = 120
# A call of somebody else that is small, beside all of them.
_MOST_SECONDS: Final = 10.0
_CALLS: Final = 4
# What arrives and what is being answered may take 64 MB each, and a copy while it is decoded.
_MOST_REQUEST_MEGABYTES: Final = 240


@pytest.fixture(autouse=True)
def _room_for_the_crowd() -> Iterator[None]:
    with many_open_files():
        yield


def _asking(name: str, **parameters: object) -> bytes:
    body = json.dumps({"name": name, "parameters": parameters})
    head = "POST /v1/tools/call HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()


def test_large_answers_that_nobody_reads(tmp_path: Path, tally: Tally) -> None:
    with target(_TOOLS, folder=tmp_path) as aim, Crowd(aim.url, buffer=4_096) as crowd:
        _, before = aim.heartbeat()
        crowd.grow(_CONNECTIONS, _asking("long_text", characters=4_000_000) * _EACH)
        peak = before
        for number in range(_CALLS):
            for size in (10, 40_000):
                started = time.monotonic()
                answer = aim.call("echo", text="word " * (size // 5))
                seconds = time.monotonic() - started
                tally.check(answer.status_code == 200, f"call {number} with {size} characters: {answer.status_code}")
                tally.check(seconds <= _MOST_SECONDS, f"call {number} with {size} characters: {seconds:.1f} s")
            _, memory = aim.heartbeat()
            peak = max(peak, memory)
        tally.check(peak - before <= _MOST_MEGABYTES, f"memory {before:.0f} → {peak:.0f} MB")
        other = aim.call("long_text", characters=4_000_000)
        tally.check(other.status_code in (200, 503), f"a large call of somebody else: {other.status_code}")


_BODY: Final = 3_900_000


@pytest.mark.parametrize("complete", [pytest.param(False, id="unfinished"), pytest.param(True, id="complete")])
def test_large_requests_at_once(tmp_path: Path, tally: Tally, complete: bool) -> None:
    request = _asking("echo", text="x" * _BODY)
    with target(folder=tmp_path) as aim, Crowd(aim.url, buffer=4_096) as crowd:
        _, before = aim.heartbeat()
        peak = before
        for _ in range(5):
            crowd.grow(20, request if complete else request[:-1])
            answer = aim.call("echo", text="small")
            tally.check(answer.status_code == 200, f"a small call beside {len(crowd)} large: {answer.status_code}")
            _, memory = aim.heartbeat()
            peak = max(peak, memory)
        answer = aim.call("echo", text="x" * 500_000)
        tally.check(answer.status_code in (200, 503), f"a large call beside them: {answer.status_code}")
        most = _MOST_REQUEST_MEGABYTES
        tally.check(peak - before <= most, f"memory {before:.0f} → {peak:.0f} MB")
