"""What an execution of ten thousand items costs: in time, in memory, and those who call meanwhile."""

import http.client
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any, Final

import httpx2

from bench import contenders as who
from bench.machine import ROOT, ContenderError, Machine, say
from bench.n8n_upstream import MISSING
from bench.processes import peak_bytes, resting_bytes, serving
from bench.results import Measure
from scripts.large_execution import ITEMS, large_execution

EXECUTION: Final = "1"
CALLERS: Final = 10
ECHO_CALLS: Final = 300
LOOKS: Final = 5
# Each starts a server of its own; more of them would take long and tell little.
MOST_ROUNDS: Final = 5
# n8n packs what it sends to those who take it, and we do. A proxy in between may unpack it.
FORMS: Final = {"gzip": "as n8n sends it", "identity": "not packed"}
SECONDS: Final = 60


@dataclass(frozen=True, kw_only=True)
class Round:
    """What one freshly started server needed."""

    own_ms: float
    times_the_payload: float | None
    echo_p99_ms: float


class RestClient:
    """One connection to our server. An answer that is not good ends the contest."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)

    def echo(self) -> None:
        self.call("echo", {"text": "hello"}, b'"hello"')

    def get_execution(self) -> None:
        self.call("get_execution", {"id": EXECUTION}, b'"totalItemsProcessed":%d' % (2 * ITEMS + 1))

    def miss_execution(self) -> None:
        """Ask for an execution that there is none of."""
        self.call("get_execution", {"id": MISSING}, b"NOT_FOUND", status=404)

    def close(self) -> None:
        self._connection.close()

    def call(self, name: str, parameters: Mapping[str, Any], expected: bytes, *, status: int = 200) -> None:
        """Call a tool. `expected` is a part of every good answer."""
        body = json.dumps({"name": name, "parameters": parameters})
        try:
            self._connection.request("POST", "/v1/tools/call", body, {"Content-Type": "application/json"})
            response = self._connection.getresponse()
            answer = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise ContenderError(f"no answer to {name}: {error!r}") from error
        if response.status != status or expected not in answer:
            raise ContenderError(f"{name} answered {response.status}: {answer[:200]!r}")


def measure(machine: Machine, rounds: int) -> list[Measure]:
    """Every number for every form in which the execution may come."""
    payload = len(large_execution())
    found: list[Measure] = []
    for encoding, form in FORMS.items():
        with serving(machine, _upstream(machine, encoding)) as (_, port):
            url = f"http://127.0.0.1:{port}"
            seen = [_one_round(machine, url, payload) for _ in range(min(rounds, MOST_ROUNDS))]
        measures = _measures(form, seen)
        say(f"large execution, {form}: {', '.join(f'{one.value:,.1f} {one.unit}' for one in measures)}")
        found += measures
    return found


def _upstream(machine: Machine, encoding: str) -> who.Contender:
    command = [sys.executable, str(ROOT / "bench" / "n8n_upstream.py"), "{port}", encoding]
    return who.Contender(name="n8n's stand-in", command=tuple(machine.on_load_core(command)))


def _one_round(machine: Machine, url: str, payload: int) -> Round:
    with serving(machine, who.ours_with_services(machine, url)) as (process, port), _client(port) as client:
        client.echo()
        # The modules of a tool are imported by its first call; what is measured is the large answer.
        client.miss_execution()
        resting = resting_bytes(process)
        client.get_execution()
        peak = peak_bytes(process)
        times = (peak - resting) / payload if peak is not None and resting is not None else None
        return Round(own_ms=_own_ms(client, url), times_the_payload=times, echo_p99_ms=_echo_p99_ms(client, port))


def _own_ms(client: RestClient, url: str) -> float:
    """A call, less what it takes to fetch the same bytes with nothing around it. They take turns."""
    calls, fetches = [], []
    with httpx2.Client(base_url=url, trust_env=False, timeout=SECONDS) as bare:
        for _ in range(LOOKS):
            fetches.append(_milliseconds(lambda: bare.get(f"/api/v1/executions/{EXECUTION}").raise_for_status()))
            calls.append(_milliseconds(client.get_execution))
    return median(calls) - median(fetches)


def _echo_p99_ms(client: RestClient, port: int) -> float:
    """Ten callers always want the next large execution meanwhile."""
    with _callers(port):
        times = [_milliseconds(client.echo) for _ in range(ECHO_CALLS)]
    return quantiles(times, n=100)[-1]


@contextmanager
def _callers(port: int) -> Iterator[None]:
    enough = threading.Event()

    def keep_calling(client: RestClient) -> None:
        while not enough.is_set():
            client.get_execution()

    with ExitStack() as stack, ThreadPoolExecutor(CALLERS) as pool:
        clients = [stack.enter_context(_client(port)) for _ in range(CALLERS)]
        running = [pool.submit(keep_calling, client) for client in clients]
        try:
            yield
        finally:
            enough.set()
        for one in running:
            one.result(SECONDS)


@contextmanager
def _client(port: int) -> Iterator[RestClient]:
    client = RestClient(port)
    try:
        yield client
    finally:
        client.close()


def _measures(form: str, seen: list[Round]) -> list[Measure]:
    own = tuple(one.own_ms for one in seen)
    memory = tuple(one.times_the_payload for one in seen if one.times_the_payload is not None)
    echo = tuple(one.echo_p99_ms for one in seen)
    measures = [
        Measure(what=f"our own time of get_execution, {form}", unit="ms", values=own, at_most=150),
        Measure(what=f"peak memory above rest, {form}", unit="× the payload", values=memory, at_most=6),
        Measure(what=f"p99 of echo beside ten such calls, {form}", unit="ms", values=echo, at_most=100),
    ]
    # Not every system tells about memory.
    return [one for one in measures if one.values]


def _milliseconds(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return (time.perf_counter() - started) * 1000
