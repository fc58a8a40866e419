"""Several workers are told to stop: streams end in order in all of them, and what they share is what was configured."""

import os
import signal
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from dogubako import server
from dogubako.app import build
from dogubako.settings import Sources
from dogubako.transports.metrics import FOLDER_VARIABLE
from tests.gate.open_streams import Listener, OpenRequest, connected

from .processes import HERE, PATIENCE, WORKBENCH, serving
from .waiting import says, until

_STATE_KEY = "DOGUBAKO_REQUEST_STATE_KEY"


@pytest.mark.slow
async def test_streams_of_workers_end_in_order(tmp_path: Path) -> None:
    # Longer than a test waits: whoever waits for more than the answers does not come back in time.
    patient = {"DOGUBAKO_SHUTDOWN_GRACE": "600"}
    with serving(WORKBENCH, folder=tmp_path, words=["--workers", "2"], settings=patient) as server:
        server.stderr.first(lambda line: b"Application startup complete" in line, nth=2)
        streams = [OpenRequest() for _ in range(8)]
        async with connected(server.url()) as client, anyio.create_task_group() as tasks:
            caller = await Listener(client, "", "2026").open()
            for stream in streams:
                tasks.start_soon(caller.call, stream, "slow", {"seconds": 3}, {"progressToken": "p"})
            await until(lambda: all(stream.status == 200 for stream in streams), "all answers have begun")
            server.signal(signal.SIGTERM)
            for stream in streams:
                await stream.ends(PATIENCE)
        code = server.wait()

    assert [stream.broken for stream in streams] == [""] * 8
    assert all(b'"result"' in stream.body for stream in streams)
    assert code == 0


@pytest.mark.slow
async def test_calls_of_workers_that_outlast_the_grace_time_hear_it(tmp_path: Path) -> None:
    markers = [tmp_path / str(number) for number in range(4)]
    tools = WORKBENCH, HERE / "odd_tools.py"
    brief = {"DOGUBAKO_SHUTDOWN_GRACE": "1"}
    with serving(*tools, folder=tmp_path, words=["--workers", "2"], settings=brief) as server:
        server.stderr.first(lambda line: b"Application startup complete" in line, nth=2)
        async with connected(server.url()) as client, anyio.create_task_group() as tasks:
            answers: list[httpx2.Response] = []

            async def call(marker: Path) -> None:
                body = {"name": "linger", "parameters": {"marker": str(marker)}}
                answers.append(await client.post("/v1/tools/call", json=body))

            for marker in markers:
                tasks.start_soon(call, marker)
            for marker in markers:
                await says(marker, "started")
            server.signal(signal.SIGTERM)
        code = server.wait()

    assert [(one.status_code, one.json()["code"]) for one in answers] == [(503, "BUSY")] * 4
    assert sum(line["event"] == "Tool completed" for line in server.log_lines) == 4
    assert code == 0


@pytest.mark.parametrize("configured", [None, "k" * 40], ids=["not configured", "configured"])
def test_workers_share_the_key_that_was_configured_or_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, configured: str | None
) -> None:
    monkeypatch.setenv(_STATE_KEY, "to be put back")
    monkeypatch.delenv(_STATE_KEY)
    monkeypatch.setattr(server, "Supervisor", _NoProcesses)
    overrides: dict[str, Any] = {"data_dir": tmp_path, "port": 0, "request_state_key": configured}
    before = dict(os.environ)
    server.serve(build(Sources(overrides=overrides, environ={}, env_file=None)), workers=2)

    key = _NoProcesses.environment.get(_STATE_KEY)
    assert key is None if configured else key is not None and len(key) > 40
    # A folder that is gone and a key that nobody shares would mislead what this process starts next.
    assert FOLDER_VARIABLE in _NoProcesses.environment
    assert dict(os.environ) == before


class _NoProcesses:
    environment: dict[str, str]

    def __init__(self, *_: Any, **__: Any) -> None:
        """Take what a supervisor takes."""

    def run(self) -> int:
        type(self).environment = dict(os.environ)
        return 0
