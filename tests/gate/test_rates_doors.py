"""A caller who asks too often, or too much at once, hears it in the words of its door."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from dogubako.tools import BaseTool
from dogubako.transports.http.app import HttpApp
from tests.doors.asgi import Visit, opened
from tests.doors.waiting import says, until

from .clock import Clock
from .pause import Pause
from .sheds import key_in, shed_in
from .ways import REST, WAYS, WayIn, facts

every_way = pytest.mark.parametrize("way", WAYS)


@asynccontextmanager
async def caller(folder: Path, way: str, **settings: Any) -> AsyncIterator[WayIn]:
    async with callers(folder, way, **settings) as (ann, _):
        yield ann


@asynccontextmanager
async def callers(
    folder: Path, way: str, *more: BaseTool[Any, Any], **settings: Any
) -> AsyncIterator[tuple[WayIn, WayIn]]:
    keys = key_in(folder, "ann", "admin"), key_in(folder, "bob", "read")
    async with opened(HttpApp(shed_in(folder, *more, auth="keys", audit=False, **settings))) as web:
        ann, bob = [await WayIn(web, way, key).open() for key in keys]
        yield ann, bob


@every_way
async def test_too_many_calls_are_refused_with_the_time_to_wait(tmp_path: Path, way: str, clock: Clock) -> None:
    async with caller(tmp_path, way, rate_limit_max=2, rate_limit_window=30) as ann:
        welcome = [facts(await ann.call("look"))["code"] for _ in range(2)]
        clock.now += 7
        refused = await ann.call("look")

    said = facts(refused)
    assert welcome == ["OK", "OK"]
    assert (said["code"], said["retryable"]) == ("RATE_LIMIT_EXCEEDED", True)
    assert said["retryAfter"] == 23
    if way == REST:
        assert refused.status == 429 and refused.headers["retry-after"] == "23"
        assert refused.json["error"] == "Rate limit exceeded"
    else:
        result = refused.response["result"]
        assert refused.status == 200 and result["isError"] is True
        assert result["content"][0] == {"type": "text", "text": "Rate limit exceeded"}


@every_way
async def test_keys_are_counted_apart(tmp_path: Path, way: str) -> None:
    async with callers(tmp_path, way, rate_limit_max=1) as (ann, bob):
        heard = [facts(await one.call("look"))["code"] for one in (ann, ann, bob, bob)]

    assert heard == ["OK", "RATE_LIMIT_EXCEEDED", "OK", "RATE_LIMIT_EXCEEDED"]


@every_way
async def test_too_much_at_once_is_busy_and_others_are_not(tmp_path: Path, way: str) -> None:
    pause, first = Pause(), Visit()
    async with callers(tmp_path, way, pause.tool, caller_concurrency=1) as (ann, bob):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ann.start, first, "pause")
            await until(pause.begun.is_set, "the tool runs")
            refused, of_bob = await ann.call("look"), await bob.call("look")
            pause.go_on.set()
        after = await ann.call("look")

    assert facts(refused)["code"] == "BUSY" and facts(refused)["retryable"] is True
    assert "At most 1 at once" in facts(refused)["hint"]
    assert way != REST or refused.status == 503
    assert [facts(one)["code"] for one in (first, of_bob, after)] == ["OK", "OK", "OK"]


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        pytest.param("look", {"text": "a"}, "OK", id="an answer"),
        pytest.param("look", {"text": 5}, "VALIDATION_ERROR", id="wrong arguments"),
        pytest.param("nothing", {}, "TOOL_NOT_FOUND", id="no such tool"),
        pytest.param("stumble", {"foreseen": True}, "NOT_FOUND", id="an error"),
        pytest.param("stumble", {"foreseen": False}, "TOOL_EXECUTION_ERROR", id="an exception"),
        pytest.param("wipe", {"marker": "m"}, "CONFIRMATION_REQUIRED", id="not confirmed"),
        pytest.param("send_handyman", {}, "OK", id="a tool that calls another"),
        pytest.param("read_more", {"tool": "look", "arguments": {}}, "OK", id="reading on"),
        pytest.param("call_tool", {"name": "look", "arguments": {}}, "OK", id="passed on"),
    ],
)
@every_way
async def test_every_end_of_a_call_gives_its_place_back(
    tmp_path: Path, way: str, name: str, arguments: dict[str, Any], code: str
) -> None:
    async with caller(tmp_path, way, caller_concurrency=1) as ann:
        heard = [facts(await ann.call(name, **arguments))["code"] for _ in range(2)]

        assert heard == [code, code]
        assert facts(await ann.call("look"))["code"] == "OK"


async def test_a_timeout_gives_the_place_back(tmp_path: Path) -> None:
    async with caller(tmp_path, REST, caller_concurrency=1) as ann:
        body = {"name": "linger", "parameters": {"marker": str(tmp_path / "marker")}, "options": {"timeout": 50}}
        headers = {"content-type": "application/json", **ann.headers}
        timed_out = [await ann.web.post("/v1/tools/call", body, headers) for _ in range(2)]

        assert [one.json["code"] for one in timed_out] == ["TIMEOUT", "TIMEOUT"]
        assert facts(await ann.call("look"))["code"] == "OK"


@every_way
async def test_a_client_that_leaves_gives_its_place_back(tmp_path: Path, way: str) -> None:
    async with caller(tmp_path, way, caller_concurrency=1) as ann:
        gone, marker = Visit(), tmp_path / "marker"
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: ann.start(gone, "linger", marker=str(marker)))
            await says(marker, "started")
            gone.leave()
            await says(marker, "cancelled")

        assert facts(await ann.call("look"))["code"] == "OK"


async def test_without_keys_nobody_is_counted_as_a_crowd(tmp_path: Path) -> None:
    box = shed_in(tmp_path, audit=False, caller_concurrency=1)
    async with box.running(), anyio.create_task_group() as tasks:
        marker = tmp_path / "marker"
        tasks.start_soon(box.call, "linger", {"marker": str(marker)})
        await says(marker, "started")
        seen = await box.call("look")
        tasks.cancel_scope.cancel()

    assert seen.code == "OK"
