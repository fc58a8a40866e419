"""`dogubako audit tail|report`."""

import time
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from dogubako.cli.options import AsJson, Chosen, Config, friendly
from dogubako.cli.terminal import print_json, print_table
from dogubako.gate.audit import FILE

app = typer.Typer(help="Read the audit log.", no_args_is_help=True)

Line = dict[str, Any]
_LOOK_AGAIN_SECONDS = 0.5


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
    if path.exists():
        with path.open("rb") as file:
            last = deque(_lines(file), maxlen=lines)
            position = file.tell()
        for line in last:
            _print(line, as_json)
    elif not follow:
        typer.echo("No calls have been recorded.", err=True)
    while follow:
        time.sleep(_LOOK_AGAIN_SECONDS)
        position = _print_new(path, position, as_json)


@app.command()
@friendly
def report(config: Config = None, as_json: AsJson = False) -> None:
    """Count calls by caller and tool, with failures and times."""
    path = _path(config)
    counted = Report()
    if path.exists():
        with path.open("rb") as file:
            for line in _lines(file):
                counted.add(line)
    if as_json:
        print_json({"calls": counted.rows(), "damagedLines": counted.damaged})
        return
    rows = [
        (row["caller"], row["tool"], str(row["calls"]), str(row["failed"]), f"{row['ms']:.0f}")
        for row in counted.rows()
    ]
    print_table(("Caller", "Tool", "Calls", "Failed", "ms on average"), rows, empty="No calls have been recorded.")


class Report:
    """Adds up lines."""

    def __init__(self) -> None:
        self._calls: Counter[tuple[str, str]] = Counter()
        self._failed: Counter[tuple[str, str]] = Counter()
        self._ms: Counter[tuple[str, str]] = Counter()
        self.damaged = 0

    def add(self, line: Line | None) -> None:
        if line is None:
            self.damaged += 1
            return
        key = (str(line.get("caller")), str(line.get("tool")))
        self._calls[key] += 1
        self._failed[key] += line.get("code") != "OK"
        self._ms[key] += line.get("ms") or 0

    def rows(self) -> list[dict[str, Any]]:
        return [
            {
                "caller": caller,
                "tool": tool,
                "calls": calls,
                "failed": self._failed[caller, tool],
                "ms": self._ms[caller, tool] / calls,
            }
            for (caller, tool), calls in self._calls.most_common()
        ]


def _path(config: Config) -> Path:
    return Chosen(config=config).sources().load().data_dir / FILE


def _lines(file: Any) -> Iterator[Line | None]:
    """Each line; nothing for one that a killed process left half written."""
    for raw in file:
        if raw.strip():
            try:
                line = msgspec.json.decode(raw)
            except (msgspec.DecodeError, UnicodeError):
                line = None
            yield line if isinstance(line, dict) else None


def _print(line: Line | None, as_json: bool) -> None:
    if line is None:
        return
    if as_json:
        typer.echo(msgspec.json.encode(line).decode())
        return
    arguments = ", ".join(line.get("arguments") or ())
    typer.echo(
        f"{line.get('time')} {line.get('caller')} {line.get('door')} {line.get('tool')}({arguments}) "
        f"{line.get('code')} {line.get('ms')} ms"
    )


def _print_new(path: Path, position: int, as_json: bool) -> int:
    if not path.exists():
        return 0
    with path.open("rb") as file:
        file.seek(position)
        for line in _lines(file):
            _print(line, as_json)
        return file.tell()
