"""The public keys of an authorization server: fetched when first needed, kept fresh, and not believed for ever."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
import structlog

from dogubako.contract.errors import ApiError
from dogubako.contract.loopback import crosses_a_network_unencrypted
from dogubako.contract.offload import offload
from dogubako.gate.jwk import SigningKey, signing_keys
from dogubako.gate.unknown_keys import UnknownKeys
from dogubako.outbound.bounds import SMALL_DOCUMENT
from dogubako.outbound.http import Asked, ServiceHttp, connected

log = structlog.get_logger("dogubako.gate")

_KEPT_SECONDS: Final = 600.0
# So long they are believed while no news can be had. A server that is down for a night locks nobody out; but somebody
# who holds a key that was withdrawn, and can keep us from hearing of it, gets in for a day and not for ever.
_BELIEVED_SECONDS: Final = 24 * 3600.0
# A server that does not answer is not asked again at once.
_TRY_AGAIN_SECONDS: Final = 5.0
_NEVER: Final = float("-inf")
_ASKED: Final = Asked(operation="fetch the keys of the authorization server")


class KeySet:
    """Finds keys by id and algorithm.

    Every fetch reads the description of the server again, so that keys that moved to another address are found;
    `jwks_url` stays what it is. Fetches are numbered, to tell whether one began after a token arrived.
    """

    def __init__(self, issuer: str, jwks_url: str | None = None, transport: Any = None) -> None:
        self._issuer = issuer
        self._configured_url = jwks_url
        self._described_url: str | None = None
        self._described = _NEVER
        self._transport = transport
        self._keys: dict[str | None, list[SigningKey]] = {}
        self._unknown = UnknownKeys()
        self._begun = self._answered = 0
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

    async def find(self, kid: str | None, algorithm: str, *, renewed: bool = False) -> Sequence[SigningKey]:
        """The keys that may have signed a token; none where the server has answered that there are none.

        Only for a key that is not known the server is waited for: it may have been added now. `renewed` says that
        those which we know did not fit the signature. Raises `ApiError` where the token cannot be checked now.
        """
        self._forget_what_is_too_old()
        before = self._begun
        while True:
            keys = self._fitting(kid, algorithm)
            if self._answered > before:
                return keys
            if keys and not renewed:
                if self._is_time_for_news():
                    self._asked_for_news()
                return keys
            if not self._may_ask_for(kid, algorithm):
                return ()
            await self._wait_for_news()

    async def check(self) -> None:
        """Raise `ApiError` where no keys are known and none can be fetched."""
        self._forget_what_is_too_old()
        if not self._keys:
            await self._wait_for_news()

    def _fitting(self, kid: str | None, algorithm: str) -> list[SigningKey]:
        named = [key for key in self._keys.get(kid, ()) if algorithm in key.algorithms]
        if named or kid is not None:
            return named
        # A token that does not name its key can only be of the one that there is.
        others = [key for keys in self._keys.values() for key in keys if algorithm in key.algorithms]
        return others if len(others) == 1 else []

    def _is_time_for_news(self) -> bool:
        now = time.monotonic()
        return now - self._failed > _TRY_AGAIN_SECONDS and now - self._fetched > _KEPT_SECONDS

    def _may_ask_for(self, kid: str | None, algorithm: str) -> bool:
        """Whether to wait for the server because of this key; False where it has answered for it already."""
        if time.monotonic() - self._failed <= _TRY_AGAIN_SECONDS:
            raise _unanswered()
        # Who comes while a fetch runs waits for it; old keys are fetched again in any case.
        if self._wanted.is_set() or self._failed != _NEVER or self._is_time_for_news():
            return True
        if self._unknown.may_fetch(kid, algorithm, self._begun):
            return True
        if self._unknown.was_looked_for(kid, algorithm, self._answered):
            return False
        raise _not_yet(self._unknown.seconds_to_wait())

    def _forget_what_is_too_old(self) -> None:
        if self._keys and time.monotonic() - self._fetched > _BELIEVED_SECONDS:
            self._keys = {}
            log.error("The keys of the authorization server are too old to be believed", hours=_BELIEVED_SECONDS / 3600)

    async def _wait_for_news(self) -> None:
        last = self._answered
        await self._asked_for_news().wait()
        if self._answered == last:
            # The fetch failed, or this server stops.
            raise _unanswered()

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
        self._begun += 1
        try:
            # Each key takes a moment, and nobody knows how many there are.
            keys = await offload(signing_keys, await self._json(await self._address()))
        except Exception as error:
            # The edge of a task of its own: there is nobody above to tell, and an odd document must not end it.
            if self._failed == _NEVER:
                reason = f"{type(error).__name__}: {error}"[:200]
                log.error("The keys of the authorization server cannot be fetched", reason=reason)
            self._failed = time.monotonic()
            return
        if self._failed != _NEVER:
            log.info("The keys of the authorization server can be fetched again")
        self._keys, self._fetched, self._failed = _by_id(keys), time.monotonic(), _NEVER
        self._answered = self._begun

    async def _address(self) -> str:
        """Where the keys are: as configured, or as the server says of itself now, or as it last said."""
        if self._configured_url is not None:
            return self._configured_url
        try:
            address = await self._described_address()
        except (ApiError, ValueError) as error:
            if self._described_url is None or not self._may_use_last_address(self._described_url, error):
                raise
            return self._described_url
        if self._described_url not in (None, address):
            log.info("The keys of the authorization server have moved")
        self._described_url, self._described = address, time.monotonic()
        return address

    def _may_use_last_address(self, address: str, error: Exception) -> bool:
        """Keys may be kept at another host than the description; at the same one there is nobody to answer."""
        same_host = urlsplit(address).netloc == urlsplit(self._issuer).netloc
        gone = isinstance(error, ApiError) and error.unreachable and same_host
        return not gone and time.monotonic() - self._described <= _BELIEVED_SECONDS

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
        found = await answer.json()
        if not isinstance(found, dict):
            raise TypeError("not an object")
        return found


def _unanswered() -> ApiError:
    """Not the caller's fault: a client must not throw away a token that may be good."""
    message = "Access tokens cannot be checked: the authorization server does not answer."
    return ApiError(message, unreachable=True, retry_after=_TRY_AGAIN_SECONDS, hint="Try again later.")


def _not_yet(seconds: float) -> ApiError:
    """It may be signed with a key that appeared a moment ago: not the caller's fault either."""
    message = "The access token cannot be checked yet: its key is not known, and the server was asked a moment ago."
    return ApiError(message, unreachable=True, retry_after=seconds, hint="Try again later.")


def _by_id(keys: Sequence[SigningKey]) -> dict[str | None, list[SigningKey]]:
    found: dict[str | None, list[SigningKey]] = {}
    for key in keys:
        found.setdefault(key.kid, []).append(key)
    return found


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
