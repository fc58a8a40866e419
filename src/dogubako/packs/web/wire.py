"""Requests to search engines: honest, bounded, and with the failures that the error table names."""

from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

import anyio
import structlog

from dogubako.contract.errors import HttpError, Timeout
from dogubako.outbound.tls import trusted
from dogubako.packs.web.settings import WebSettings

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
        """What an error status means. Gateways that restart are worth a second try, refusals are not."""
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
            # The client's own limit begins anew with every byte.
            with anyio.fail_after(TIMEOUT_SECONDS):
                async with self._client.stream(method, url, **how) as response:
                    body = await _bounded(response)
        except (TimeoutError, self._library.TimeoutException) as error:
            raise Timeout(type(error).__name__) from error
        except (self._library.HTTPError, self._library.InvalidURL) as error:
            raise HttpError(f"{type(error).__name__}: {error}", passing=_is_network(error, self._library)) from error
        log.debug("Received", status=response.status_code, size=len(body))
        return Page(status=response.status_code, body=body, charset=response.charset_encoding)


@asynccontextmanager
async def search_wire(settings: WebSettings, transport: Any = None) -> AsyncIterator[SearchWire]:
    import httpx2  # noqa: PLC0415 - heavy, and a server without this pack does not need it

    async with httpx2.AsyncClient(
        headers={"User-Agent": settings.user_agent, "Accept-Language": "en"},
        timeout=TIMEOUT_SECONDS,
        # The way into the sandbox has no socket, and reading the certificates of all authorities takes a while.
        verify=trusted(settings.ca_bundle) if transport is None else True,
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
