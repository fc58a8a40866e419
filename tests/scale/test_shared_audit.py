"""Three servers record changes while one is killed and the Redis goes, comes back and is emptied: no line is lost."""

import json
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
import redis as redis_client

from dogubako.gate.audit import FILE, read_line
from tests.doors.processes import PATIENCE, run
from tests.redis_server import INSTALLED
from tests.shared_redis import KEY

from .replicas import COUNT, NGINX, Replicas, allow_user, replicas

pytestmark = [
    pytest.mark.scale,
    pytest.mark.skipif(not (INSTALLED and NGINX), reason="needs redis-server and nginx"),
]


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    settings = {"RATE_LIMIT_TOOL_MAX": "1000000", "DOGUBAKO_CALLER_CONCURRENCY": "64", "DOGUBAKO_CONFIRM": "argument"}
    with replicas(tmp_path_factory.mktemp("replicas"), settings=settings) as box:
        yield box


@contextmanager
def changing(box: Replicas) -> Iterator[Counter[str]]:
    """A caller for each server that changes something again and again, and how that ended."""
    ended, codes = threading.Event(), Counter[str]()

    def change(number: int) -> None:
        while not ended.is_set():
            with suppress(httpx2.TransportError, KeyError):
                codes[box.code("put", {"text": "a"}, url=box.urls[number])] += 1

    threads = [threading.Thread(target=change, args=(number,)) for number in range(COUNT)]
    for thread in threads:
        thread.start()
    try:
        yield codes
    finally:
        ended.set()
        for thread in threads:
            thread.join(PATIENCE)


def grows(codes: Counter[str], by: int = 20) -> None:
    enough, deadline = codes["OK"] + by, time.monotonic() + PATIENCE
    while codes["OK"] < enough:
        assert time.monotonic() < deadline, f"changes do not succeed: {codes}"
        time.sleep(0.05)


def audited(box: Replicas, *words: str) -> list[dict[str, Any]]:
    settings = {
        "DOGUBAKO_SHARED": box.redis.url + "?socket_timeout=10",
        "DOGUBAKO_REQUEST_STATE_KEY": KEY,
        "DOGUBAKO_AUTH": "keys",
    }
    folder = box.servers[0].folder
    answer = run("audit", "tail", "-n", "100000", "--json", *words, folder=folder, settings=settings)
    return [json.loads(line) for line in answer.stdout.splitlines()]


def written(box: Replicas) -> list[dict[str, Any]]:
    """The lines of all files; what a killed process left half written is none."""
    raw = [line for server in box.servers for line in (server.folder / "data" / FILE).read_bytes().splitlines()]
    return [json.loads(line) for line in raw if read_line(line) is not None]


def _key(line: dict[str, Any]) -> tuple[str, str]:
    return line["callId"], line["code"]


def test_no_line_is_missing_and_none_is_there_twice(box: Replicas, tmp_path: Path) -> None:
    with changing(box) as codes:
        grows(codes)
        box.servers[0].signal(signal.SIGKILL)
        box.servers[0].wait()
        grows(codes)
        box.redis.kill()
        grows(codes)
        # Without persistence it comes back empty.
        box.redis.start()
        allow_user(box.redis)
        grows(codes)
        with redis_client.from_url(box.redis.url) as client:
            client.flushall()
        grows(codes)
    with box.again(0):
        deadline = time.monotonic() + PATIENCE
        while len(shown := audited(box)) < len(written(box)):
            assert time.monotonic() < deadline, f"{len(shown)} of {len(written(box))} lines"
            time.sleep(0.5)
        lines = written(box)

    assert Counter(map(_key, shown)) == Counter(map(_key, lines))
    assert max(Counter(map(_key, shown)).values()) == 1
    assert Counter(line["code"] for line in shown if line["tool"] == "put")["OK"] >= codes["OK"]
    assert len({line["hash"] for line in shown if line["tool"] == "put"}) == 1, "one salt"
