"""Measure what the console, /metrics and OpenTelemetry cost a call, by the processor time of real servers.

    .venv/bin/python scripts/observer_cost.py [WORD ...]

Every variant is a server of its own. All of them get the same `echo` calls over REST on kept connections, in turns, so
that they meet the same machine. Spans go to a collector in this process. The table has the processor time of a server
per call, and the median of its ratios to a server that observes nothing, with the quartiles. "quiet" is the ratio of
the lower quartiles: turns that no neighbour on the machine has disturbed. "everything" is the ratio of all that a
server spent from the end of the warm-up on, also between its turns, when it exports spans. Words limit the table to
variants that contain one of them.
The second server that observes nothing is the control: what it differs from the first one by is noise of the machine.
"""

import http.client
import json
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median, quantiles
from typing import Final
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.doors.processes import WORKBENCH, Command, serving

_ROUNDS: Final = 65
_WARM_UP: Final = 5
# Enough that spans are exported in full batches, as under load.
_CALLS: Final = 600
# Spans wait this long at most before they are exported.
_EXPORT_SECONDS: Final = 6
_OFF: Final = {"DOGUBAKO_CONSOLE": "false", "DOGUBAKO_METRICS": "false"}
_BODY: Final = json.dumps({"name": "echo", "parameters": {"text": "hello"}})


class _Collector(BaseHTTPRequestHandler):
    """Takes what is exported and forgets it."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


def _variants(collector: str) -> dict[str, dict[str, str]]:
    otel = {"DOGUBAKO_OTEL": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": collector}
    variants = {
        "nothing": _OFF,
        "nothing (control)": _OFF,
        "console": {**_OFF, "DOGUBAKO_CONSOLE": "true"},
        "/metrics": {**_OFF, "DOGUBAKO_METRICS": "true"},
        "console and /metrics": {**_OFF, "DOGUBAKO_CONSOLE": "true", "DOGUBAKO_METRICS": "true"},
        "OpenTelemetry": {**_OFF, **otel},
        "OpenTelemetry, every tenth call": {
            **_OFF,
            **otel,
            "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
            "OTEL_TRACES_SAMPLER_ARG": "0.1",
        },
    }
    words = ("nothing", *sys.argv[1:]) if sys.argv[1:] else ("",)
    return {name: one for name, one in variants.items() if any(word in name for word in words)}


def _processor_seconds(server: Command) -> float:
    """In nanoseconds: the times of `stat` are too coarse."""
    tasks = Path(f"/proc/{server.process.pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def _call(connection: http.client.HTTPConnection, count: int) -> None:
    for _ in range(count):
        connection.request("POST", "/v1/tools/call", _BODY, {"content-type": "application/json"})
        assert connection.getresponse().read()
    # The server closes connections that are idle while the others have their turn.
    connection.close()


def main() -> None:
    collector = ThreadingHTTPServer(("127.0.0.1", 0), _Collector)
    threading.Thread(target=collector.serve_forever, daemon=True).start()
    spent: dict[str, list[float]] = {}
    with ExitStack() as stack:
        servers = {}
        for name, settings in _variants(f"http://127.0.0.1:{collector.server_port}").items():
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            server = stack.enter_context(serving(WORKBENCH, folder=folder, settings=settings))
            servers[name] = (server, http.client.HTTPConnection(urlsplit(server.url()).netloc))
        start: dict[str, float] = {}
        for round_ in range(_ROUNDS):
            if round_ == _WARM_UP:
                # The first export loads modules and connects, once in the life of a server.
                time.sleep(_EXPORT_SECONDS)
                start = {name: _processor_seconds(server) for name, (server, _) in servers.items()}
            names = list(servers)
            # Nobody is always first, or always behind the same neighbour.
            for name in names[round_ % len(names) :] + names[: round_ % len(names)]:
                server, connection = servers[name]
                before = _processor_seconds(server)
                _call(connection, _CALLS)
                if round_ >= _WARM_UP:
                    spent.setdefault(name, []).append((_processor_seconds(server) - before) / _CALLS)
        time.sleep(_EXPORT_SECONDS)
        whole = {name: _processor_seconds(server) - start[name] for name, (server, _) in servers.items()}
    collector.shutdown()
    print(
        "| observed by | µs per call | ratio | quartiles | quiet | everything |\n| --- | --- | --- | --- | --- | --- |"
    )
    for name in servers:
        ratios = [one / other for one, other in zip(spent[name], spent["nothing"], strict=True)]
        low, middle, high = quantiles(ratios, n=4)
        quiet = quantiles(spent[name], n=4)[0] / quantiles(spent["nothing"], n=4)[0]
        each, everything = median(spent[name]) * 1e6, whole[name] / whole["nothing"]
        print(f"| {name} | {each:.0f} | {middle:.2f} | {low:.2f}–{high:.2f} | {quiet:.2f} | {everything:.2f} |")


if __name__ == "__main__":
    main()
