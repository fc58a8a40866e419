"""`python -m dogubako.packs.web.parsing.worker PARENT_PID IDLE_SECONDS`: a process that parses pages one by one.

It reads requests from stdin and writes replies to stdout until stdin ends or nobody asks for a while. It limits its own
memory and processor time, has none of the server's environment, and ends with the server whatever way the server ends.
"""

import contextlib
import ctypes
import gc
import logging
import os
import select
import signal
import sys
import traceback
from types import TracebackType
from typing import IO, Final

from dogubako.packs.web.parsing.limits import MAX_ADDRESS_SPACE, MAX_KEPT_MEMORY, resident_bytes
from dogubako.packs.web.parsing.messages import (
    MAX_REPLY_BYTES,
    READY,
    REPLY_HEAD,
    REQUEST_HEAD,
    REQUESTS,
    ParseFailure,
    Reply,
    encode,
)
from dogubako.packs.web.parsing.tasks import perform

_PR_SET_PDEATHSIG: Final = 1
# Parsing gives way to the server's event loop where both want the processor.
_NICENESS: Final = 5
_LONGEST_TRACEBACK: Final = 4_000
_MOST_FILES: Final = 65_536


def main() -> None:
    _end_with_parent(int(sys.argv[1]))
    requests, replies = _take_pipes()
    _load_parsers()
    _limit_resources()
    _report_crashes_to(replies)
    replies.write(READY)
    replies.flush()
    while _arrives(requests, float(sys.argv[2])) and (head := requests.read(REQUEST_HEAD.size)):
        if not _answer(head, requests, replies):
            break


def _answer(head: bytes, requests: IO[bytes], replies: IO[bytes]) -> bool:
    """Perform one request. False when this process should not be used again."""
    message_bytes, body_bytes, seconds = REQUEST_HEAD.unpack(head)
    request = REQUESTS.decode(requests.read(message_bytes))
    body = requests.read(body_bytes)
    _limit_processor_time(seconds)
    reply = perform(request, body)
    del request, body
    ran_out = isinstance(reply, ParseFailure) and reply.reason == "memory"
    retire = ran_out or resident_bytes() > MAX_KEPT_MEMORY
    _send(reply, replies, retire=retire)
    return not retire


def _send(reply: Reply, replies: IO[bytes], *, retire: bool) -> None:
    message = encode(reply)
    if len(message) > MAX_REPLY_BYTES:
        message = encode(ParseFailure(reason="refused", cause="the reply is too large"))
    replies.write(REPLY_HEAD.pack(len(message), retire) + message)
    replies.flush()


def _take_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """The pipes to the server for us alone: whatever else is written to stdout goes nowhere."""
    # uvloop leaves files open that the server may hand on, a listening socket among them.
    os.closerange(3, _MOST_FILES)
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    return requests, replies


def _load_parsers() -> None:
    """Import what is heavy before the first request, while there is no limit yet."""
    import pypdf  # noqa: F401, PLC0415
    import trafilatura  # noqa: F401, PLC0415

    # Odd pages are strangers' business, and no fault of this server.
    logging.disable(logging.CRITICAL)
    gc.freeze()


def _report_crashes_to(replies: IO[bytes]) -> None:
    """From now on an exception that nobody foresaw is the reply to the request, and stderr is silent."""

    def report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        text = "".join(traceback.format_exception(kind, error, trace, limit=-20))[-_LONGEST_TRACEBACK:]
        cause = text.encode("utf-8", "replace").decode()
        with contextlib.suppress(OSError):
            _send(ParseFailure(reason="crash", cause=cause), replies, retire=True)

    sys.excepthook = report
    os.dup2(0, 2)


def _arrives(requests: IO[bytes], idle_seconds: float) -> bool:
    """Wait for the next request. False when there was none for so long that the memory is worth more."""
    if sys.platform == "win32":
        return True
    return bool(select.select([requests], [], [], idle_seconds)[0])


def _end_with_parent(parent: int) -> None:
    """Have the kernel kill this process when the server ends. Elsewhere stdin's end and the time limit do it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            sys.exit("the server ended before its worker had started")


def _limit_resources() -> None:
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - there is none on Windows

    os.nice(_NICENESS)
    for limit, most in (
        (resource.RLIMIT_AS, MAX_ADDRESS_SPACE),
        (resource.RLIMIT_CORE, 0),
        # No file grows, not even by mistake. Pipes are not files.
        (resource.RLIMIT_FSIZE, 0),
    ):
        # macOS refuses some of them.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (most, most))


def _limit_processor_time(seconds: int) -> None:
    """End this process when one request uses more. The server usually kills it long before."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - there is none on Windows

    used = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = int(used.ru_utime + used.ru_stime) + seconds + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


if __name__ == "__main__":
    main()
