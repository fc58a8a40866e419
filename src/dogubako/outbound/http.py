"""One pooled HTTP client per service: TLS, timeouts, bounded answers, and its troubles in our words."""

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import anyio
import msgspec

from dogubako.contract.errors import ApiError, ApiErrorContext
from dogubako.contract.offload import collection_paused, offload
from dogubako.outbound.bounds import JSON_ANSWER, Bound
from dogubako.outbound.tls import trusted
from dogubako.outbound.unpacking import ACCEPTED, unpack
from dogubako.outbound.url_parts import check_query

CONNECT_SECONDS: Final = 10.0
# Between two bytes of an answer. How long all of it may take is the call's own timeout.
SILENCE_SECONDS: Final = 60.0
# A body up to this length is decoded on the loop.
_SHORT: Final = 16 * 1024

_OK: Final = range(200, 300)
_MOVED: Final = range(300, 400)
_IN_BETWEEN: Final = "Try again. If it stays so, look at what stands between us and the service, a proxy for example."


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What we want of the service, for messages and the log: "update workflow", "Workflow", "abc123"."""

    operation: str
    resource_type: str | None = None
    resource_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What the service said."""

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
        return decode_json(self.body) if len(self.body) <= _SHORT else await offload(decode_json, self.body)

    def short_json(self) -> Any:
        """The decoded body of a short answer, as a refusal is; ValueError for one that is long or no JSON."""
        if len(self.body) > _SHORT:
            raise ValueError("too long")
        return decode_json(self.body)


def decode_json(body: bytes) -> Any:
    """JSON as data; ValueError when it is none. The caller bounds what it decodes."""
    try:
        with collection_paused():
            return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ValueError("not JSON") from error


class ServiceHttp:
    """Requests to one service. `name` is how people call it."""

    def __init__(self, name: str, client: Any, library: ModuleType, at_most: Bound | None = None) -> None:
        self.name = name
        self._client = client
        # httpx2, handed in by `connected`: importing it takes long, and not every server needs it.
        self._library = library
        self._at_most = at_most or JSON_ANSWER

    async def request(
        self,
        method: str,
        path: str,
        asked: Asked,
        *,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        seconds: float | None = None,
        at_most: Bound | None = None,
    ) -> Answer:
        """The whole answer, whatever its status. ApiError when there was none, or more than `at_most`."""
        content = content if json is None else msgspec.json.encode(json)
        said = {**(headers or {}), **({} if json is None else {"Content-Type": "application/json"})}
        given = {key: _written(value) for key, value in (params or {}).items() if value is not None}
        check_query(given)
        request = self._client.build_request(method, path, params=given, content=content, headers=said)
        try:
            with anyio.fail_after(seconds):
                return await self._read(request, asked, at_most or self._at_most)
        except self._library.HTTPError as error:
            raise self._unreachable(error, asked) from error
        except TimeoutError as error:
            raise self._too_slow(asked) from error

    async def _read(self, request: Any, asked: Asked, at_most: Bound) -> Answer:
        response = await self._client.send(request, stream=True)
        try:
            # Whatever was asked for, a refusal is short, and it is decoded.
            body = await self._body(response, asked, at_most if response.status_code in _OK else self._at_most)
        finally:
            await response.aclose()
        kind = response.headers.get("content-type", "").lower()
        answer = Answer(status=response.status_code, body=body, content_type=kind, headers=response.headers)
        if answer.status in _MOVED:
            hint = f"Check the address of {self.name}: there may be a login page or a proxy in front of it."
            raise self.failed(asked, f"{self.name} sent us to another page", status=answer.status, hint=hint)
        return answer

    async def _body(self, response: Any, asked: Asked, at_most: Bound) -> bytes:
        pieces = await self._received(response, asked, at_most.most_bytes)
        encoding = response.headers.get("content-encoding", "").strip().lower()
        try:
            body, exceeded = await unpack(pieces, encoding, at_most)
        except ValueError as error:
            pieces.clear()
            raise self.failed(asked, f"the answer of {self.name} was garbled", hint=_IN_BETWEEN) from error
        if exceeded is not None:
            pieces.clear()
            raise self.too_large(asked, exceeded)
        return body

    async def _received(self, response: Any, asked: Asked, most_bytes: int) -> list[bytes]:
        announced = response.headers.get("content-length", "")
        if announced.isdecimal() and int(announced) > most_bytes:
            raise self.too_large(asked, f"{most_bytes:,} bytes")
        pieces: list[bytes] = []
        size = 0
        async for piece in response.aiter_raw():
            pieces.append(piece)
            size += len(piece)
            if size > most_bytes:
                # The traceback of the error would keep them as long as somebody keeps the error.
                pieces.clear()
                raise self.too_large(asked, f"{most_bytes:,} bytes")
        return pieces

    def too_large(self, asked: Asked, allowed: str) -> ApiError:
        """The service answered with more than `allowed`."""
        hint = f"Ask for less at once, or look at it in {self.name} itself."
        return self.failed(asked, f"{self.name} answered with more than {allowed}", hint=hint)

    def _too_slow(self, asked: Asked) -> ApiError:
        hint = "Try again later, or ask for less at once."
        return self.failed(asked, f"{self.name} did not answer in time", hint=hint, unreachable=True)

    def failed(
        self,
        asked: Asked,
        reason: str,
        *,
        status: int | None = None,
        hint: str | None = None,
        unreachable: bool = False,
        retry_after: float | None = None,
    ) -> ApiError:
        """`Failed to update workflow: <reason>`, with everything that the log wants to know."""
        context = ApiErrorContext(
            operation=asked.operation,
            resource_type=asked.resource_type,
            resource_id=asked.resource_id,
            status_code=status,
            error_details=reason,
        )
        return ApiError(
            f"Failed to {asked.operation}: {reason}",
            status_code=status,
            context=context,
            hint=hint,
            unreachable=unreachable,
            retry_after=retry_after,
        )

    def _unreachable(self, error: Exception, asked: Asked) -> ApiError:
        setting = self.name.upper()
        if _caused_by(error, ssl.SSLCertVerificationError):
            hint = f"Is it a certificate of your own? Then name its CA file in {setting}_CA_BUNDLE."
            return self.failed(asked, f"the certificate of {self.name} could not be verified", hint=hint)
        if _caused_by(error, ssl.SSLError):
            hint = f"Does {self.name} speak https at all? If not, {setting}_URL begins with http."
            return self.failed(asked, f"no secure connection to {self.name} could be made", hint=hint)
        if isinstance(error, self._library.TimeoutException):
            return self._too_slow(asked)
        if isinstance(error, self._library.ConnectError):
            hint = f"Is {self.name} running, and is {setting}_URL its address?"
            return self.failed(asked, f"{self.name} could not be reached", hint=hint, unreachable=True)
        return self.failed(asked, f"{self.name} broke off the connection", hint=_IN_BETWEEN, unreachable=True)


@asynccontextmanager
async def connected(
    name: str,
    url: str,
    *,
    ca_bundle: Path | None = None,
    transport: Any = None,
    at_most: Bound | None = None,
) -> AsyncIterator[ServiceHttp]:
    """A client for as long as the server runs. Certificates are verified, redirects are not followed.

    `at_most` bounds every answer to which the request sets no bound of its own.
    """
    import httpx2  # noqa: PLC0415 - heavy, and a server without services does not need it

    # The way into the sandbox has no socket, and reading the certificates of all authorities takes a while.
    verified = trusted(ca_bundle) if transport is None else True
    timeout = httpx2.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS)
    async with httpx2.AsyncClient(
        base_url=url,
        verify=verified,
        transport=transport,
        timeout=timeout,
        trust_env=False,
        headers={"Accept-Encoding": ACCEPTED},
        # Each request speaks for itself; a cookie would make the service remember what was asked before.
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
