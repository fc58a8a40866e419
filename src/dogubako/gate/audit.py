"""The audit log: who did what, when, and how it ended. Never a value of an argument.

A call has one line when it ended. A call that changes something has a line before it as well, so that a process that
is killed meanwhile leaves a trace.
"""

import json
import time
from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from heapq import nsmallest
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from dogubako.contract.call import ToolCall
from dogubako.contract.errors import ReadOnlyError
from dogubako.contract.moment import utc_text
from dogubako.contract.secrets import Redactor
from dogubako.ending import at_the_end
from dogubako.engine.entry import ToolRegistryEntry
from dogubako.engine.events import CallEnd
from dogubako.gate.audit_file import AuditFile
from dogubako.gate.audit_line import STARTED, AuditLine
from dogubako.response.plain import clean_text
from dogubako.soon import Soon

_MOST_NAMES: Final = 50
_LONGEST_NAME: Final = 64
_LONGEST_LOOKED_AT: Final = 1_000
# How long, and how many, lines of calls that read may wait to be written together.
_WAIT_SECONDS: Final = 0.05
_MOST_WAITING: Final = 200


class _Event(NamedTuple):
    """What happened to a call, until its line is written."""

    at: float
    call: ToolCall
    code: str
    milliseconds: float
    pack: str | None


class AuditLog:
    """A call observer that makes the lines, and writes them to the file in the order in which things happened."""

    def __init__(self, data_dir: Path, redactor: Redactor | None = None) -> None:
        self._redactor = redactor or Redactor()
        # The lines of changes that have started and not ended, by the id of their call.
        self._running: dict[str, bytes] = {}
        self._file = AuditFile(data_dir, carry_over=self._running.values)
        self._waiting: list[_Event] = []
        self._soon = Soon(self.flush, _WAIT_SECONDS)
        # The same few names come again and again.
        self._name = lru_cache(maxsize=1_000)(self._masked)
        # A loop may end before the moment for which lines wait.
        at_the_end(self.close)

    @property
    def path(self) -> Path:
        return self._file.path

    def ready(self) -> bool:
        """Whether the next line can be written. What cannot be recorded must not be done."""
        self.flush()
        return self._file.ready()

    def started(self, call: ToolCall, entry: ToolRegistryEntry) -> None:
        """Write that a change begins, or raise: what cannot be recorded must not be done."""
        if not entry.metadata.writes:
            return
        if not self.ready():
            raise unrecordable(f"{entry.name} was not run.")
        line = self._line(_Event(time.time(), call, STARTED, 0.0, None))
        if not self._file.append([line]):
            raise unrecordable(f"{entry.name} was not run.")
        self._running[call.id] = line

    def progressed(self, call: ToolCall, done: float, total: float | None, message: str | None) -> None:
        """Progress is not recorded."""

    def ended(self, call: ToolCall, end: CallEnd) -> None:
        self._running.pop(call.id, None)
        self.record(call, end.code, end.milliseconds, pack=end.pack, changing=end.changing)

    def record(
        self, call: ToolCall, code: str, milliseconds: float, *, pack: str | None = None, changing: bool = False
    ) -> None:
        """Record a call that has ended: at once if it was to change something, else within a blink of an eye."""
        self._waiting.append(_Event(time.time(), call, code, milliseconds, pack))
        if changing or len(self._waiting) >= _MOST_WAITING or not self._soon.wanted():
            self.flush()

    def flush(self) -> None:
        """Write every line that waits."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            # Opened before the first hash is made, which needs the salt of the folder.
            self._file.open()
            self._file.append([self._line(event) for event in waiting])

    def close(self) -> None:
        """Write the last lines and give the file back. A later line opens it again."""
        self.flush()
        self._file.close()

    def _line(self, event: _Event) -> bytes:
        call = event.call
        return AuditLine(
            time=utc_text(event.at),
            caller=clean_text(call.caller.name),
            door=call.door,
            tool=self._name(call.name[:_LONGEST_LOOKED_AT]),
            arguments=self._names(call.parameters),
            hash=self._fingerprint(call.parameters),
            code=event.code,
            ms=event.milliseconds,
            call_id=call.id,
            via=call.via,
            pack=event.pack,
        ).encoded()

    def _fingerprint(self, parameters: Mapping[str, Any]) -> str:
        return blake2b(_canonical(parameters), key=self._file.salt, digest_size=8).hexdigest()

    def _names(self, parameters: Mapping[str, Any]) -> list[str]:
        names = map(str, parameters)
        first = sorted(names) if len(parameters) <= _MOST_NAMES else nsmallest(_MOST_NAMES, names)
        return [self._name(name[:_LONGEST_LOOKED_AT]) for name in first]

    def _masked(self, name: str) -> str:
        """A caller can put anything in place of a name, also what nobody may see."""
        return clean_text(self._redactor.mask(name)[:_LONGEST_NAME])


def unrecordable(consequence: str) -> ReadOnlyError:
    """The error for a change that the log cannot take. `consequence` says what was not done."""
    message = f"The audit log cannot be written, so nothing may be changed: {consequence}"
    hint = "The server's log says why. An operator must make DOGUBAKO_DATA_DIR writable, with room on its disk."
    return ReadOnlyError(message, hint=hint)


def _canonical(parameters: Mapping[str, Any]) -> bytes:
    """The same bytes for the same arguments, in whatever order they were written."""
    try:
        return msgspec.json.encode(parameters, order="sorted")
    except (TypeError, ValueError, OverflowError, RecursionError):
        pass
    try:
        # Takes half characters and numbers beyond all bounds, which a caller may send all the same.
        return json.dumps(parameters, sort_keys=True, default=str).encode()
    except (TypeError, ValueError, RecursionError):
        return b"?"
