"""Three servers behind nginx are restarted one after the other, and no caller notices."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

import httpx2
import pytest

from tests.doors.processes import PATIENCE
from tests.redis_server import INSTALLED

from .replicas import COUNT, NGINX, Replicas, replicas

pytestmark = [
    pytest.mark.scale,
    pytest.mark.skipif(not (INSTALLED and NGINX), reason="needs redis-server and nginx"),
]

CALLERS: Final = 4


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    settings = {"RATE_LIMIT_TOOL_MAX": "1000000", "DOGUBAKO_CALLER_CONCURRENCY": "64", "DOGUBAKO_DRAIN": "1"}
    with replicas(tmp_path_factory.mktemp("replicas"), settings=settings) as box:
        yield box


@contextmanager
def calling(box: Replicas) -> Iterator[Counter[str]]:
    """A steady trickle of changes through nginx, and how they ended."""
    ended, outcomes = threading.Event(), Counter[str]()

    def call() -> None:
        while not ended.wait(0.005):
            try:
                outcomes[box.code("put", {"text": "a"})] += 1
            except (httpx2.TransportError, KeyError, ValueError) as error:
                outcomes[repr(error)] += 1

    threads = [threading.Thread(target=call) for _ in range(CALLERS)]
    for thread in threads:
        thread.start()
    try:
        yield outcomes
    finally:
        ended.set()
        for thread in threads:
            thread.join(PATIENCE)


def _more(outcomes: Counter[str], by: int = 30) -> None:
    enough, deadline = outcomes["OK"] + by, time.monotonic() + PATIENCE
    while outcomes["OK"] < enough:
        assert time.monotonic() < deadline, f"calls do not succeed: {outcomes}"
        time.sleep(0.02)


def test_a_rolling_restart_loses_no_call(box: Replicas) -> None:
    refused = []
    with ExitStack() as stack, calling(box) as outcomes:
        for number, server in enumerate(box.servers):
            _more(outcomes)
            server.process.terminate()
            # It says at once that it is about to end, and still takes calls.
            server.stderr.first(lambda line: b"until balancers have noticed" in line)
            refused.append(httpx2.get(f"{box.urls[number]}/readyz", timeout=PATIENCE).status_code)
            assert server.wait(60) == 0, server.stderr.text()[-3000:]
            _more(outcomes)
            again = stack.enter_context(box.again(number))
            again.stderr.first(lambda line: b"Application startup complete" in line)
        _more(outcomes)

    assert refused == [503] * COUNT
    assert outcomes.keys() == {"OK"}, outcomes
