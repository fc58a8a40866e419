"""What `bench.scale` found, as tables, and what follows from it for many processes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_BEGIN, _END = "<!-- bench-scale -->", "<!-- /bench-scale -->"
_MOST_COST: Final = 1.15
# Processes, and calls per second of each.
_MODEL: Final = ((10, 100), (100, 100), (1_000, 20))
_SECOND_US: Final = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Throughput:
    """Calls per second of so many processes, and how that relates to one."""

    processes: int
    per_second: float
    ratio: float


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Processor time of one call in the server, with shared state and without."""

    what: str
    shared_us: float
    alone_us: float
    ratio: float


@dataclass(frozen=True, kw_only=True)
class Neighbour:
    """p99 of a call, alone and beside a busy process."""

    alone_ms: float
    sharing_ms: float
    stranger_ms: float


@dataclass(frozen=True, kw_only=True)
class RedisWork:
    """What Redis does: each second for an idle process, for each call, and for each switch and process."""

    idle_commands: float
    idle_bytes: float
    idle_us: float
    call_commands: float
    call_bytes: float
    call_us: float
    switch_commands: float
    switch_bytes: float
    memory_bytes: int


@dataclass(frozen=True, kw_only=True)
class Findings:
    """All that one run measured."""

    rounds: int
    throughput: Sequence[Throughput]
    costs: Sequence[Cost]
    neighbour: Neighbour
    redis: RedisWork


def write(found: Findings, page: Path) -> str:
    """Put the tables between the marks of the page, and return them."""
    tables = _tables(found)
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    page.write_text(f"{before}{_BEGIN}\n{tables}\n{_END}{after}", encoding="utf-8")
    return tables


def _tables(found: Findings) -> str:
    redis, beside = found.redis, found.neighbour
    throughput = [(f"{one.processes}", f"{one.per_second:,.0f}", f"{one.ratio:.2f}×") for one in found.throughput]
    costs = [
        (one.what, f"{one.shared_us:.0f} µs", f"{one.alone_us:.0f} µs", f"{one.ratio:.2f}", _verdict(one))
        for one in found.costs
    ]
    constants = [
        ("an idle process, each second", redis.idle_commands, redis.idle_bytes, f"{redis.idle_us:.0f} µs"),
        ("a call with a key and a rate limit", redis.call_commands, redis.call_bytes, f"{redis.call_us:.0f} µs"),
        ("a switch of a tool, in each process", redis.switch_commands, redis.switch_bytes, ""),
    ]
    return "\n\n".join(
        (
            _table(("processes behind nginx", "calls/s", "of one process"), throughput),
            _table(("a call of `echo`", "shared", "not shared", "ratio", f"≤ {_MOST_COST}"), costs),
            f"p99 of single calls beside a busy process: {beside.alone_ms:.1f} ms without it,\n"
            f"{beside.sharing_ms:.1f} ms beside one that shares the Redis, "
            f"{beside.stranger_ms:.1f} ms beside one that does not.",
            _table(
                ("what Redis does for", "commands", "bytes", "processor time"),
                [(what, f"{commands:.1f}", f"{size:,.0f}", cpu) for what, commands, size, cpu in constants],
            ),
            _table(
                ("processes", "calls/s of each", "commands/s", "MB/s", "processor time of Redis", "a switch of a tool"),
                [_modelled(redis, *size) for size in _MODEL],
            ),
            f"Medians of {found.rounds} rounds.",
        )
    )


def _modelled(redis: RedisWork, processes: int, rate: int) -> tuple[str, ...]:
    commands = processes * (redis.idle_commands + rate * redis.call_commands)
    size = processes * (redis.idle_bytes + rate * redis.call_bytes) / 1e6
    busy = processes * (redis.idle_us + rate * redis.call_us) / _SECOND_US
    fan_out = f"{processes * redis.switch_commands:,.0f} commands, {processes * redis.switch_bytes / 1e6:.2f} MB"
    return f"{processes:,}", f"{rate}", f"{commands:,.0f}", f"{size:.1f}", f"{busy:.0%} of one core", fan_out


def _verdict(cost: Cost) -> str:
    return "ok" if cost.ratio <= _MOST_COST else "miss"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)
