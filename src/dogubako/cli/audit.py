"""`dogubako audit tail|report`."""

import os
import time
from collections import Counter, deque
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from dogubako.cli.options import AsJson, Chosen, Config, friendly
from dogubako.cli.terminal import print_json, print_table
from dogubako.gate.audit_file import FILE
from dogubako.gate.audit_line import AuditLine, read_line, whole_lines
from dogubako.settings import SettingsError

app = typer.Typer(help="Read the audit log.", no_args_is_help=True)

_LOOK_AGAIN_SECONDS = 0.5
_EMPTY = "No calls have been recorded."


@app.command()
@friendly
def tail(
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, max=100_000, help="How many of the last.")] = 20,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as lines are added.")] = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Print the last calls."""
    path = _path(config)
    position = 0
    with _opened(path) as file:
        if file is not None:
            for raw in deque(whole_lines(file), maxlen=lines):
                _print(raw, as_json)
            position = file.tell()
        elif not follow:
            typer.echo(_EMPTY, err=True)
    while follow:
        time.sleep(_LOOK_AGAIN_SECONDS)
        position = _print_new(path, position, as_json)


@app.command()
@friendly
def report(config: Config = None, as_json: AsJson = False) -> None:
    """Count calls by caller and tool, with failures and times."""
    counted = Report()
    with _opened(_path(config)) as file:
        for raw in file or ():
            if raw.strip():
                counted.add(read_line(raw))
    if as_json:
        print_json({"calls": counted.rows(), "damagedLines": counted.damaged})
        return
    rows = [
        (_plain(row["caller"]), _plain(row["tool"]), str(row["calls"]), str(row["failed"]), f"{row['ms']:.0f}")
        for row in counted.rows()
    ]
    print_table(("Caller", "Tool", "Calls", "Failed", "ms on average"), rows, empty=_EMPTY)
    if counted.damaged:
        typer.echo(f"{counted.damaged} damaged lines were left out.", err=True)


class Report:
    """Adds up lines."""

    def __init__(self) -> None:
        self._calls: Counter[tuple[str, str]] = Counter()
        self._failed: Counter[tuple[str, str]] = Counter()
        self._ms: dict[tuple[str, str], float] = {}
        self.damaged = 0

    def add(self, line: AuditLine | None) -> None:
        if line is None:
            self.damaged += 1
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


def _path(config: Config) -> Path:
    return Chosen(config=config).sources().load().data_dir / FILE


def _opened(path: Path) -> AbstractContextManager[IO[bytes] | None]:
    """The log, or nothing where there is none yet."""
    try:
        return path.open("rb")
    except FileNotFoundError:
        return nullcontext()
    except OSError as error:
        raise SettingsError(f"The audit log {path} cannot be read: {error.strerror}.") from None


def _print(raw: bytes, as_json: bool) -> None:
    line = read_line(raw)
    if line is None:
        return
    if as_json:
        typer.echo(raw.decode().rstrip("\n"))
        return
    called = f"{line.caller} {line.door} {line.tool}({', '.join(line.arguments)})"
    typer.echo(_plain(f"{line.time} {called} {line.code} {line.ms:g} ms"))


def _plain(text: str) -> str:
    """Names come from callers; what would steer a terminal is shown and not obeyed."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def _print_new(path: Path, position: int, as_json: bool) -> int:
    with _opened(path) as file:
        if file is None:
            return 0
        # A shorter file is a new one: the old one was moved away.
        file.seek(position if position <= file.seek(0, os.SEEK_END) else 0)
        for raw in whole_lines(file):
            _print(raw, as_json)
        return file.tell()
