"""A backup that one process makes is listed and brought back by another, with a data folder of its own."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from dogubako.contract.errors import BusyError
from dogubako.packs.n8n import backups
from dogubako.packs.n8n.backups import KEPT, Backups, SharedBackups
from tests.sandbox.n8n_client import workflow_id
from tests.shared_redis import MemoryStore

from .wired import Bench, Wire, box_on, told

DRAFT = workflow_id("r-manual")
OTHER = workflow_id("o-no-trigger")


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
async def machines(tmp_path: Path, store: MemoryStore) -> AsyncIterator[list[Bench]]:
    """Two servers with data folders of their own, one n8n, and one shared store."""
    wire = Wire()
    async with AsyncExitStack() as stack:
        boxes = [box_on(wire, tmp_path / name) for name in ("one", "other")]
        for box in boxes:
            box.store = store
        yield [Bench(box=await stack.enter_async_context(box.running()), wire=wire) for box in boxes]


async def listed(n8n: Bench, **which: str) -> list[str]:
    return [one["backup"] for one in (await n8n.data("list_workflow_backups", **which))["backups"]]


async def rename(n8n: Bench, name: str, workflow: str = DRAFT) -> str:
    return str((await n8n.data("update_workflow", id=workflow, name=name))["backup"])


async def test_a_backup_of_one_process_is_listed_and_restored_by_another(machines: list[Bench]) -> None:
    here, there = machines
    before = (await here.data("get_workflow", id=DRAFT))["name"]
    first = await rename(here, "Changed here")
    second = await rename(there, "Changed there", OTHER)

    assert await listed(there) == await listed(here) == [second, first]
    await there.data("restore_workflow", id=DRAFT, backup=first)
    assert (await here.data("get_workflow", id=DRAFT))["name"] == before


async def test_a_workflow_that_another_process_deleted_is_brought_back(machines: list[Bench]) -> None:
    here, there = machines
    deleted = await here.data("delete_workflow", id=OTHER, confirm=True)

    assert await listed(there, id=OTHER) == [deleted["backup"]]
    restored = await there.data("restore_workflow", id=OTHER)
    assert restored["restoredFrom"] == deleted["backup"]


async def test_the_newest_of_all_processes_are_kept(machines: list[Bench], store: MemoryStore) -> None:
    made = [await rename(machines[number % 2], f"Name {number}") for number in range(KEPT + 4)]

    assert await listed(machines[0], id=DRAFT) == await listed(machines[1], id=DRAFT) == made[: -KEPT - 1 : -1]
    assert max(len(entries) for entries in store.entries.values()) == KEPT


async def test_nothing_is_changed_while_no_backup_can_be_shared(machines: list[Bench], store: MemoryStore) -> None:
    here = machines[0]
    made = await rename(here, "Before")
    writes = len(here.wire.writes())
    store.away = True
    refused = await here.call("update_workflow", id=DRAFT, name="Meanwhile")
    unlisted = await here.call("list_workflow_backups", id=DRAFT)

    assert told(refused)[0] == told(unlisted)[0] == "BUSY"
    assert len(here.wire.writes()) == writes
    store.away = False
    assert await listed(here, id=DRAFT) == [made]


async def test_the_store_may_go_away_between_the_lock_and_the_backup(tmp_path: Path, store: MemoryStore) -> None:
    shared = SharedBackups(store, "n8n", days=1)
    local = Backups(tmp_path, "n8n", shared)
    store.away = True
    with pytest.raises(BusyError, match=r"^The workflow was not changed: no backup could be saved\."):
        await local.save({"id": "1"}, "before a change")

    # A backup of a change that was not made is of no use.
    assert await Backups(tmp_path, "n8n").of() == []


async def test_a_backup_that_is_too_large_to_be_shared_is_in_the_data_folder(
    tmp_path: Path, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backups, "_MOST_BYTES", 10)
    here, there = (Backups(tmp_path / name, "n8n", SharedBackups(store, "n8n", days=1)) for name in ("one", "other"))
    saved = await here.save({"id": "1"}, "before a change")

    assert [one.id for one in await here.of("1")] == [saved.id]
    assert await there.of("1") == []
