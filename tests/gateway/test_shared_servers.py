"""Servers that are added, approved, restarted and removed at one process are so at all of them."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
import redis.asyncio as redis_client

from dogubako.app import Toolbox
from dogubako.contract.call import Caller
from dogubako.contract.errors import BusyError, ConflictError, NotFoundError, ValidationError
from dogubako.gateway.administration import ServerAdministration
from dogubako.outbound.redis_cache import Unavailable
from dogubako.outbound.shared_redis import SharedRedis
from tests.redis_server import INSTALLED, RedisProcess
from tests.shared_redis import KEY, PATIENT

from .boxes import Fleet, eventually, offering, tool

pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs redis-server")

ANN = Caller(name="ann", scopes=frozenset({"admin"}), id="ann")
# What one process runs for all is tested in test_owned_upstream.py.
TABLE = {"command": "x", "processes": "each", "env": {"TOKEN": "secret-of-one"}}


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisProcess]:
    (tmp_path / "redis").mkdir()
    with RedisProcess(tmp_path / "redis") as process:
        yield process


class Machines:
    """Processes with data folders of their own, and one Redis."""

    def __init__(self, redis: RedisProcess, folder: Path, stack: AsyncExitStack) -> None:
        self.fleet = Fleet(lists={"one": offering(tool("echo")), "two": offering(tool("echo"))})
        self._redis, self._folder, self._stack = redis, folder, stack

    def made(self, name: str, tables: dict[str, Any] | None = None) -> Toolbox:
        (self._folder / name).mkdir(exist_ok=True)
        shared: dict[str, Any] = {
            "shared": self._redis.url + PATIENT,
            "request_state_key": KEY,
            "auth": "keys",
            "audit": False,
        }
        return self.fleet.box(self._folder / name, tables or {}, **shared)

    async def start(self, name: str, tables: dict[str, Any] | None = None) -> Toolbox:
        return await self._stack.enter_async_context(self.made(name, tables).running())


@pytest.fixture
async def machines(redis: RedisProcess, tmp_path: Path) -> AsyncIterator[Machines]:
    async with AsyncExitStack() as stack:
        yield Machines(redis, tmp_path, stack)


async def add(box: Toolbox, name: str = "one", *, approve: bool = True) -> dict[str, Any]:
    return await box.server_administration.add(name, TABLE, approve=approve, caller=ANN, door="rest")


def serves(box: Toolbox, *names: str) -> bool:
    return {entry.name for entry in box.registry.list() if entry.pack in ("one", "two")} == set(names)


def acts(box: Toolbox) -> ServerAdministration:
    return box.server_administration


async def test_a_server_that_one_process_adds_is_served_by_all_and_by_those_that_start_later(
    machines: Machines, tmp_path: Path
) -> None:
    here, there = await machines.start("here"), await machines.start("there")
    added = await add(here)
    await eventually(lambda: serves(there, "echo"))
    later = await machines.start("later")
    answer = await there.call("echo", text="x")

    assert [one["name"] for one in added["served"]] == ["echo"]
    assert serves(here, "echo") and serves(later, "echo")
    assert answer.text == "one: echo"
    # What no settings file has, no settings file gets.
    assert not (tmp_path / "here" / "dogubako.toml").exists()


async def test_tools_wait_for_approval_everywhere_and_are_served_everywhere_after_it(machines: Machines) -> None:
    here, there = await machines.start("here"), await machines.start("there")
    await add(here, approve=False)
    await eventually(lambda: "one" in there.servers.packs)
    held = serves(here) and serves(there)
    await acts(there).approve("one", None, caller=ANN, door="rest")
    await eventually(lambda: serves(here, "echo"))

    assert held and serves(there, "echo")


async def test_a_server_of_the_settings_files_is_approved_restarted_and_removed_everywhere(machines: Machines) -> None:
    tables: dict[str, Any] = {"one": {"processes": "each"}}
    here, there = await machines.start("here", tables), await machines.start("there", tables)
    await acts(here).approve("one", ["echo"], caller=ANN, door="rest")
    await eventually(lambda: serves(there, "echo"))
    await acts(there).restart("one", caller=ANN, door="rest")
    await eventually(lambda: [one.restarts for one in machines.fleet.upstreams] == [1, 1])
    await acts(here).remove("one", caller=ANN, door="rest")
    await eventually(lambda: "one" not in there.servers.packs)
    connections = len(machines.fleet.upstreams)
    later = await machines.start("later", tables)

    assert serves(here) and serves(there) and serves(later)
    assert len(machines.fleet.upstreams) == connections, "a server that was removed is not connected"
    assert (await add(later))["name"] == "one"


async def test_names_of_tools_are_the_same_everywhere_in_whatever_order_processes_start(machines: Machines) -> None:
    here = await machines.start("here")
    await add(here, "two")
    await add(here, "one")
    later = await machines.start("later")

    assert serves(here, "echo", "one_echo") and serves(later, "echo", "one_echo")
    assert {name: entry.pack for entry in later.registry.list() if (name := entry.name) in ("echo", "one_echo")} == {
        "echo": "two",
        "one_echo": "one",
    }


async def test_of_two_changes_at_once_one_is_refused_with_a_clear_error(machines: Machines) -> None:
    here, there = await machines.start("here"), await machines.start("there")
    outcomes = await asyncio.gather(add(here, "one"), add(there, "two"), return_exceptions=True)
    refused = [one for one in outcomes if isinstance(one, BaseException)]

    assert len(refused) <= 1 and all(isinstance(one, ConflictError) for one in refused)
    added = 2 - len(refused)
    await eventually(lambda: len(here.servers.packs) == len(there.servers.packs) == added)
    # One that read before the other wrote, and writes after it.
    seen = here._shared_servers._followed_version  # type: ignore[union-attr]
    await acts(there).restart(next(iter(there.servers.packs)), caller=ANN, door="rest")
    with pytest.raises(ConflictError, match="at the same moment: nothing was changed"):
        await here._shared.servers.put("one", b"", seen=seen)  # type: ignore[union-attr]


async def test_the_same_server_cannot_be_added_twice_and_one_that_is_gone_not_be_removed(machines: Machines) -> None:
    here, there = await machines.start("here"), await machines.start("there")
    await add(here)
    with pytest.raises(ValidationError, match="already"):
        await add(there)
    await acts(there).remove("one", caller=ANN, door="rest")
    with pytest.raises(NotFoundError):
        await acts(here).remove("one", caller=ANN, door="rest")


async def test_settings_of_servers_are_encrypted_in_redis_and_in_the_data_folder(
    machines: Machines, redis: RedisProcess, tmp_path: Path
) -> None:
    await add(await machines.start("here"))
    async with redis_client.from_url(redis.url) as client:
        stored = await client.hgetall("dogubako:servers")
    copies = [path.read_bytes() for path in (tmp_path / "here").rglob("*") if path.is_file()]

    assert stored and not any(b"secret-of-one" in value or b"command" in value for value in stored.values())
    assert copies and not any(b"secret-of-one" in copy for copy in copies)


async def test_a_redis_that_was_emptied_gets_the_servers_back(machines: Machines, redis: RedisProcess) -> None:
    here = await machines.start("here")
    await add(here)
    redis.kill()
    redis.start()
    later = await machines.start("later")
    await eventually(lambda: serves(later, "echo"))

    assert serves(here, "echo")


async def test_while_redis_is_away_nothing_is_changed_and_a_start_knows_what_it_knew(
    redis: RedisProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncExitStack() as stack:
        machines = Machines(redis, tmp_path, stack)
        here = await machines.start("here")
        await add(here)
    real = SharedRedis.run

    async def away(self: SharedRedis, work: Any, *_: Any) -> Any:
        raise Unavailable

    monkeypatch.setattr(SharedRedis, "run", away)
    async with AsyncExitStack() as stack:
        machines = Machines(redis, tmp_path, stack)
        again = await machines.start("here")
        with pytest.raises(BusyError, match="nothing was changed"):
            await acts(again).remove("one", caller=ANN, door="rest")
        assert "one" in again.servers.packs and len(again.servers.packs["one"].served) == 1
        monkeypatch.setattr(SharedRedis, "run", real)
        await acts(again).remove("one", caller=ANN, door="rest")
        assert again.servers.packs == {}


async def test_a_process_ends_while_it_still_looks_who_runs_a_server(machines: Machines) -> None:
    with anyio.fail_after(60):
        for number in range(5):
            async with machines.made(f"machine {number}", {"one": {}, "two": {}}).running():
                pass
