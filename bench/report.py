"""The tables, for the terminal and for `docs/benchmarks.md`."""

import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from bench.contests import FEW_TOOLS, MANY_TOOLS, Effort
from bench.large_execution import CALLERS, ECHO_CALLS
from bench.results import Results, Sample
from scripts.large_execution import ITEMS

_PACKAGES = ("mcp", "fastmcp", "fastapi", "starlette", "uvicorn", "pydantic", "msgspec")

_PAGE = """# Benchmarks

`make bench` measures our server beside others **in one run** and writes this page. Trust the ratios, not the numbers:
each contender gets its turn in every round, so what slows the machine down slows all of them.

## Ratios

{ratios}

What counts is **processor time**: what one call, or one start, costs the server and its workers. Calls per second
and milliseconds (*as seen*) vary twofold on a machine that others use too. Both ratios are made within one round; of
all rounds, the median. With a lower bound (≥) the ratio says how many times cheaper ours is, with an upper bound (≤)
what ours costs in relation to theirs. Where the peer is dogubako itself, “ours” is our server with many tools, with
authentication, with two workers or with a tool that waits, and “theirs” is the same server without.

What is missed is not hidden: `make bench-profile` prints where the time of one call goes, and
`tests/test_call_budget.py` keeps a call from growing unseen.

## Medians

{medians}

*Processor time* is the server's own, workers included.

## Large answers and memory

An execution of {items} items in two nodes is 6.5 MB of JSON ([how many tokens?](n8n.md#how-small-answers-are)). A
process of its own serves it, packed as n8n does, and then as it comes through a proxy that unpacks it.

{measures}

*Our own time* is a call of `get_execution` over REST, less the time in which a bare client fetches the same bytes.
*Memory* is the highest of a fresh server during its first large answer, less what it had before. *echo* is called
{echo} times over REST, while {callers} callers always want the next large execution. The *result page* is one of a
search engine, made larger than any real one. *Lists* are read over REST, executions page by page; what counts is the
processor time of our server for each megabyte of JSON that the services send.

## How it is measured

- Everything of ours is on: argument validation, policy, response budget, the check of every answer, and the log at
  `info` to a file and to stderr (here a file too). The peers are echo servers with nothing around the tool but what
  their library does.
- Over HTTP: `wrk -t1 -c16`, {seconds} s per turn, {rounds} rounds, after one second of warm-up. One request is checked
  first (status 200, the text came back), and a turn with a single failed request fails the run.
- With a session: our server is asked to `initialize`, and every call carries the session's id. The peer on the
  low-level SDK keeps no sessions; that is how it is written. The TypeScript SDK is in this contest because the release
  that we measure refuses 2026-07-28.
- stdio: `initialize`, `tools/list`, then one call after the other for {seconds} s, {rounds} rounds.
- Cold start: from starting the process to the answer to `tools/list`, {cold_starts} starts each, taking turns, after
  one start that does not count.
- Memory: what an idle process over stdio has after `tools/list` and before the first search (3 starts).
- Two workers, and the one process beside them, use all cores, together with wrk: that is what workers are for. The tool
  that waits sleeps for 50 ms while 256 connections call it; a single refusal fails the run. It is judged by `echo`
  called as often: by 256 connections that wait for 50 ms before each call. Beside it stands `echo` without a pause
  ([ADR 0120](adr/0120-calls-are-compared-at-the-same-rate.md)).
- Growth: the median time of a call of one tool, with {few} and with {many} tools registered, over `/mcp` 2026-07-28.
- {pinning}
- Python {python}, Node {node}, {packages}.

## Do it again

`make bench` takes about eight minutes. `.venv/bin/python bench/run.py --quick` takes one; it only shows that everything
works, and does not write this page. `--rounds 21` measures longer, for a machine that others use too.

It needs `wrk` (a Debian package), the peers in `../shared/bench`, and Node 20 or newer for the peers written in
JavaScript: `make bench` brings one, and installs their packages once into the user's cache folder. What is missing is
named, and the rest is measured.
"""

_PINNED = """Over HTTP the server runs on one core and wrk on another (`taskset`). Over stdio nothing is pinned: client
  and server take turns there."""
_NOT_PINNED = "Processes were not pinned to cores."


def ratio_rows(results: Results) -> list[list[str]]:
    """Judged by processor time; what a client saw stands beside it."""
    rows = [["what", "ours", "theirs", "", "processor time", "as seen", "needed", ""]]
    for one in results.comparisons:
        ours, theirs = _cost(one.ours), _cost(one.other)
        ratios = f"{one.ratio:.2f}×", f"{one.ratio_seen:.2f}×"
        rows.append([one.ours.contest, ours, theirs, one.other.name, *ratios, one.need, one.verdict])
    return rows


def median_rows(results: Results) -> list[list[str]]:
    rows = [["what", "who", "median", "lowest – highest", "processor time per call"]]
    for sample in results.samples:
        span = f"{_digits(min(sample.values))} – {_digits(max(sample.values))}"
        cpu = f"{sample.cpu_us:,.0f} µs" if sample.cpu_us is not None else ""
        rows.append([sample.contest, sample.name, _number(sample.median, sample.unit), span, cpu])
    return rows


def measure_rows(results: Results) -> list[list[str]]:
    rows = [["what", "median", "lowest – highest", "needed", ""]]
    for one in results.measures:
        span = f"{_digits(min(one.values))} – {_digits(max(one.values))}"
        rows.append([one.what, _number(one.value, one.unit), span, one.need, one.verdict])
    return rows


def as_text(rows: Sequence[Sequence[str]]) -> str:
    """Columns for a terminal."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def write_page(path: Path, results: Results, effort: Effort, *, pinned: bool, node_version: str) -> None:
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    page = _PAGE.format(
        ratios=_as_markdown(ratio_rows(results)),
        medians=_as_markdown(median_rows(results)),
        measures=_as_markdown(measure_rows(results)),
        items=f"{ITEMS:,}",
        echo=ECHO_CALLS,
        callers=CALLERS,
        seconds=effort.seconds,
        rounds=effort.rounds,
        cold_starts=effort.cold_starts,
        few=f"{FEW_TOOLS:,}",
        many=f"{MANY_TOOLS:,}",
        pinning=_PINNED if pinned else _NOT_PINNED,
        python=platform.python_version(),
        node=node_version,
        packages=packages,
    )
    path.write_text(page, encoding="utf-8")


def _as_markdown(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cost(sample: Sample) -> str:
    if sample.cpu_us is None:
        return _number(sample.median, sample.unit)
    return f"{sample.cpu_us:,.0f} µs" if sample.cpu_us < 10_000 else f"{sample.cpu_us / 1000:,.0f} ms"


def _number(value: float, unit: str) -> str:
    return f"{_digits(value)} {unit}"


def _digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:,.2f}"
