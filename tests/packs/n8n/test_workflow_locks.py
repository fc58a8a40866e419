"""One writer at a time for each workflow of each instance, and nobody waits for ever."""

import gc

import anyio
import pytest

from dogubako.contract.errors import BusyError
from dogubako.packs.n8n import client
from dogubako.packs.n8n.client import WorkflowLocks
from tests.shared_redis import MemoryStore


async def test_two_clients_of_one_instance_share_the_lock() -> None:
    order: list[str] = []
    inside = anyio.Event()

    async def first() -> None:
        async with WorkflowLocks("http://a").hold("w"):
            inside.set()
            await anyio.wait_all_tasks_blocked()
            order.append("first")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(first)
        await inside.wait()
        async with WorkflowLocks("http://a").hold("w"):
            order.append("second")

    assert order == ["first", "second"]


@pytest.mark.parametrize(("instance", "workflow"), [("http://a", "other"), ("http://b", "w")])
async def test_other_workflows_and_instances_do_not_wait(instance: str, workflow: str) -> None:
    with anyio.fail_after(5):
        async with WorkflowLocks("http://a").hold("w"), WorkflowLocks(instance).hold(workflow):
            pass


async def test_who_waits_too_long_is_told_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_LOCK_SECONDS", 0.01)
    locks = WorkflowLocks("http://a")

    errors: list[BusyError] = []

    async def second() -> None:
        try:
            async with locks.hold("w"):
                raise AssertionError("the lock was held by two")
        except BusyError as error:
            errors.append(error)

    async with locks.hold("w"), anyio.create_task_group() as tasks:
        tasks.start_soon(second)

    assert [error.retryable for error in errors] == [True]
    async with locks.hold("w"):
        pass


async def test_locks_are_not_kept_for_ever() -> None:
    locks = WorkflowLocks("http://many")
    for number in range(50):
        async with locks.hold(str(number)):
            pass
    gc.collect()

    assert [key for key in client._LOCKS if key[0] == "http://many"] == []


async def test_a_workflow_that_another_process_changes_is_not_changed_here() -> None:
    store = MemoryStore()
    here, elsewhere = WorkflowLocks("http://a", store), store.lock("n8n http://a w", wait=1)
    async with elsewhere:
        with pytest.raises(BusyError):
            async with here.hold("w"):
                raise AssertionError("the lock was held by two")
        async with here.hold("other"):
            pass
    async with here.hold("w"):
        with pytest.raises(BusyError):
            async with store.lock("n8n http://a w", wait=1):
                raise AssertionError("the lock was held by two")


async def test_without_the_shared_store_nothing_is_changed() -> None:
    store = MemoryStore()
    store.away = True
    with pytest.raises(BusyError):
        async with WorkflowLocks("http://a", store).hold("w"):
            raise AssertionError("nobody gave the lock")
