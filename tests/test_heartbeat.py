"""The measure itself: it sees what holds the loop, on the loop and beside it, and nothing else."""

import asyncio
import time

import pytest

from tests.heartbeat import MOST_SECONDS, Heartbeat, StallError, best_of_three, check_stall

# What is measured is the server, and not the tool that measures its coverage.
pytestmark = pytest.mark.no_cover


def busy(seconds: float) -> None:
    """Uses so much processor time, however busy the machine is."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def hold_the_lock() -> None:
    """One call into C that does not let other threads run."""
    sorted(range(3_000_000, 0, -1), key=str)


async def test_work_on_the_loop_is_a_stall() -> None:
    with Heartbeat() as heart:
        await asyncio.sleep(0.05)
        busy(3 * MOST_SECONDS)

    assert heart.worst > 2 * MOST_SECONDS


@best_of_three
async def test_work_in_pieces_is_none() -> None:
    with Heartbeat() as heart:
        for _ in range(20):
            busy(0.02)
            await asyncio.sleep(0)

    check_stall(heart.worst)


@best_of_three
async def test_waiting_is_none() -> None:
    with Heartbeat() as heart:
        # The loop stands still, and the processor is free: so it is on a machine that others keep busy.
        time.sleep(3 * MOST_SECONDS)  # noqa: ASYNC251
        await asyncio.sleep(0.05)

    check_stall(heart.worst)


@best_of_three
async def test_a_thread_that_lets_others_run_is_none() -> None:
    with Heartbeat() as heart:
        await asyncio.to_thread(busy, 3 * MOST_SECONDS)

    check_stall(heart.worst)


async def test_a_thread_that_holds_the_interpreter_is_a_stall() -> None:
    with Heartbeat() as heart:
        await asyncio.sleep(0.05)
        await asyncio.to_thread(hold_the_lock)

    assert heart.worst > 2 * MOST_SECONDS


async def test_a_stall_that_comes_again_each_time_is_one() -> None:
    tries = 0

    @best_of_three
    async def stalling() -> None:
        nonlocal tries
        tries += 1
        check_stall(2 * MOST_SECONDS)

    with pytest.raises(StallError):
        await stalling()
    assert tries == 3


async def test_a_stall_that_does_not_come_again_is_none() -> None:
    stalls = [2 * MOST_SECONDS, 0.0]

    @best_of_three
    async def stalling_once() -> None:
        check_stall(stalls.pop(0))

    await stalling_once()

    assert stalls == []
