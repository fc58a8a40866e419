"""Work that waits a moment, once for all who want it."""

import asyncio

from dogubako._timers import Debounce
from tests.doors.waiting import until


async def test_it_runs_once_for_all_who_want_it_and_again_when_it_is_wanted_again() -> None:
    done: list[str] = []
    soon = Debounce(lambda: done.append("done"), 0.01)

    assert [soon.wanted() for _ in range(3)] == [True, True, True] and done == []
    await until(lambda: bool(done), "the first run")
    assert soon.wanted() and len(done) == 1
    await until(lambda: len(done) == 2, "the second run")


def test_where_no_loop_runs_nothing_waits() -> None:
    assert Debounce(lambda: None, 0.01).wanted() is False


class Timeless(asyncio.SelectorEventLoop):
    """A loop on which nothing is ever due, however long it really runs."""

    def time(self) -> float:
        return 0.0


def test_a_plan_of_a_loop_that_ended_is_made_again() -> None:
    done: list[str] = []
    soon = Debounce(lambda: done.append("done"), 0.01)

    async def want() -> None:
        assert soon.wanted()

    async def want_and_wait() -> None:
        await want()
        await until(lambda: bool(done), "the run on the second loop")

    with asyncio.Runner(loop_factory=Timeless) as runner:
        runner.run(want())
    assert done == []
    asyncio.run(want_and_wait())
