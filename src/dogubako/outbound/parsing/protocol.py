"""The protocol between the server and its parsing workers, and the limits of a worker."""

import os
import struct
import sys
from pathlib import Path
from typing import Final, Literal

import msgspec

MEGABYTE: Final = 1024 * 1024

# At most two processes parse at once for a pack; other calls wait as long as their timeout allows.
MAX_WORKERS: Final = 2
# A page of 10 MB needs up to 730 MB.
MAX_ADDRESS_SPACE: Final = 1024 * MEGABYTE
# A worker that keeps more than this after a file is replaced. A new one has 75 MB.
MAX_KEPT_MEMORY: Final = 200 * MEGABYTE
# An idle worker ends after this time.
IDLE_SECONDS: Final = 60.0
# Loading the parsers takes half a second, and much longer on a busy machine.
START_SECONDS: Final = 60.0

# A worker's first message.
READY: Final = b"ready\n"
# Before a request: the length of the message, the length of the file, the limit of processor seconds.
REQUEST_HEAD: Final = struct.Struct("!III")
# Before a reply: the length of the message, and whether the worker must not be used again.
REPLY_HEAD: Final = struct.Struct("!I?")
# The longest part of a page that a caller can request, at four bytes per character, or a picture.
MAX_REPLY_BYTES: Final = 4 * MEGABYTE


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one kind of worker may use."""

    address_space: int = MAX_ADDRESS_SPACE
    reply_bytes: int = MAX_REPLY_BYTES


class ParseFailure(msgspec.Struct, frozen=True, kw_only=True, tag="failure"):
    """Why there is no result. `message` is a sentence for the caller, if the parser has one."""

    reason: Literal["refused", "time", "memory", "crash"]
    cause: str = ""
    message: str | None = None
    hint: str | None = None

    @property
    def described(self) -> str:
        """The cause, for the log."""
        return f"{self.reason}: {self.cause}" if self.reason != "refused" else self.cause


encode: Final = msgspec.msgpack.Encoder().encode


def resident_bytes() -> int:
    """The resident memory of this process, or its maximum where the system does not tell."""
    if sys.platform == "linux":
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    if sys.platform == "win32":
        return 0
    import resource  # noqa: PLC0415 - there is none on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def sendable(text: str, longest: int = 500) -> str:
    """Text without lone surrogates and of limited length: an exception may quote the file."""
    return text[:longest].encode("utf-8", "replace").decode()
