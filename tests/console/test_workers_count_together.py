"""With several workers, `/metrics` has the sum of all of them, and a session counts in each."""

import re
import signal
from pathlib import Path

import httpx2
import pytest

from tests.doors.processes import PATIENCE, WORKBENCH, serving

pytestmark = pytest.mark.slow
CALLS = 24


def test_workers_count_calls_together(tmp_path: Path) -> None:
    with serving(WORKBENCH, folder=tmp_path, words=["--workers", "2"]) as server:
        server.stderr.first(lambda line: b"Application startup complete" in line, nth=2)
        url = server.url()
        for _ in range(CALLS):
            # A connection of its own each, so that both workers get some.
            httpx2.post(f"{url}/v1/tools/call", json={"name": "echo", "parameters": {"text": "x"}}, timeout=PATIENCE)
        counted = 0
        # Numbers are a quarter of a second old at most; a busy machine may take longer.
        for _ in range(200):
            text = httpx2.get(f"{url}/metrics", timeout=PATIENCE).text
            found = re.findall(r'dogubako_calls_total\{code="OK",tool="echo",transport="rest"\} ([0-9.]+)', text)
            counted = round(sum(map(float, found)))
            if counted >= CALLS:
                break
        server.signal(signal.SIGTERM)
        assert server.wait() == 0

    assert counted == CALLS
