"""Logs: a line for people on stderr, a JSON line in the file, and never a secret in either."""

import contextlib
import logging
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

import structlog

from dogubako.contract.secrets import Redactor
from dogubako.ending import at_the_end
from dogubako.log_file import LogFile
from dogubako.log_floods import INTERVAL_SECONDS, Floods, Kind, kind_of
from dogubako.log_lines import Entry, Event, Lines
from dogubako.settings import LogLevelName
from dogubako.soon import Soon

_LEVELS: dict[LogLevelName, int] = {"fatal": 50, "error": 40, "warn": 30, "info": 20, "debug": 10, "trace": 10}
_NAMES = {50: "FATAL", 40: "ERROR", 30: "WARN", 20: "INFO", 10: "DEBUG", 0: "TRACE"}
# How long lines of little weight are collected: under load hundreds of calls end in that time, and a write costs as
# much as everything else that a plain call does.
_FLUSH_SECONDS = 0.05
_CAN_WAIT = frozenset({"INFO", "DEBUG", "TRACE"})
# So many lines are written at once, so that a busy server does not stand still for long.
_MOST_PENDING = 200

# These libraries tell at INFO what only their authors want to know.
_CHATTY = ("httpx2", "httpcore2", "mcp", "sse_starlette", "asyncio", "uvicorn.access")


class Sinks:
    """Where lines go. One bad sink never stops the work that is being logged."""

    def __init__(self, redactor: Redactor, folder: Path | None, *, stderr: IO[str] | None = None) -> None:
        self._stderr = stderr or sys.stderr
        self._lines = Lines(redactor, colour=self._stderr.isatty())
        self._file: LogFile | None = None
        self.problem: str | None = None
        # Tools log from threads, too, and a file that is reopened has no descriptor for a moment.
        self._writing = threading.RLock()
        self._pending: list[Entry] = []
        self._soon = Soon(self.flush, _FLUSH_SECONDS)
        self._floods = Floods(self._add)
        self._sum_up_soon = Soon(self._sum_up, INTERVAL_SECONDS)
        if folder is not None:
            self._open(folder)

    def write(self, event: Event, kind: Kind | None = None) -> None:
        """Write an event. One of a kind that repeats may become part of a summary."""
        entry = self._entry(event)
        kind = kind or kind_of(entry)
        if kind is not None and self._sum_up_soon.wanted() and self._floods.holds_back(kind, entry):
            return
        self._add(entry)

    # structlog calls the method of an event's level; here all of them do the same.
    debug = info = warning = error = critical = write

    def flush(self) -> None:
        """Write what has been collected. A reader who left or a full disk never stops the work that is logged."""
        with self._writing:
            pending, self._pending = self._pending, []
            if not pending:
                return
            rendered = [self._lines.render(entry) for entry in pending]
            self._show("".join(for_people for for_people, _ in rendered))
            if self._file is not None:
                self._file.write([for_file for _, for_file in rendered])

    def finish(self) -> None:
        """Write the last lines, also those that wait to be summed up."""
        self._floods.tell(all_of_them=True)
        self.flush()

    def close(self) -> None:
        """Write the last lines and give the file back."""
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
            # Text streams on stderr are line-buffered: nothing stays behind.
            self._stderr.write(text)

    def _open(self, folder: Path) -> None:
        self._file = LogFile(
            folder / "dogubako.log",
            tell=lambda sentence: self._show(self._warning(sentence)[0]),
            lost_line=lambda lost: self._warning("Log lines could not be written", lines=lost)[1],
        )
        if failure := self._file.open():
            self.problem = f"No log file: {failure.strerror or failure} ({folder})"

    def _warning(self, sentence: str, **fields: int) -> tuple[str, bytes]:
        return self._lines.render(self._entry({"event": sentence, "level": "WARN", **fields}))


def configure(level: LogLevelName, folder: Path | None, redactor: Redactor, *, stderr: IO[str] | None = None) -> Sinks:
    """Send structlog's events and the standard library's records to the same two places."""
    sinks = Sinks(redactor, folder, stderr=stderr)
    # The last turn of a loop may end before its lines are written.
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

    structlog knows no level below debug: `log.debug(…, trace=True)` is one.
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
    """Brings what libraries log to our sinks."""

    def __init__(self, sinks: Sinks) -> None:
        super().__init__()
        self._sinks = sinks

    def emit(self, record: logging.LogRecord) -> None:
        event: Event = {"event": record.getMessage(), "logger": record.name, "level": _name(record.levelno)}
        if record.exc_info and record.exc_info[1] is not None:
            event["exc_info"] = record.exc_info[1]
        # The message before its values are filled in: one kind, whatever they are.
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
