"""One line of the audit log, as it is written and as it is read again."""

from collections.abc import Iterator
from typing import IO, Final

import msgspec

# The code of a line that is written before a tool changes something.
STARTED: Final = "STARTED"


class AuditLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Who did what, when, and how it went. Arguments are named and hashed; their values are not here."""

    time: str
    caller: str
    door: str
    tool: str
    arguments: list[str]
    hash: str
    code: str
    ms: float
    call_id: str
    # The tool that passed the call on, if it was not asked for directly.
    via: str | None = None
    # Whose resource or prompt was read; a tool's name says by itself whose it is.
    pack: str | None = None

    @property
    def started(self) -> bool:
        """Whether the line was written before the tool ran. A second line with the same `call_id` says how it ended."""
        return self.code == STARTED

    @property
    def failed(self) -> bool:
        return self.code not in _GOOD

    def encoded(self) -> bytes:
        return _encode(self) + b"\n"


# Nothing found is an answer, and a question to the user is half of one.
_GOOD = frozenset({"OK", "NO_RESULTS", "INPUT_REQUIRED"})

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(AuditLine).decode


def read_line(raw: bytes) -> AuditLine | None:
    """The line, or nothing for one that a killed process left half written."""
    try:
        return _decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def whole_lines(file: IO[bytes]) -> Iterator[bytes]:
    """Every line that has its end; the file is left where the first unfinished one begins."""
    while True:
        start = file.tell()
        raw = file.readline()
        if not raw.endswith(b"\n"):
            file.seek(start)
            return
        if raw.strip():
            yield raw
