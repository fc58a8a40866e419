"""Ids that count once: remembered until they expire, by one process or by all that share a folder."""

import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from dogubako.contract.errors import BusyError
from dogubako.contract.storage import MemoryOnceStore, OnceStore
from dogubako.gate.files import FileOnceStore
from dogubako.gate.shared_state import SharedOnceStore
from dogubako.outbound.shared_redis import SharedRedis
from tests.redis_server import INSTALLED, redis_server
from tests.shared_redis import PATIENT, shared_settings

from .clock import Clock


@pytest.fixture(params=["memory", "files", *(["redis"] if INSTALLED else [])])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[OnceStore]:
    if request.param != "redis":
        yield MemoryOnceStore() if request.param == "memory" else FileOnceStore(tmp_path)
        return
    async with redis_server(tmp_path) as url:
        shared = SharedRedis(shared_settings(url + PATIENT))
        async with shared.running():
            yield SharedOnceStore(shared)


async def test_an_id_counts_once(store: OnceStore) -> None:
    used = [await store.use(id_, owner="ann", ttl=600) for id_ in ("a", "b", "a", "../../a", "../../a")]

    assert used == [True, True, False, True, False]


async def test_of_many_at_once_one_is_first(store: OnceStore) -> None:
    used: list[bool] = []

    async def use() -> None:
        used.append(await store.use("a", owner="ann", ttl=600))

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(use)

    assert sorted(used) == [False] * 19 + [True]


async def test_a_flood_of_one_owner_pushes_nothing_out(store: OnceStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dogubako.contract.storage.MOST_USED_PER_OWNER", 3)
    monkeypatch.setattr("dogubako.contract.storage.MOST_USED", 4)
    for id_ in "abc":
        await store.use(id_, owner="ann", ttl=600)
    with pytest.raises(BusyError):
        await store.use("d", owner="ann", ttl=600)
    first_of_bob = await store.use("e", owner="bob", ttl=600)
    with pytest.raises(BusyError):
        await store.use("f", owner="bob", ttl=600)

    assert first_of_bob
    assert [await store.use(id_, owner="ann", ttl=600) for id_ in "abc"] == [False] * 3


async def test_what_has_expired_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dogubako.contract.storage.MOST_USED", 1)
    store, now = MemoryOnceStore(), time.monotonic()
    await store.use("a", owner="ann", ttl=600)
    monkeypatch.setattr("dogubako.contract.storage.time.monotonic", lambda: now + 700)

    assert await store.use("b", owner="ann", ttl=600)


async def test_markers_that_have_expired_are_removed_and_strange_files_do_no_harm(tmp_path: Path, clock: Clock) -> None:
    store, folder = FileOnceStore(tmp_path), tmp_path / "used_states"
    clock.now = _moment_of(tmp_path)
    await store.use("a", owner="ann", ttl=600)
    (folder / "a folder").mkdir()
    os.utime(folder / "a folder", (0, 0))
    before = len(list(folder.iterdir()))
    clock.now += 700
    await store.use("b", owner="ann", ttl=600)

    assert (before, len(list(folder.iterdir()))) == (2, 2)
    assert all(one.stat().st_mode & 0o077 == 0 for one in folder.iterdir() if one.is_file())


def _moment_of(path: Path) -> float:
    """The time of day by the file system's clock."""
    return path.stat().st_mtime
