"""The public keys of an authorization server: fetched when first needed, kept fresh, and not believed for ever."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
import jwt
import structlog

from dogubako.contract.errors import ApiError
from dogubako.contract.loopback import crosses_a_network_unencrypted
from dogubako.outbound.bounds import SMALL_DOCUMENT
from dogubako.outbound.http import Asked, ServiceHttp, connected

log = structlog.get_logger("dogubako.gate")

_KEPT_SECONDS: Final = 600.0
# So long they are believed while no news can be had. A server that is down for a night locks nobody out; but somebody
# who holds a key that was withdrawn, and can keep us from hearing of it, gets in for a day and not for ever.
_BELIEVED_SECONDS: Final = 24 * 3600.0
# Tokens with invented key ids must not make us ask for every one of them, nor a server that does not answer.
_ASK_AGAIN_SECONDS: Final = 30.0
_TRY_AGAIN_SECONDS: Final = 5.0
_NEVER: Final = float("-inf")
_ASKED: Final = Asked(operation="fetch the keys of the authorization server")


class KeySet:
    """Finds keys by id."""

    def __init__(self, issuer: str, jwks_url: str | None = None, transport: Any = None) -> None:
        self._issuer = issuer
        self._url = jwks_url
        self._transport = transport
        self._keys: dict[str | None, Any] = {}
        self._fetched = self._failed = _NEVER
        self._wanted, self._arrived = anyio.Event(), anyio.Event()
        self._http: ServiceHttp | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        named = "the authorization server"
        async with connected(named, self._issuer, transport=self._transport, at_most=SMALL_DOCUMENT) as http:
            self._http = http
            refreshing = asyncio.create_task(self._keep_fresh())
            try:
                yield
            finally:
                self._http = None
                refreshing.cancel()
                await asyncio.wait([refreshing])

    async def find(self, kid: str | None) -> Any:
        """The key, or nothing. Only for one that is not known the server is waited for: it may have been added now."""
        self._forget_what_is_too_old()
        if self._wants_news_of(kid):
            news = self._asked_for_news()
            if self._known(kid) is None:
                await news.wait()
        key = self._known(kid)
        if key is None and (not self._keys or self._failed != _NEVER):
            # It may be a new one, of which we could not hear.
            raise _unanswered()
        return key

    def _known(self, kid: str | None) -> Any:
        if kid is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(kid)

    def _wants_news_of(self, kid: str | None) -> bool:
        now = time.monotonic()
        if now - self._failed <= _TRY_AGAIN_SECONDS:
            return False
        age = now - self._fetched
        return age > _KEPT_SECONDS or (self._known(kid) is None and age > _ASK_AGAIN_SECONDS)

    def _forget_what_is_too_old(self) -> None:
        if self._keys and time.monotonic() - self._fetched > _BELIEVED_SECONDS:
            self._keys = {}
            log.error("The keys of the authorization server are too old to be believed", hours=_BELIEVED_SECONDS / 3600)

    def _asked_for_news(self) -> anyio.Event:
        """All who want news want the same: one fetch is enough, also one that runs already."""
        assert self._http is not None, "nobody fetches keys before or after `running()`"
        self._wanted.set()
        return self._arrived

    async def _keep_fresh(self) -> None:
        """Fetch when somebody asks, and from then on in time: where few callers come, a withdrawn key must end, too."""
        try:
            while True:
                with anyio.move_on_after(_KEPT_SECONDS if self._keys else None):
                    await self._wanted.wait()
                await self._fetch()
                self._tell_who_waits()
        finally:
            self._tell_who_waits()

    def _tell_who_waits(self) -> None:
        arrived, self._arrived, self._wanted = self._arrived, anyio.Event(), anyio.Event()
        arrived.set()

    async def _fetch(self) -> None:
        """Better the keys that we know than to lock everybody out while the other server restarts."""
        try:
            keys = _signing_keys(await self._json(await self._address()))
        except Exception as error:
            # The edge of a task of its own: there is nobody above to tell, and an odd document must not end it.
            if self._failed == _NEVER:
                reason = f"{type(error).__name__}: {error}"[:200]
                log.error("The keys of the authorization server cannot be fetched", reason=reason)
            self._failed = time.monotonic()
            return
        if self._failed != _NEVER:
            log.info("The keys of the authorization server can be fetched again")
        self._keys, self._fetched, self._failed = keys, time.monotonic(), _NEVER

    async def _address(self) -> str:
        """Where the keys are: as configured, or as the server says of itself."""
        if self._url is None:
            self._url = await self._described_address()
        return self._url

    async def _described_address(self) -> str:
        for well_known in _descriptions(self._issuer):
            try:
                return _keys_in(await self._json(well_known), self._issuer)
            except ApiError as error:
                if error.unreachable:
                    raise
            except (ValueError, KeyError, TypeError):
                continue
        raise ValueError("the authorization server does not describe itself")

    async def _json(self, url: str) -> dict[str, Any]:
        assert self._http is not None
        answer = await self._http.request("GET", url, _ASKED, seconds=10)
        if not answer.ok:
            raise ValueError(f"status {answer.status}")
        found = answer.json()
        if not isinstance(found, dict):
            raise TypeError("not an object")
        return found


def _unanswered() -> ApiError:
    """Not the caller's fault: a client must not throw away a token that may be good."""
    message = "Access tokens cannot be checked: the authorization server does not answer."
    return ApiError(message, unreachable=True, retry_after=_TRY_AGAIN_SECONDS, hint="Try again later.")


def _signing_keys(document: dict[str, Any]) -> dict[str | None, Any]:
    found = jwt.PyJWKSet.from_dict(document).keys
    keys = {key.key_id: key.key for key in found if key.public_key_use in (None, "sig")}
    if not keys:
        raise ValueError("none of the keys is for signatures")
    return keys


def _keys_in(description: dict[str, Any], issuer: str) -> str:
    # RFC 8414: who describes somebody else must not be believed.
    if description["issuer"] != issuer:
        raise ValueError("the description is of another issuer")
    address = str(description["jwks_uri"])
    if crosses_a_network_unencrypted(address):
        raise ValueError("the keys are not offered by https")
    return address


def _descriptions(issuer: str) -> list[str]:
    """RFC 8414 puts the well-known part before the issuer's own path, OpenID Connect behind it."""
    parts = urlsplit(issuer)
    root, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    return [
        f"{root}/.well-known/oauth-authorization-server{path}",
        f"{root}{path}/.well-known/openid-configuration",
        f"{root}/.well-known/openid-configuration{path}",
    ]
