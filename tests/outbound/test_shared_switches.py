"""Switches that processes share: every process follows them, and none forgets what was switched off."""

from collections.abc import Iterable
from typing import Any, cast

import pytest

from dogubako.contract.errors import BusyError, ReadOnlyError
from dogubako.contract.storage import Switched
from dogubako.outbound.redis_cache import Unavailable
from dogubako.outbound.shared_switches import SharedSwitches
from tests.shared_redis import MemoryClient, MemoryRedis

OFF = {("look", "1.0"): False}


class Process:
    """One of the processes, with what it was told."""

    def __init__(self, client: MemoryClient) -> None:
        self.redis = MemoryRedis(client)
        self.switches = SharedSwitches(cast("Any", self.redis))
        self.told: list[list[Switched] | None] = []
        self.switches.listen(self._tell)

    def _tell(self, changed: Iterable[Switched] | None) -> None:
        self.told.append(None if changed is None else list(changed))

    @property
    def look(self) -> bool | None:
        return self.switches.get("look", "1.0")


async def two() -> tuple[MemoryClient, Process, Process]:
    client = MemoryClient()
    one, other = Process(client), Process(client)
    for process in (one, other):
        await process.switches.refresh()
    return client, one, other


async def test_a_switch_is_in_force_where_it_was_set_at_once_and_elsewhere_with_the_next_look() -> None:
    _, one, other = await two()

    await one.switches.put(OFF)
    before = other.look
    await other.switches.refresh()
    await other.switches.refresh()

    assert (one.look, before, other.look) == (False, None, False)
    assert one.told == other.told == [[("look", "1.0")]]


async def test_who_has_seen_an_older_version_looks_first_and_loses_nothing() -> None:
    _, one, other = await two()

    await one.switches.put(OFF)
    await other.switches.put({("put", "1.0"): False})
    await one.switches.refresh()

    for process in (one, other):
        assert (process.look, process.switches.get("put", "1.0")) == (False, False)


async def test_an_emptied_redis_gets_the_switches_back() -> None:
    client, one, other = await two()
    await one.switches.put(OFF)
    await other.switches.refresh()

    client.hashes.clear()
    await other.switches.refresh()
    late = Process(client)
    await late.switches.refresh()

    assert (late.look, one.look, other.look) == (False, False, False)
    await one.switches.refresh()
    assert one.look is False and one.told == [[("look", "1.0")]]


async def test_a_switch_into_an_emptied_redis_keeps_the_others() -> None:
    client, one, other = await two()
    await one.switches.put(OFF)

    client.hashes.clear()
    await one.switches.put({("put", "1.0"): False})
    await other.switches.refresh()

    assert (other.look, other.switches.get("put", "1.0")) == (False, False)


async def test_while_redis_is_away_nothing_is_switched_and_everything_stays() -> None:
    _, one, _ = await two()
    await one.switches.put(OFF)

    one.redis.away = True
    with pytest.raises(BusyError, match="nothing was switched"):
        await one.switches.put({("look", "1.0"): True})
    with pytest.raises(Unavailable):
        await one.switches.refresh()

    assert one.look is False and one.switches.unknown is None


async def test_a_process_that_never_read_the_switches_says_so_until_it_has() -> None:
    client, one, _ = await two()
    await one.switches.put(OFF)

    late = Process(client)
    late.redis.away = True
    for _ in range(2):
        with pytest.raises(Unavailable):
            await late.switches.refresh()
    waiting = late.switches.unknown
    late.redis.away = False
    await late.switches.refresh()

    assert waiting is not None and "switched off" in waiting
    assert (late.switches.unknown, late.look, late.told) == (None, False, [None, None])


async def test_a_tool_that_leaves_one_process_stays_switched_off() -> None:
    _, one, _ = await two()
    await one.switches.put(OFF)

    one.switches.forget("look", "1.0")

    assert one.look is False


def test_one_process_cannot_switch_for_itself() -> None:
    with pytest.raises(ReadOnlyError, match="shared by several processes"):
        Process(MemoryClient()).switches.set("look", "1.0", False)


async def test_a_version_that_is_no_number_is_no_version() -> None:
    client, one, _ = await two()
    await one.switches.put(OFF)

    client.hashes["test:switches"][b"#"] = b"many"
    await one.switches.refresh()

    assert one.look is False and client.hashes["test:switches"][b"#"] == b"1"
