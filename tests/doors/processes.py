"""Our commands as real processes: none of this machine's settings reach them, and every wait has an end."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final

ROOT: Final = Path(__file__).parents[2]
WORKBENCH: Final = ROOT / "examples" / "workbench.py"
HERE: Final = Path(__file__).parent

# On a busy machine a server may need half a minute to start.
PATIENCE: Final = 120.0
_LISTENING = re.compile(r"(?:Listening|Starting workers) url=(\S+)")


class Lines:
    """Collects the lines of a stream in the background, so that nobody blocks on a full pipe."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._seen: list[bytes] = []
        self._ended = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._collect, daemon=True)
        self._thread.start()

    def first(self, fits: Callable[[bytes], bool], *, start: int = 0, seconds: float = PATIENCE, nth: int = 1) -> bytes:
        """The first line that fits, or the nth, waited for. A stream without it is an error that shows what it said."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._find(fits, start, nth) is not None, seconds)
            found = self._find(fits, start, nth)
        if found is None:
            said = b"".join(self._seen[-30:]).decode(errors="replace")
            raise AssertionError(f"the expected line did not come within {seconds:g} s; the last lines were:\n{said}")
        return found

    def count(self) -> int:
        with self._changed:
            return len(self._seen)

    def text(self) -> str:
        """Everything so far; after the end of the process, everything."""
        with self._changed:
            return b"".join(self._seen).decode(errors="replace")

    def close(self) -> None:
        self._thread.join(PATIENCE)
        self._stream.close()

    def _find(self, fits: Callable[[bytes], bool], start: int, nth: int) -> bytes | None:
        return next(islice(filter(fits, self._seen[start:]), nth - 1, None), None)

    def _collect(self) -> None:
        for line in self._stream:
            with self._changed:
                self._seen.append(line)
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()


class Command:
    """One `dogubako …` process."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        folder: Path,
        settings: Mapping[str, str] | None = None,
        open_files: int | None = None,
        start: Sequence[str] = ("-m", "dogubako"),
    ) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [*_under_limit(open_files), sys.executable, *start, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=environment(folder, settings),
        )
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.stdin = self.process.stdin
        self.stdout = Lines(self.process.stdout)
        self.stderr = Lines(self.process.stderr)

    @property
    def log_file(self) -> str:
        """The file log so far."""
        return (self.folder / "logs" / "dogubako.log").read_text(encoding="utf-8")

    @property
    def log_lines(self) -> list[dict[str, Any]]:
        """The lines of the file log so far; one that is only half written does not count yet."""
        whole, _, _ = self.log_file.rpartition("\n")
        return [json.loads(line) for line in whole.split("\n") if line]

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def wait(self, seconds: float = PATIENCE) -> int:
        """The exit code, which must come in time."""
        return self.process.wait(seconds)

    def url(self) -> str:
        """Where a server that was started with port 0 listens."""
        line = self.stderr.first(lambda one: _LISTENING.search(one.decode()) is not None)
        match = _LISTENING.search(line.decode())
        assert match is not None
        return match[1]

    def close(self) -> None:
        if not self.stdin.closed:
            # It may have ended before it had read everything; its exit code tells why.
            with suppress(BrokenPipeError):
                self.stdin.close()
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE)
            finally:
                self.process.kill()
        self.stdout.close()
        self.stderr.close()


def _under_limit(open_files: int | None) -> list[str]:
    """The words before a command that set its hard limit of open files."""
    return [] if open_files is None else ["sh", "-c", 'ulimit -n "$0" && exec "$@"', str(open_files)]


@contextmanager
def running(
    *words: str, folder: Path, settings: Mapping[str, str] | None = None, open_files: int | None = None
) -> Iterator[Command]:
    """A command for as long as the block lasts."""
    command = Command(words, folder=folder, settings=settings, open_files=open_files)
    try:
        yield command
    finally:
        command.close()


@contextmanager
def serving(
    *tools: Path,
    folder: Path,
    words: Sequence[str] = (),
    settings: Mapping[str, str] | None = None,
    open_files: int | None = None,
) -> Iterator[Command]:
    """`dogubako serve` on a free port."""
    words = ["serve", "--port", "0", *tool_words(*tools), *words]
    with running(*words, folder=folder, settings=settings, open_files=open_files) as server:
        yield server


def run(
    *words: str, folder: Path, settings: Mapping[str, str] | None = None, stdin: IO[bytes] | None = None
) -> "subprocess.CompletedProcess[str]":
    """A command that ends by itself, with everything that it said."""
    return subprocess.run(
        [sys.executable, "-m", "dogubako", *words],
        cwd=folder,
        env=environment(folder, settings),
        stdin=stdin or subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
    )


def tool_words(*tools: Path) -> list[str]:
    return [word for path in tools for word in ("--tools", str(path))]


def environment(folder: Path, settings: Mapping[str, str] | None = None) -> dict[str, str]:
    """Nothing but what a process needs to start, and the settings of this very test."""
    kept = {key: value for key, value in os.environ.items() if key == "PATH" or key.startswith("COVERAGE")}
    own = {"HOME": str(folder), "LOG_DIR": str(folder / "logs"), "PYTHONUTF8": "1"}
    return {**kept, **own, **(settings or {})}
