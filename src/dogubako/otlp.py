"""Export spans, metrics and log records over OTLP/HTTP, with the variables `OTEL_EXPORTER_OTLP_…` and `OTEL_BSP_…`."""

import gzip
import random
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

import httpx2
import structlog
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs, SeverityNumber
from opentelemetry.proto.resource.v1.resource_pb2 import Resource as ResourceMessage
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans
from opentelemetry.sdk.metrics.export import MetricsData
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope as Scope
from opentelemetry.util.re import parse_env_headers

from dogubako._version import __version__

log = structlog.get_logger("dogubako.telemetry")

_PREFIX: Final = "OTEL_EXPORTER_OTLP_"
_NAME: Final = "dogubako"
SCOPE: Final = Scope(_NAME, __version__)
_TRY_AGAIN: Final = frozenset({429, 502, 503, 504})
_LONGEST_WAIT: Final = 4.0
_QUIET_SECONDS: Final = 60.0
_LAST_SECONDS: Final = 10.0
# Field numbers of ScopeSpans, ResourceSpans and ExportTraceServiceRequest; the values are messages.
_SPANS, _SCOPE_SPANS, _RESOURCE_SPANS = b"\x12", b"\x12", b"\x0a"

Measured = Callable[..., MetricsData | None]


def server_resource() -> Resource:
    """What every span, measurement and log record says of this server."""
    resource = Resource.create({"service.version": __version__}).merge(Resource.create())
    if str(resource.attributes.get("service.name", "")).startswith("unknown_service"):
        resource = resource.merge(Resource({"service.name": _NAME}))
    return resource


class OtlpSender:
    """Posts messages of one signal to the collector, and tries again for as long as the timeout allows."""

    def __init__(self, signal: str, environ: Mapping[str, str], stopping: threading.Event) -> None:
        def variable(name: str) -> str:
            return environ.get(f"{_PREFIX}{signal.upper()}_{name}") or environ.get(f"{_PREFIX}{name}") or ""

        own = environ.get(f"{_PREFIX}{signal.upper()}_ENDPOINT")
        shared = environ.get(f"{_PREFIX}ENDPOINT") or "http://localhost:4318"
        self._url = own or f"{shared.rstrip('/')}/v1/{signal}"
        self._seconds = _number(variable("TIMEOUT"), 10)
        self._zipped = variable("COMPRESSION").strip().lower() == "gzip"
        self._stopping = stopping
        self._complained = float("-inf")
        headers = {"Content-Type": "application/x-protobuf", **parse_env_headers(variable("HEADERS"), liberal=True)}
        if self._zipped:
            headers["Content-Encoding"] = "gzip"
        self._client = httpx2.Client(
            headers=headers,
            timeout=self._seconds,
            verify=_tls(self._url, variable("CERTIFICATE"), variable("CLIENT_CERTIFICATE"), variable("CLIENT_KEY")),
        )

    def send(self, body: bytes) -> bool:
        """Whether the collector took it. After a refusal, or when the time is over, it is dropped."""
        until, wait = time.monotonic() + self._seconds, 1.0
        content = gzip.compress(body, 6) if self._zipped else body
        while True:
            try:
                status: int | str = self._client.post(self._url, content=content).status_code
            except httpx2.HTTPError as error:
                status = type(error).__name__
            if isinstance(status, int) and 200 <= status < 300:
                return True
            pause = wait * random.uniform(0.8, 1.2)  # noqa: S311
            may_help = isinstance(status, str) or status in _TRY_AGAIN
            if not may_help or time.monotonic() + pause > until or self._stopping.wait(pause):
                self._complain(status)
                return False
            wait = min(wait * 2, _LONGEST_WAIT)

    def close(self) -> None:
        self._client.close()

    def _complain(self, status: int | str) -> None:
        if time.monotonic() - self._complained > _QUIET_SECONDS:
            self._complained = time.monotonic()
            where = urlsplit(self._url)
            log.warning("OpenTelemetry data was not taken", reason=status, host=where.hostname, port=where.port)


def _tls(url: str, certificate: str, client_certificate: str, client_key: str) -> ssl.SSLContext | bool:
    if not url.startswith("https:"):
        return True
    context = ssl.create_default_context(cafile=certificate or None)
    if client_certificate:
        context.load_cert_chain(client_certificate, client_key or None)
    return context


class OtlpExport:
    """Collects spans and sends them in batches, and metrics at intervals, from a thread of its own."""

    def __init__(self, resource: Resource, scope: Scope, environ: Mapping[str, str]) -> None:
        self._batch = int(_number(environ.get("OTEL_BSP_MAX_EXPORT_BATCH_SIZE"), 512))
        self._most = int(_number(environ.get("OTEL_BSP_MAX_QUEUE_SIZE"), 2048))
        self._delay = _number(environ.get("OTEL_BSP_SCHEDULE_DELAY"), 5_000) / 1000
        self._interval = _number(environ.get("OTEL_METRIC_EXPORT_INTERVAL"), 60_000) / 1000
        preferred = environ.get(f"{_PREFIX}METRICS_TEMPORALITY_PREFERENCE") or ""
        self._delta = preferred.strip().lower() in ("delta", "lowmemory")
        self._disabled = (environ.get("OTEL_SDK_DISABLED") or "").strip().lower() == "true"
        self._resource = ResourceSpans(resource=_message(resource)).SerializeToString()
        self._scope = ScopeSpans(scope=_scope(scope)).SerializeToString()
        self._waiting: list[bytes] = []
        self._dropped = 0
        self._queue = threading.Lock()
        self._wake, self._stopping = threading.Event(), threading.Event()
        self._traces = OtlpSender("traces", environ, self._stopping)
        self._metrics = OtlpSender("metrics", environ, self._stopping)
        self._thread: threading.Thread | None = None

    def add(self, spans: Sequence[bytes]) -> None:
        """Queue spans, as bytes of OTLP. What does not fit is dropped: a collector that is down must cost no memory."""
        with self._queue:
            room = max(0, self._most - len(self._waiting))
            self._waiting.extend(spans[:room])
            self._dropped += max(0, len(spans) - room)
            enough = len(self._waiting) >= self._batch
        if enough:
            self._wake.set()

    def start(self, measured: Measured) -> None:
        if not self._disabled:
            self._thread = threading.Thread(target=self._run, args=(measured,), name="otlp", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Send what is left, once. A collector that does not answer does not keep the server from stopping."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(_LAST_SECONDS)

    def _run(self, measured: Measured) -> None:
        due = time.monotonic() + self._interval
        while not self._stopping.is_set():
            self._wake.wait(max(0.0, min(self._delay, due - time.monotonic())))
            self._wake.clear()
            self._send_spans()
            if time.monotonic() >= due:
                due = time.monotonic() + self._interval
                self._send_metrics(measured)
        self._send_spans()
        self._send_metrics(measured)
        self._traces.close()
        self._metrics.close()

    def _send_spans(self) -> None:
        with self._queue:
            waiting, self._waiting = self._waiting, []
            dropped, self._dropped = self._dropped, 0
        for start in range(0, len(waiting), self._batch):
            spans = (field(_SPANS, span) for span in waiting[start : start + self._batch])
            scoped = field(_SCOPE_SPANS, b"".join((self._scope, *spans)))
            self._traces.send(field(_RESOURCE_SPANS, self._resource + scoped))
        if dropped:
            log.warning("Spans were dropped: the collector is slow or away", count=dropped)

    def _send_metrics(self, measured: Measured) -> None:
        data = measured(delta=self._delta)
        if data is not None:
            self._metrics.send(encode_metrics(data).SerializeToString())


class OtlpLogs:
    """Sends lines of the audit log as log records, in the thread of the caller."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._stopping = threading.Event()
        self._sender = OtlpSender("logs", environ, self._stopping)
        self._resource = _message(server_resource())

    def send(self, lines: Sequence[tuple[str, bytes, int, bool]]) -> bool:
        """Whether the collector took them: each has an id, a text, a time in nanoseconds, and may have failed."""
        scoped = ScopeLogs(scope=_scope(SCOPE), log_records=[_record(*line) for line in lines])
        logs = ResourceLogs(resource=self._resource, scope_logs=[scoped])
        return self._sender.send(ExportLogsServiceRequest(resource_logs=[logs]).SerializeToString())

    def close(self) -> None:
        self._stopping.set()
        self._sender.close()


def _record(id_: str, raw: bytes, nanoseconds: int, failed: bool) -> LogRecord:
    return LogRecord(
        time_unix_nano=nanoseconds,
        observed_time_unix_nano=time.time_ns(),
        severity_number=SeverityNumber.SEVERITY_NUMBER_WARN if failed else SeverityNumber.SEVERITY_NUMBER_INFO,
        severity_text="WARN" if failed else "INFO",
        body=AnyValue(string_value=raw.decode()),
        # Records with the same id are the same one.
        attributes=[_key_value("log.record.uid", id_)],
        event_name="dogubako.audit",
    )


def _message(resource: Resource) -> ResourceMessage:
    return ResourceMessage(attributes=[_key_value(*pair) for pair in resource.attributes.items()])


def _scope(scope: Scope) -> InstrumentationScope:
    return InstrumentationScope(name=scope.name, version=scope.version or "")


def field(tag: bytes, value: bytes) -> bytes:
    """A text, bytes or a message as a field of another message."""
    size, length = len(value), b""
    while size > 127:
        length += bytes((size & 127 | 128,))
        size >>= 7
    return b"%b%b%c%b" % (tag, length, size, value)


def _number(text: str | None, default: float) -> float:
    """A positive number of a variable; anything else is the default, as in the SDK."""
    try:
        number = float(text or default)
    except ValueError:
        number = 0
    return number if 0 < number < 1e9 else default


def _key_value(key: str, value: object) -> KeyValue:
    return KeyValue(key=key, value=_any_value(value))


def _any_value(value: object) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return AnyValue(array_value=ArrayValue(values=[_any_value(one) for one in value]))
    return AnyValue(string_value=str(value))
