"""Read an HTTP request: its caller, its headers and its body, within bounds."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

import anyio
import msgspec
from starlette.types import Message, Receive, Scope, Send

from dogubako._timers import call_later
from dogubako.contract.byte_budget import ByteBudget
from dogubako.contract.call import Caller
from dogubako.contract.credentials import Credential
from dogubako.contract.errors import (
    BusyError,
    CancelledError,
    PayloadTooLargeError,
    ToolTimeoutError,
    UnsupportedMediaTypeError,
    ValidationError,
)
from dogubako.contract.fair_queue import work_owner
from dogubako.transports.http.disconnect import CancelHandle
from dogubako.transports.mcp.protocol import MAX_BODY_BYTES, MAX_BODY_VALUES, NOT_JSON, TOO_MANY_VALUES, has_more_values

_KEY: Final = "dogubako.caller"
# Where `whole_responses.py` offers to write a whole response.
RESPOND: Final = "dogubako.respond"
# Where `known_heads.py` keeps what follows from a head alone.
HEAD_FACTS: Final = "dogubako.head_facts"
MOST_KNOWN_BODY_BYTES: Final = 64 * 1024
_LONGEST_CREDENTIAL: Final = 1_000
# For browsers: nothing of ours belongs into a frame, is of another type than it says, or is told to other sites.
SECURITY_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
)


FactT = TypeVar("FactT")


def head_fact(scope: Scope, find: Callable[[Scope], FactT]) -> FactT:
    """What a function finds in the head of a request. It is asked once for a head that comes again."""
    facts: dict[Callable[[Scope], Any], Any] | None = scope.get(HEAD_FACTS)
    if facts is None:
        return find(scope)
    if find not in facts:
        facts[find] = find(scope)
    found: FactT = facts[find]
    return found


def admit(scope: Scope, caller: Caller, credential_headers: Mapping[bytes, str]) -> None:
    """Note who makes the request. Refuse a body by its Content-Length, before the client sends it."""
    scope[_KEY] = _with_credentials(caller, scope, credential_headers) if credential_headers else caller
    # Callers that cannot be told apart share by connection. Some servers give its address as a list.
    work_owner.set(caller.id or tuple(scope.get("client") or ()))
    declared = b"" if HEAD_FACTS in scope else header(scope, b"content-length")
    if declared.isdigit() and int(declared) > MAX_BODY_BYTES:
        raise _too_large()


def _with_credentials(caller: Caller, scope: Scope, credential_headers: Mapping[bytes, str]) -> Caller:
    """The caller with the credentials that the request brings. They count before those that are stored."""
    brought: dict[str, Credential] = {}
    for name, value in scope["headers"]:
        if (service := credential_headers.get(name)) is None or not value.strip():
            continue
        key = value.decode("latin-1").strip()
        if len(key) > _LONGEST_CREDENTIAL or any(not "!" <= character <= "~" for character in key):
            raise ValidationError.of(name.decode("latin-1"), f"The credential for {service} is not valid in a header.")
        if brought.get(service, Credential(key=key)).key != key:
            raise ValidationError.of(name.decode("latin-1"), f"The request brings two credentials for {service}.")
        brought[service] = Credential(key=key)
    return replace(caller, credentials=tuple({**dict(caller.credentials), **brought}.items())) if brought else caller


def caller_in(scope: Scope) -> Caller:
    """Return the caller of this request. Paths without authentication have none, and do not call this."""
    caller: Caller = scope[_KEY]
    return caller


def caller_of(scope: Scope) -> Caller | None:
    """Return the caller of this request, or None where nobody was authenticated."""
    return scope.get(_KEY)


BODY_SECONDS: Final = 30.0
# Bodies that came in pieces, of all requests: so much while they arrive, and as much again while their calls run.
MOST_BODY_BYTES: Final = 64 * 1024 * 1024
_SMALL_BODY_BYTES: Final = 64 * 1024
_arriving: dict[CancelHandle, int] = {}
_running = ByteBudget(MOST_BODY_BYTES, "Too many large requests are being answered.")

_decode = msgspec.json.Decoder().decode


async def read_body(receive: Receive) -> bytes:
    """The whole body. A client that dawdles or leaves does not keep us."""
    # Nearly always it is here already. One that has not begun is given up by the connection (uvicorn_protocol.py).
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body", False):
        body: bytes = message.get("body", b"")
        _check_size(body)
        return _with_few_values(body)
    started = time.monotonic()
    with CancelHandle() as stop:
        late = call_later(BODY_SECONDS, stop.cancel)
        try:
            return _with_few_values(await _read_on(message, receive, stop))
        finally:
            late.cancel()
            _arriving.pop(stop, None)
    if time.monotonic() - started < BODY_SECONDS:
        raise BusyError("Too many large requests are arriving.", hint="Try again later.")
    raise ToolTimeoutError(f"The request body did not arrive within {BODY_SECONDS:g} seconds.")


async def _read_on(message: Any, receive: Receive, stop: CancelHandle) -> bytes:
    body = bytearray()
    while True:
        if message["type"] == "http.disconnect":
            raise CancelledError("The client went away.")
        body += message.get("body", b"")
        _check_size(body)
        _make_room(stop, len(body))
        if not message.get("more_body", False):
            break
        message = await receive()
    if len(body) > _SMALL_BODY_BYTES:
        await _take_until_answered(len(body))
    return bytes(body)


def _make_room(stop: CancelHandle, size: int) -> None:
    """Note how much of a body is here. When all together are too much, the one that began first gives way."""
    _arriving[stop] = size
    kept = sum(_arriving.values())
    for other, length in list(_arriving.items()):
        if kept <= MOST_BODY_BYTES or other is stop:
            return
        kept -= length
        del _arriving[other]
        other.cancel()


async def _take_until_answered(size: int) -> None:
    """A call keeps its arguments until it is answered, which is when the task of its request ends."""
    await _running.take(size)
    task = asyncio.current_task()
    assert task is not None
    task.add_done_callback(lambda _: _running.give_back(size))


def _check_size(body: bytes | bytearray) -> None:
    if len(body) > MAX_BODY_BYTES:
        raise _too_large()


def _too_large() -> PayloadTooLargeError:
    return PayloadTooLargeError(f"The request body is larger than {MAX_BODY_BYTES:,} bytes.")


def _with_few_values(body: bytes) -> bytes:
    # A value takes a byte at least.
    if len(body) > MAX_BODY_VALUES and has_more_values(body, MAX_BODY_VALUES):
        raise PayloadTooLargeError(f"The request body has {TOO_MANY_VALUES}.")
    return body


def require_json(scope: Scope) -> None:
    """Browsers send other types without asking first; we take only JSON."""
    kind = header(scope, b"content-type")
    if kind == b"application/json":
        return
    kind = kind.split(b";")[0].strip().lower()
    if kind != b"application/json" and not (kind.startswith(b"application/") and kind.endswith(b"+json")):
        raise UnsupportedMediaTypeError("The request body must be application/json.")


def header(scope: Scope, name: bytes) -> bytes:
    """The first value of a header, or nothing."""
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value)
    return b""


class ResponseTracker(msgspec.Struct):
    """Sends a response and tracks how far it is: once it has started, it is too late for another one.

    It adds the security headers that all our responses have.
    """

    send: Send
    started: bool = False
    unfinished: bool = False
    # Writes a whole response, where the server offers it and nobody else wants to see it on its way.
    respond: Callable[[list[tuple[bytes, bytes]], bytes], bool] | None = None

    def __call__(self, message: Message) -> Awaitable[None]:
        self.unfinished = message["type"] == "http.response.start" or bool(message.get("more_body"))
        if not self.started:
            self.started = True
            headers = message.get("headers", ())
            # Trackers may be nested: one inside of CORS, one outside.
            message["headers"] = headers if SECURITY_HEADERS[0] in headers else [*headers, *SECURITY_HEADERS]
        return self.send(message)

    def sent_whole(self, headers: Sequence[tuple[bytes, bytes]], body: bytes) -> bool:
        """Send a whole response with the status 200, if that is possible."""
        if self.started or self.respond is None or not self.respond([*headers, *SECURITY_HEADERS], body):
            return False
        self.started = True
        return True

    async def end(self) -> None:
        """End a response that was begun, in order."""
        if self.unfinished:
            await self({"type": "http.response.body", "body": b"", "more_body": False})


async def send_json(send: Send, body: bytes, status: int = 200, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
    """A JSON answer in two ASGI messages, without a response object in between."""
    known = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *headers]
    if status == 200 and isinstance(send, ResponseTracker) and send.sent_whole(known, body):
        return
    await send({"type": "http.response.start", "status": status, "headers": known})
    await send({"type": "http.response.body", "body": body})


def decode_json(body: bytes) -> Any:
    """Any JSON. What only Python's lenient reader takes (NaN, half characters) is refused later, with its field."""
    try:
        return _decode(body)
    except NOT_JSON:
        return decode_leniently(body)


def decode_leniently(body: bytes) -> Any:
    """Decode JSON that only Python's own decoder accepts (NaN, lone surrogates), and refuse anything else."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise ValidationError.of("body", "The request body is not valid JSON.") from None


def decode_object(body: bytes) -> dict[str, Any]:
    """A JSON object, which is what every route of ours takes."""
    decoded = decode_json(body)
    if not isinstance(decoded, dict):
        raise ValidationError.of("body", "The request body must be a JSON object.")
    return decoded


async def never() -> Message:
    """Receive nothing: a client that stays and says no more."""
    await anyio.sleep_forever()
    raise AssertionError("unreachable")


async def into_nothing(message: Message) -> None:
    """Send to nobody."""
