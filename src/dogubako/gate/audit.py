"""One line per call: who did what, when, and how it went. Never a value of an argument."""

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
from dogubako.contract.moment import utc_text
from dogubako.contract.secrets import Redactor
from dogubako.ending import at_the_end
from dogubako.gate.audit_file import AuditFile
from dogubako.gate.audit_line import AuditLine
from dogubako.response.plain import clean_text
from dogubako.soon import Soon

_MOST_NAMES: Final = 50
_LONGEST_NAME: Final = 64
_LONGEST_LOOKED_AT: Final = 1_000
# How long, and how many, lines of calls that read may wait to be written together.
_WAIT_SECONDS: Final = 0.05
_MOST_WAITING: Final = 200


class _Ended(NamedTuple):
    """A call that has ended, until its line is written."""

    at: float
    call: ToolCall
    code: str
    milliseconds: float
    pack: str | None


class AuditLog:
    """Makes the lines, and sees to it that they reach the file in the order in which the calls ended."""

    def __init__(self, data_dir: Path, redactor: Redactor | None = None) -> None:
        self._redactor = redactor or Redactor()
        self._file = AuditFile(data_dir)
        self._waiting: list[_Ended] = []
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

    def record(
        self, call: ToolCall, code: str, milliseconds: float, *, pack: str | None = None, changing: bool = False
    ) -> None:
        """Record a call that has ended: at once if it was to change something, else within a blink of an eye."""
        self._waiting.append(_Ended(time.time(), call, code, milliseconds, pack))
        if changing or len(self._waiting) >= _MOST_WAITING or not self._soon.wanted():
            self.flush()

    def flush(self) -> None:
        """Write every line that waits."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            # Opened before the first hash is made, which needs the salt of the folder.
            self._file.open()
            self._file.append([self._line(ended) for ended in waiting])

    def close(self) -> None:
        """Write the last lines and give the file back. A later line opens it again."""
        self.flush()
        self._file.close()

    def _line(self, ended: _Ended) -> bytes:
        call = ended.call
        return AuditLine(
            time=utc_text(ended.at),
            caller=clean_text(call.caller.name),
            door=call.door,
            tool=self._name(call.name[:_LONGEST_LOOKED_AT]),
            arguments=self._names(call.parameters),
            hash=self._fingerprint(call.parameters),
            code=ended.code,
            ms=ended.milliseconds,
            call_id=call.id,
            via=call.via,
            pack=ended.pack,
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
