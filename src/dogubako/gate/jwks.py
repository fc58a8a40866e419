"""The JSON Web Key Set (JWKS) of an authorization server: fetched when needed, refreshed, and expired."""

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
import structlog

from dogubako.contract.errors import ApiError
from dogubako.contract.netaddr import crosses_a_network_unencrypted
from dogubako.contract.offload import offload
from dogubako.gate.jwk import SigningKey, signing_keys
from dogubako.outbound.bounds import SMALL_DOCUMENT
from dogubako.outbound.http import Operation, ServiceHttp, connected

_MOST_AT_ONCE: Final = 6.0
_ONE_MORE_SECONDS: Final = 5.0
_MOST_PER_KEY: Final = 2
_REMEMBERED_SECONDS: Final = 30.0
_MOST_REMEMBERED: Final = 1_000


@dataclass(kw_only=True, slots=True)
class _Seen:
    moment: float
    fetches_before: int
    asked: int = 0


class UnknownKeys:
    """A token bucket for fetches, with a short memory of the key ids that caused them."""

    def __init__(self) -> None:
        self._left = _MOST_AT_ONCE
        self._filled = time.monotonic()
        self._seen: OrderedDict[bytes, _Seen] = OrderedDict()

    def may_fetch(self, kid: str | None, algorithm: str, fetches_so_far: int) -> bool:
        """Take one fetch for this key id, if the bucket allows it."""
        seen = self._remembered(kid, algorithm, fetches_so_far)
        self._fill()
        if seen.asked >= _MOST_PER_KEY or self._left < 1:
            return False
        seen.asked += 1
        self._left -= 1
        return True

    def was_looked_for(self, kid: str | None, algorithm: str, last_fetch: int) -> bool:
        """Whether this fetch began after the id was first seen, so that its answer covers the id."""
        seen = self._seen.get(_digest(kid, algorithm))
        return seen is not None and last_fetch > seen.fetches_before

    def seconds_to_wait(self) -> float:
        """Seconds until the next fetch is allowed."""
        self._fill()
        return max(1.0, (1 - self._left) * _ONE_MORE_SECONDS)

    def _remembered(self, kid: str | None, algorithm: str, fetches_so_far: int) -> _Seen:
        id_, now = _digest(kid, algorithm), time.monotonic()
        seen = self._seen.get(id_)
        if seen is None or now - seen.moment > _REMEMBERED_SECONDS:
            seen = self._seen[id_] = _Seen(moment=now, fetches_before=fetches_so_far)
            self._seen.move_to_end(id_)
            if len(self._seen) > _MOST_REMEMBERED:
                self._seen.popitem(last=False)
        return seen

    def _fill(self) -> None:
        now = time.monotonic()
        self._left = min(_MOST_AT_ONCE, self._left + (now - self._filled) / _ONE_MORE_SECONDS)
        self._filled = now


def _digest(kid: str | None, algorithm: str) -> bytes:
    """A digest of fixed size for an id of any length."""
    return hashlib.sha256(f"{algorithm} {kid!r}".encode("utf-8", "surrogatepass")).digest()


log = structlog.get_logger("dogubako.gate")

_KEPT_SECONDS: Final = 600.0
# How long keys are trusted without a successful fetch. A server that is down for a night locks nobody out; but an
# attacker who holds a withdrawn key and blocks our fetches gets in for a day and not for ever.
_BELIEVED_SECONDS: Final = 24 * 3600.0
# Wait this long after a failed fetch.
_TRY_AGAIN_SECONDS: Final = 5.0
_NEVER: Final = float("-inf")
_FETCH_KEYS: Final = Operation(name="fetch the keys of the authorization server")


class Jwks:
    """Finds signing keys by id and algorithm.

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
        """The keys that may have signed a token; none if the server has answered that there are none.

        Only an unknown key waits for the server: it may have been added now. `renewed` says that
        those which we know did not fit the signature. Raises `ApiError` where the token cannot be checked now.
        """
        self._forget_what_is_too_old()
        before = self._begun
        while True:
            keys = self._fitting(kid, algorithm)
            if self._answered > before:
                return keys
            if keys and not renewed:
                if self._refresh_is_due():
                    self._request_refresh()
                return keys
            if not self._may_ask_for(kid, algorithm):
                return ()
            await self._wait_for_refresh()

    async def check(self) -> None:
        """Raise `ApiError` if no keys are known and none can be fetched."""
        self._forget_what_is_too_old()
        if not self._keys:
            await self._wait_for_refresh()

    def _fitting(self, kid: str | None, algorithm: str) -> list[SigningKey]:
        named = [key for key in self._keys.get(kid, ()) if algorithm in key.algorithms]
        if named or kid is not None:
            return named
        # A token that does not name its key can only be signed by the only key.
        others = [key for keys in self._keys.values() for key in keys if algorithm in key.algorithms]
        return others if len(others) == 1 else []

    def _refresh_is_due(self) -> bool:
        now = time.monotonic()
        return now - self._failed > _TRY_AGAIN_SECONDS and now - self._fetched > _KEPT_SECONDS

    def _may_ask_for(self, kid: str | None, algorithm: str) -> bool:
        """Whether to wait for the server because of this key; False if it has already answered for it."""
        if time.monotonic() - self._failed <= _TRY_AGAIN_SECONDS:
            raise _unanswered()
        # Callers wait for a running fetch; old keys are fetched again in any case.
        if self._wanted.is_set() or self._failed != _NEVER or self._refresh_is_due():
            return True
        if self._unknown.may_fetch(kid, algorithm, self._begun):
            return True
        if self._unknown.was_looked_for(kid, algorithm, self._answered):
            return False
        raise _not_yet(self._unknown.seconds_to_wait())

    def _forget_what_is_too_old(self) -> None:
        if self._keys and time.monotonic() - self._fetched > _BELIEVED_SECONDS:
            self._keys = {}
            log.error("The keys of the authorization server have expired", hours=_BELIEVED_SECONDS / 3600)

    async def _wait_for_refresh(self) -> None:
        last = self._answered
        await self._request_refresh().wait()
        if self._answered == last:
            # The fetch failed, or this server stops.
            raise _unanswered()

    def _request_refresh(self) -> anyio.Event:
        """Request a fetch, or join the running one."""
        assert self._http is not None, "nobody fetches keys before or after `running()`"
        self._wanted.set()
        return self._arrived

    async def _keep_fresh(self) -> None:
        """Fetch on demand, and from then on regularly: with few callers, a withdrawn key must expire too."""
        try:
            while True:
                with anyio.move_on_after(_KEPT_SECONDS if self._keys else None):
                    await self._wanted.wait()
                await self._fetch()
                self._notify_waiters()
        finally:
            self._notify_waiters()

    def _notify_waiters(self) -> None:
        arrived, self._arrived, self._wanted = self._arrived, anyio.Event(), anyio.Event()
        arrived.set()

    async def _fetch(self) -> None:
        """Fetch the keys. If that fails, keep the known ones: the server may be restarting."""
        self._begun += 1
        try:
            # Parsing is slow, and the number of keys is not bounded by us.
            keys = await offload(signing_keys, await self._json(await self._address()))
        except Exception as error:
            # This is the top of a task: nothing above handles errors, and a strange document must not end it.
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
        """The URL of the keys: configured, or from the server's metadata, or the last known one."""
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
        """Whether the last known URL may work although the metadata cannot be fetched: only at another host."""
        same_host = urlsplit(address).netloc == urlsplit(self._issuer).netloc
        gone = isinstance(error, ApiError) and error.unreachable and same_host
        return not gone and time.monotonic() - self._described <= _BELIEVED_SECONDS

    async def _described_address(self) -> str:
        for well_known in description_addresses(self._issuer):
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
        answer = await self._http.request("GET", url, _FETCH_KEYS, seconds=10)
        if not answer.ok:
            raise ValueError(f"status {answer.status}")
        document = await answer.json()
        if not isinstance(document, dict):
            raise TypeError("not an object")
        return document


def _unanswered() -> ApiError:
    """Not the caller's fault: a client must not discard a token that may be valid."""
    message = "Access tokens cannot be checked: the authorization server does not answer."
    return ApiError(message, unreachable=True, retry_after=_TRY_AGAIN_SECONDS, hint="Try again later.")


def _not_yet(seconds: float) -> ApiError:
    """The token may be signed with a new key: not the caller's fault either."""
    message = "The access token cannot be checked yet: its key is not known, and the server was asked a moment ago."
    return ApiError(message, unreachable=True, retry_after=seconds, hint="Try again later.")


def _by_id(keys: Sequence[SigningKey]) -> dict[str | None, list[SigningKey]]:
    by_id: dict[str | None, list[SigningKey]] = {}
    for key in keys:
        by_id.setdefault(key.kid, []).append(key)
    return by_id


def _keys_in(description: dict[str, Any], issuer: str) -> str:
    # RFC 8414: metadata of another issuer must not be trusted.
    if description["issuer"] != issuer:
        raise ValueError("the description is of another issuer")
    address = str(description["jwks_uri"])
    if crosses_a_network_unencrypted(address):
        raise ValueError("the keys are not offered by https")
    return address


def description_addresses(issuer: str) -> list[str]:
    """RFC 8414 puts the well-known part before the issuer's path, OpenID Connect after it."""
    parts = urlsplit(issuer)
    root, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    return [
        f"{root}/.well-known/oauth-authorization-server{path}",
        f"{root}{path}/.well-known/openid-configuration",
        f"{root}/.well-known/openid-configuration{path}",
    ]
