"""`dogubako audit tail|report`."""

import asyncio
import os
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import IO, Annotated, Any, Final, Self

import click

from dogubako._lazy import load
from dogubako.cli.commands import Commands, option
from dogubako.cli.keys import read_moment, span_text
from dogubako.cli.options import AsJson, Chosen, Config, friendly
from dogubako.cli.terminal import fail, print_json, print_table
from dogubako.contract.redaction import visible
from dogubako.gate.audit import FILE, AuditLine, read_line, whole_lines
from dogubako.gate.audit_files import in_order
from dogubako.gate.audit_query import AuditFilter
from dogubako.settings import Settings, SettingsError

# The log and the one before it: a server notices a rotation a moment later, and writes to the old file until then.
_KEPT: Final = 2


class Following:
    """Reads each line of a log once. It follows the open file, which may have been renamed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: list[IO[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._keep(0)

    @property
    def found(self) -> bool:
        """Whether a log has existed so far."""
        return bool(self._files)

    def lines(self) -> Iterator[bytes]:
        """The lines since the last call: first of the old log, then of the new one."""
        self._open_what_has_the_name_now()
        for file in self._files:
            position = file.tell()
            # A file that became shorter was truncated.
            file.seek(position if position <= file.seek(0, os.SEEK_END) else 0)
            yield from whole_lines(file)

    def _open_what_has_the_name_now(self) -> None:
        file = open_log(self._path)
        if file is None:
            return
        self._files.append(file)
        if any(os.path.sameopenfile(file.fileno(), known.fileno()) for known in self._files[:-1]):
            self._files.pop().close()
        self._keep(_KEPT)

    def _keep(self, count: int) -> None:
        while len(self._files) > count:
            self._files.pop(0).close()


def open_log(path: Path) -> IO[bytes] | None:
    """The log, or None if there is none yet."""
    try:
        return path.open("rb")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"The audit log {path} cannot be read: {error.strerror}.") from None


app = Commands(help="Read the audit log.")

Local = Annotated[
    bool,
    option("--local", help="Read the file of this data folder, not the lines of all processes in DOGUBAKO_SHARED."),
]

_LOOK_AGAIN_SECONDS = 0.5
# Lines that would be noticed if they were delivered again.
_MOST_KNOWN: Final = 200_000
_EMPTY = "No calls have been recorded. Recording begins with DOGUBAKO_AUTH, or with DOGUBAKO_AUDIT=true."
_NONE_FIT = "No recorded calls fit."


@app.register()
@friendly
def tail(
    lines: Annotated[int, option("--lines", "-n", min=0, max=100_000, help="Number of lines.")] = 20,
    follow: Annotated[bool, option("--follow", "-f", help="Follow the log as lines are added.")] = False,
    local: Local = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Print the last calls."""
    settings = _settings(config)
    if _is_shared(settings, local):
        asyncio.run(_tail_shared(settings, lines, follow, as_json))
        return
    with Following(settings.data_dir / FILE) as log:
        _print_all(deque(log.lines(), maxlen=lines), as_json)
        if not log.found and not follow:
            click.echo(_EMPTY, err=True)
        while follow:
            time.sleep(_LOOK_AGAIN_SECONDS)
            _print_all(log.lines(), as_json)


async def _tail_shared(settings: Settings, lines: int, follow: bool, as_json: bool) -> None:
    """The last calls of all processes; then those that are delivered, each once."""
    async with load("dogubako.gate.audit_stream").stream_reader(settings) as reader:
        read = await reader.read_on()
        if not read and not follow:
            click.echo(_EMPTY, err=True)
        _print_all(deque(in_order(read), maxlen=lines), as_json)
        known = dict.fromkeys(line.id for line in read)
        while follow:
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)
            new = [line for line in await reader.read_on() if line.id not in known]
            known.update(dict.fromkeys(line.id for line in new))
            for id_ in [*islice(known, max(0, len(known) - _MOST_KNOWN))]:
                del known[id_]
            _print_all(in_order(new), as_json)


@app.register()
@friendly
def report(
    since: Annotated[
        str | None, option(metavar="WHEN", help="Only calls since then: 24h, 7d, or a UTC timestamp.")
    ] = None,
    caller: Annotated[str | None, option(help="Only calls of this caller.")] = None,
    tool: Annotated[str | None, option(help="Only calls of this tool, or of all that fit list_*.")] = None,
    local: Local = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Count calls by caller and tool, with failures and times, and name the changes that started and never ended."""
    wanted = AuditFilter(since=_since(since), caller=caller, tool=tool)
    counted = Report(wanted)
    settings = _settings(config)
    if _is_shared(settings, local):
        for raw in asyncio.run(_read_shared(settings)):
            counted.add(read_line(raw))
    else:
        with open_log(settings.data_dir / FILE) or nullcontext() as file:
            for raw in file or ():
                if raw.strip():
                    counted.add(read_line(raw))
    if as_json:
        print_json({"calls": counted.rows(), "unfinished": counted.unfinished(), "damagedLines": counted.damaged})
        return
    rows = [
        (visible(row["caller"]), visible(row["tool"]), str(row["calls"]), str(row["failed"]), f"{row['ms']:.0f}")
        for row in counted.rows()
    ]
    print_table(
        ("Caller", "Tool", "Calls", "Failed", "ms on average"), rows, empty=_EMPTY if wanted == ALL else _NONE_FIT
    )
    _print_unfinished(counted.unfinished())
    _mention(counted.damaged)


ALL = AuditFilter()


class Report:
    """Sums up the matching lines. Damaged lines are always counted, because their caller is unknown."""

    def __init__(self, wanted: AuditFilter = ALL) -> None:
        self._wanted = wanted
        self._calls: Counter[tuple[str, str]] = Counter()
        self._failed: Counter[tuple[str, str]] = Counter()
        self._ms: dict[tuple[str, str], float] = {}
        self._open: dict[str, AuditLine] = {}
        self.damaged = 0

    def add(self, line: AuditLine | None) -> None:
        if line is None:
            self.damaged += 1
            return
        if not line.started:
            self._open.pop(line.call_id, None)
        if not self._wanted.holds(line):
            return
        if line.started:
            self._open[line.call_id] = line
            return
        key = (line.caller, line.tool)
        self._calls[key] += 1
        self._failed[key] += line.failed
        self._ms[key] = self._ms.get(key, 0.0) + line.ms

    def rows(self) -> list[dict[str, Any]]:
        return [
            {
                "caller": caller,
                "tool": tool,
                "calls": calls,
                "failed": self._failed[caller, tool],
                "ms": round(self._ms[caller, tool] / calls, 1),
            }
            for (caller, tool), calls in self._calls.most_common()
        ]

    def unfinished(self) -> list[dict[str, Any]]:
        """Changes with a start line and no end line. They may still be running: see their age."""
        now = datetime.now(UTC)
        return [
            {
                "time": line.time,
                "caller": line.caller,
                "door": line.door,
                "tool": line.tool,
                "arguments": line.arguments,
                "callId": line.call_id,
                "ageSeconds": _age(line.time, now),
            }
            for line in self._open.values()
        ]


def _age(started: str, now: datetime) -> int | None:
    moment = read_moment(started)
    return None if moment is None else max(0, round((now - moment).total_seconds()))


def _print_unfinished(unfinished: list[dict[str, Any]]) -> None:
    if not unfinished:
        return
    click.echo("\nStarted, no end recorded (killed meanwhile, or still running):")
    rows = [
        (one["time"], one["caller"], one["tool"], one["callId"], span_text(one["ageSeconds"])) for one in unfinished
    ]
    header = ("Started", "Caller", "Tool", "Call", "Age")
    print_table(header, [[visible(cell) for cell in row] for row in rows], empty="")


def _settings(config: Config) -> Settings:
    return Chosen(config=config).sources().load()


def _is_shared(settings: Settings, local: bool) -> bool:
    """Whether the lines of all processes are read from the shared Redis."""
    return settings.shared is not None and settings.shared_audit_lines > 0 and not local


async def _read_shared(settings: Settings) -> list[bytes]:
    async with load("dogubako.gate.audit_stream").stream_reader(settings) as reader:
        return in_order(await reader.read_on())


def _since(text: str | None) -> str:
    """The timestamp as the log writes it, or a text that precedes all of them."""
    if text is None:
        return ""
    moment = read_moment(text)
    if moment is None:
        fail("--since takes a span like 30m, 24h or 7d, or a moment like 2026-11-16T09:00.")
    return moment.isoformat(timespec="milliseconds")


def _print_all(lines: Iterable[bytes], as_json: bool) -> None:
    damaged = 0
    for raw in lines:
        line = read_line(raw)
        if line is None:
            damaged += 1
        else:
            click.echo(raw.decode().rstrip("\n") if as_json else _shown(line))
    _mention(damaged)


def _shown(line: AuditLine) -> str:
    called = f"{line.caller} {line.door} {line.tool}({', '.join(line.arguments)})"
    called += f" via {line.via}" if line.via else ""
    called += f" of {line.pack}" if line.pack else ""
    took = "" if line.started else f" {line.ms:g} ms"
    return visible(f"{line.time} {called} {line.code}{took}")


def _mention(damaged: int) -> None:
    if damaged:
        sentence = "1 damaged line was" if damaged == 1 else f"{damaged} damaged lines were"
        click.echo(f"{sentence} left out.", err=True)
