"""Work waits in a fair order: an owner waits for its own work, and small work does not wait for large."""

import asyncio
import gc
import threading
import weakref
from contextvars import copy_context

import pytest

from dogubako.contract.fair_queue import FairQueue, work_owner
from dogubako.contract.offload import offload, weight_of
from tests.doors.waiting import until


def _join(queue: FairQueue, owner: str, cost: int) -> "asyncio.Future[None]":
    context = copy_context()
    context.run(work_owner.set, owner)
    return context.run(queue.join, cost)


async def _order(queue: FairQueue, turns: dict[str, "asyncio.Future[None]"]) -> list[str]:
    order: list[str] = []
    while queue:
        queue.call_next()
        order += [name for name, turn in turns.items() if turn.done() and not turn.cancelled() and name not in order]
    return order


async def test_a_newcomer_waits_for_one_turn_of_a_greedy_owner() -> None:
    queue = FairQueue()
    turns = {f"greedy {number}": _join(queue, "greedy", 10) for number in range(4)}
    turns["newcomer"] = _join(queue, "newcomer", 10)

    assert await _order(queue, turns) == ["greedy 0", "newcomer", "greedy 1", "greedy 2", "greedy 3"]


async def test_small_work_goes_before_large_work_of_others() -> None:
    queue = FairQueue()
    turns = {f"large {number}": _join(queue, f"owner {number}", 1_000) for number in range(3)}
    turns["small"] = _join(queue, "somebody", 1)

    assert (await _order(queue, turns))[0] == "small"


async def test_a_cancelled_turn_is_nobodys() -> None:
    queue = FairQueue()
    turns = {name: _join(queue, name, 1) for name in ("gone", "here")}
    turns["gone"].cancel()

    assert await _order(queue, turns) == ["here"]


async def test_a_cancelled_caller_frees_its_thread_for_others() -> None:
    release = threading.Event()
    running = [asyncio.create_task(offload(release.wait, 10)) for _ in range(3)]
    waiting = [asyncio.create_task(offload(lambda: "done")) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    running[0].cancel()
    release.set()

    assert await asyncio.wait_for(asyncio.gather(*waiting[1:]), 10) == ["done", "done"]
    with pytest.raises(asyncio.CancelledError):
        await waiting[0]


@pytest.mark.parametrize(
    ("data", "least", "most"),
    [
        pytest.param("x" * 1_000_000, 900_000, 1_100_000, id="a text"),
        pytest.param([1] * 100_000, 5_000_000, 7_000_000, id="numbers"),
        pytest.param({"a": "b"}, 0, 200, id="little"),
    ],
)
def test_data_is_weighed_by_its_size(data: object, least: int, most: int) -> None:
    assert least <= weight_of(data) <= most


async def test_large_work_has_its_turn_beside_ever_new_owners_with_small_work() -> None:
    queue = FairQueue()
    large = _join(queue, "large", 1_000)
    small = 0
    while not large.done() and small < 10_000:
        _join(queue, f"owner {small}", 10)
        small += 1
        queue.call_next()

    assert large.done()


async def test_an_error_in_a_thread_leaves_no_reference_cycle() -> None:
    class NotEnoughError(Exception):
        """An error that can be referred to weakly."""

    def fail() -> None:
        raise NotEnoughError

    gc.collect()
    gc.disable()
    try:
        seen = None
        try:
            await offload(fail)
        except NotEnoughError as error:
            seen = weakref.ref(error)
        assert seen is not None
        # The thread may need a moment to let go of it. Without a collection, a cycle would keep it for ever.
        await until(lambda: seen() is None, "the error is freed")
    finally:
        gc.enable()
