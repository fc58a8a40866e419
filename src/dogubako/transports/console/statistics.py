"""Totals over time, percentiles, and failures by cause."""

import bisect
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dogubako.transports.console.recorder import CallRecord

# A day in steps of five minutes.
STEP_SECONDS: Final = 300
_MOST_STEPS: Final = 288
# Upper bounds of a latency histogram in milliseconds, each a quarter larger than the one before.
_BOUNDS: Final = tuple(1.25**power for power in range(-8, 60))


@dataclass(slots=True)
class Step:
    """The calls of one step of time."""

    start: int
    calls: int = 0
    failures: int = 0
    tokens: int = 0
    latencies: Counter[int] = field(default_factory=Counter)

    def add(self, records: Sequence["CallRecord"]) -> None:
        self.calls += len(records)
        self.failures += sum([one.failed for one in records])
        self.tokens += sum([one.tokens for one in records])
        self.latencies.update([bisect.bisect_left(_BOUNDS, one.ms) for one in records])

    def percentile(self, share: float) -> float | None:
        """The latency that this share of calls does not exceed, to a quarter; None without calls."""
        wanted, seen = share * self.calls, 0
        for place in sorted(self.latencies):
            seen += self.latencies[place]
            if seen >= wanted:
                return _BOUNDS[min(place, len(_BOUNDS) - 1)]
        return None


class Timeline:
    """One `Step` for every five minutes of the last day."""

    def __init__(self) -> None:
        self._steps: dict[int, Step] = {}

    def add(self, records: Sequence["CallRecord"]) -> None:
        """Count calls, most of which belong to the same step."""
        for start, calls in _by_step(records).items():
            self._step(start).add(calls)

    def _step(self, start: int) -> Step:
        step = self._steps.get(start)
        if step is None:
            step = self._steps[start] = Step(start)
            if len(self._steps) > _MOST_STEPS:
                del self._steps[min(self._steps)]
        return step

    def last(self, hours: float) -> list[Step]:
        """All steps of the last hours, also those without calls."""
        steps = dict(self._steps)
        return [steps.get(start) or Step(start) for start in _starts(hours)]


def timeline_of(records: Iterable["CallRecord"], hours: float) -> list[Step]:
    """The same from single records, for those of one tool or caller."""
    starts = _starts(hours)
    steps = {start: Step(start) for start in starts}
    for start, calls in _by_step(records).items():
        if start in steps:
            steps[start].add(calls)
    return [*steps.values()]


def _by_step(records: Iterable["CallRecord"]) -> dict[int, list["CallRecord"]]:
    steps: dict[int, list[CallRecord]] = {}
    for one in records:
        steps.setdefault(int(one.at) // STEP_SECONDS * STEP_SECONDS, []).append(one)
    return steps


def _starts(hours: float) -> list[int]:
    end = int(time.time()) // STEP_SECONDS * STEP_SECONDS
    count = max(1, round(hours * 3600 / STEP_SECONDS))
    return [end - STEP_SECONDS * back for back in range(count - 1, -1, -1)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    """Failures with the same tool, code and message."""

    tool: str
    code: str
    message: str
    hint: str | None
    count: int
    last: float
    last_id: str


def causes_of(records: Sequence["CallRecord"], most: int = 20) -> list[Cause]:
    """Failures grouped by cause, the most frequent first. `records` are in the order of time."""
    counts: Counter[tuple[str, str, str]] = Counter()
    latest: dict[tuple[str, str, str], CallRecord] = {}
    for one in records:
        if one.failed:
            key = (one.tool, one.code, one.message or "")
            counts[key] += 1
            latest[key] = one
    return [
        Cause(
            tool=key[0],
            code=key[1],
            message=key[2],
            hint=latest[key].hint,
            count=count,
            last=latest[key].at,
            last_id=latest[key].id,
        )
        for key, count in counts.most_common(most)
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Totals:
    """Sums over some records."""

    calls: int
    failures: int
    tokens: int
    trimmed: int
    p50: float | None
    p95: float | None


def totals_of(records: Sequence["CallRecord"]) -> Totals:
    latencies = sorted(one.ms for one in records)
    return Totals(
        calls=len(records),
        failures=sum(one.failed for one in records),
        tokens=sum(one.tokens for one in records),
        trimmed=sum(one.trimmed for one in records),
        p50=_at(latencies, 0.5),
        p95=_at(latencies, 0.95),
    )


def _at(ordered: Sequence[float], share: float) -> float | None:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def busiest(records: Iterable["CallRecord"], name: str, most: int = 8) -> list[tuple[str, int, int]]:
    """The tools or callers with the most calls: name, calls, failures."""
    calls: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    for one in records:
        key = getattr(one, name)
        calls[key] += 1
        failures[key] += one.failed
    return [(key, count, failures[key]) for key, count in calls.most_common(most)]
