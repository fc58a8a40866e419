"""The public keys of an authorization server, fetched when needed and kept for a while."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
import jwt
import structlog

from dogubako.contract.errors import ApiError, AuthenticationError
from dogubako.outbound.http import Asked, ServiceHttp, connected

log = structlog.get_logger("dogubako.gate")

_KEPT_SECONDS: Final = 600.0
# Tokens with invented key ids must not make us ask for every one of them, nor a server that does not answer.
_ASK_AGAIN_SECONDS: Final = 30.0
_TRY_AGAIN_SECONDS: Final = 5.0
_ASKED: Final = Asked(operation="fetch the keys of the authorization server")


class KeySet:
    """Finds keys by id."""

    def __init__(self, issuer: str, jwks_url: str | None = None, transport: Any = None) -> None:
        self._issuer = issuer
        self._url = jwks_url
        self._transport = transport
        self._keys: dict[str | None, Any] = {}
        self._fetched = self._failed = float("-inf")
        self._fetching = anyio.Lock()
        self._http: ServiceHttp | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with connected("the authorization server", self._issuer, transport=self._transport) as http:
            self._http = http
            yield

    async def find(self, kid: str | None) -> Any:
        """The key, or nothing. One that is not there may have been added a moment ago."""
        if self._wants_news_of(kid):
            async with self._fetching:
                if self._wants_news_of(kid):
                    await self._fetch()
        if not self._keys:
            raise _unanswered()
        if kid is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(kid)

    def _wants_news_of(self, kid: str | None) -> bool:
        now = time.monotonic()
        if now - self._failed <= _TRY_AGAIN_SECONDS:
            return False
        age = now - self._fetched
        return age > _KEPT_SECONDS or (kid not in self._keys and age > _ASK_AGAIN_SECONDS)

    async def _fetch(self) -> None:
        """Better the keys that we know than to lock everybody out while the other server restarts."""
        try:
            document = await self._json(await self._address())
            found = jwt.PyJWKSet.from_dict(document).keys
        except (ApiError, jwt.PyJWTError, ValueError, KeyError, TypeError, AttributeError) as error:
            log.error("The keys of the authorization server cannot be fetched", reason=str(error)[:200])
            self._failed = time.monotonic()
            return
        self._keys = {key.key_id: key.key for key in found if key.public_key_use in (None, "sig")}
        self._fetched, self._failed = time.monotonic(), float("-inf")

    async def _address(self) -> str:
        """Where the keys are: as configured, or as the server says of itself."""
        if self._url is None:
            for well_known in _descriptions(self._issuer):
                try:
                    self._url = _keys_in(await self._json(well_known), self._issuer)
                    break
                except (ApiError, ValueError, KeyError, TypeError):
                    continue
            else:
                raise ValueError("the authorization server does not describe itself")
        return self._url

    async def _json(self, url: str) -> dict[str, Any]:
        assert self._http is not None
        answer = await self._http.request("GET", url, _ASKED, seconds=10)
        if not answer.ok:
            raise ValueError(f"status {answer.status}")
        found = answer.json()
        if not isinstance(found, dict):
            raise TypeError("not an object")
        return found


def _unanswered() -> AuthenticationError:
    error = AuthenticationError("Access tokens cannot be checked: the authorization server does not answer.")
    error.hint, error.retryable = "Try again later.", True
    return error


def _keys_in(description: dict[str, Any], issuer: str) -> str:
    # RFC 8414: who describes somebody else must not be believed.
    if description["issuer"] != issuer:
        raise ValueError("the description is of another issuer")
    return str(description["jwks_uri"])


def _descriptions(issuer: str) -> list[str]:
    """RFC 8414 puts the well-known part before the issuer's own path, OpenID Connect behind it."""
    parts = urlsplit(issuer)
    root, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    return [
        f"{root}/.well-known/oauth-authorization-server{path}",
        f"{root}{path}/.well-known/openid-configuration",
        f"{root}/.well-known/openid-configuration{path}",
    ]
