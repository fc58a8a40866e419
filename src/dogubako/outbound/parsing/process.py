"""The main loop of a worker process: read one request and the bytes of a file, write one reply."""

import contextlib
import ctypes
import gc
import logging
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import IO, Final, TypeVar

import msgspec

from dogubako.outbound.parsing.protocol import (
    MAX_KEPT_MEMORY,
    MAX_REPLY_BYTES,
    READY,
    REPLY_HEAD,
    REQUEST_HEAD,
    Limits,
    ParseFailure,
    encode,
    resident_bytes,
    sendable,
)

RequestT = TypeVar("RequestT")


_PR_SET_PDEATHSIG: Final = 1
# The server's event loop has priority over parsing.
_NICENESS: Final = 5
_LONGEST_TRACEBACK: Final = 4_000
_MOST_FILES: Final = 65_536
_DEFAULT: Final = Limits()


def serve(
    perform: Callable[[RequestT, bytes], msgspec.Struct],
    requests: "msgspec.msgpack.Decoder[RequestT]",
    load: Callable[[], None],
    limits: Limits = _DEFAULT,
) -> None:
    """Perform requests until there are none. `load` imports slow modules first, while there is no limit yet."""
    _end_with_parent(int(sys.argv[1]))
    incoming, replies = _take_pipes()
    load()
    # Malformed files are no fault of this server.
    logging.disable(logging.CRITICAL)
    gc.freeze()
    _limit_resources(limits.address_space)
    _report_crashes_to(replies)
    replies.write(READY)
    replies.flush()
    while _arrives(incoming, float(sys.argv[2])) and (head := incoming.read(REQUEST_HEAD.size)):
        message_bytes, body_bytes, seconds = REQUEST_HEAD.unpack(head)
        request = requests.decode(incoming.read(message_bytes))
        body = incoming.read(body_bytes)
        _limit_processor_time(seconds)
        reply = perform(request, body)
        del request, body
        if not _answer(reply, replies, limits.reply_bytes):
            break


def _answer(reply: msgspec.Struct, replies: IO[bytes], most_bytes: int) -> bool:
    """Send a reply. False when this process must not be used again."""
    ran_out = isinstance(reply, ParseFailure) and reply.reason == "memory"
    retire = ran_out or resident_bytes() > MAX_KEPT_MEMORY
    _send(reply, replies, retire=retire, most_bytes=most_bytes)
    return not retire


def _send(reply: msgspec.Struct, replies: IO[bytes], *, retire: bool, most_bytes: int = MAX_REPLY_BYTES) -> None:
    message = encode(reply)
    if len(message) > most_bytes:
        message = encode(ParseFailure(reason="refused", cause="the reply is too large"))
    replies.write(REPLY_HEAD.pack(len(message), retire) + message)
    replies.flush()


def _take_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Take the pipes to the server; other output to stdout is discarded."""
    # uvloop leaves inheritable files open, a listening socket among them.
    os.closerange(3, _MOST_FILES)
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    return requests, replies


def _report_crashes_to(replies: IO[bytes]) -> None:
    """Reply with unexpected exceptions from now on, and silence stderr."""

    def report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        text = "".join(traceback.format_exception(kind, error, trace, limit=-20))[-_LONGEST_TRACEBACK:]
        with contextlib.suppress(OSError):
            _send(ParseFailure(reason="crash", cause=sendable(text, _LONGEST_TRACEBACK)), replies, retire=True)

    sys.excepthook = report
    os.dup2(0, 2)


def _arrives(requests: IO[bytes], idle_seconds: float) -> bool:
    """Wait for the next request. False after the idle time."""
    if sys.platform == "win32":
        return True
    return bool(select.select([requests], [], [], idle_seconds)[0])


def _end_with_parent(parent: int) -> None:
    """Let the kernel kill this process when the server ends. Elsewhere the end of stdin and the time limit do it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            sys.exit("the server ended before its worker had started")


def _limit_resources(address_space: int) -> None:
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - there is none on Windows

    os.nice(_NICENESS)
    for limit, most in (
        (resource.RLIMIT_AS, address_space),
        (resource.RLIMIT_CORE, 0),
        # No file can be written. Pipes are not files.
        (resource.RLIMIT_FSIZE, 0),
    ):
        # macOS refuses some of them.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (most, most))


def _limit_processor_time(seconds: int) -> None:
    """End this process if one request uses more. The server usually kills it earlier."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - there is none on Windows

    used = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = int(used.ru_utime + used.ru_stime) + seconds + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))
