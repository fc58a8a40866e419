"""HTTP clients of one API. What only its description names must be on the public web, with every request.

The addresses of a host are checked and one of them is connected to, as `fetch_page` does it: a name server that gives
another answer after the check changes nothing.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, Final
from urllib.parse import urlsplit

from dogubako.contract.errors import HttpError, UrlNotAllowed
from dogubako.openapi.settings import ApiSettings
from dogubako.outbound.http import ServiceHttp, connected, trusted
from dogubako.outbound.public_addresses import destination, require_public, resolve_by_system

Resolve = Callable[[str, int], Awaitable[list[str]]]

# A checked address is used this long: to ask the name server for each request would take longer than many requests.
_FRESH_SECONDS: Final = 30.0
_MOST_KNOWN: Final = 1_000
_STRANGERS: Final = ""
_HINT: Final = "An operator can set allow_private = true in the table of the service, if this server is meant."


class Connections:
    """One client for each address that the settings name, and one for all others."""

    def __init__(
        self, name: str, settings: ApiSettings, transport: Any = None, resolve: Resolve = resolve_by_system
    ) -> None:
        self.name = name
        self._settings = settings
        self._transport = transport
        self._resolve = resolve
        self._clients: dict[tuple[str, bool], ServiceHttp] = {}
        self._typed = {origin(one) for one in (settings.url or "", settings.openapi) if origin(one)}
        self._public: set[str] = set()
        self._opening = asyncio.Lock()
        self._opened = AsyncExitStack()

    async def to(self, url: str) -> ServiceHttp:
        """The client for this address."""
        there = origin(url)
        is_typed = there in self._typed
        guarded = not self._settings.allow_private and (not is_typed or await self._is_public(there))
        # Many names share an address, so a connection of one name must not be used for another.
        key = (there if is_typed and guarded else _STRANGERS, guarded)
        async with self._opening:
            if key not in self._clients:
                self._clients[key] = await self._opened.enter_async_context(
                    connected(
                        self.name,
                        "",
                        ca_bundle=self._settings.ca_bundle,
                        transport=self._guard(keep_alive=is_typed) if guarded else self._transport,
                    )
                )
        return self._clients[key]

    async def aclose(self) -> None:
        self._clients.clear()
        await self._opened.aclose()

    async def _is_public(self, there: str) -> bool:
        """Whether an address that the operator typed is public. Then it has to stay so; a private one is meant."""
        if there not in self._public:
            try:
                target = destination(there)
                require_public(await self._resolve(target.host, target.port))
            except (UrlNotAllowed, HttpError):
                return False
            self._public.add(there)
        return True

    def _guard(self, *, keep_alive: bool) -> "PublicTransport":
        import httpx2  # noqa: PLC0415 - heavy, and loaded with the first request anyhow

        kept = 20 if keep_alive else 0
        limits = httpx2.Limits(max_connections=100, max_keepalive_connections=kept)
        inner = self._transport or httpx2.AsyncHTTPTransport(verify=trusted(self._settings.ca_bundle), limits=limits)
        return PublicTransport(inner, self._resolve, httpx2.ConnectError)


class PublicTransport:
    """Sends requests to public addresses only: what was checked is what is connected to."""

    def __init__(self, inner: Any, resolve: Resolve, unreachable: type[Exception]) -> None:
        self._inner = inner
        self._resolve = resolve
        self._unreachable = unreachable
        self._checked: dict[tuple[str, int], tuple[str, float]] = {}

    async def __aenter__(self) -> "PublicTransport":
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *failure: Any) -> None:
        await self._inner.__aexit__(*failure)

    async def handle_async_request(self, request: Any) -> Any:
        """Send a request whose Host header and certificate are those of the name, and whose address was checked."""
        target = destination(str(request.url))
        address = await self._address(target.host, target.port)
        request.url = request.url.copy_with(host=address)
        request.extensions = {**request.extensions, "sni_hostname": target.host}
        return await self._inner.handle_async_request(request)

    async def _address(self, host: str, port: int) -> str:
        address, until = self._checked.get((host, port), ("", 0.0))
        if until > time.monotonic():
            return address
        try:
            address = require_public(await self._resolve(host, port))
        except UrlNotAllowed as error:
            error.hint = _HINT
            raise
        except HttpError as error:
            raise self._unreachable(f"{host} was not found") from error
        if len(self._checked) >= _MOST_KNOWN:
            self._checked.clear()
        self._checked[host, port] = address, time.monotonic() + _FRESH_SECONDS
        return address


def origin(url: str) -> str:
    """Scheme, host and port; empty for what is no http address."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower() if parts.scheme in ("http", "https") and parts.netloc else ""
