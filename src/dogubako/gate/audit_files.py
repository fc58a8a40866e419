"""Read the audit log from a position on: every complete line once, also after the file was rotated.

A position names a file and a place in it. A file is known by its inode and its first line, so it is found again under
the name that a rotation gave it.
"""

import os
import time
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple, Self

import msgspec
import structlog

from dogubako.gate.audit import FILE, AuditLine, read_line

log = structlog.get_logger("dogubako.gate")

_COMPRESSED: Final = (".gz", ".bz2", ".xz", ".zst", ".lz4")
# About 500 lines: more at once would keep the event loop.
_MOST_BYTES: Final = 128 * 1024
_LONGEST_LINE: Final = 1024 * 1024
# A process looks once a second whether the file was rotated, and writes to the old one until then.
_STILL_WRITTEN_SECONDS: Final = 10.0
_ID_BYTES: Final = 12

_decode_lines = msgspec.json.Decoder(AuditLine).decode_lines


class SentLine(msgspec.Struct, frozen=True):
    """A line without its end."""

    raw: bytes

    @property
    def id(self) -> str:
        """The id by which readers drop the line if they get it twice."""
        # A line has a time and the id of a call, so no two lines are equal, except those that a rotation repeats.
        return blake2b(self.raw, digest_size=_ID_BYTES).hexdigest()


class Position(NamedTuple):
    """The first byte that was not read yet."""

    file: str
    offset: int

    def __str__(self) -> str:
        return f"{self.file} {self.offset}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        file, _, offset = text.partition(" ")
        return cls(file, int(offset)) if file and offset.isascii() and offset.isdigit() else None


class AuditFiles:
    """The audit log of a data folder, and the files that it was renamed to."""

    def __init__(self, data_dir: Path, *, still_written: float = _STILL_WRITTEN_SECONDS) -> None:
        self._folder = data_dir
        self._still_written = still_written
        self._missed: str | None = None

    def read(self, position: Position | None) -> tuple[list[SentLine], Position | None]:
        """The next lines, and the position after them. None reads from the oldest file that is there."""
        files = self._files()
        names = [name for name, _ in files]
        if position is not None and position.file not in names:
            self._miss(position.file)
            position = None
        if not files:
            return [], None
        at = names.index(position.file) if position is not None else 0
        start = position.offset if position is not None else 0
        while True:
            name, path = files[at]
            lines, offset = _read(path, start)
            if lines or at == len(files) - 1 or not self._ended(path):
                return lines, Position(name, offset)
            at, start = at + 1, 0

    def _files(self) -> list[tuple[str, Path]]:
        """All files that have lines, the oldest first. The one that is written now is the last."""
        current = self._folder / FILE
        paths = [path for path in self._folder.glob(f"{FILE}*") if path.suffix not in _COMPRESSED and path != current]
        ordered = [*sorted(paths, key=lambda path: (_modified(path), path.name)), current]
        return [(name, path) for path in ordered if (name := _name(path)) is not None]

    def _ended(self, path: Path) -> bool:
        """Whether nobody writes to a file any more that was renamed."""
        try:
            status = path.stat()
        except OSError:
            return True
        return time.time() - max(status.st_mtime, status.st_ctime) > self._still_written

    def _miss(self, name: str) -> None:
        if self._missed != name:
            self._missed = name
            message = "A rotated audit log is gone, and its last lines may not have been delivered"
            log.error(message, folder=str(self._folder), advice="Compress or remove it a day later (delaycompress).")


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _name(path: Path) -> str | None:
    """What a file is known by; None as long as it has no whole line."""
    try:
        with path.open("rb") as file:
            first = file.readline(_LONGEST_LINE)
            inode = os.fstat(file.fileno()).st_ino
    except OSError:
        return None
    return f"{inode:x}-{SentLine(first[:-1]).id}" if first.endswith(b"\n") else None


def _read(path: Path, start: int) -> tuple[list[SentLine], int]:
    """Whole lines from an offset on, and the offset after them. What a killed process left of a line is left out."""
    try:
        with path.open("rb") as file:
            file.seek(start)
            data = file.read(_MOST_BYTES)
            if b"\n" not in data:
                data += file.readline()
    except OSError:
        return [], start
    whole = data[: data.rfind(b"\n") + 1]
    return _lines_in(whole), start + len(whole)


def _lines_in(text: bytes) -> list[SentLine]:
    """The lines of a text, without those that are no lines of an audit log."""
    lines = [SentLine(raw) for raw in text.split(b"\n") if raw and not raw.isspace()]
    try:
        if len(_decode_lines(text)) == len(lines):
            return lines
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        pass
    return [line for line in lines if read_line(line.raw) is not None]


def in_order(lines: Sequence[SentLine]) -> list[bytes]:
    """Each line once, by time: those of several processes, or delivered again, come in any order."""
    known = {line.id: line.raw for line in lines}
    read = ((read_line(raw), raw) for raw in known.values())
    return [
        raw for _, raw in sorted(((line.time, raw) for line, raw in read if line is not None), key=lambda one: one[0])
    ]
