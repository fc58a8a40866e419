"""Politeness: so many searches a second, in order, and a rest after a block."""

import anyio
import pytest

from dogubako.contract.errors import Blocked
from dogubako.packs.web.search_http import Pace

from .wired import bench, in_turn, page
from .written import result_page


class FakeTime:
    """A clock that moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    async def only_note(self, seconds: float) -> None:
        self.slept.append(seconds)


def paced(per_second: float, time: FakeTime) -> Pace:
    return Pace(per_second, time.clock, time.sleep)


async def test_the_first_search_does_not_wait() -> None:
    time = FakeTime()
    await paced(1, time).turn()

    assert time.slept == []


@pytest.mark.parametrize(("rate", "gap"), [(1.0, 1.0), (0.5, 2.0), (4.0, 0.25)])
async def test_searches_keep_their_distance(rate: float, gap: float) -> None:
    time = FakeTime()
    pace = paced(rate, time)
    for _ in range(4):
        await pace.turn()

    assert time.slept == [gap] * 3


async def test_whoever_comes_late_enough_does_not_wait() -> None:
    time = FakeTime()
    pace = paced(1, time)
    await pace.turn()
    time.now += 5
    await pace.turn()

    assert time.slept == []


async def test_those_who_come_together_get_one_place_each_in_order() -> None:
    time = FakeTime()
    pace = Pace(1, time.clock, time.only_note)
    for _ in range(4):
        await pace.turn()

    assert time.slept == [1, 2, 3]


async def test_a_block_is_a_rest_that_tells_how_long_it_lasts() -> None:
    time = FakeTime()
    pace = paced(1, time)
    pace.blocked()
    time.now += 12.5

    with pytest.raises(Blocked) as caught:
        await pace.turn()
    assert caught.value.hint == "Use another provider, or search again in 18 seconds."


async def test_the_rest_doubles_with_each_block_up_to_ten_minutes() -> None:
    time = FakeTime()
    pace = paced(1, time)
    rests = [await _rest_after_a_block(pace, time) for _ in range(7)]

    assert rests == [30, 60, 120, 240, 480, 600, 600]


async def test_an_answer_makes_the_next_rest_short_again() -> None:
    time = FakeTime()
    pace = paced(1, time)
    await _rest_after_a_block(pace, time)
    await _rest_after_a_block(pace, time)
    pace.welcome()

    assert await _rest_after_a_block(pace, time) == 30


async def test_several_refusals_at_once_are_one_block() -> None:
    time = FakeTime()
    pace = paced(1, time)
    pace.blocked()
    pace.blocked()
    time.now += 30

    await pace.turn()
    assert await _rest_after_a_block(pace, time) == 60


async def test_those_who_queue_while_another_is_blocked_are_told_instead_of_asking() -> None:
    time = FakeTime()
    pace: Pace

    async def blocked_meanwhile(seconds: float) -> None:
        await time.sleep(seconds)
        pace.blocked()

    pace = Pace(1, time.clock, blocked_meanwhile)
    await pace.turn()

    with pytest.raises(Blocked):
        await pace.turn()


async def test_ten_searches_at_once_queue_and_all_answer() -> None:
    async with bench(in_turn(page(result_page([1], last=True)))) as web:
        codes: list[str] = []

        async def search(number: int) -> None:
            codes.append((await web.search(query=f"thing {number}")).code)

        with anyio.fail_after(10):
            began = anyio.current_time()
            async with anyio.create_task_group() as group:
                for number in range(10):
                    group.start_soon(search, number)
            took = anyio.current_time() - began

        assert codes == ["OK"] * 10
        assert sorted(form["q"] for form in web.wire.forms()) == [f"thing {number}" for number in range(10)]
        # Nine gaps at fifty a second.
        assert took >= 9 / 50


async def _rest_after_a_block(pace: Pace, time: FakeTime) -> int:
    """Blocks once and waits until asking is allowed again, in whole seconds."""
    pace.blocked()
    began = time.now
    for _ in range(1_000):
        try:
            await pace.turn()
        except Blocked:
            time.now += 1
        else:
            break
    return round(time.now - began)
