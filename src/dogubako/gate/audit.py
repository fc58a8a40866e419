"""The audit log: one line per call with caller, tool and outcome, never a value of an argument."""

import errno
import json
import os
import secrets
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from heapq import nsmallest
from pathlib import Path
from typing import IO, Any, Final

import msgspec
import structlog

from dogubako._runner import at_the_end
from dogubako._timers import Debounce
from dogubako.append_file import AppendFile
from dogubako.contract.call import CallEnd, ChangeObserver, ToolCall
from dogubako.contract.errors import ReadOnlyError
from dogubako.contract.metadata import ToolMetadata
from dogubako.contract.redaction import Redactor
from dogubako.contract.timestamps import utc_text
from dogubako.gate.files import check_room, load_or_create_secret
from dogubako.response.jsonable import clean_text, plain_float

log = structlog.get_logger("dogubako.gate")

FILE: Final = "audit.jsonl"
_SALT: Final = "audit.salt"
_SALT_BYTES: Final = 32
_HASH_BYTES: Final = 8
# At most this many lines wait for a full disk; only reading calls add to them.
_MOST_OWED: Final = 10_000


class AuditFile:
    """Appends lines, and keeps those that cannot be written until they can."""

    def __init__(
        self, data_dir: Path, *, carry_over: Callable[[], Iterable[bytes]] = tuple, salt: bytes | None = None
    ) -> None:
        # The first lines of a new file, after the old one was rotated.
        self._carry_over = carry_over
        self.path = data_dir / FILE
        # Used until the salt in the folder can be read: a hash without a salt could be guessed by trying.
        self.salt = salt or secrets.token_bytes(_SALT_BYTES)
        # None with a salt that several machines share.
        self._salt_path = data_dir / _SALT if salt is None else None
        self._file = AppendFile(self.path, private=True)
        self._owed: deque[bytes] = deque(maxlen=_MOST_OWED)
        self._lost = 0
        self._failing = False

    def ready(self) -> bool:
        """Whether no line is waiting and the next one can be written."""
        self._file.look_again()
        return self._written()

    def open(self) -> bool:
        """Try to open the file. From then on `salt` is the stored one."""
        return self._file.is_current() or self._open()

    def append(self, lines: bytes) -> bool:
        """Write these lines, or keep them for later. Returns whether they are in the file."""
        written = 0
        if not self._owed and self._file.is_current():
            with suppress(OSError):
                written = self._file.append(lines)
        if written < len(lines):
            self._owe(lines[lines.rfind(b"\n", 0, written) + 1 :])
        return self._written()

    def _owe(self, lines: bytes) -> None:
        """Keep lines that could not be written; one that was half written is written again, on its own line."""
        kept = lines.splitlines(keepends=True)
        # The oldest lines are dropped.
        self._lost += max(0, len(self._owed) + len(kept) - _MOST_OWED)
        self._owed.extend(kept)

    def close(self) -> None:
        """Close the file. A later line opens it again."""
        if self._owed:
            self._written()
        self._lost += len(self._owed)
        self._admit_loss()
        self._file.close()

    def _written(self) -> bool:
        """Try to write all waiting lines. Returns whether they are in the file and more would fit."""
        if not self._file.is_current() and not self._open():
            return False
        try:
            self._pay()
            check_room(self._file.fileno())
        except OSError as error:
            self._failed(error)
            return False
        self._failing = False
        self._admit_loss()
        return True

    def _admit_loss(self) -> None:
        if self._lost:
            log.error("Calls are missing from the audit log", file=str(self.path), lines=self._lost)
            self._lost = 0

    def _pay(self) -> None:
        if not self._owed:
            return
        owed = b"".join(self._owed)
        written = self._file.append(owed)
        if written == len(owed):
            self._owed.clear()
            return
        # A full disk took some lines; one that was half written is written again, on its own line.
        for _ in range(owed.count(b"\n", 0, written)):
            self._owed.popleft()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _open(self) -> bool:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Stored beside the log, so that equal arguments have equal hashes, which cannot be guessed by trying.
            if self._salt_path is not None:
                self.salt = load_or_create_secret(self._salt_path)
            replaced = self._file.open()
        except OSError as error:
            self._failed(error)
            return False
        if replaced:
            self._owed.extendleft(reversed([*self._carry_over()]))
        return True

    def _failed(self, error: OSError) -> None:
        self._file.close()
        if not self._failing:
            # Logged once, not for every call.
            self._failing = True
            log.error("The audit log cannot be written", file=str(self.path), reason=error.strerror)


# The code of a line that is written before a tool changes something.
STARTED: Final = "STARTED"


class AuditLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Caller, tool, time and outcome of a call. Arguments are named and hashed; their values are not here."""

    time: str
    caller: str
    door: str
    tool: str
    arguments: list[str]
    hash: str
    code: str
    ms: float
    call_id: str
    # The tool that passed the call on, if the caller did not name this tool.
    via: str | None = None
    # The pack of a resource or prompt; the name of a tool implies its pack.
    pack: str | None = None

    @property
    def started(self) -> bool:
        """Whether the line was written before the tool ran. A second line with the same `call_id` has the outcome."""
        return self.code == STARTED

    @property
    def failed(self) -> bool:
        return self.code not in _GOOD

    def encoded(self) -> bytes:
        return _encode(self) + b"\n"


# "No results" is an answer, and a question to the user is a part of one.
_GOOD = frozenset({"OK", "NO_RESULTS", "INPUT_REQUIRED", "TASK"})

_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder(AuditLine).decode
# What the encoder raises for lone surrogates, huge numbers, deep nesting and objects that are not JSON.
_NOT_ENCODED: Final = (TypeError, ValueError, OverflowError, RecursionError)


def read_line(raw: bytes) -> AuditLine | None:
    """Parse a line. None for one that a killed process left half written."""
    try:
        return _decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def whole_lines(file: IO[bytes]) -> Iterator[bytes]:
    """Every complete line; the file position is left at the first incomplete one."""
    while True:
        start = file.tell()
        raw = file.readline()
        if not raw.endswith(b"\n"):
            file.seek(start)
            return
        if raw.strip():
            yield raw


_MOST_NAMES: Final = 50
_LONGEST_NAME: Final = 64
_LONGEST_LOOKED_AT: Final = 1_000
_MOST_BEGUN: Final = 1_000
# How long, and how many, lines of reading calls may wait to be written together.
_WAIT_SECONDS: Final = 0.05
_MOST_WAITING: Final = 200


class AuditLog(ChangeObserver):
    """A call observer that makes the lines, and writes them to the file in the order in which things happened."""

    def __init__(self, data_dir: Path, redactor: Redactor | None = None, *, salt: bytes | None = None) -> None:
        self._redactor = redactor or Redactor()
        # The lines of changes that have started and not ended, by call id.
        self._running: dict[str, bytes] = {}
        self._file = AuditFile(data_dir, carry_over=self._running.values, salt=salt)
        self._waiting: list[tuple[ToolCall, CallEnd]] = []
        self._soon = Debounce(self.flush, _WAIT_SECONDS)
        # The same names repeat, and so do parts of lines. Both were masked by one generation of the redactor.
        self._name = lru_cache(maxsize=1_000)(self._masked)
        self._begun: dict[tuple[Hashable, ...], str] = {}
        self._begun_of = self._redactor.generation
        # A hash of nothing yet, and the salt that it was made with.
        self._salted = blake2b(digest_size=_HASH_BYTES)
        self._salt = b""
        # The event loop may end before the delayed lines are written.
        at_the_end(self.close)

    @property
    def path(self) -> Path:
        return self._file.path

    def ready(self) -> bool:
        """Whether the next line can be written. Calls that cannot be recorded are refused."""
        self.flush()
        return self._file.ready()

    def unrecorded(self, consequence: str) -> ReadOnlyError | None:
        """Return the error for a change if the next line cannot be written. `consequence` says what was not done."""
        return None if self.ready() else unrecordable(consequence)

    def started(self, call: ToolCall, tool: ToolMetadata) -> None:
        """Write that a change begins, or raise: what cannot be recorded must not be done."""
        if (error := self.unrecorded(f"{tool.name} was not run.")) is not None:
            raise error
        self._mask_again()
        line = self._any_line(call, CallEnd(code=STARTED, milliseconds=0.0))
        if not self._file.append(line):
            raise unrecordable(f"{tool.name} was not run.")
        self._running[call.id] = line

    def ended(self, call: ToolCall, end: CallEnd) -> None:
        """Record a call that has ended: at once if it could change something, else within `_WAIT_SECONDS`."""
        if self._running:
            self._running.pop(call.id, None)
        self._waiting.append((call, end))
        if end.changing or len(self._waiting) >= _MOST_WAITING or not self._soon.wanted():
            self.flush()

    def record(
        self, call: ToolCall, code: str, milliseconds: float, *, pack: str | None = None, changing: bool = False
    ) -> None:
        """The same for what is no call of a tool."""
        self.ended(call, CallEnd(code=code, milliseconds=milliseconds, pack=pack, changing=changing))

    def flush(self) -> None:
        """Write all waiting lines."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        # Opened before the first hash, which needs the salt in the folder.
        self._file.open()
        self._mask_again()
        self._file.append(self._lines(waiting))

    def _mask_again(self) -> None:
        """Forget what was rendered before the redactor learned a secret, which may be part of it."""
        if self._redactor.generation != self._begun_of:
            self._begun.clear()
            self._name.cache_clear()
            self._begun_of = self._redactor.generation

    def close(self) -> None:
        """Write the last lines and close the file. A later line opens it again."""
        self.flush()
        self._file.close()

    def _lines(self, ended: Sequence[tuple[ToolCall, CallEnd]]) -> bytes:
        """The lines of these calls. What plain calls have in common comes from memos."""
        lines: list[str] = []
        # One look at all ids: bytes that are not ASCII are not alphanumeric.
        plain_ids = "".join([call.id for call, _ in ended]).encode(errors="replace").isalnum()
        # Agents that poll send the same arguments again and again.
        known: dict[tuple[str, str, str, bytes], str] = {}
        since, until, moment = 0.0, 0.0, ""
        for call, end in ended:
            ms, parameters, at = plain_float(end.milliseconds), call.parameters, end.at
            is_plain = plain_ids and end.code == "OK" and end.pack is None and call.via is None and ms is not None
            if not is_plain or len(parameters) > _MOST_NAMES:
                lines.append(self._any_line(call, end).decode())
                continue
            try:
                canonical = _encode_sorted(parameters)
            except _NOT_ENCODED:
                canonical = _canonical(parameters)
            key = (call.caller.name, call.door, call.name, canonical)
            middle = known.get(key)
            if middle is None:
                middle = known[key] = f'{self._beginning(call, end)},"hash":"{self._hash(canonical)}"'
            # Many calls end in one millisecond.
            if not since <= at < until:
                since, until, moment = at, (int(at * 1000) + 1) / 1000, utc_text(at)
            lines.append(f'{{"time":"{moment}",{middle},"code":"OK","ms":{ms},"callId":"{call.id}"}}\n')
        return "".join(lines).encode()

    def _beginning(self, call: ToolCall, end: CallEnd) -> str:
        """What the lines of many calls have in common: everything between the time and the hash of the arguments."""
        key = (call.caller.name, call.door, call.name, *call.parameters)
        if (begun := self._begun.get(key)) is not None:
            return begun
        line = self._any_line(call, end).decode()
        begun = line[line.index('"caller":') : line.index(',"hash":"')]
        if all(len(str(one)) <= _LONGEST_NAME for one in key):
            if len(self._begun) >= _MOST_BEGUN:
                self._begun.clear()
            self._begun[key] = begun
        return begun

    def _any_line(self, call: ToolCall, end: CallEnd) -> bytes:
        return AuditLine(
            time=utc_text(end.at),
            caller=clean_text(call.caller.name),
            door=call.door,
            tool=self._name(call.name[:_LONGEST_LOOKED_AT]),
            arguments=self._names(call.parameters),
            hash=self._fingerprint(call.parameters),
            code=end.code,
            ms=end.milliseconds,
            call_id=call.id,
            via=call.via,
            pack=end.pack,
        ).encoded()

    def _fingerprint(self, parameters: Mapping[str, Any]) -> str:
        try:
            canonical = _encode_sorted(parameters)
        except _NOT_ENCODED:
            canonical = _canonical(parameters)
        return self._hash(canonical)

    def _hash(self, canonical: bytes) -> str:
        if self._salt is not self._file.salt:
            self._salt = self._file.salt
            self._salted = blake2b(key=self._salt, digest_size=_HASH_BYTES)
        # A copy is cheaper than to begin with the salt again.
        digest = self._salted.copy()
        digest.update(canonical)
        return digest.hexdigest()

    def _names(self, parameters: Mapping[str, Any]) -> list[str]:
        names = map(str, parameters)
        first = sorted(names) if len(parameters) <= _MOST_NAMES else nsmallest(_MOST_NAMES, names)
        return [self._name(name[:_LONGEST_LOOKED_AT]) for name in first]

    def _masked(self, name: str) -> str:
        """Mask a name: a caller can send a secret as a name."""
        return clean_text(self._redactor.mask_all(name)[:_LONGEST_NAME])


def unrecordable(consequence: str) -> ReadOnlyError:
    """The error for a change that cannot be recorded. `consequence` says what was not done."""
    message = f"The audit log cannot be written, so nothing may be changed: {consequence}"
    hint = "The server's log says why. An operator must make DOGUBAKO_DATA_DIR writable, with room on its disk."
    return ReadOnlyError(message, hint=hint)


def _canonical(parameters: Mapping[str, Any]) -> bytes:
    """The same bytes for the same arguments, in any order, where msgspec cannot encode them."""
    try:
        # Accepts lone surrogates and huge numbers, which a caller may send.
        return json.dumps(parameters, sort_keys=True, default=str).encode()
    except (TypeError, ValueError, RecursionError):
        return b"?"
