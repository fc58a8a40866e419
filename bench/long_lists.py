"""What our server costs for long lists of Redmine and n8n: its processor time per megabyte of their JSON."""

import sys
from collections.abc import Callable
from contextlib import closing
from typing import Final

from bench import contenders as who
from bench.large_execution import RestClient
from bench.lists_upstream import EXECUTIONS, EXECUTIONS_PER_PAGE, ISSUES, upstream_bytes
from bench.machine import ROOT, ContenderError, Machine, say
from bench.processes import Process, cpu_seconds, serving
from bench.results import Measure

_LOOKS: Final = 15
_WARM_UP: Final = 3
_MEGABYTE: Final = 1e6


def list_issues(client: RestClient) -> None:
    client.call("list_issues", {"limit": ISSUES}, b"<issues ")


def list_executions(client: RestClient) -> None:
    """Page by page, as an agent reads them."""
    for before in range(EXECUTIONS, 0, -EXECUTIONS_PER_PAGE):
        cursor = {"cursor": f"c{before}"} if before < EXECUTIONS else {}
        client.call("list_executions", {"limit": EXECUTIONS_PER_PAGE, **cursor}, b'"executions":')


# What is measured, what is promised in milliseconds per megabyte, and how it is done.
LISTS: Final[dict[str, tuple[str, float | None, Callable[[RestClient], None]]]] = {
    "redmine": (f"our own time of a list of {ISSUES} Redmine issues", None, list_issues),
    "n8n": (f"our own time of a list of {EXECUTIONS:,} n8n executions", None, list_executions),
}


def measure(machine: Machine, rounds: int) -> list[Measure]:
    """Both lists in turns, in one server."""
    sizes = upstream_bytes()
    found: dict[str, list[float]] = {name: [] for name in LISTS}
    with (
        serving(machine, _upstream(machine)) as (_, upstream),
        serving(machine, who.ours_with_services(machine, f"http://127.0.0.1:{upstream}")) as (process, port),
        closing(RestClient(port)) as client,
    ):
        for _, _, look in LISTS.values():
            _milliseconds(process, client, look, _WARM_UP)
        for _ in range(rounds):
            for name, (_, _, look) in LISTS.items():
                spent = _milliseconds(process, client, look, _LOOKS)
                found[name].append(spent / (sizes[name] / _MEGABYTE))
    measures = [
        Measure(what=what, unit="ms of processor time per MB", values=tuple(found[name]), at_most=most)
        for name, (what, most, _) in LISTS.items()
    ]
    say(f"long lists: {', '.join(f'{one.value:,.1f} {one.unit}' for one in measures)}")
    return measures


def _upstream(machine: Machine) -> who.Contender:
    command = [sys.executable, str(ROOT / "bench" / "lists_upstream.py"), "{port}"]
    return who.Contender(name="the services' stand-in", command=tuple(machine.on_load_core(command)), folder=ROOT)


def _milliseconds(process: Process, client: RestClient, look: Callable[[RestClient], None], times: int) -> float:
    before = cpu_seconds(process)
    for _ in range(times):
        look(client)
    after = cpu_seconds(process)
    if before is None or after is None:
        raise ContenderError("this system does not tell the processor time of a process")
    return (after - before) / times * 1000
