"""Workers of one server with a shared Redis: what one of them is told holds for all."""

from pathlib import Path

import httpx2
import pytest

from tests.doors.processes import HERE, PATIENCE, WORKBENCH, serving
from tests.redis_server import INSTALLED, RedisProcess
from tests.shared_redis import KEY, PATIENT

from .legacy_client import legacy_client

pytestmark = [pytest.mark.scale, pytest.mark.skipif(not INSTALLED, reason="needs redis-server")]


def _codes(url: str, count: int) -> set[int]:
    """Calls on connections of their own, so that every worker gets some."""
    body = {"name": "echo", "parameters": {"text": "a"}}
    return {httpx2.post(f"{url}/v1/tools/call", json=body, timeout=PATIENCE).status_code for _ in range(count)}


def test_a_tool_that_was_switched_off_at_one_worker_runs_at_none(tmp_path: Path) -> None:
    with RedisProcess(tmp_path) as redis:
        settings = {"DOGUBAKO_SHARED": redis.url + PATIENT, "DOGUBAKO_REQUEST_STATE_KEY": KEY}
        with serving(WORKBENCH, folder=tmp_path, words=["--workers", "3"], settings=settings) as server:
            server.stderr.first(lambda line: b"Application startup complete" in line, nth=3)
            url = server.url()
            before = _codes(url, 30)
            answer = httpx2.patch(f"{url}/v1/tools/echo", json={"enabled": False}, timeout=PATIENCE)
            for _ in range(100):
                after = _codes(url, 30)
                if after == {403}:
                    break
            said = server.stderr.text()

    assert (before, answer.status_code, after) == ({200}, 200, {403})
    assert "Other processes share this server through DOGUBAKO_SHARED" in said


async def test_a_session_is_served_by_all_workers(tmp_path: Path) -> None:
    with RedisProcess(tmp_path) as redis:
        settings = {"DOGUBAKO_SHARED": redis.url + PATIENT, "DOGUBAKO_REQUEST_STATE_KEY": KEY}
        tools = (WORKBENCH, HERE / "worker_pack.py")
        with serving(*tools, folder=tmp_path, words=["--workers", "3"], settings=settings) as server:
            server.stderr.first(lambda line: b"Application startup complete" in line, nth=3)
            url, processes = server.url(), set[str]()
            async with legacy_client("") as client:
                await client.open(url)
                for _ in range(200):
                    processes.add(await client.call(url, "which_worker"))
                    if len(processes) > 1:
                        break

    assert client.session and len(processes) > 1
