"""Numbers for Prometheus at `/metrics`. `docs/metrics.md` describes every name. No label names a person."""

import os
from bisect import bisect_left
from collections import Counter as Occurrences
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.gc_collector import GCCollector
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from dogubako._version import __version__
from dogubako.contract.pack import HealthCheck
from dogubako.engine.events import EndedCall

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
# Several processes of one server count into files of this folder.
FOLDER_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
# Every tool is a set of series. Beyond this, and for names that nobody registered, they share one.
_MOST_TOOLS: Final = 1_000
_OTHER: Final = "other"
_READS: Final = frozenset({"resources/read", "prompts/get", "completion/complete"})


class BatchHistogram(Histogram):
    """A histogram that takes many values at once: with several processes, each value that it has is in a file.

    It uses what `Histogram.observe` uses; `tests/console/test_numbers.py` compares the two.
    """

    def observe_all(self, amounts: Sequence[float]) -> None:
        """The same as `observe` for each of them."""
        self._sum.inc(sum(amounts))
        bounds = self._upper_bounds
        for place, times in Occurrences([bisect_left(bounds, amount) for amount in amounts]).items():
            self._buckets[place].inc(times)


class Metrics:
    """Counts ended calls. A listener of `Toolbox.watch_calls`."""

    def __init__(self, is_tool: Callable[[str], bool]) -> None:
        self._is_tool = is_tool
        self._tools: set[str] = set()
        # The children of metrics by their labels: looking them up costs more than counting.
        self._known: dict[tuple[str, ...], tuple[Any, ...]] = {}
        registry = self._registry = CollectorRegistry()
        self._calls = Counter(
            "dogubako_calls", "Calls that have ended.", ("tool", "transport", "code"), registry=registry
        )
        self._duration = BatchHistogram(
            "dogubako_call_duration_seconds",
            "Duration of calls.",
            ("tool", "transport"),
            buckets=_SECONDS,
            registry=registry,
        )
        self._tokens = Counter("dogubako_answer_tokens", "Tokens of answers.", ("tool",), registry=registry)
        self._trimmed = Counter("dogubako_answers_trimmed", "Answers that were trimmed.", ("tool",), registry=registry)
        self._retries = Counter("dogubako_retries", "Attempts that were repeated.", ("tool",), registry=registry)
        self._requests = Counter(
            "dogubako_service_requests", "Requests to services.", ("service", "status"), registry=registry
        )
        recent = {"registry": registry, "multiprocess_mode": "mostrecent"}
        self._registered = Gauge("dogubako_tools", "Registered tools.", ("state",), **recent)  # type: ignore[arg-type]
        self._up = Gauge("dogubako_service_up", "Whether the last check worked.", ("service",), **recent)  # type: ignore[arg-type]
        info = Gauge("dogubako_info", "The version that runs.", ("version",), **recent)  # type: ignore[arg-type]
        info.labels(__version__).set(1)
        if FOLDER_VARIABLE not in os.environ:
            for collector in (ProcessCollector, PlatformCollector, GCCollector):
                collector(registry=registry)

    def add(self, batch: Sequence[EndedCall]) -> None:
        """Count a batch of calls."""
        # Most calls of a batch are alike, and each counter has a lock.
        alike: dict[tuple[str, str, str], list[EndedCall]] = {}
        for ended in batch:
            key = (ended.call.name, ended.call.door, ended.end.code)
            if (others := alike.get(key)) is None:
                alike[key] = [ended]
            else:
                others.append(ended)
        for (name, door, code), calls in alike.items():
            self._count(self._children(self._tool(name), door, code), calls)

    def _count(self, children: tuple[Any, ...], calls: Sequence[EndedCall]) -> None:
        """Count calls of one tool, over one transport, with one code."""
        number, duration, tokens, trimmed, retries = children
        number.inc(len(calls))
        duration.observe_all([one.end.milliseconds / 1000 for one in calls])
        results = [one.end.result for one in calls if one.end.result is not None]
        tokens.inc(sum([one.tokens for one in results]))
        trimmed.inc(sum([one.trimmed for one in results]))
        for step in [step for one in calls for step in one.steps]:
            if step.kind == "retry":
                retries.inc()
            else:
                self._requests.labels(step.name, str(step.status or "none")).inc()

    def _children(self, tool: str, door: str, code: str) -> tuple[Any, ...]:
        key = (tool, door, code)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = (
                self._calls.labels(*key),
                self._duration.labels(tool, door),
                self._tokens.labels(tool),
                self._trimmed.labels(tool),
                self._retries.labels(tool),
            )
        return known

    def _tool(self, name: str) -> str:
        if name in self._tools or name in _READS:
            return name
        if len(self._tools) >= _MOST_TOOLS or not self._is_tool(name):
            return _OTHER
        self._tools.add(name)
        return name

    def text(self, *, enabled: int, disabled: int, checks: Iterable[HealthCheck]) -> bytes:
        """All numbers in the format of Prometheus."""
        self._registered.labels("enabled").set(enabled)
        self._registered.labels("disabled").set(disabled)
        for check in checks:
            self._up.labels(check.subject).set(check.ok)
        if FOLDER_VARIABLE not in os.environ:
            return generate_latest(self._registry)
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)
