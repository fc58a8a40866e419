"""A stop in the middle cuts no answer short, also where it comes as a stream."""

import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from tests.doors import messages
from tests.doors.processes import PATIENCE, WORKBENCH, serving


@pytest.mark.slow
@pytest.mark.parametrize("era", ["2025", "2026"])
def test_the_answer_of_a_tool_that_talks_arrives_whole(tmp_path: Path, era: str) -> None:
    modern = era == "2026"
    said = messages.call("slow", {"seconds": 1}, modern=modern, meta={"progressToken": "p"})
    with (
        serving(WORKBENCH, folder=tmp_path, settings={"LOG_LEVEL": "debug"}) as server,
        httpx2.Client(base_url=server.url(), timeout=PATIENCE) as client,
        ThreadPoolExecutor(1) as threads,
    ):
        headers = messages.modern_headers("tools/call", "slow") if modern else _session(client)
        body = messages.request("tools/call", said, request_id=2)
        running = threads.submit(client.post, "/mcp", json=body, headers=headers)
        server.stderr.first(lambda line: b"Tool invoked" in line and b"slow" in line)
        server.signal(signal.SIGTERM)
        answer = running.result()
        assert server.wait() == 0

    response = messages.response_in(answer.headers["content-type"], answer.content)
    assert response["result"]["content"][0]["text"] == "Took 1 s."


def _session(client: httpx2.Client) -> dict[str, str]:
    opening = messages.request("initialize", messages.initialize())
    opened = client.post("/mcp", json=opening, headers=messages.legacy_headers())
    return messages.legacy_headers(str(opened.headers["mcp-session-id"]))
