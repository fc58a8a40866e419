"""Numbers for operators: `/metrics`, OpenTelemetry and the access log."""

import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import HistogramDataPoint
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, ParentBased, Sampler, TraceIdRatioBased
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from dogubako.app import Toolbox
from dogubako.contract.call import CallEnd, ToolCall
from dogubako.contract.call_steps import CallStep
from dogubako.engine.events import EndedCall
from dogubako.gate.api_keys import KeyStore
from dogubako.telemetry import Telemetry
from dogubako.transports.http.app import HttpApp
from dogubako.transports.metrics import BatchHistogram
from tests.doors import messages
from tests.doors.asgi import Client, opened
from tests.gate.guarded import guarded_box

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
DASHBOARD = (ROOT / "deploy" / "grafana-dashboard.json").read_text(encoding="utf-8")
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def box(tmp_path: Path) -> Toolbox:
    return guarded_box(tmp_path, DOGUBAKO_AUTH="off", DOGUBAKO_OTEL="false")


@pytest.fixture
async def web(box: Toolbox) -> AsyncIterator[Client]:
    async with opened(HttpApp(box)) as client:
        yield client


def _flush(box: Toolbox) -> None:
    assert box._batches is not None
    box._batches.flush()


async def _samples(web: Client, box: Toolbox) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    _flush(box)
    text = (await web.get("/metrics")).body.decode()
    return {
        (one.name, tuple(sorted(one.labels.items()))): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }


async def test_calls_are_counted_by_tool_transport_and_code(web: Client, box: Toolbox) -> None:
    for body in (
        {"name": "echo", "parameters": {"text": "x"}},
        {"name": "echo"},
        {"name": "invented_1"},
        {"name": "<x>"},
    ):
        await web.post("/v1/tools/call", body)

    samples = await _samples(web, box)

    counted = {
        (dict(labels)["tool"], dict(labels)["code"]): value
        for (name, labels), value in samples.items()
        if name == "dogubako_calls_total"
    }
    # A name that somebody invents makes no series of its own.
    assert counted == {("echo", "OK"): 1, ("echo", "VALIDATION_ERROR"): 1, ("other", "TOOL_NOT_FOUND"): 2}
    assert samples["dogubako_call_duration_seconds_count", (("tool", "echo"), ("transport", "rest"))] == 2
    assert samples["dogubako_service_up", (("service", "redmine"),)] == 1
    assert samples["dogubako_tools", (("state", "enabled"),)] == len(box.registry.list())


async def test_no_label_names_a_person(tmp_path: Path) -> None:
    secret = KeyStore(tmp_path).create("ann.of.the.mill", ["admin"])[0]
    box = guarded_box(tmp_path)
    async with opened(HttpApp(box)) as web:
        headers = {"authorization": f"Bearer {secret}", "content-type": "application/json"}
        await web.post("/v1/tools/call", {"name": "echo", "parameters": {"text": "private words"}}, headers)
        _flush(box)
        text = (await web.get("/metrics", **headers)).body.decode()

    assert 'tool="echo"' in text
    assert not any(word in text for word in ("ann", "private"))


async def test_a_key_of_the_scope_metrics_opens_the_numbers_and_nothing_else(tmp_path: Path) -> None:
    secret = KeyStore(tmp_path).create("prometheus", ["metrics"])[0]
    async with opened(HttpApp(guarded_box(tmp_path))) as web:
        headers = {"authorization": f"Bearer {secret}"}
        statuses = {path: (await web.get(path, **headers)).status for path in ("/metrics", "/v1/tools/echo")}

    assert statuses == {"/metrics": 200, "/v1/tools/echo": 403}


async def test_metrics_can_be_switched_off(tmp_path: Path) -> None:
    box = guarded_box(tmp_path, DOGUBAKO_AUTH="off", DOGUBAKO_METRICS="false", DOGUBAKO_CONSOLE="false")
    async with opened(HttpApp(box)) as web:
        assert (await web.get("/metrics")).status == 404
        assert box._batches is None


async def test_every_metric_is_documented(web: Client, box: Toolbox) -> None:
    text = (await web.get("/metrics")).body.decode()
    names = {family.name for family in text_string_to_metric_families(text) if family.name.startswith("dogubako")}

    assert names
    assert [name for name in names if f"`{name}" not in PAGE] == []
    used = set(re.findall(r"dogubako_[a-z_]+", DASHBOARD))
    assert {re.sub(r"_(total|bucket|count|sum)$", "", name) for name in used} <= names


class Collected:
    """Telemetry that keeps everything in memory."""

    def __init__(self, box: Toolbox, sampler: Sampler | None = None) -> None:
        self.spans: list[Span] = []
        self.telemetry = Telemetry(TracerProvider(sampler=sampler), box.registry.knows, self._add)
        box.watch_calls(self.telemetry.add)

    def _add(self, made: Sequence[bytes]) -> None:
        self.spans.extend(map(Span.FromString, made))

    def points(self, *, delta: bool = False) -> list[tuple[str, HistogramDataPoint]]:
        data = self.telemetry.measured(delta=delta)
        return [] if data is None else points_of(encode_metrics(data))


def points_of(request: ExportMetricsServiceRequest) -> list[tuple[str, HistogramDataPoint]]:
    metrics = [
        one for resource in request.resource_metrics for scope in resource.scope_metrics for one in scope.metrics
    ]
    return [(one.name, point) for one in metrics for point in one.histogram.data_points]


def attributes_of(one: Span | HistogramDataPoint) -> dict[str, str]:
    return {pair.key: pair.value.string_value for pair in one.attributes}


async def test_a_call_is_a_span_below_the_span_of_its_caller(web: Client, box: Toolbox) -> None:
    collected = Collected(box)
    meta = {**messages.envelope(), "traceparent": PARENT}
    params = {"name": "echo", "arguments": {"text": "x"}, "_meta": meta}
    answer = await web.post(
        "/mcp", messages.request("tools/call", params), messages.modern_headers("tools/call", "echo")
    )
    await web.post("/v1/tools/call", {"name": "echo"})
    _flush(box)

    assert answer.status == 200
    traced, failed = collected.spans
    assert (traced.name, traced.kind) == ("tools/call echo", Span.SPAN_KIND_SERVER)
    assert traced.trace_id.hex() == PARENT.split("-")[1]
    assert traced.parent_span_id.hex() == PARENT.split("-")[2]
    assert attributes_of(traced).pop("dogubako.call.id") != attributes_of(failed).pop("dogubako.call.id")
    assert {**attributes_of(traced), "dogubako.call.id": ""} == {
        "mcp.method.name": "tools/call",
        "gen_ai.tool.name": "echo",
        "gen_ai.operation.name": "execute_tool",
        "network.transport": "tcp",
        "dogubako.code": "OK",
        "dogubako.call.id": "",
    }
    assert traced.start_time_unix_nano <= traced.end_time_unix_nano
    assert failed.status.code == Status.STATUS_CODE_ERROR
    assert (traced.status.code, failed.parent_span_id) == (Status.STATUS_CODE_UNSET, b"")
    assert attributes_of(failed)["error.type"] == "VALIDATION_ERROR"


async def test_durations_are_counted_in_buckets_for_all_time_or_since_the_last_time(web: Client, box: Toolbox) -> None:
    collected = Collected(box)
    for _ in range(3):
        await web.post("/v1/tools/call", {"name": "echo", "parameters": {"text": "x"}})
        await web.post("/v1/tools/call", {"name": "invented"})
        _flush(box)

    whole, again = collected.points(), collected.points(delta=True)
    await web.post("/v1/tools/call", {"name": "echo", "parameters": {"text": "x"}})
    _flush(box)
    later = collected.points(delta=True)

    assert {name for name, _ in whole} == {"mcp.server.operation.duration"}
    assert {attributes_of(point)["gen_ai.tool.name"]: point.count for _, point in whole} == {"echo": 3, "unknown": 3}
    assert [point.count for _, point in again] == [3, 3]
    assert [point.count for _, point in later] == [1]
    assert later[0][1].start_time_unix_nano == again[0][1].time_unix_nano
    point = whole[0][1]
    assert (len(point.bucket_counts), sum(point.bucket_counts)) == (len(point.explicit_bounds) + 1, point.count)
    assert point.min <= point.sum / point.count <= point.max


async def test_only_sampled_calls_are_traced_and_all_are_measured(web: Client, box: Toolbox) -> None:
    collected = Collected(box, ALWAYS_OFF)

    await web.post("/v1/tools/call", {"name": "echo", "parameters": {"text": "x"}})
    _flush(box)

    assert (collected.spans, [point.count for _, point in collected.points()]) == ([], [1])


def test_requests_to_services_are_spans_below_the_call_and_retries_are_events() -> None:
    spans: list[Span] = []
    telemetry = Telemetry(TracerProvider(), lambda name: True, lambda made: spans.extend(map(Span.FromString, made)))
    steps = (
        CallStep("request", "redmine", "GET", 1.0, 20.0, 503),
        CallStep("retry", "API_ERROR", "", 1.5, 0.0),
        CallStep("request", "redmine", "GET", 2.0, 30.0, 200),
    )

    telemetry.add([EndedCall(3.0, ToolCall(name="x"), CallEnd(code="OK", milliseconds=2_000), steps)])

    call, failed, good = spans
    assert [event.name for event in call.events] == ["retry"]
    assert {(one.trace_id, one.parent_span_id) for one in (failed, good)} == {(call.trace_id, call.span_id)}
    assert [one.status.code for one in (failed, good)] == [Status.STATUS_CODE_ERROR, Status.STATUS_CODE_UNSET]
    assert good.end_time_unix_nano - good.start_time_unix_nano == 30_000_000
    assert {pair.key: pair.value.int_value for pair in good.attributes}["http.response.status_code"] == 200
    assert len({one.span_id for one in spans}) == 3


@pytest.mark.parametrize("id_", ["0123456789abcdef", "short", "x" * 200, "呼び出し"])
def test_a_span_has_the_id_of_its_call_however_long_it_is(id_: str) -> None:
    spans: list[Span] = []
    telemetry = Telemetry(TracerProvider(), lambda name: True, lambda made: spans.extend(map(Span.FromString, made)))

    telemetry.add([EndedCall(3.0, ToolCall(name="x", id=id_), CallEnd(code="OK", milliseconds=2_000))])

    assert {pair.key: pair.value.string_value for pair in spans[0].attributes}["dogubako.call.id"] == id_


@pytest.mark.parametrize(
    ("sampler", "flag", "traced"),
    [
        (None, None, 1),
        (None, "01", 1),
        (None, "00", 0),
        (ALWAYS_ON, "00", 1),
        (ALWAYS_OFF, None, 0),
        (ALWAYS_OFF, "01", 0),
        (ParentBased(ALWAYS_OFF), None, 0),
        (ParentBased(ALWAYS_OFF), "01", 1),
        (TraceIdRatioBased(0.0), None, 0),
        (ParentBased(TraceIdRatioBased(1.0)), None, 1),
    ],
)
def test_the_sampler_and_the_client_decide_what_is_traced(
    sampler: Sampler | None, flag: str | None, traced: int
) -> None:
    spans: list[bytes] = []
    telemetry = Telemetry(TracerProvider(sampler=sampler), lambda name: True, spans.extend)
    parent = f"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-{flag}" if flag else None

    telemetry.add([EndedCall(3.0, ToolCall(name="x", traceparent=parent), CallEnd(code="OK", milliseconds=2_000))])

    assert len(spans) == traced


@pytest.mark.parametrize(
    "parent", ["", "x", "00-00000000000000000000000000000000-0000000000000000-00", 5, None, "y" * 10_000]
)
async def test_a_trace_context_that_is_none_does_no_harm(web: Client, box: Toolbox, parent: Any) -> None:
    collected = Collected(box)
    params = {"name": "echo", "arguments": {"text": "x"}, "_meta": {**messages.envelope(), "traceparent": parent}}

    await web.post("/mcp", messages.request("tools/call", params), messages.modern_headers("tools/call", "echo"))
    _flush(box)

    assert [span.parent_span_id for span in collected.spans] in ([b""], [])


async def test_the_access_log_has_a_line_for_every_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret = KeyStore(tmp_path).create("ann", ["read"])[0]
    async with opened(HttpApp(guarded_box(tmp_path, DOGUBAKO_ACCESS_LOG="true"))) as web:
        await web.get("/v1/tools?category=secret", authorization=f"Bearer {secret}")
        await web.get("/v1/tools")
        await web.get("/healthz")

    lines = [line for line in capsys.readouterr().out.splitlines() if "HTTP request" in line]
    assert [re.search(r"status=(\d+)", line)[1] for line in lines] == ["200", "401", "200"]  # type: ignore[index]
    assert "caller=ann" in lines[0]
    assert "method=GET" in lines[0]
    assert not any("secret" in line for line in lines)


async def test_the_start_says_how_many_tools_and_packs_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    box = guarded_box(tmp_path)
    async with opened(HttpApp(box)):
        pass

    (line,) = [line for line in capsys.readouterr().out.splitlines() if "Tools are ready" in line]
    count = len(box.registry.list())
    assert f"enabled={count}" in line
    assert f"total={count}" in line
    assert "packs=4" in line


def test_a_histogram_counts_many_values_as_it_counts_each() -> None:
    registries, bounds = [CollectorRegistry() for _ in range(2)], (0.25, 0.5, 1)
    together, alone = (BatchHistogram("x", "X.", ("tool",), buckets=bounds, registry=one) for one in registries)
    # Sums of these have no rest.
    values = [0.0, 0.125, 0.25, 0.375, 0.5, 0.5, 1, 1.5, 100]

    together.labels("echo").observe_all(values)
    for value in values:
        alone.labels("echo").observe(value)

    first, second = (
        [one for one in generate_latest(each).splitlines() if b"created" not in one] for each in registries
    )
    assert first == second
