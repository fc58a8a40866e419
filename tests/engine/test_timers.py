"""Alarms of one loop: what is cancelled never rings, and keeps nothing of its owner."""

import asyncio
import weakref

from dogubako._timers import CoarseTimer, call_later


class Owner:
    """Keeps its alarm, as most owners do."""

    def __init__(self) -> None:
        self.alarm = call_later(60, self.wake)

    def wake(self) -> None:
        """Would be called by the alarm."""


async def test_a_cancelled_alarm_does_not_keep_its_owner() -> None:
    owner = Owner()
    freed = weakref.ref(owner)
    owner.alarm.cancel()

    del owner

    assert freed() is None


async def test_an_alarm_that_another_one_cancels_in_the_same_moment_does_not_ring() -> None:
    rung: list[str] = []
    both = asyncio.Event()

    def first_rings() -> None:
        rung.append("first")
        second.cancel()

    call_later(0, first_rings)
    second: CoarseTimer = call_later(0, lambda: rung.append("second"))
    call_later(0, both.set)
    await both.wait()

    assert rung == ["first"]
