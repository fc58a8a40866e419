"""Executions that have ended do not change: with a cache, the second look at one costs no request."""

from pathlib import Path
from typing import Any, Final

import pytest

from dogubako.contract.storage import MemoryCache
from dogubako_sandbox.n8n.app import NO_SCOPE_KEY, SANDBOX_KEY

from .wired import Bench, Wire, bench, box_on, told

FAILED: Final = "3"


async def asked_for(n8n: Bench, tool: str, **parameters: Any) -> int:
    """How many requests a call costs that has to succeed. An ended execution is compared with its workflow, once."""
    before = len(n8n.wire.requests)
    await n8n.data(tool, **parameters)
    return len(n8n.wire.requests) - before


async def id_of(n8n: Bench, status: str) -> str:
    rows = (await n8n.data("list_executions", status=status))["executions"]
    return str(rows[0]["id"])


async def failing_node(n8n: Bench) -> str:
    return str((await n8n.data("get_execution", id=FAILED))["error"]["node"])


async def test_the_second_look_costs_nothing_whatever_tool_looks(tmp_path: Path) -> None:
    async with bench(tmp_path, DOGUBAKO_CACHE="memory") as n8n:
        assert await asked_for(n8n, "get_execution", id=FAILED) == 2
        node = await failing_node(n8n)

        assert await asked_for(n8n, "get_execution", id=FAILED) == 0
        assert await asked_for(n8n, "get_execution", id=FAILED, raw=True) == 0
        assert await asked_for(n8n, "get_execution_by_node", id=FAILED, nodeName=node) == 0
        assert await asked_for(n8n, "diagnose_execution", id=FAILED) == 0


async def test_without_a_cache_every_look_is_a_request(tmp_path: Path) -> None:
    async with bench(tmp_path) as n8n:
        assert [await asked_for(n8n, "get_execution", id=FAILED) for _ in range(2)] == [2, 1], (
            "the comparison is remembered by the server itself"
        )


@pytest.mark.parametrize("status", ["running", "waiting"])
async def test_what_has_not_ended_is_asked_again(tmp_path: Path, status: str) -> None:
    async with bench(tmp_path, DOGUBAKO_CACHE="memory") as n8n:
        unfinished = await id_of(n8n, status)

        assert await asked_for(n8n, "get_execution", id=unfinished) == 1
        assert await asked_for(n8n, "get_execution", id=unfinished) == 1
        await n8n.data("stop_execution", id=unfinished)
        assert (await n8n.data("get_execution", id=unfinished))["status"] == "canceled"


async def test_a_deleted_execution_is_gone_at_once(tmp_path: Path) -> None:
    async with bench(tmp_path, DOGUBAKO_CACHE="memory") as n8n:
        node = await failing_node(n8n)
        await n8n.data("get_execution_by_node", id=FAILED, nodeName=node)
        await n8n.data("diagnose_execution", id=FAILED)
        await n8n.data("delete_execution", id=FAILED, confirm=True)

        gone = ("NOT_FOUND", f"Execution '{FAILED}' not found")
        assert told(await n8n.call("get_execution", id=FAILED)) == gone
        assert told(await n8n.call("get_execution", id=FAILED, raw=True)) == gone
        assert told(await n8n.call("get_execution_by_node", id=FAILED, nodeName=node)) == gone
        assert told(await n8n.call("diagnose_execution", id=FAILED)) == gone


async def test_after_a_retry_the_first_execution_is_looked_at_afresh(tmp_path: Path) -> None:
    async with bench(tmp_path, DOGUBAKO_CACHE="memory") as n8n:
        await n8n.data("get_execution", id=FAILED)
        made = (await n8n.data("retry_execution", id=FAILED))["id"]

        # What n8n ignored in it is known already: the version that ran does not change.
        assert await asked_for(n8n, "get_execution", id=FAILED) == 1
        assert await asked_for(n8n, "get_execution", id=FAILED) == 0
        assert await asked_for(n8n, "get_execution", id=made) == 1


async def test_a_failure_is_not_remembered(tmp_path: Path) -> None:
    async with bench(tmp_path, DOGUBAKO_CACHE="memory") as n8n:
        for _ in range(2):
            told(await n8n.call("get_execution", id="99999"))

        assert len(n8n.wire.requests) == 2


@pytest.mark.parametrize(
    ("key", "code", "requests"),
    [
        pytest.param(SANDBOX_KEY, "OK", 3, id="the same key"),
        pytest.param(NO_SCOPE_KEY, "API_ERROR", 3, id="a key that may not read executions"),
    ],
)
async def test_only_servers_with_the_same_key_share(tmp_path: Path, key: str, code: str, requests: int) -> None:
    shared, wire = MemoryCache(), Wire()
    outcomes = []
    for one in (SANDBOX_KEY, key):
        box = box_on(wire, tmp_path, {"N8N_API_KEY": one})
        box.cache = box.pipeline.executor.cache = shared
        async with box.running():
            outcomes.append((await box.call("get_execution", {"id": FAILED})).code)

    assert (outcomes, len(wire.requests)) == (["OK", code], requests)


async def test_a_broken_value_is_a_miss_and_is_replaced(tmp_path: Path) -> None:
    async with bench(tmp_path, DOGUBAKO_CACHE="memory") as n8n:
        await n8n.data("get_execution", id=FAILED)
        cache = n8n.box.cache
        assert isinstance(cache, MemoryCache)
        for key in list(cache._entries):
            await cache.put(key, b'{"id": ')

        assert await asked_for(n8n, "get_execution", id=FAILED) == 1
        assert await asked_for(n8n, "get_execution", id=FAILED) == 0
