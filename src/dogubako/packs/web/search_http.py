"""Requests to search engines: rate limited, with size limits and translated errors."""

import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

import anyio
import structlog

from dogubako.contract.errors import Blocked, HttpError, Timeout
from dogubako.contract.offload import offload
from dogubako.outbound.http import http_library, trusted
from dogubako.packs.web.settings import WebSettings

_FIRST_REST: Final = 30.0
_LONGEST_REST: Final = 600.0


class Pace:
    """The rate limiter of one engine. Early requests wait; requests during a block fail at once."""

    def __init__(
        self,
        per_second: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._gap = 1 / per_second
        self._clock = clock
        self._sleep = sleep
        self._next = 0.0
        self._rest = 0.0
        self._rests_until = 0.0

    async def turn(self) -> None:
        """Wait for the next slot. Raises Blocked during the pause after a block."""
        self._require_awake()
        now = self._clock()
        at = max(now, self._next)
        self._next = at + self._gap
        if at > now:
            await self._sleep(at - now)
            # An earlier request in the queue may have been blocked meanwhile.
            self._require_awake()

    def blocked(self) -> None:
        """Lengthen the pause with each block. Several refusals at once are one block."""
        if self._clock() < self._rests_until:
            return
        self._rest = min(max(self._rest * 2, _FIRST_REST), _LONGEST_REST)
        self._rests_until = self._clock() + self._rest

    def welcome(self) -> None:
        self._rest = 0.0

    def _require_awake(self) -> None:
        left = self._rests_until - self._clock()
        if left > 0:
            hint = f"Use another provider, or search again in {math.ceil(left)} seconds."
            raise Blocked("resting after a block", hint=hint)


log = structlog.get_logger("dogubako.web")

TIMEOUT_SECONDS: Final = 20.0
MAX_PAGE_BYTES: Final = 8 * 1024 * 1024
_PASSING: Final = frozenset({502, 503, 504})


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """An answer of a search engine."""

    status: int
    body: bytes
    charset: str | None

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    def refused(self) -> HttpError:
        """The error for an error status. Errors of gateways are worth a retry, refusals are not."""
        return HttpError(f"status {self.status}", passing=self.status in _PASSING)


class SearchWire:
    """One pooled client for all search engines."""

    def __init__(self, client: Any, library: ModuleType) -> None:
        self._client = client
        self._library = library

    async def get(self, url: str, params: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Page:
        return await self._send("GET", url, params=dict(params), headers=dict(headers or {}))

    async def post(self, url: str, form: Mapping[str, str]) -> Page:
        return await self._send("POST", url, data=dict(form))

    async def _send(self, method: str, url: str, **how: Any) -> Page:
        log.debug("Sending HTTP request", method=method, url=url)
        try:
            # The client's own timeout restarts with every byte.
            with anyio.fail_after(TIMEOUT_SECONDS):
                async with self._client.stream(method, url, **how) as response:
                    body = await _bounded(response)
        except (TimeoutError, self._library.TimeoutException) as error:
            raise Timeout(type(error).__name__) from error
        except (self._library.HTTPError, self._library.InvalidURL) as error:
            raise HttpError(f"{type(error).__name__}: {error}", passing=_is_network(error, self._library)) from error
        log.debug("Search response received", status=response.status_code, size=len(body))
        return Page(status=response.status_code, body=body, charset=response.charset_encoding)


@asynccontextmanager
async def search_wire(settings: WebSettings, transport: Any = None) -> AsyncIterator[SearchWire]:
    httpx2 = await http_library()
    async with httpx2.AsyncClient(
        headers={"User-Agent": settings.user_agent, "Accept-Language": "en"},
        timeout=TIMEOUT_SECONDS,
        # The sandbox transport has no socket, and loading the CA certificates is slow.
        verify=await offload(trusted, settings.ca_bundle) if transport is None else True,
        proxy=settings.proxy if transport is None else None,
        transport=transport,
        trust_env=False,
        follow_redirects=False,
    ) as client:
        yield SearchWire(client, httpx2)


async def _bounded(response: Any) -> bytes:
    body = bytearray()
    with ExitStack() as stack:
        # An exception would keep this frame, and the frame the body.
        stack.callback(body.clear)
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > MAX_PAGE_BYTES:
                raise HttpError(f"more than {MAX_PAGE_BYTES:,} bytes")
        return bytes(body)


def _is_network(error: Exception, library: ModuleType) -> bool:
    return isinstance(error, library.NetworkError | library.RemoteProtocolError)
