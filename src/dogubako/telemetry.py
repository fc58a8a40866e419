"""OpenTelemetry: a span and a duration for every call, made after the call has ended. Needs the extra `otel`.

Names follow the semantic conventions for MCP. Resource and sampler are those of the SDK, with its variables
`OTEL_SERVICE_NAME`, `OTEL_TRACES_SAMPLER` and so on. Spans are written as bytes of OTLP at once, from a template for
each kind of call, and durations are counted here: the SDK's spans, encoder and histogram take many times as long.
"""

import os
import random
import struct
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, SpanFlags, Status
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    ResourceMetrics,
    ScopeMetrics,
)
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace import SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from dogubako.contract.call_steps import CallStep
from dogubako.engine.events import EndedCall
from dogubako.otlp import SCOPE, OtlpExport, field, server_resource

_GOOD: Final = frozenset({"OK", "NO_RESULTS", "INPUT_REQUIRED", "TASK"})
_TRANSPORTS: Final = {"stdio": "pipe", "http": "tcp", "rest": "tcp", "console": "tcp"}
_READS: Final = frozenset({"resources/read", "prompts/get", "completion/complete"})
# A batch is handled on the event loop, whose own span, if any, has nothing to do with its calls.
_NO_PARENT: Final = Context()
_NANOSECONDS: Final = 1_000_000_000
# In seconds, as the conventions advise for calls that may take minutes.
_BOUNDARIES: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
_LOCAL: Final = int(SpanFlags.SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK)
_REMOTE: Final = _LOCAL | int(SpanFlags.SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)
_FAILED: Final = Status(code=Status.STATUS_CODE_ERROR)
# Field numbers of Span, KeyValue and AnyValue, with the kind of their values.
_TRACE_ID, _SPAN_ID, _BEGIN, _END = b"\x0a\x10", b"\x12\x08", b"\x39", b"\x41"
_ATTRIBUTES, _VALUE, _TEXT = b"\x4a", b"\x12", b"\x0a"
_IDS_AND_TIMES: Final = struct.Struct("<2s16s2s8scQcQ")
_CALL_ID: Final = KeyValue(key="dogubako.call.id").SerializeToString()
_SAMPLES_ROOTS: Final = ("AlwaysOnSampler", "ParentBased{root:AlwaysOnSampler,")
# Tools × transports × codes. Names that nobody registered share one.
_MOST_KINDS: Final = 20_000


class _Series:
    """The durations of calls with the same attributes."""

    def __init__(self, attributes: dict[str, str]) -> None:
        self.attributes = attributes
        self.clear()

    def clear(self) -> None:
        self.buckets = [0] * (len(_BOUNDARIES) + 1)
        self.sum = 0.0
        self.least, self.most = float("inf"), float("-inf")

    def add(self, seconds: float) -> None:
        self.buckets[bisect_left(_BOUNDARIES, seconds)] += 1
        self.sum += seconds
        self.least = min(self.least, seconds)
        self.most = max(self.most, seconds)

    def point(self, since: int, now: int) -> HistogramDataPoint:
        return HistogramDataPoint(
            attributes=self.attributes,
            start_time_unix_nano=since,
            time_unix_nano=now,
            count=sum(self.buckets),
            sum=self.sum,
            bucket_counts=tuple(self.buckets),
            explicit_bounds=_BOUNDARIES,
            min=self.least,
            max=self.most,
        )


class _Kind(NamedTuple):
    """What all calls of one tool over one transport with one outcome share."""

    title: str
    # The bytes of a span without what differs from call to call.
    span: bytes
    attributes: dict[str, str]
    series: _Series


class Telemetry:
    """Turns ended calls into spans and measurements. A listener of `Toolbox.watch_calls`."""

    def __init__(
        self, tracers: TracerProvider, is_tool: Callable[[str], bool], emit: Callable[[Sequence[bytes]], None]
    ) -> None:
        self.resource = tracers.resource
        self._sampler = tracers.sampler
        # The usual sampler takes every call that no client has decided about; to ask it takes longer than the rest.
        self._samples_roots = tracers.sampler.get_description().startswith(_SAMPLES_ROOTS)
        self._is_tool = is_tool
        self._emit = emit
        self._kinds: dict[tuple[str, str, str, bool], _Kind] = {}
        self._series: dict[tuple[tuple[str, str], ...], _Series] = {}
        self._since = time.time_ns()
        # Batches are counted on the event loop, and read by the thread that exports.
        self._counting = threading.Lock()
        self._propagator = TraceContextTextMapPropagator()

    def add(self, batch: Sequence[EndedCall]) -> None:
        spans: list[bytes] = []
        with self._counting:
            for ended in batch:
                kind = self._kind(ended)
                kind.series.add(ended.end.milliseconds / 1000)
                self._trace(ended, kind, spans)
        if spans:
            self._emit(spans)

    def measured(self, *, delta: bool = False) -> MetricsData | None:
        """All durations so far, or with `delta` since the last time."""
        now = time.time_ns()
        with self._counting:
            points = [one.point(self._since, now) for one in self._series.values() if any(one.buckets)]
            if delta:
                self._since = now
                for one in self._series.values():
                    one.clear()
        if not points:
            return None
        kind = AggregationTemporality.DELTA if delta else AggregationTemporality.CUMULATIVE
        metric = Metric(
            name="mcp.server.operation.duration",
            description="Duration of one MCP request as the server sees it.",
            unit="s",
            data=Histogram(data_points=points, aggregation_temporality=kind),
        )
        scoped = ScopeMetrics(scope=SCOPE, metrics=[metric], schema_url="")
        return MetricsData([ResourceMetrics(resource=self.resource, scope_metrics=[scoped], schema_url="")])

    def _kind(self, ended: EndedCall) -> _Kind:
        call, end = ended.call, ended.end
        is_tool_error = (
            end.code not in _GOOD and end.result is not None and end.result.is_error and call.door in ("stdio", "http")
        )
        # A name that nobody registered would make a new series for every caller who invents one.
        name = call.name if call.name in _READS or self._is_tool(call.name) else "unknown"
        key = (name, call.door, end.code, is_tool_error)
        kind = self._kinds.get(key)
        if kind is None:
            if len(self._kinds) >= _MOST_KINDS:
                self._kinds.clear()
                self._series.clear()
                self._since = time.time_ns()
            kind = self._kinds[key] = self._new_kind(*key)
        return kind

    def _new_kind(self, name: str, door: str, code: str, is_tool_error: bool) -> _Kind:
        attributes = {"mcp.method.name": name if name in _READS else "tools/call"}
        title = name
        if name not in _READS:
            attributes |= {"gen_ai.tool.name": name, "gen_ai.operation.name": "execute_tool"}
            title = f"tools/call {name}"
        if door in _TRANSPORTS:
            attributes["network.transport"] = _TRANSPORTS[door]
        if code not in _GOOD:
            attributes["error.type"] = "tool_error" if is_tool_error else code
        span = Span(
            name=title,
            kind=Span.SPAN_KIND_SERVER,
            attributes=_written({**attributes, "dogubako.code": code}),
            status=None if code in _GOOD else _FAILED,
            flags=_LOCAL,
        )
        series = self._series.setdefault(tuple(attributes.items()), _Series(attributes))
        return _Kind(title, span.SerializeToString(), attributes, series)

    def _trace(self, ended: EndedCall, kind: _Kind, spans: list[bytes]) -> None:
        call = ended.call
        parent = self._propagator.extract({"traceparent": call.traceparent}) if call.traceparent else _NO_PARENT
        caller = trace.get_current_span(parent).get_span_context() if call.traceparent else None
        known = caller if caller is not None and caller.is_valid else None
        trace_id = random.getrandbits(128) or 1 if known is None else known.trace_id
        if known is not None or not self._samples_roots:
            sampled = self._sampler.should_sample(parent, trace_id, kind.title, SpanKind.SERVER, kind.attributes)
            if sampled.decision is not Decision.RECORD_AND_SAMPLE:
                return
        finish = int(ended.at * _NANOSECONDS)
        begin = finish - int(ended.end.milliseconds * 1_000_000)
        trace_bytes, span_id = trace_id.to_bytes(16, "big"), _new_span_id()
        # Parts of a message may follow each other: fields of the later ones are added, or count instead.
        parts = [kind.span, _IDS_AND_TIMES.pack(_TRACE_ID, trace_bytes, _SPAN_ID, span_id, _BEGIN, begin, _END, finish)]
        id_ = call.id.encode()
        parts.append(_BEFORE_USUAL_ID + id_ if len(id_) == _USUAL_ID else _call_id(id_))
        if known is not None:
            parts.append(Span(parent_span_id=known.span_id.to_bytes(8, "big"), flags=_REMOTE).SerializeToString())
        others: list[bytes] = []
        for step in ended.steps:
            if step.kind == "retry":
                parts.append(_retried(step))
            else:
                others.append(_request(step, trace_bytes, span_id))
        spans += [b"".join(parts), *others]


def _call_id(id_: bytes) -> bytes:
    return field(_ATTRIBUTES, _CALL_ID + field(_VALUE, field(_TEXT, id_)))


# Ids of calls have the same length, so what stands before them is the same.
_USUAL_ID: Final = 16
_BEFORE_USUAL_ID: Final = _call_id(bytes(_USUAL_ID))[:-_USUAL_ID]


def _retried(step: CallStep) -> bytes:
    at, attributes = int(step.at * _NANOSECONDS), _written({"dogubako.code": step.name})
    event = Span.Event(name="retry", time_unix_nano=at, attributes=attributes)
    return bytes(Span(events=[event]).SerializeToString())


def _request(step: CallStep, trace_id: bytes, parent: bytes) -> bytes:
    start = int(step.at * _NANOSECONDS)
    attributes: dict[str, str | int] = {"http.request.method": step.detail, "peer.service": step.name}
    if step.status is not None:
        attributes["http.response.status_code"] = step.status
    span = Span(
        trace_id=trace_id,
        span_id=_new_span_id(),
        parent_span_id=parent,
        name=step.detail,
        kind=Span.SPAN_KIND_CLIENT,
        start_time_unix_nano=start,
        end_time_unix_nano=start + int(step.ms * 1_000_000),
        attributes=_written(attributes),
        status=_FAILED if step.status is None or step.status >= 400 else None,
        flags=_LOCAL,
    )
    return bytes(span.SerializeToString())


def _new_span_id() -> bytes:
    """Not a secret: the ids of a trace only have to be different."""
    return (random.getrandbits(64) or 1).to_bytes(8, "big")


def _written(attributes: dict[str, Any]) -> list[KeyValue]:
    return [
        KeyValue(key=key, value=AnyValue(int_value=value) if isinstance(value, int) else AnyValue(string_value=value))
        for key, value in attributes.items()
    ]


class ExportedTelemetry(Telemetry):
    """Telemetry that is exported over OTLP, as the variables of OpenTelemetry say."""

    def __init__(self, is_tool: Callable[[str], bool]) -> None:
        resource = server_resource()
        self._export = OtlpExport(resource, SCOPE, os.environ)
        super().__init__(TracerProvider(resource=resource), is_tool, self._export.add)
        self._export.start(self.measured)

    def close(self) -> None:
        """Export what is left."""
        self._export.close()
