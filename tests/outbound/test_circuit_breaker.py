"""A service that fails is left alone for a growing, bounded time; then one call asks, and its outcome decides."""

import asyncio
from typing import Any

import pytest
import structlog.testing

from dogubako.outbound import redis_cache
from dogubako.outbound.redis_cache import CircuitBreaker, Unavailable


class Clock:
    now = 1_000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(redis_cache, "time", clock)
    return clock


class Service:
    """Works, or not; counts how often it is asked."""

    def __init__(self) -> None:
        self.works = True
        self.asked = 0

    async def ask(self) -> str:
        self.asked += 1
        if not self.works:
            raise KeyError("broken")
        return "well"


async def ask(breaker: CircuitBreaker, service: Service) -> str:
    try:
        return await breaker.run(service.ask)
    except Unavailable:
        return "unavailable"


def breaker_of(seconds: float = 60.0) -> CircuitBreaker:
    return CircuitBreaker("test", seconds=seconds, failures=(KeyError,))


async def test_after_a_failure_nobody_asks_until_the_pause_is_over(clock: Clock) -> None:
    breaker, service = breaker_of(), Service()
    service.works = False

    answers = [await ask(breaker, service) for _ in range(10)]
    clock.now += 0.99
    answers.append(await ask(breaker, service))

    assert (answers, service.asked) == (["unavailable"] * 11, 1)


async def test_the_pause_doubles_with_every_failed_probe_up_to_half_a_minute(clock: Clock) -> None:
    breaker, service = breaker_of(), Service()
    service.works = False
    await ask(breaker, service)
    probes = []
    for _ in range(200):
        clock.now += 0.5
        before = service.asked
        await ask(breaker, service)
        if service.asked > before:
            probes.append(clock.now - 1_000)

    assert probes == [1, 3, 7, 15, 31, 61, 91]


async def test_a_probe_that_works_closes_it_and_forgets_the_pauses(clock: Clock) -> None:
    breaker, service = breaker_of(), Service()
    with structlog.testing.capture_logs() as events:
        service.works = False
        for _ in range(5):
            await ask(breaker, service)
            clock.now += 60
        service.works = True
        assert [await ask(breaker, service) for _ in range(3)] == ["well"] * 3
        service.works = False
        await ask(breaker, service)
        clock.now += 1
        service.works = True
        assert await ask(breaker, service) == "well"

    said = [(event["event"], event["service"]) for event in events]
    assert said == [("Circuit breaker opened", "test"), ("Circuit breaker closed", "test")] * 2
    assert (events[0]["error"], events[0]["pause_seconds"]) == ("KeyError", 1.0)


async def test_only_one_call_probes_while_the_others_go_on_without(clock: Clock) -> None:
    breaker, service, release = breaker_of(), Service(), asyncio.Event()
    service.works = False
    await ask(breaker, service)
    clock.now += 1

    async def slow() -> str:
        await release.wait()
        return "well"

    probe = asyncio.create_task(breaker.run(slow))
    await asyncio.sleep(0)
    others = [await ask(breaker, service) for _ in range(5)]
    release.set()

    assert (others, service.asked, await probe) == (["unavailable"] * 5, 1, "well")


async def test_a_cancelled_probe_leaves_its_place_to_the_next(clock: Clock) -> None:
    breaker, service = breaker_of(), Service()
    service.works = False
    await ask(breaker, service)
    clock.now += 1
    probe = asyncio.create_task(breaker.run(asyncio.Event().wait))
    await asyncio.sleep(0)
    probe.cancel()
    with pytest.raises(asyncio.CancelledError):
        await probe
    service.works = True

    assert await ask(breaker, service) == "well"


async def test_what_takes_too_long_has_failed(clock: Clock) -> None:
    breaker = breaker_of(seconds=0.01)

    with pytest.raises(Unavailable):
        await asyncio.wait_for(breaker.run(asyncio.Event().wait), 60)
    with pytest.raises(Unavailable):
        await breaker.run(Service().ask)


async def test_calls_that_fail_together_count_once(clock: Clock) -> None:
    breaker, service, release = breaker_of(), Service(), asyncio.Event()

    async def fail() -> None:
        await release.wait()
        raise KeyError

    calls: list[asyncio.Task[Any]] = [asyncio.create_task(breaker.run(fail)) for _ in range(20)]
    await asyncio.sleep(0)
    release.set()
    await asyncio.gather(*calls, return_exceptions=True)
    clock.now += 1

    assert await ask(breaker, service) == "well"


async def test_an_error_that_is_no_failure_of_the_service_passes(clock: Clock) -> None:
    breaker, service = breaker_of(), Service()

    async def wrong() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await breaker.run(wrong)
    assert await ask(breaker, service) == "well"
