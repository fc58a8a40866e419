"""Three servers behind nginx in round robin are one: no client has to stay with one of them."""

import signal
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import mcp
import pytest
from mcp.client.streamable_http import streamable_http_client

from tests.doors.processes import PATIENCE
from tests.doors.waiting import says
from tests.redis_server import INSTALLED

from .replicas import CONCURRENCY, COUNT, NGINX, TOOL_MAX, Replicas, allow_user, replicas

pytestmark = [
    pytest.mark.scale,
    pytest.mark.skipif(not (INSTALLED and NGINX), reason="needs redis-server and nginx"),
]


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    with replicas(tmp_path_factory.mktemp("replicas")) as box:
        yield box


async def eventually(happened: Callable[[], bool], what: str) -> None:
    """Look a few times a second: every look counts against the limits."""
    for _ in range(240):
        if await anyio.to_thread.run_sync(happened):
            return
        await anyio.sleep(0.5)
    raise AssertionError(f"this did not happen: {what}")


def _text(answer: dict[str, Any]) -> str:
    return str(answer["result"]["content"][0]["text"])


def test_calls_go_to_all_in_turn_and_all_succeed(box: Replicas) -> None:
    processes = {_text(box.call("which_worker", {})) for _ in range(4 * COUNT)}

    assert len(processes) == COUNT


def test_the_console_and_rest_answer_wherever_they_are_asked(box: Replicas) -> None:
    headers = {"x-api-key": box.key}
    answers = [httpx2.get(f"{box.url}/v1/tools/echo", headers=headers, timeout=PATIENCE) for _ in range(COUNT)]

    assert [answer.json()["enabled"] for answer in answers] == [True] * COUNT


async def test_a_switch_is_in_force_on_all_and_a_listening_client_of_another_hears_of_it(box: Replicas) -> None:
    here, there, _ = box.urls
    # Newer clients listen without a session, here at one server while another one is told.
    async with (
        httpx2.AsyncClient(headers={"x-api-key": box.key}, timeout=PATIENCE) as authorized,
        mcp.Client(
            streamable_http_client(f"{here}/mcp", http_client=authorized),
            mode="2026-07-28",
            read_timeout_seconds=PATIENCE,
        ) as client,
    ):
        async with client.listen(tools_list_changed=True) as news:
            assert box.switch(False, "echo", url=there) == 200
            with anyio.fail_after(PATIENCE):
                event = await anext(aiter(news))
        names = {tool.name for tool in (await client.list_tools()).tools}
    await eventually(
        lambda: {box.code("echo", {"text": "a"}, url=url) for url in box.urls} == {"TOOL_DISABLED"}, "it is off on all"
    )
    assert box.switch(True, "echo") == 200
    await eventually(lambda: {box.code("echo", {"text": "a"}, url=url) for url in box.urls} == {"OK"}, "it is on again")

    assert type(event).__name__ == "ToolsListChanged" and "echo" not in names


def test_a_question_is_answered_to_another_server_and_once(box: Replicas) -> None:
    here, there, third = box.urls
    asked = box.call("ask_as_worker", {}, url=here)["result"]
    said = {key: {"action": "accept", "content": {"answer": "green"}} for key in asked["inputRequests"]}
    more = {"inputResponses": said, "requestState": asked["requestState"]}
    heard = box.call("ask_as_worker", {}, url=there, **more)
    again = box.call("ask_as_worker", {}, url=third, **more)["result"]

    assert asked["resultType"] == "input_required" and _text(heard).endswith(" green")
    assert again["resultType"] == "input_required", "a used answer does not count on a third server"


def test_calls_of_a_tool_are_counted_together(box: Replicas) -> None:
    codes = Counter(box.code("look", {}) for _ in range(TOOL_MAX + 2 * COUNT))

    assert codes == {"OK": TOOL_MAX, "RATE_LIMIT_EXCEEDED": 2 * COUNT}


async def test_running_calls_of_a_caller_are_counted_together(box: Replicas, tmp_path: Path) -> None:
    markers = [tmp_path / str(number) for number in range(CONCURRENCY)]
    with ThreadPoolExecutor(CONCURRENCY) as threads:
        running = [threads.submit(box.code, "linger", {"marker": str(marker), "seconds": 5.0}) for marker in markers]
        for marker in markers:
            await says(marker, "started")
        refused = box.code("which_worker", {})
        ended = [one.result() for one in running]
    await eventually(lambda: box.code("picture", {}) == "OK", "places are free again")

    assert (refused, ended) == ("BUSY", ["OK"] * CONCURRENCY)


async def test_redis_goes_comes_back_empty_and_nothing_that_was_switched_off_runs(box: Replicas) -> None:
    box.switch(False, "put")
    await eventually(
        lambda: {box.code("put", {"text": "a"}, url=url) for url in box.urls} == {"TOOL_DISABLED"}, "put is off"
    )
    box.redis.kill()
    reading = [box.code("echo", {"text": "a"}, url=url) for url in box.urls]
    off = [box.code("put", {"text": "a"}, url=url) for url in box.urls]
    refused = box.switch(True, "put")
    box.redis.start()
    allow_user(box.redis)
    # No process is restarted.
    await eventually(lambda: box.switch(True, "echo") == 200, "tools can be switched again")
    still = [box.code("put", {"text": "a"}, url=url) for url in box.urls]

    assert "BUSY" not in reading and "INTERNAL_ERROR" not in reading
    assert (off, refused, still) == (["TOOL_DISABLED"] * COUNT, 503, ["TOOL_DISABLED"] * COUNT)


async def test_a_killed_server_leaves_its_places_to_the_others(box: Replicas, tmp_path: Path) -> None:
    """The last test: one of the servers is gone afterwards."""
    here, there, victim = box.urls
    markers = [tmp_path / str(number) for number in range(CONCURRENCY)]
    with ThreadPoolExecutor(CONCURRENCY) as threads:
        running = [
            threads.submit(box.code, "linger", {"marker": str(marker), "seconds": 200.0}, url=victim)
            for marker in markers
        ]
        for marker in markers:
            await says(marker, "started")
        full = box.code("picture", {}, url=here)
        box.servers[-1].signal(signal.SIGKILL)
        ended = [type(one.exception()) for one in running]
    await eventually(lambda: box.code("picture", {}, url=there) == "OK", "the places of the dead are free")
    through_nginx = {box.code("picture", {}) for _ in range(2 * COUNT)}

    assert full == "BUSY" and all(issubclass(one, httpx2.TransportError) for one in ended)
    assert through_nginx == {"OK"}
