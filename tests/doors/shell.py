"""The command line in this process, for the many cases; what needs a terminal or a real process uses one."""

import json
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from dogubako.cli import app

from .processes import PATIENCE, WORKBENCH, environment


@dataclass(frozen=True, kw_only=True)
class Said:
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def dogubako(
    *words: str, folder: Path, tools: tuple[Path, ...] = (WORKBENCH,), settings: Mapping[str, str] | None = None
) -> Said:
    """Run a command with nothing of this machine's settings. What it logs goes nowhere: that folder cannot be made."""
    (folder / "a file").touch()
    own = environment(folder, {"LOG_DIR": str(folder / "a file" / "logs"), **(settings or {})})
    cleared = {name: own.get(name) for name in {*os.environ, *own}}
    chosen = [word for path in tools for word in ("--tools", str(path))]
    outcome = CliRunner().invoke(app, [*words, *chosen], env=cleared)
    if outcome.exception is not None and not isinstance(outcome.exception, SystemExit):
        raise outcome.exception
    return Said(code=outcome.exit_code, out=outcome.stdout, err=outcome.stderr)


def at_a_terminal(*words: str, folder: Path, typed: str = "") -> str:
    """Run a command as a person would see it: everything that appears on the screen."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "dogubako", *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env=environment(folder, {"TERM": "xterm-256color", "COLUMNS": "100"}),
    )
    os.close(theirs)
    bored = threading.Timer(PATIENCE, process.kill)
    bored.start()
    os.write(ours, typed.encode())
    screen = b""
    # Linux ends with an error when the last one at the other end has gone.
    with suppress(OSError):
        while piece := os.read(ours, 4096):
            screen += piece
    os.close(ours)
    process.wait(PATIENCE)
    bored.cancel()
    return screen.decode()
