"""What reaches a collector, and what a collector that misbehaves costs."""

import gzip
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.resources import Resource

from dogubako.contract.call import CallEnd, ToolCall
from dogubako.engine.events import EndedCall
from dogubako.otlp import SCOPE, OtlpExport
from dogubako.telemetry import ExportedTelemetry
from tests.doors.processes import PATIENCE

from .test_numbers import points_of

SPAN = Span(name="x" * 200).SerializeToString()


class Collector:
    """Takes requests, and answers with the next of these statuses; with the last one from then on."""

    def __init__(self, url: str, *statuses: int) -> None:
        self.url = url
        self.statuses = list(statuses)
        self.bodies: dict[str, list[bytes]] = {"/v1/traces": [], "/v1/metrics": []}
        self.headers: list[Mapping[str, str]] = []

    def spans(self) -> list[Span]:
        requests = map(ExportTraceServiceRequest.FromString, self.bodies["/v1/traces"])
        return [
            span
            for request in requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


@contextmanager
def collecting(*statuses: int) -> Iterator[Collector]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            zipped = self.headers.get("content-encoding") == "gzip"
            status = collector.statuses.pop(0) if len(collector.statuses) > 1 else collector.statuses[0]
            if status == 200:
                collector.bodies[self.path].append(gzip.decompress(body) if zipped else body)
            collector.headers.append({name.lower(): value for name, value in self.headers.items()})
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            return None

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector = Collector(f"http://127.0.0.1:{server.server_port}", *(statuses or (200,)))
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield collector
        server.shutdown()
        thread.join(PATIENCE)


def _calls(count: int) -> list[EndedCall]:
    return [EndedCall(time.time(), ToolCall(name="echo"), CallEnd(code="OK", milliseconds=5)) for _ in range(count)]


def _export(**environ: str) -> OtlpExport:
    return OtlpExport(Resource({}), SCOPE, environ)


def test_everything_reaches_the_collector_before_the_server_has_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"{collector.url}/")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc,x-tenant=one")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "gzip")
        monkeypatch.setenv("OTEL_SERVICE_NAME", "my tools")
        telemetry = ExportedTelemetry(lambda name: True)
        telemetry.add(_calls(700))
        telemetry.close()

    traces = ExportTraceServiceRequest.FromString(collector.bodies["/v1/traces"][0])
    metrics = ExportMetricsServiceRequest.FromString(collector.bodies["/v1/metrics"][-1])
    named = {pair.key: pair.value.string_value for pair in traces.resource_spans[0].resource.attributes}
    assert len(collector.spans()) == 700
    assert len({span.span_id for span in collector.spans()}) == 700
    assert [point.count for _, point in points_of(metrics)] == [700]
    assert named["service.name"] == "my tools"
    assert traces.resource_spans[0].scope_spans[0].scope.name == "dogubako"
    assert {(one["authorization"], one["x-tenant"]) for one in collector.headers} == {("Bearer abc", "one")}
    assert {one.get("content-encoding") for one in collector.headers} == {"gzip", None}


def test_a_full_batch_does_not_wait_for_the_timer() -> None:
    with collecting() as collector:
        export = _export(OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, OTEL_BSP_MAX_EXPORT_BATCH_SIZE="10")
        export.start(lambda delta: None)
        export.add([SPAN] * 10)
        until = time.monotonic() + PATIENCE
        while not collector.spans() and time.monotonic() < until:
            threading.Event().wait(0.01)
        seen = len(collector.spans())
        export.close()

    assert seen == 10


@pytest.mark.parametrize(("statuses", "taken"), [((503, 429, 200), 1), ((400, 200), 0), ((401, 200), 0)])
def test_only_what_may_help_is_tried_again(statuses: tuple[int, ...], taken: int) -> None:
    with collecting(*statuses) as collector:
        export = _export(OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, OTEL_BSP_MAX_EXPORT_BATCH_SIZE="1")
        export.start(lambda delta: None)
        export.add([SPAN])
        until = time.monotonic() + PATIENCE
        while (len(collector.statuses) > 1 or (taken and not collector.spans())) and time.monotonic() < until:
            threading.Event().wait(0.01)
        export.close()

    assert len(collector.spans()) == taken


def test_a_collector_that_is_away_costs_no_memory_and_keeps_nobody() -> None:
    export = _export(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9", OTEL_BSP_MAX_QUEUE_SIZE="100")
    for _ in range(50):
        export.add([SPAN] * 7)

    assert (len(export._waiting), export._dropped) == (100, 250)
    export.start(lambda delta: None)
    export.close()
    assert export._thread is not None
    assert not export._thread.is_alive()


def test_wrong_numbers_in_variables_are_the_defaults() -> None:
    export = _export(OTEL_BSP_SCHEDULE_DELAY="soon", OTEL_BSP_MAX_QUEUE_SIZE="-1", OTEL_EXPORTER_OTLP_TIMEOUT="")

    assert (export._delay, export._most, export._traces._seconds) == (5.0, 2048, 10)


def test_a_disabled_sdk_sends_nothing() -> None:
    with collecting() as collector:
        export = _export(OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, OTEL_SDK_DISABLED="true")
        export.start(lambda delta: None)
        export.add([SPAN])
        export.close()

    assert collector.headers == []
