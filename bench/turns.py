"""One contender's turn in a round."""

from collections.abc import Callable
from pathlib import Path

from bench.contenders import Contender
from bench.http_load import Load, Target, run_wrk
from bench.machine import ContenderError, Machine
from bench.processes import Process, cpu_per_call, cpu_seconds
from bench.results import Reading
from bench.stdio_load import StdioClient, cold_start

Turn = Callable[[], Reading]

_GOOD = b'"code":"OK"'


class HttpTurn:
    """Load for some seconds, with the server's processor time."""

    def __init__(
        self, machine: Machine, process: Process, target: Target, seconds: int, seen: Callable[[Load], float]
    ) -> None:
        self._machine = machine
        self._process = process
        self._target = target
        self._seconds = seconds
        self._seen = seen
        self._calls = 0

    def __call__(self) -> Reading:
        used = cpu_seconds(self._process, with_children=True)
        load = run_wrk(self._machine, self._target, self._seconds)
        self._calls += load.calls
        cpu = cpu_per_call(self._process, used, load.calls, with_children=True)
        return Reading(value=self._seen(load), cpu_us=cpu)

    def check_log(self, log: Path) -> None:
        """A tool that fails is an HTTP 200 too; our log tells whether every answer was a good one."""
        logged = log.read_bytes().count(_GOOD) if log.exists() else 0
        if logged < self._calls:
            raise ContenderError(f"{self._target.name}: {self._calls} answers, and only {logged} good ones in the log")


def stdio_turn(client: StdioClient, seconds: int) -> Turn:
    return lambda: client.call_for(seconds)


def start_turn(machine: Machine, contender: Contender) -> Turn:
    return lambda: cold_start(machine, contender)
