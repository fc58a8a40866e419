"""Fetch a page: resolve its host once, check the addresses, and connect to exactly one of them."""

import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import ModuleType
from typing import Any, Final, Literal
from urllib.parse import urljoin

import anyio
import structlog

from dogubako.contract.errors import HttpError, Timeout, UrlNotAllowed
from dogubako.contract.offload import offload
from dogubako.outbound.http import http_library, trusted
from dogubako.outbound.public_addresses import (
    Destination,
    destination,
    is_too_long,
    require_public,
    resolve_by_system,
)
from dogubako.packs.web.settings import WebSettings

log = structlog.get_logger("dogubako.web")

# From a host and a port to addresses.
Resolve = Callable[[str, int], Awaitable[list[str]]]
# Raises if an address on the way may not be fetched.
Permit = Callable[[str], Awaitable[None]]
# What happens to a page that is too large.
TooLarge = Literal["refused", "cut"]

VISIT_SECONDS: Final = 25.0
MAX_PAGE_BYTES: Final = 10 * 1024 * 1024
_MOST_REDIRECTS: Final = 5
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
PASSING: Final = frozenset({502, 503, 504})
# Other error statuses stay the same: 404, 410, 403.
_WORTH_ANOTHER_TRY: Final = frozenset({408, 425, 429, *range(500, 600)} - {501, 505})
_CODING: Final = re.compile(r"[a-z0-9-]{1,20}")
_ACCEPTED: Final = (
    "text/html, application/xhtml+xml, text/*, application/pdf, application/rss+xml, application/atom+xml, "
    "application/feed+json, application/json;q=0.9, */*;q=0.5"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Visited:
    """A fetched page."""

    url: str
    status: int
    content_type: str
    charset: str | None
    body: bytes | bytearray

    def release(self) -> None:
        """Free the body now. An exception keeps its frames, and they keep the page, often until a rare collection."""
        if isinstance(self.body, bytearray):
            self.body.clear()


class Visitor:
    """Fetches pages of untrusted sites."""

    def __init__(self, client: Any, library: ModuleType, settings: WebSettings, resolve: Resolve | None) -> None:
        self._client = client
        self._library = library
        self._proxied = settings.proxy is not None
        self._allowed = frozenset(host.lower() for host in settings.allowed_hosts)
        # None: names are not resolved, because the sandbox answers for its own.
        self._resolve = resolve

    async def visit(
        self,
        url: str,
        largest: int = MAX_PAGE_BYTES,
        too_large: TooLarge = "refused",
        permit: Permit | None = None,
    ) -> Visited:
        """The page after a few redirects at most, each checked like the first URL."""
        with anyio.move_on_after(VISIT_SECONDS):
            for _ in range(_MOST_REDIRECTS + 1):
                target = destination(url)
                if permit is not None:
                    await permit(target.url)
                answer, onward = await self._fetch(target, largest, too_large)
                if onward is None:
                    return answer
                url = _joined(target.url, onward)
            message = "The page could not be fetched: it redirects too often."
            raise HttpError("too many redirects", lasting=True, message=message)
        raise Timeout("the page took too long")

    async def _fetch(self, target: Destination, largest: int, too_large: TooLarge) -> tuple[Visited, str | None]:
        url, how = await self._addressed(target)
        log.debug("Fetching a page", url=target.url)
        try:
            async with self._client.stream("GET", url, **how) as response:
                # A redirect without a target is an ordinary page.
                onward = (response.headers.get("location") or None) if response.status_code in _REDIRECTS else None
                if not onward:
                    _require_known_coding(response)
                body = bytearray() if onward else await _bounded(response, largest, too_large)
        except self._library.TimeoutException as error:
            raise Timeout(type(error).__name__) from error
        except (self._library.HTTPError, self._library.InvalidURL) as error:
            raise _failed(error, self._library) from error
        kind = response.headers.get("content-type", "").split(";")[0].strip().lower()
        page = Visited(
            url=target.url, status=response.status_code, content_type=kind, charset=response.charset_encoding, body=body
        )
        return page, onward

    async def _addressed(self, target: Destination) -> tuple[str, dict[str, Any]]:
        """The URL with the checked address. The name goes into the Host header and into TLS (SNI)."""
        if self._resolve is None:
            if not target.host.endswith(".sandbox.invalid"):
                raise UrlNotAllowed(
                    "sandbox", message="This URL may not be fetched: the sandbox has no way to the web."
                )
            return target.url, {}
        if target.host.lower() in self._allowed:
            return target.url, {}
        addresses = await self._resolve(target.host, target.port)
        if self._proxied:
            # The library sends a proxy an IPv6 address without brackets, which no proxy understands.
            addresses = sorted(addresses, key=lambda address: ":" in address)
        address = require_public(addresses)
        shown = f"[{address}]" if ":" in address else address
        url = f"{target.scheme}://{shown}:{target.port}{target.path}"
        headers: Mapping[str, str] = {"Host": target.authority}
        return url, {"headers": headers, "extensions": {"sni_hostname": target.host}}


@asynccontextmanager
async def visitor(
    settings: WebSettings, transport: Any = None, resolve: Resolve | None = resolve_by_system
) -> AsyncIterator[Visitor]:
    """Open a visitor while the server runs. With its own transport it stays in the sandbox."""
    httpx2 = await http_library()
    async with httpx2.AsyncClient(
        headers={"User-Agent": settings.user_agent, "Accept": _ACCEPTED},
        timeout=httpx2.Timeout(15.0, connect=8.0),
        verify=await offload(trusted, settings.ca_bundle) if transport is None else True,
        # Many names share an address. Each visit has its own connection with a certificate for its name, and no
        # cookies.
        limits=httpx2.Limits(max_keepalive_connections=0),
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        proxy=settings.proxy if transport is None else None,
        transport=transport,
        trust_env=False,
        follow_redirects=False,
    ) as client:
        yield Visitor(client, httpx2, settings, None if transport is not None else resolve)


def _joined(url: str, onward: str) -> str:
    try:
        # `destination` refuses it, whatever it is relative to.
        return onward if is_too_long(onward) else urljoin(url, onward)
    except ValueError:
        message = "The page could not be fetched: it redirects to something that is no URL."
        raise HttpError("bad redirect", lasting=True, message=message) from None


def _require_known_coding(response: Any) -> None:
    """Refuse a body that is compressed in a way that nobody asked for: it would be shown as noise."""
    codings = {part.strip().lower() for part in response.headers.get("content-encoding", "").split(",")}
    asked = {part.split(";")[0].strip() for part in response.request.headers.get("accept-encoding", "").split(",")}
    unknown = sorted(codings - asked - {"", "identity"})
    if unknown:
        name = unknown[0] if _CODING.fullmatch(unknown[0]) else "something unknown"
        message = f"The page could not be fetched: its server compressed it with {name}, which nobody asked for."
        raise HttpError("content-encoding", lasting=True, message=message)


async def _bounded(response: Any, largest: int, too_large: TooLarge) -> bytearray:
    body = bytearray()
    with ExitStack() as on_failure:
        # The exception would keep this frame, and the frame the body.
        on_failure.callback(body.clear)
        async for chunk in response.aiter_bytes(65_536):
            body += chunk
            if len(body) <= largest:
                continue
            if too_large == "refused":
                message = f"The page could not be fetched: it is larger than {largest:,} bytes."
                raise HttpError("too large", lasting=True, message=message)
            del body[largest:]
            break
        on_failure.pop_all()
    return body


def _failed(error: Exception, library: ModuleType) -> HttpError:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return HttpError(str(error), message="The page could not be fetched: its certificate is not valid.")
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, library.DecodingError):
        message = "The page could not be fetched: it is not compressed in the way that its server says."
        return HttpError(str(error), lasting=True, message=message)
    passing = isinstance(error, library.NetworkError | library.RemoteProtocolError)
    return HttpError(f"{type(error).__name__}: {error}", passing=passing, message="The page could not be fetched.")


def require_good(page: Visited) -> Visited:
    """Raise for an error page."""
    if page.status < 400:
        return page
    page.release()
    message = f"The page could not be fetched: its server answered with status {page.status}."
    passing, lasting = page.status in PASSING, page.status not in _WORTH_ANOTHER_TRY
    raise HttpError(f"status {page.status}", passing=passing, lasting=lasting, message=message)
