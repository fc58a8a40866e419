"""Logs: a line for people on stderr and a JSON line in the file, with secrets redacted."""

import contextlib
import errno
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, Final

import structlog

from dogubako._runner import at_the_end
from dogubako._timers import Debounce
from dogubako.append_file import AppendFile
from dogubako.contract.redaction import Redactor
from dogubako.log_lines import INTERVAL_SECONDS, EndedCallEntry, Entry, Event, Floods, Kind, Lines, kind_of
from dogubako.settings import LogLevelName

FILE_NAME: Final = "dogubako.log"
_TRY_AGAIN_SECONDS: Final = 1.0
_NEVER: Final = float("-inf")


class LogFile:
    """Writes lines, and counts those that the disk does not take. `lost_line` renders the count."""

    def __init__(self, path: Path, *, tell: Callable[[str], None], lost_line: Callable[[int], bytes]) -> None:
        self._file = AppendFile(path)
        self._tell = tell
        self._lost_line = lost_line
        self._lost = 0
        self._failed_at = _NEVER
        self._failing = False

    def open(self) -> OSError | None:
        """Open the file now, so that an error is reported at the start."""
        try:
            self._file.open()
        except OSError as error:
            self._fail()
            return error
        return None

    def write(self, lines: Sequence[bytes]) -> None:
        """Write the lines with one system call, or count them as lost. While the disk is full, try once a second."""
        lost = self._lost
        # Counted as lost until they are written.
        self._lost += len(lines)
        if time.monotonic() - self._failed_at < _TRY_AGAIN_SECONDS:
            return
        try:
            if not self._file.is_current():
                self._file.open()
            self._put(lines, lost)
        except OSError as error:
            if not self._failing:
                self._tell(f"The log file cannot be written: {error.strerror or error}")
            self._fail()

    def close(self) -> None:
        """Try once more to log the lost count, and close the file."""
        self._failed_at = _NEVER
        if self._lost:
            self.write([])
        if self._lost:
            self._tell(_sentence(self._lost))
        self._file.close()

    def _put(self, lines: Sequence[bytes], lost: int) -> None:
        data = b"".join([self._lost_line(lost), *lines] if lost else lines)
        taken = self._file.append(data)
        self._lost = _missing(self._lost, data, taken, first_reports_loss=lost > 0)
        if taken < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._failing = False
        if lost:
            self._tell(_sentence(lost))

    def _fail(self) -> None:
        self._failing = True
        self._failed_at = time.monotonic()
        self._file.close()


def _missing(lost: int, data: bytes, taken: int, *, first_reports_loss: bool) -> int:
    """How many lines are still missing after `taken` bytes of `data`, whose first line may report lost ones."""
    written = data.count(b"\n", 0, taken)
    if first_reports_loss and written:
        return data.count(b"\n", taken)
    return lost - written


def _sentence(lost: int) -> str:
    return f"{lost:,} log {'line' if lost == 1 else 'lines'} could not be written"


_LEVELS: dict[LogLevelName, int] = {"fatal": 50, "error": 40, "warn": 30, "info": 20, "debug": 10, "trace": 10}
_NAMES = {50: "FATAL", 40: "ERROR", 30: "WARN", 20: "INFO", 10: "DEBUG", 0: "TRACE"}
# How long lines below warning are collected: under load hundreds of calls end in that time, and a write costs as much
# as the rest of a simple call.
_FLUSH_SECONDS = 0.05
_CAN_WAIT = frozenset({"INFO", "DEBUG", "TRACE"})
# At most this many lines are written at once, so that the event loop is not blocked for long.
_MOST_PENDING = 200

# These libraries log at INFO what only their authors need.
_CHATTY = ("httpx2", "httpcore2", "mcp", "sse_starlette", "asyncio", "uvicorn.access", "docket")


class Sinks:
    """Writes lines to stderr and the file. A failing sink never stops the work that is logged."""

    def __init__(self, redactor: Redactor, folder: Path | None, *, stderr: IO[str] | None = None) -> None:
        self._stderr = stderr or sys.stderr
        self._lines = Lines(redactor, colour=self._stderr.isatty())
        self._file: LogFile | None = None
        self.problem: str | None = None
        # Tools also log from threads, and a file that is being reopened has no descriptor for a moment.
        self._writing = threading.RLock()
        self._pending: list[Entry | EndedCallEntry] = []
        self._soon = Debounce(self.flush, _FLUSH_SECONDS)
        self._floods = Floods(self._add)
        self._sum_up_soon = Debounce(self._sum_up, INTERVAL_SECONDS)
        if folder is not None:
            self._open(folder)

    def write(self, event: Event, kind: Kind | None = None) -> None:
        """Write an event. One of a repeated kind may be aggregated."""
        entry = self._entry(event)
        kind = kind or kind_of(entry)
        if kind is not None and self._sum_up_soon.wanted() and self._floods.holds_back(kind, entry):
            return
        self._add(entry)

    def call_ended(self, call: EndedCallEntry) -> None:
        """Write the line of a successful call. There is one for every call, so it takes no way through structlog."""
        with self._writing:
            self._pending.append(call)
        if len(self._pending) >= _MOST_PENDING or not self._soon.wanted():
            self.flush()

    # structlog calls the method of an event's level.
    debug = info = warning = error = critical = write

    def flush(self) -> None:
        """Write the collected lines. A closed stderr or a full disk never stops the work that is logged."""
        with self._writing:
            pending, self._pending = self._pending, []
            if not pending:
                return
            for_people, for_file = self._lines.render_all(pending)
            self._show(for_people)
            if self._file is not None:
                self._file.write(for_file)

    def finish(self) -> None:
        """Write the last lines, also those that wait for aggregation."""
        self._floods.tell(all_of_them=True)
        self.flush()

    def close(self) -> None:
        """Write the last lines and close the file."""
        self.finish()
        if self._file is not None:
            self._file.close()

    def _add(self, entry: Entry) -> None:
        with self._writing:
            self._pending.append(entry)
        if entry.level not in _CAN_WAIT or len(self._pending) >= _MOST_PENDING or not self._soon.wanted():
            self.flush()

    def _entry(self, event: Event) -> Entry:
        level = event.pop("level")
        return Entry(time.time(), level, self._lines.settled(event))

    def _sum_up(self) -> None:
        if self._floods.tell():
            self._sum_up_soon.wanted()

    def _show(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            # stderr is line-buffered, so nothing stays behind.
            self._stderr.write(text)

    def _open(self, folder: Path) -> None:
        self._file = LogFile(
            folder / FILE_NAME,
            tell=lambda sentence: self._show(self._warning(sentence)[0]),
            lost_line=lambda lost: self._warning("Log lines could not be written", lines=lost)[1],
        )
        if failure := self._file.open():
            self.problem = f"No log file: {failure.strerror or failure} ({folder})"

    def _warning(self, sentence: str, **fields: int) -> tuple[str, bytes]:
        return self._lines.render(self._entry({"event": sentence, "level": "WARN", **fields}))


def configure(level: LogLevelName, folder: Path | None, redactor: Redactor, *, stderr: IO[str] | None = None) -> Sinks:
    """Send structlog's events and the standard library's records to stderr and the file."""
    sinks = Sinks(redactor, folder, stderr=stderr)
    # The event loop may end before its lines are written.
    at_the_end(sinks.finish)
    structlog.configure(
        processors=[_finish(level == "trace")],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=lambda *_: sinks,
        cache_logger_on_first_use=False,
    )
    _adopt_standard_logging(_LEVELS[level], sinks)
    if sinks.problem:
        structlog.get_logger("dogubako").warning(sinks.problem)
    return sinks


def _finish(traced: bool) -> structlog.typing.Processor:
    """The last step of an event: its level, its exception, and the form that `Sinks.write` takes.

    structlog has no level below debug: `log.debug(…, trace=True)` is one.
    """

    def finish(_logger: Any, method: str, event: Event) -> tuple[tuple[Event], dict[str, Any]]:
        event["level"] = _METHOD_LEVELS.get(method) or method.upper()
        if event.pop("trace", False):
            if not traced:
                raise structlog.DropEvent
            event["level"] = "TRACE"
        if event.get("exc_info") is True or method == "exception":
            event["exc_info"] = sys.exc_info()[1]
        return (event,), {}

    return finish


_METHOD_LEVELS = {
    "info": "INFO",
    "warning": "WARN",
    "warn": "WARN",
    "critical": "FATAL",
    "fatal": "FATAL",
    "exception": "ERROR",
}


class _Records(logging.Handler):
    """Forwards the log records of libraries to our sinks."""

    def __init__(self, sinks: Sinks) -> None:
        super().__init__()
        self._sinks = sinks

    def emit(self, record: logging.LogRecord) -> None:
        event: Event = {"event": record.getMessage(), "logger": record.name, "level": _name(record.levelno)}
        if record.exc_info and record.exc_info[1] is not None:
            event["exc_info"] = record.exc_info[1]
        elif event["event"].startswith("Traceback (most recent call last)"):
            # uvicorn logs the failure of a start as text: people see its last line, the file has all of it.
            event["exc_info"] = event["event"]
            event["event"] = event["event"].rstrip().rpartition("\n")[2]
        # The message without its values identifies the kind.
        kind: Kind = (record.name, str(record.msg), type(event.get("exc_info")).__name__)
        self._sinks.write(event, kind if record.levelno >= logging.WARNING else None)


def _adopt_standard_logging(level: int, sinks: Sinks) -> None:
    root = logging.getLogger()
    root.handlers = [_Records(sinks)]
    root.setLevel(level)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(max(level, logging.WARNING) if level >= logging.INFO else level)


def _name(level: int) -> str:
    return _NAMES[max(known for known in _NAMES if known <= max(level, 0))]
