"""One pooled HTTP client per service: TLS, timeouts, limited answers, and translated transport errors."""

import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from urllib.parse import quote

import anyio
import msgspec

from dogubako.contract.call_steps import MOST_STEPS, CallStep, call_steps
from dogubako.contract.errors import ApiError, ApiErrorContext, ValidationError
from dogubako.contract.offload import offload
from dogubako.outbound.bounds import JSON_ANSWER, Bound, unpack
from dogubako.outbound.json_answers import UnreadableJson, decode_any_json


def trusted(ca_bundle: Path | None) -> ssl.SSLContext:
    """A TLS context for clients: TLS 1.2 and newer, certificates and host names verified."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if ca_bundle is not None:
        context.load_verify_locations(ca_bundle)
    return context


async def http_library() -> ModuleType:
    """httpx2, imported in a worker thread: it is heavy, and a server without services does not need it."""
    return await offload(_httpx2)


def _httpx2() -> ModuleType:
    import httpx2  # noqa: PLC0415

    return httpx2


ACCEPTED: Final = "gzip"
# Below this a thread costs more than it saves, even if the answer expands a thousandfold.
_SMALL: Final = 16 * 1024

# Servers accept 8 to 64 KB. Quoting megabytes would block the event loop.
LONGEST_URL: Final = 16 * 1024


def path_below(base: str, *parts: str) -> str:
    """A path of quoted parts below `base`. Ids come from outside, and must not change the path."""
    return "/".join((base, *map(segment, parts)))


def segment(part: str) -> str:
    """Quote one segment of a path, so that it cannot change the path."""
    _check_length(len(part))
    safe = quote(part, safe="")
    # A dot alone would be resolved as "this folder".
    return safe.replace(".", "%2E") if set(part) <= {"."} else safe


def _check_length(characters: int) -> None:
    if characters > LONGEST_URL:
        message = f"Invalid parameters: names, ids and filters of more than {LONGEST_URL:,} characters cannot be sent"
        raise ValidationError.of("parameters", message)


CONNECT_SECONDS: Final = 10.0
# Between two bytes of an answer. The call's own timeout limits the whole answer.
SILENCE_SECONDS: Final = 60.0
# A body up to this length is decoded on the loop.
_SHORT: Final = 16 * 1024

_OK: Final = range(200, 300)
_MOVED: Final = range(300, 400)
_IN_BETWEEN: Final = "Try again. If it stays so, look at what stands between us and the service, a proxy for example."


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """The operation, for messages and the log: "update workflow", "Workflow", "abc123"."""

    name: str
    resource_type: str | None = None
    resource_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceResponse:
    """An answer of the service."""

    status: int
    body: bytes
    content_type: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return self.status in _OK

    @property
    def is_json(self) -> bool:
        return "json" in self.content_type

    async def json(self) -> Any:
        """The decoded body; ValueError when it is none. A long one is decoded in a worker thread."""
        return decode_any_json(self.body) if len(self.body) <= _SHORT else await offload(decode_any_json, self.body)

    def short_json(self) -> Any:
        """The decoded body of a short answer, such as a refusal; ValueError if it is long or not JSON."""
        if len(self.body) > _SHORT:
            raise ValueError("too long")
        return decode_any_json(self.body)


class ServiceHttp:
    """Requests to one service. `name` is its name in messages."""

    def __init__(self, name: str, client: Any, library: ModuleType, at_most: Bound | None = None) -> None:
        self.name = name
        self._client = client
        # httpx2, passed in by `connected`: the import is slow, and not every server needs it.
        self._library = library
        self._at_most = at_most or JSON_ANSWER

    async def request(
        self,
        method: str,
        path: str,
        operation: Operation,
        *,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        seconds: float | None = None,
        at_most: Bound | None = None,
        may_redirect: bool = False,
    ) -> ServiceResponse:
        """Return the whole answer with any status. Raises ApiError if there is none, or more than `at_most`.

        A redirection is an error, because a login page may be behind it, unless `may_redirect`. It is never followed.
        """
        content = content if json is None else msgspec.json.encode(json)
        all_headers = {**(headers or {}), **({} if json is None else {"Content-Type": "application/json"})}
        query = {key: _written(value) for key, value in (params or {}).items() if value is not None}
        _check_length(sum(len(str(value)) for value in query.values()))
        # An empty mapping would remove a query that the path has already.
        request = self._client.build_request(method, path, params=query or None, content=content, headers=all_headers)
        started, at, status = time.perf_counter(), time.time(), None
        try:
            with anyio.fail_after(seconds):
                response = await self._read(request, operation, at_most or self._at_most, may_redirect)
            status = response.status
        except self._library.HTTPError as error:
            raise self._unreachable(error, operation) from error
        except TimeoutError as error:
            raise self._too_slow(operation) from error
        finally:
            if (steps := call_steps.get()) is not None and len(steps) < MOST_STEPS:
                spent = (time.perf_counter() - started) * 1000
                steps.append(CallStep("request", self.name, method, at, spent, status))
        return response

    async def _read(self, request: Any, operation: Operation, at_most: Bound, may_redirect: bool) -> ServiceResponse:
        response = await self._client.send(request, stream=True)
        try:
            # A refusal is always short, and it is decoded.
            body = await self._body(response, operation, at_most if response.status_code in _OK else self._at_most)
        finally:
            await response.aclose()
        kind = response.headers.get("content-type", "").lower()
        answer = ServiceResponse(status=response.status_code, body=body, content_type=kind, headers=response.headers)
        if answer.status in _MOVED and not may_redirect:
            hint = f"Check the address of {self.name}: there may be a login page or a proxy in front of it."
            raise self.failed(operation, f"{self.name} sent us to another page", status=answer.status, hint=hint)
        return answer

    async def _body(self, response: Any, operation: Operation, at_most: Bound) -> bytes:
        pieces = await self._received(response, operation, at_most.most_bytes)
        encoding = response.headers.get("content-encoding", "").strip().lower()
        try:
            if sum(map(len, pieces)) <= _SMALL:
                body, exceeded = unpack(pieces, encoding, at_most)
            else:
                body, exceeded = await offload(unpack, pieces, encoding, at_most)
        except ValueError as error:
            pieces.clear()
            raise self.failed(operation, f"the answer of {self.name} was garbled", hint=_IN_BETWEEN) from error
        if exceeded is not None:
            pieces.clear()
            raise self.too_large(operation, exceeded)
        return body

    async def _received(self, response: Any, operation: Operation, most_bytes: int) -> list[bytes]:
        announced = response.headers.get("content-length", "")
        if announced.isdecimal() and int(announced) > most_bytes:
            raise self.too_large(operation, f"{most_bytes:,} bytes")
        pieces: list[bytes] = []
        size = 0
        async for piece in response.aiter_raw():
            pieces.append(piece)
            size += len(piece)
            if size > most_bytes:
                # The error's traceback would keep them alive.
                pieces.clear()
                raise self.too_large(operation, f"{most_bytes:,} bytes")
        return pieces

    def too_large(self, operation: Operation, allowed: str) -> ApiError:
        """The service answered with more than `allowed`."""
        hint = f"Ask for less at once, or look at it in {self.name} itself."
        return self.failed(operation, f"{self.name} answered with more than {allowed}", hint=hint)

    def unreadable(self, operation: Operation, error: UnreadableJson) -> ApiError:
        """The answer is complete, but holds something that cannot be read, today and at the next try."""
        hint = f"Trying again does not help. Look at it in {self.name} itself, and mend it there."
        return self.failed(operation, f"{self.name}'s answer has {error}", hint=hint)

    def _too_slow(self, operation: Operation) -> ApiError:
        hint = "Try again later, or ask for less at once."
        return self.failed(operation, f"{self.name} did not answer in time", hint=hint, unreachable=True)

    def failed(
        self,
        operation: Operation,
        reason: str,
        *,
        status: int | None = None,
        hint: str | None = None,
        unreachable: bool = False,
        retry_after: float | None = None,
    ) -> ApiError:
        """`Failed to update workflow: <reason>`, with all facts for the log."""
        context = ApiErrorContext(
            operation=operation.name,
            resource_type=operation.resource_type,
            resource_id=operation.resource_id,
            status_code=status,
            error_details=reason,
        )
        return ApiError(
            f"Failed to {operation.name}: {reason}",
            status_code=status,
            context=context,
            hint=hint,
            unreachable=unreachable,
            retry_after=retry_after,
        )

    def _unreachable(self, error: Exception, operation: Operation) -> ApiError:
        setting = self.name.upper()
        if _caused_by(error, ssl.SSLCertVerificationError):
            hint = f"Is it a certificate of your own? Then name its CA file in {setting}_CA_BUNDLE."
            return self.failed(operation, f"the certificate of {self.name} could not be verified", hint=hint)
        if _caused_by(error, ssl.SSLError):
            hint = f"Does {self.name} speak https at all? If not, {setting}_URL begins with http."
            return self.failed(operation, f"no secure connection to {self.name} could be made", hint=hint)
        if isinstance(error, self._library.TimeoutException):
            return self._too_slow(operation)
        if isinstance(error, self._library.ConnectError):
            hint = f"Is {self.name} running, and is {setting}_URL its address?"
            return self.failed(operation, f"{self.name} could not be reached", hint=hint, unreachable=True)
        return self.failed(operation, f"{self.name} broke off the connection", hint=_IN_BETWEEN, unreachable=True)


@asynccontextmanager
async def connected(
    name: str,
    url: str,
    *,
    ca_bundle: Path | None = None,
    transport: Any = None,
    at_most: Bound | None = None,
) -> AsyncIterator[ServiceHttp]:
    """Open a client while the server runs. Certificates are verified, redirects are not followed.

    `at_most` limits every answer for which the request sets no limit.
    """
    httpx2 = await http_library()
    # The sandbox transport has no socket, and loading the CA certificates is slow.
    verified = await offload(trusted, ca_bundle) if transport is None else True
    timeout = httpx2.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS)
    async with httpx2.AsyncClient(
        base_url=url,
        verify=verified,
        transport=transport,
        timeout=timeout,
        trust_env=False,
        headers={"Accept-Encoding": ACCEPTED},
        # Requests are independent; a cookie would create a session at the service.
        cookies=CookieJar(policy=DefaultCookiePolicy(allowed_domains=())),
    ) as client:
        yield ServiceHttp(name, client, httpx2, at_most)


def _written(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _caused_by(error: BaseException | None, kind: type[BaseException]) -> bool:
    while error is not None:
        if isinstance(error, kind):
            return True
        error = error.__cause__ or error.__context__
    return False
