"""Several processes of one server on one Redis: throughput, what shared state costs, and what Redis has to do.

python -m bench.scale          prints the tables, and writes the measured part of docs/scale.md
"""

import argparse
import http.client
import shutil
import statistics
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import redis

from bench import contenders as who
from bench.http_load import Load, Target, request_of, run_wrk, verify
from bench.machine import ContenderError, Machine, free_port, prepared, say
from bench.processes import Process, serving
from bench.scale_report import Cost, Findings, Neighbour, RedisWork, Throughput, write
from bench.turns import HttpTurn
from tests.redis_server import RedisProcess
from tests.scale.replicas import NGINX, nginx
from tests.shared_redis import KEY

_ROUNDS: Final = 7
_SECONDS: Final = 1
_COUNTS: Final = (1, 2, 3)
_LIMITS: Final = {"RATE_LIMIT_MAX": "1000000000", "RATE_LIMIT_WINDOW": "60"}
_IDLE_SECONDS: Final = 10
_SWITCHES: Final = 20
_CALLS: Final = 400
_CONCURRENCY: Final = {"DOGUBAKO_CALLER_CONCURRENCY": "1000"}


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the servers of one measurement run."""

    machine: Machine
    redis: RedisProcess
    stack: ExitStack

    def server(self, name: str, *, shared: bool, keys: bool, settings: Mapping[str, str]) -> who.HttpContender:
        """Our server, with a key of its own store."""
        free = who.ours_over_http(self.machine, who.MODERN, name=name)
        environment = {**free.environment, **settings, "DOGUBAKO_DATA_DIR": str(self.machine.new_folder("data"))}
        if shared:
            environment |= {"DOGUBAKO_SHARED": self.redis.url, "DOGUBAKO_REQUEST_STATE_KEY": KEY}
            environment["DOGUBAKO_SHARED_PREFIX"] = f"bench-{free_port()}"
        server = replace(free, environment=environment)
        return who.with_a_key(self.machine, server) if keys else server

    def started(self, server: who.HttpContender, machine: Machine | None = None) -> tuple[Process, Target]:
        """The running server, after its first good answer."""
        process, port = self.stack.enter_context(serving(machine or self.machine, server))
        target = Target(name=server.name, port=port, path=server.path, script=server.script)
        verify(target)
        return process, target


@contextmanager
def place(machine: Machine) -> Iterator[Place]:
    with ExitStack() as stack:
        server = stack.enter_context(RedisProcess(machine.new_folder("redis")))
        yield Place(machine=machine, redis=server, stack=stack)


def throughput(machine: Machine, rounds: int) -> list[Throughput]:
    """Calls per second of one, two and three processes behind nginx, in turns. Everything shares the two cores."""
    unpinned = replace(machine, cores=None)
    with place(machine) as here:
        targets = {}
        for count in _COUNTS:
            server = here.server(f"{count} processes", shared=True, keys=False, settings={})
            ports = [here.started(server, unpinned)[1].port for _ in range(count)]
            folder = machine.new_folder("nginx")
            url = here.stack.enter_context(nginx(folder, [f"http://127.0.0.1:{port}" for port in ports]))
            port = int(url.rpartition(":")[2])
            targets[count] = Target(name=server.name, port=port, path="/mcp", script=server.script)
            run_wrk(unpinned, targets[count], 1)
        seen: dict[int, list[float]] = {count: [] for count in _COUNTS}
        for _ in range(rounds):
            for count, target in targets.items():
                seen[count].append(run_wrk(unpinned, target, _SECONDS).per_second)
                say(f"throughput, {target.name}: {seen[count][-1]:,.0f} calls/s")
    first = seen[1]
    return [
        Throughput(
            processes=count,
            per_second=statistics.median(rates),
            ratio=statistics.median(rate / one for rate, one in zip(rates, first, strict=True)),
        )
        for count, rates in seen.items()
    ]


def costs(machine: Machine, rounds: int) -> list[Cost]:
    """Processor time of a call with shared state, beside the same server without."""
    kinds: Sequence[tuple[str, bool, Mapping[str, str]]] = (
        ("without authentication", False, {}),
        ("with an API key: running calls are counted together", True, _CONCURRENCY),
        ("with an API key and a rate limit", True, {**_CONCURRENCY, **_LIMITS}),
    )
    return [_cost(machine, rounds, what, keys, settings) for what, keys, settings in kinds]


def _cost(machine: Machine, rounds: int, what: str, keys: bool, settings: Mapping[str, str]) -> Cost:
    with place(machine) as here:
        turns = {}
        for shared in (True, False):
            server = here.server(f"{what}, shared={shared}", shared=shared, keys=keys, settings=settings)
            process, target = here.started(server)
            run_wrk(machine, target, 1)
            turns[shared] = HttpTurn(machine, process, target, _SECONDS, _per_second)
        ratios, with_it, without = [], [], []
        for _ in range(rounds):
            one, other = turns[True]().cpu_us, turns[False]().cpu_us
            if one is None or other is None:
                raise ContenderError("This system does not tell the processor time of a process.")
            with_it.append(one)
            without.append(other)
            ratios.append(one / other)
            say(f"cost {what}: {one:.0f} µs with, {other:.0f} µs without")
    median = statistics.median
    return Cost(what=what, shared_us=median(with_it), alone_us=median(without), ratio=median(ratios))


def _per_second(load: Load) -> float:
    return load.per_second


def neighbour(machine: Machine, rounds: int) -> Neighbour:
    """p99 of single calls to one process while another is busy: one that shares its Redis, and a stranger."""
    quiet: list[float] = []
    beside: dict[bool, list[float]] = {True: [], False: []}
    with place(machine) as here:
        ours = here.server("measured", shared=True, keys=True, settings=_CONCURRENCY)
        _, measured = here.started(ours, replace(machine, cores=None))
        stranger = here.server("stranger", shared=False, keys=True, settings=_CONCURRENCY)
        busy = {True: here.started(ours)[1], False: here.started(stranger)[1]}
        for _ in range(rounds):
            quiet.append(_p99(measured))
            for shares, target in busy.items():
                with _load(machine, target):
                    beside[shares].append(_p99(measured))
            say(f"neighbour: {quiet[-1]:.1f} ms alone, {beside[True][-1]:.1f} and {beside[False][-1]:.1f} ms beside")
    median = statistics.median
    return Neighbour(alone_ms=median(quiet), sharing_ms=median(beside[True]), stranger_ms=median(beside[False]))


@contextmanager
def _load(machine: Machine, target: Target) -> Iterator[None]:
    thread = threading.Thread(target=run_wrk, args=(machine, target, 3))
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _p99(target: Target) -> float:
    """Milliseconds of 300 calls one after the other, on one connection."""
    headers, body = request_of(target.script)
    connection = http.client.HTTPConnection("127.0.0.1", target.port, timeout=30)
    seen = []
    try:
        for _ in range(300):
            began = time.perf_counter()
            connection.request("POST", target.path, body, headers)
            answer = connection.getresponse()
            answer.read()
            if answer.status != 200:
                raise ContenderError(f"{target.name} answered {answer.status}")
            seen.append((time.perf_counter() - began) * 1000)
    finally:
        connection.close()
    return statistics.quantiles(seen, n=100)[98]


def redis_work(machine: Machine) -> RedisWork:
    """What Redis does for an idle process, for a call, and for a switch of a tool with three processes."""
    with place(machine) as here, redis.Redis.from_url(here.redis.url) as client:
        server = here.server("constants", shared=True, keys=True, settings={**_CONCURRENCY, **_LIMITS})
        here.started(server)
        idle_one = _while(client, lambda: time.sleep(_IDLE_SECONDS))
        target = here.started(server)[1]
        here.started(server)
        idle = _while(client, lambda: time.sleep(_IDLE_SECONDS))
        calls = _while(client, lambda: _calls(target))
        switches = _while(client, lambda: _switch(target))
        memory = int(client.info("memory")["used_memory"])
    per_process = (idle.commands - idle_one.commands) / 2 / _IDLE_SECONDS
    background = idle.commands / _IDLE_SECONDS
    return RedisWork(
        idle_commands=per_process,
        idle_bytes=(idle.bytes - idle_one.bytes) / 2 / _IDLE_SECONDS,
        call_commands=max(0.0, calls.commands - background * calls.seconds) / _CALLS,
        call_bytes=max(0.0, calls.bytes - idle.bytes / _IDLE_SECONDS * calls.seconds) / _CALLS,
        call_us=max(0.0, calls.cpu_us - idle.cpu_us / _IDLE_SECONDS * calls.seconds) / _CALLS,
        idle_us=(idle.cpu_us - idle_one.cpu_us) / 2 / _IDLE_SECONDS,
        switch_commands=max(0.0, switches.commands - background * switches.seconds) / _SWITCHES / 3,
        switch_bytes=max(0.0, switches.bytes - idle.bytes / _IDLE_SECONDS * switches.seconds) / _SWITCHES / 3,
        memory_bytes=memory,
    )


@dataclass(frozen=True, kw_only=True)
class _Spent:
    commands: float
    bytes: float
    cpu_us: float
    seconds: float


def _while(client: Any, work: Any) -> _Spent:
    before, began = _state(client), time.monotonic()
    work()
    after = _state(client)
    commands, size, cpu = (late - early for late, early in zip(after, before, strict=True))
    # Our own two looks are commands as well.
    return _Spent(commands=commands - 1, bytes=size, cpu_us=cpu * 1e6, seconds=time.monotonic() - began)


def _state(client: Any) -> tuple[float, float, float]:
    info = client.info("all")
    size = info["total_net_input_bytes"] + info["total_net_output_bytes"]
    return info["total_commands_processed"], size, info["used_cpu_sys"] + info["used_cpu_user"]


def _calls(target: Target) -> None:
    """Calls side by side, so that no place is used again for the next one."""
    headers, body = request_of(target.script)

    def call() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", target.port, timeout=30)
        for _ in range(_CALLS // 8):
            connection.request("POST", target.path, body, headers)
            connection.getresponse().read()
        connection.close()

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _switch(target: Target) -> None:
    headers, _ = request_of(target.script)
    for number in range(_SWITCHES):
        connection = http.client.HTTPConnection("127.0.0.1", target.port, timeout=30)
        enabled = "true" if number % 2 else "false"
        connection.request("PATCH", "/v1/tools/echo", f'{{"enabled":{enabled}}}', headers)
        answer = connection.getresponse()
        if answer.status != 200:
            raise ContenderError(f"switching a tool was answered with {answer.status}: {answer.read(200)!r}")
        connection.close()
        # Long enough for every process to hear of it.
        time.sleep(0.2)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=_ROUNDS)
    rounds = parser.parse_args().rounds
    missing = [name for name in ("wrk", "redis-server") if shutil.which(name) is None]
    if missing or NGINX is None:
        say(f"This needs wrk, redis-server and nginx (Debian packages); not found: {', '.join(missing) or 'nginx'}")
        return 1
    with prepared() as machine:
        findings = Findings(
            rounds=rounds,
            throughput=throughput(machine, rounds),
            costs=costs(machine, rounds),
            neighbour=neighbour(machine, rounds),
            redis=redis_work(machine),
        )
    print(write(findings, Path(__file__).resolve().parent.parent / "docs" / "scale.md"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
