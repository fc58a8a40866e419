"""Previews of bulk changes in the shared store: another process can use them, once."""

import asyncio
from pathlib import Path

import anyio
import pytest

from dogubako.contract.errors import BusyError, ConflictError
from dogubako.packs.redmine.previews import PlannedIssue, Previews
from tests.shared_redis import MemoryStore

CALL = {"filter": {"status": "open"}, "changes": {"version": "2.0"}}
ISSUES = [PlannedIssue(id=1, subject="件名", project=2, updated_on="2026-11-17T00:00:00Z")]
BODIES = {"2": {"fixed_version_id": 3}}


@pytest.fixture
def processes(tmp_path: Path) -> list[Previews]:
    """The previews of two processes with data folders of their own."""
    store = MemoryStore()
    return [Previews(tmp_path / name, "http://redmine key", store) for name in ("one", "other")]


async def test_another_process_uses_a_preview_once(processes: list[Previews], tmp_path: Path) -> None:
    one, other = processes
    token = await one.save(CALL, "ann", BODIES, ISSUES)
    preview = await other.take(token, CALL, "ann")

    assert (preview.bodies, preview.issues) == (BODIES, ISSUES)
    for again in processes:
        with pytest.raises(ConflictError, match="was used already"):
            await again.take(token, CALL, "ann")
    assert [path.name async for path in anyio.Path(tmp_path).iterdir()] == []


async def test_of_two_processes_at_once_one_uses_it(processes: list[Previews]) -> None:
    token = await processes[0].save(CALL, "ann", BODIES, ISSUES)
    taken = await asyncio.gather(*(one.take(token, CALL, "ann") for one in processes * 3), return_exceptions=True)

    assert sorted(type(one).__name__ for one in taken) == ["ConflictError"] * 5 + ["Preview"]


@pytest.mark.parametrize(("call", "caller"), [(CALL, "bob"), ({**CALL, "changes": {}}, "ann")])
async def test_it_belongs_to_its_caller_and_its_call(
    processes: list[Previews], call: dict[str, object], caller: str
) -> None:
    one, other = processes
    token = await one.save(CALL, "ann", BODIES, ISSUES)
    with pytest.raises(ConflictError):
        await other.take(token, call, caller)

    # Who was refused has not used it up.
    assert (await other.take(token, CALL, "ann")).issues == ISSUES


async def test_without_the_store_there_is_no_preview(tmp_path: Path) -> None:
    store = MemoryStore()
    previews = Previews(tmp_path, "http://redmine key", store)
    token = await previews.save(CALL, "ann", BODIES, ISSUES)
    store.away = True

    with pytest.raises(BusyError, match="could not be stored"):
        await previews.save(CALL, "ann", BODIES, ISSUES)
    with pytest.raises(ConflictError, match="does not exist"):
        await previews.take(token, CALL, "ann")
