"""What is compared with what. Each contest interleaves its contenders: one round is one turn for everybody."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import Final

from bench import contenders as who
from bench import gateway, gateway_peers, large_execution, long_lists, parsing
from bench.http_load import Load, Target, run_wrk, shake_hands, verify
from bench.machine import ContenderError, Machine, say
from bench.node_peers import NodePeers
from bench.processes import serving
from bench.results import Measure, Reading, Results, Sample
from bench.stdio_load import cold_start, conversation
from bench.turns import HttpTurn, Turn, start_turn, stdio_turn

MODERN: Final = "`/mcp` 2026-07-28, tools/call"
LEGACY: Final = "`/mcp` with a session, tools/call"
REST: Final = "REST call"
STDIO: Final = "stdio, one call after the other"
COLD_START: Final = "cold start to the first tools/list"
GROWTH: Final = "a call among many tools"
GATE: Final = "a call through the gate"
WORKERS: Final = "`--workers 2`"
WAITING: Final = "a tool that waits 50 ms"

FEW_TOOLS: Final = 10
MANY_TOOLS: Final = 10_000
_FOR_SMALL_DIFFERENCES: Final = 3

Samples = Mapping[str, Sample]


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How long and how often."""

    rounds: int
    seconds: int
    cold_starts: int


class Contests:
    """All contests of one run; what they find goes into `results`."""

    def __init__(self, machine: Machine, effort: Effort, results: Results, node: NodePeers | None) -> None:
        self._machine = machine
        self._effort = effort
        self._results = results
        self._node = node

    def modern(self) -> None:
        ours = who.ours_over_http(self._machine, who.MODERN)
        low = who.script_peer(who.LOW, "low.py", who.MODERN)
        fast = who.script_peer(who.FAST, "fast.py", who.MODERN)
        raw = who.script_peer(who.RAW, "raw.py", who.MODERN)
        found = self._http(MODERN, [ours, low, fast, raw], "calls/s", lambda load: load.per_second)
        self._compare(found, {who.LOW: 5.0, who.FAST: 15.0, who.RAW: 0.55})

    def legacy(self) -> None:
        """The TypeScript SDK is here: its current release does not speak revision 2026-07-28."""
        ours = who.ours_over_http(self._machine, who.LEGACY, shakes_hands=True)
        low = who.script_peer(who.LOW, "low.py", who.LEGACY)
        typescript = [who.node_peer(who.TYPESCRIPT, "s.mjs", who.LEGACY, "/mcp", self._node)] if self._node else []
        found = self._http(LEGACY, [ours, low, *typescript], "calls/s", lambda load: load.per_second)
        self._compare(found, {who.LOW: 6.0, who.TYPESCRIPT: None})

    def rest(self) -> None:
        path = "/v1/tools/call"
        ours = who.ours_over_http(self._machine, who.REST, path=path)
        python = [who.uvicorn_peer(who.FASTAPI, "fa"), who.uvicorn_peer(who.STARLETTE, "st")]
        fastify = [who.node_peer(who.FASTIFY, "f.mjs", who.REST, path, self._node)] if self._node else []
        found = self._http(REST, [ours, *python, *fastify], "calls/s", lambda load: load.per_second)
        self._compare(found, {who.FASTAPI: 2.2, who.STARLETTE: 0.9, who.FASTIFY: None})

    def growth(self) -> None:
        names = {count: f"{who.OURS} with {count:,} tools" for count in (FEW_TOOLS, MANY_TOOLS)}
        servers = [
            who.ours_over_http(self._machine, who.MODERN, name=name, tools=write_tools(self._machine.scratch, count))
            for count, name in names.items()
        ]
        found = self._http(GROWTH, servers, "ms", lambda load: load.median_ms)
        self._results.compare(found.get(names[MANY_TOOLS]), found.get(names[FEW_TOOLS]), at_most=1.2)

    def gate(self) -> None:
        names = f"{who.OURS} with a key and the audit log", f"{who.OURS} without"
        servers = []
        # What is looked for is smaller than what two rounds, and two processes of one server, differ by anyway.
        for _ in range(self._effort.rounds):
            servers.append(who.ours_behind_the_gate(self._machine, names[0]))
            servers.append(who.ours_over_http(self._machine, who.MODERN, name=names[1]))
        rounds = _FOR_SMALL_DIFFERENCES * self._effort.rounds
        found = self._http(GATE, servers, "calls/s", lambda load: load.per_second, rounds)
        self._results.compare(found.get(names[0]), found.get(names[1]), at_least=0.95)

    def workers(self) -> None:
        """Workers are there to use several cores: nothing is pinned, and all share what the machine has."""
        names = f"{who.OURS} with two workers", f"{who.OURS} with one"
        two = who.ours_over_http(self._machine, who.MODERN, name=names[0], more=("--workers", "2"))
        one = who.ours_over_http(self._machine, who.MODERN, name=names[1])
        unpinned = replace(self._machine, cores=None)
        found = self._http(WORKERS, [two, one], "calls/s", lambda load: load.per_second, machine=unpinned)
        self._results.compare(found.get(names[0]), found.get(names[1]), at_most=1.1)

    def waiting(self) -> None:
        """256 callers of a tool that waits for a service. A refusal fails the run.

        Such a server idles between calls, which alone makes each of them cost more. So the calls that it is judged by
        are `echo` by as many callers, who wait for as long themselves. Beside it stands `echo` as fast as it can.
        """
        names = f"{who.OURS}, 256 connections", f"{who.OURS}, echo as often", f"{who.OURS}, echo, busy"
        tools = self._machine.scratch / "waiting.py"
        tools.write_text(_WAITING_TOOLS_FILE)
        often = self._machine.new_folder("script") / "as-often.lua"
        often.write_text(f"{who.MODERN.read_text()}\nfunction delay() return 50 end\n")
        slow = who.ours_over_http(self._machine, who.MODERN, name=names[0], tools=tools, connections=256)
        echo = who.ours_over_http(self._machine, often, name=names[1], connections=256)
        busy = who.ours_over_http(self._machine, who.MODERN, name=names[2])
        found = self._http(WAITING, [slow, echo, busy], "calls/s", lambda load: load.per_second)
        self._results.compare(found.get(names[0]), found.get(names[1]), at_most=1.3)
        self._results.compare(found.get(names[0]), found.get(names[2]))

    def memory(self) -> None:
        """An idle process over stdio that has listed its tools, and has not searched."""
        found: list[float] = []
        for _ in range(3):
            with self._failure_noted(), conversation(self._machine, who.ours_over_stdio(self._machine)) as client:
                client.open()
                if (resting := client.resting_bytes()) is not None:
                    found.append(resting / 1e6)
        if found:
            measure = Measure(what="memory of an idle stdio process", unit="MB", values=tuple(found), at_most=50)
            self._results.measures.append(measure)

    def stdio(self, *, peers: bool) -> None:
        others = [who.stdio_peer(who.LOW, "low_stdio.py"), who.stdio_peer(who.FAST, "fast_stdio.py")] if peers else []
        with ExitStack() as stack:
            turns: dict[str, Turn] = {}
            for contender in [who.ours_over_stdio(self._machine), *others]:
                with self._failure_noted():
                    client = stack.enter_context(conversation(self._machine, contender, seconds=120))
                    client.open()
                    turns[contender.name] = stdio_turn(client, self._effort.seconds)
            found = self._rounds(STDIO, turns, "calls/s", self._effort.rounds)
        self._compare(found, {who.LOW: 8.0, who.FAST: None})

    def cold_start(self, *, peers: bool) -> None:
        ours = who.ours_over_stdio(self._machine)
        others = [who.stdio_peer(who.LOW, "low_stdio.py")] if peers else []
        turns: dict[str, Turn] = {}
        for contender in [ours, *others]:
            with self._failure_noted():
                # The first start also fills caches of files and bytecode.
                cold_start(self._machine, contender)
                turns[contender.name] = start_turn(self._machine, contender)
        found = self._rounds(COLD_START, turns, "ms", self._effort.cold_starts)
        self._results.compare(found.get(who.OURS), found.get(who.LOW), at_most=0.5)

    def gateway(self, *, peers: bool) -> None:
        with self._failure_noted():
            self._results.measures += gateway.measure(self._machine, self._effort.rounds)
        for peer in gateway_peers.PEERS if peers else ():
            with self._failure_noted():
                self._results.measures.append(peer(self._machine, self._effort.rounds))

    def large_execution(self) -> None:
        """Nobody to compare with: what counts is what we promised."""
        with self._failure_noted():
            self._results.measures += large_execution.measure(self._machine, self._effort.rounds)

    def long_lists(self) -> None:
        with self._failure_noted():
            self._results.measures += long_lists.measure(self._machine, self._effort.rounds)

    def parsing(self) -> None:
        self._results.measures += parsing.measure()

    def _http(
        self,
        contest: str,
        servers: Sequence[who.HttpContender],
        unit: str,
        seen: Callable[[Load], float],
        rounds: int | None = None,
        *,
        machine: Machine | None = None,
    ) -> Samples:
        """All servers run during the whole contest; those whose turn it is not are idle.

        Servers of one name are processes of one contender, which has its turns in them one after the other.
        """
        with ExitStack() as stack:
            runs: list[tuple[who.HttpContender, HttpTurn]] = []
            for server in servers:
                with self._failure_noted():
                    runs.append((server, self._warmed_up(server, stack, seen, machine or self._machine)))
            names = dict.fromkeys(server.name for server, _ in runs)
            turns = {name: _in_turn([turn for server, turn in runs if server.name == name]) for name in names}
            found = self._rounds(contest, turns, unit, rounds or self._effort.rounds)
            for server, turn in runs:
                if server.log is not None and server.name in found:
                    with self._failure_noted():
                        turn.check_log(server.log)
            return found

    def _warmed_up(
        self, server: who.HttpContender, stack: ExitStack, seen: Callable[[Load], float], machine: Machine
    ) -> HttpTurn:
        process, port = stack.enter_context(serving(machine, server))
        target = Target(
            name=server.name, port=port, path=server.path, script=server.script, connections=server.connections
        )
        if server.shakes_hands:
            target = shake_hands(target, machine.scratch)
        verify(target)
        run_wrk(machine, target, 1)
        return HttpTurn(machine, process, target, self._effort.seconds, seen)

    def _rounds(self, contest: str, turns: Mapping[str, Turn], unit: str, rounds: int) -> Samples:
        readings: dict[str, list[Reading]] = {name: [] for name in turns}
        for number in range(1, rounds + 1):
            for name, turn in turns.items():
                with self._failure_noted():
                    readings[name].append(turn())
                    reading = readings[name][-1]
                    cpu = f", {reading.cpu_us:,.0f} µs of processor time" if reading.cpu_us is not None else ""
                    say(f"{contest}, round {number} of {rounds}: {name} {reading.value:,.1f} {unit}{cpu}")
        found = {
            name: Sample(contest=contest, name=name, unit=unit, readings=tuple(seen))
            for name, seen in readings.items()
            if len(seen) == rounds
        }
        self._results.samples += found.values()
        return found

    def _compare(self, found: Samples, needs: Mapping[str, float | None]) -> None:
        for name, at_least in needs.items():
            self._results.compare(found.get(who.OURS), found.get(name), at_least=at_least)

    @contextmanager
    def _failure_noted(self) -> Iterator[None]:
        """One contender that fails must not end the contest for the others."""
        try:
            yield
        except ContenderError as error:
            self._results.failures.append(str(error))
            say(str(error))


def _in_turn(turns: Sequence[Turn]) -> Turn:
    """A turn of each of these, one after the other, again and again."""
    following = cycle(turns)

    def turn() -> Reading:
        return next(following)()

    return turn


def write_tools(scratch: Path, count: int) -> Path:
    """A file with `count` tools: echo, and others that are only there."""
    path = scratch / f"tools_{count}.py"
    path.write_text(_MANY_TOOLS_FILE.format(others=count - 1))
    return path


_MANY_TOOLS_FILE = '''
from dogubako import Effect, tool
from dogubako.tools import SchemaTool

SCHEMA = {{"type": "object", "properties": {{"text": {{"type": "string"}}}}, "required": ["text"]}}


@tool(effect=Effect.READ, open_world=False)
async def echo(text: str) -> str:
    """Say the same text back."""
    return text


async def act(arguments, context):
    return arguments["text"]


others = (SchemaTool(f"tool_{{n}}", f"Tool number {{n}}.", SCHEMA, act, effect=Effect.READ) for n in range({others}))
TOOLS = (echo, *others)
'''

_WAITING_TOOLS_FILE = '''
import anyio

from dogubako import Effect, tool


@tool(effect=Effect.READ, open_world=False)
async def echo(text: str) -> str:
    """Say the same text back, after a service has had its time."""
    await anyio.sleep(0.05)
    return text


TOOLS = (echo,)
'''
