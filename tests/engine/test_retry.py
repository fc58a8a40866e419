"""What is tried again, how often, after how long; and what never is."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from dogubako import Effect, Pack
from dogubako.contract import errors
from dogubako.contract.errors import ApiError, BusyError, DogubakoError, NotFoundError, ToolTimeoutError
from dogubako.contract.offload import never_repeated
from dogubako.tools import BaseTool, ExecutionOptions, NoArgs, ToolPack

from .boxes import box_of


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("dogubako.engine.executor.time", SimpleNamespace(monotonic=lambda: made.now))
    monkeypatch.setattr("dogubako.engine.executor.anyio.sleep", made.sleep)
    monkeypatch.setattr("dogubako.engine.executor.random.uniform", lambda low, high: low)
    return made


class Flaky(BaseTool[NoArgs]):
    """Fail some times, then work."""

    name = "flaky"

    def __init__(self, failure: Callable[[], BaseException], *, times: int = 99, effect: Effect = Effect.READ) -> None:
        super().__init__()
        self.failure = failure
        self.left = [times]
        self.runs = [0]
        self.effect = effect

    async def execute(self, args: NoArgs) -> Any:
        self.runs[0] += 1
        if self.left[0] > 0:
            self.left[0] -= 1
            raise self.failure()
        return "worked"


def unreachable() -> ApiError:
    return ApiError("Could not reach n8n", unreachable=True)


async def test_passing_trouble_is_tried_again_with_growing_pauses(clock: Clock) -> None:
    flaky = Flaky(unreachable, times=2)

    result = await box_of(flaky).call("flaky", options=ExecutionOptions(retry=2))

    assert (result.value, flaky.runs) == ("worked", [3])
    assert clock.slept == [1.0, 2.0]


async def test_after_the_last_try_the_failure_is_answered(clock: Clock) -> None:
    flaky = Flaky(unreachable)

    result = await box_of(flaky).call("flaky", options=ExecutionOptions(retry=3, retry_delay=100))

    assert (result.code, flaky.runs, clock.slept) == ("API_ERROR", [4], [0.1, 0.2, 0.4])
    assert result.content[0]["text"] == "Could not reach n8n"


async def test_a_pause_is_spread_by_a_tenth_at_most(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[float, float]] = []

    def uniform(low: float, high: float) -> float:
        asked.append((low, high))
        return high

    monkeypatch.setattr("dogubako.engine.executor.random.uniform", uniform)

    await box_of(Flaky(unreachable)).call("flaky", options=ExecutionOptions(retry=2))

    assert asked == [(0, 0.1), (0, 0.1)]
    assert clock.slept == [pytest.approx(1.1), pytest.approx(2.2)]


async def test_by_default_nothing_is_tried_again(clock: Clock) -> None:
    flaky = Flaky(unreachable)

    await box_of(flaky).call("flaky")

    assert (flaky.runs, clock.slept) == ([1], [])


@pytest.mark.parametrize(
    ("failure", "runs"),
    [
        pytest.param(lambda: ApiError("x", status_code=502), 3, id="502"),
        pytest.param(lambda: ApiError("x", status_code=503), 3, id="503"),
        pytest.param(lambda: ApiError("x", status_code=504), 3, id="504"),
        pytest.param(lambda: ApiError("x", status_code=429, retry_after=1), 3, id="429 with a time"),
        pytest.param(lambda: errors.HttpError("x", passing=True), 3, id="a page that may come back"),
        pytest.param(errors.Timeout, 3, id="a slow page"),
        pytest.param(lambda: ToolTimeoutError("x"), 3, id="a timeout"),
        pytest.param(lambda: ApiError("x", status_code=429), 1, id="429 without a time"),
        pytest.param(lambda: ApiError("x", status_code=500), 1, id="500"),
        pytest.param(lambda: ApiError("x", status_code=400), 1, id="400"),
        pytest.param(lambda: ApiError("x", status_code=401), 1, id="401"),
        pytest.param(lambda: NotFoundError("x"), 1, id="not found"),
        pytest.param(lambda: errors.ValidationError.of("a", "x"), 1, id="validation"),
        pytest.param(lambda: errors.HtmlParseError("x"), 1, id="a page we cannot read"),
        pytest.param(lambda: errors.JsonParseError("x"), 1, id="an answer we cannot read"),
        pytest.param(errors.Blocked, 1, id="blocked"),
        pytest.param(lambda: BusyError("x"), 1, id="busy"),
        pytest.param(lambda: RuntimeError("x"), 1, id="unforeseen"),
        pytest.param(lambda: DogubakoError("x"), 1, id="anything else"),
    ],
)
async def test_only_the_listed_troubles_are_tried_again(
    clock: Clock, failure: Callable[[], BaseException], runs: int
) -> None:
    flaky = Flaky(failure)

    await box_of(flaky).call("flaky", options=ExecutionOptions(retry=2))

    assert flaky.runs == [runs]


@pytest.mark.parametrize(
    ("effect", "idempotent", "runs"),
    [
        pytest.param(Effect.READ, False, 3, id="a read"),
        pytest.param(Effect.WRITE, True, 3, id="a write that may be repeated"),
        pytest.param(Effect.WRITE, False, 1, id="a write"),
        pytest.param(Effect.DESTROY, False, 1, id="a deletion"),
    ],
)
async def test_a_write_is_never_done_twice(clock: Clock, effect: Effect, idempotent: bool, runs: int) -> None:
    flaky = Flaky(unreachable, effect=effect)
    flaky.idempotent = idempotent
    arguments = {"confirm": True} if effect is Effect.DESTROY else {}

    await box_of(flaky).call("flaky", arguments, ExecutionOptions(retry=2))

    assert flaky.runs == [runs]


@pytest.mark.parametrize(
    ("retry_after", "deadline", "slept"),
    [
        pytest.param(7, 60_000, [7], id="longer than our own pause"),
        pytest.param(0.2, 60_000, [1.0], id="shorter than our own pause"),
        pytest.param(100, 60_000, [], id="beyond the deadline"),
        pytest.param(60, 60_000, [], id="exactly at the deadline"),
    ],
)
async def test_the_time_that_a_service_asks_for_is_kept_inside_the_deadline(
    clock: Clock, retry_after: float, deadline: int, slept: list[float]
) -> None:
    flaky = Flaky(lambda: ApiError("Slow down", status_code=429, retry_after=retry_after), times=1)

    result = await box_of(flaky).call("flaky", options=ExecutionOptions(retry=1, deadline=deadline))

    assert clock.slept == slept
    assert result.code == ("OK" if slept else "API_ERROR")
    if not slept:
        assert (result.meta or {})["retryAfter"] == retry_after, "the agent hears how long to wait"


async def test_the_deadline_is_for_all_tries_together(clock: Clock) -> None:
    flaky = Flaky(unreachable)

    await box_of(flaky).call("flaky", options=ExecutionOptions(retry=5, retry_delay=10_000, deadline=35_000))

    assert clock.slept == [10, 20]
    assert flaky.runs == [3]


class Gentle(Pack[Any, None]):
    name = "gentle"
    default_retry = 2

    def __init__(self, flaky: Flaky) -> None:
        self.tools = (flaky,)


@pytest.mark.parametrize(
    ("tools_own", "callers", "runs"),
    [
        pytest.param(None, None, 3, id="the pack's"),
        pytest.param(1, None, 2, id="the tool's before the pack's"),
        pytest.param(1, 3, 4, id="the caller's before the tool's"),
        pytest.param(None, 0, 1, id="the caller may say never"),
    ],
)
async def test_whose_wish_counts(clock: Clock, tools_own: int | None, callers: int | None, runs: int) -> None:
    flaky = Flaky(unreachable)
    flaky.retry = tools_own

    await box_of(packs=[Gentle(flaky)]).call("flaky", options=ExecutionOptions(retry=callers))

    assert flaky.runs == [runs]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({"timeout": 120_001}, "options.timeout: must be at most 120000", id="timeout"),
        pytest.param({"deadline": 600_001}, "options.deadline: must be at most 600000", id="deadline"),
        pytest.param({"retry": 6}, "options.retry: must be at most 5", id="retry"),
        pytest.param({"retryDelay": 60_001}, "options.retryDelay: must be at most 60000", id="retryDelay"),
        pytest.param({"maxTokens": 25_001}, "options.maxTokens: must be at most 25000", id="maxTokens"),
    ],
)
async def test_a_wish_above_the_servers_maximum_is_refused(options: dict[str, int], message: str) -> None:
    flaky = Flaky(unreachable, times=0)

    result = await box_of(flaky).call("flaky", options=ExecutionOptions.model_validate(options))

    assert (result.code, result.content[0]["text"]) == ("VALIDATION_ERROR", f"Invalid value for parameter {message}")
    assert flaky.runs == [0]


async def test_all_wishes_that_are_too_large_are_named_at_once() -> None:
    options = ExecutionOptions(timeout=10**9, deadline=10**9, retry=99)

    result = await box_of(packs=[ToolPack("p", (Flaky(unreachable),))]).call("flaky", options=options)

    assert [detail["field"] for detail in (result.meta or {})["details"]] == [
        "options.timeout",
        "options.deadline",
        "options.retry",
    ]


class Slow(BaseTool[NoArgs]):
    """Never finish, inside or after work that must not be repeated."""

    name = "slow"
    effect = Effect.READ

    def __init__(self, *, inside: bool) -> None:
        super().__init__()
        self.inside = inside
        self.runs = [0]

    async def execute(self, args: NoArgs) -> Any:
        self.runs[0] += 1
        with never_repeated():
            if self.inside:
                await anyio.sleep_forever()
        await anyio.sleep_forever()


class Caller(BaseTool[NoArgs]):
    """Call the slow tool."""

    name = "caller"
    effect = Effect.READ

    async def execute(self, args: NoArgs) -> Any:
        return await self.context.tools.call("slow", {})


@pytest.mark.parametrize(
    ("inside", "runs", "retryable"),
    [pytest.param(True, 1, False, id="inside"), pytest.param(False, 3, True, id="after it")],
)
@pytest.mark.parametrize("name", ["slow", "caller"])
async def test_a_timeout_is_repeated_unless_it_came_in_the_middle_of_work_that_takes_as_long_again(
    name: str, inside: bool, runs: int, retryable: bool
) -> None:
    slow = Slow(inside=inside)

    options = ExecutionOptions(retry=2, retry_delay=1, timeout=50)
    result = await box_of(slow, Caller()).call(name, options=options)

    assert (result.code, slow.runs) == ("TIMEOUT", [runs])
    assert result.error is not None and result.error.retryable is retryable
