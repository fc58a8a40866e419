"""Sign people in at the authorization server: the authorization code flow with PKCE, for the console.

`start` gives the address to which a browser goes. The browser comes back to `redirect_uri` with a code, which
`access_token` exchanges. The token is then checked like every other: signature, issuer, audience and expiry.
"""

import base64
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote_plus, urlencode, urlsplit

import anyio
import jwt
import msgspec
import structlog

from dogubako.contract.errors import ApiError, AuthenticationError
from dogubako.contract.netaddr import crosses_a_network_unencrypted
from dogubako.gate.jwks import description_addresses
from dogubako.outbound.bounds import SMALL_DOCUMENT
from dogubako.outbound.http import Operation, ServiceHttp, connected
from dogubako.settings import Settings

log = structlog.get_logger("dogubako.gate")

CALLBACK_PATH: Final = "/console/callback"
_DESCRIBE: Final = Operation(name="read the description of the authorization server")
_EXCHANGE: Final = Operation(name="exchange the code at the authorization server")
_SECONDS: Final = 10.0
_KEPT_SECONDS: Final = 600.0
# Anybody may begin a sign-in; the authorization server is not asked again for each.
_TRY_AGAIN_SECONDS: Final = 5.0
_NEVER: Final = float("-inf")
_LONGEST: Final = 4_096
_AGAIN: Final = "Sign in again."
# RFC 6749, section 4.1.2.1. Other words in the address are not repeated: anybody may write them there.
_REFUSALS: Final = {
    "access_denied": "The authorization server did not let you in.",
    "invalid_scope": "The authorization server does not give the scopes that this server asks for.",
    "temporarily_unavailable": "The authorization server is busy.",
}
_NOT_FINISHED: Final = "The sign-in was not finished at the authorization server."
_Endpoint = re.compile(r"https?://[^/\s?#]+(/[^\s#]*)?")


class SignInRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One sign-in under way. Only the browser that began it may know these values."""

    state: str
    verifier: str
    nonce: str

    @classmethod
    def new(cls) -> "SignInRequest":
        return cls(state=_random(), verifier=_random(), nonce=_random())


@dataclass(frozen=True, kw_only=True, slots=True)
class _Endpoints:
    authorization: str
    token: str
    # RFC 9207: the answer says which server it is of.
    names_issuer: bool
    secret_in_body: bool


class AuthorizationCodeFlow:
    """This server as a client of the authorization server: public, or confidential with a secret."""

    def __init__(self, settings: Settings, transport: Any = None) -> None:
        audience = urlsplit(settings.oauth_audience or "")
        self.issuer = settings.oauth_issuer or ""
        self.origin = f"{audience.scheme}://{audience.netloc}"
        self.redirect_uri = f"{self.origin}{CALLBACK_PATH}"
        self._audience = settings.oauth_audience or ""
        self._client_id = settings.oauth_client_id or ""
        self._secret = settings.oauth_client_secret
        self._scope = " ".join(settings.oauth_scope.split())
        self._transport = transport
        self._http: ServiceHttp | None = None
        self._known: _Endpoints | None = None
        self._read = self._failed = _NEVER
        self._reading = anyio.Lock()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        named = "the authorization server"
        async with connected(named, self.issuer, transport=self._transport, at_most=SMALL_DOCUMENT) as self._http:
            yield
        self._http = None

    async def start(self, request: SignInRequest) -> str:
        """The address at which a person signs in, or ApiError if the server does not describe itself."""
        endpoint = (await self._endpoints()).authorization
        digest = hashlib.sha256(request.verifier.encode()).digest()
        asked = {
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": self.redirect_uri,
            "scope": self._scope,
            "state": request.state,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
            "resource": self._audience,
            **({"nonce": request.nonce} if "openid" in self._scope.split() else {}),
        }
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}"

    async def access_token(self, request: SignInRequest, answer: Mapping[str, str]) -> str:
        """The access token for the answer that the browser brought back, or AuthenticationError."""
        if not hmac.compare_digest(answer.get("state", "").encode(), request.state.encode()):
            raise AuthenticationError("This answer belongs to another sign-in.", hint=_AGAIN)
        endpoints = await self._endpoints()
        issuer = answer.get("iss")
        if issuer != self.issuer and (issuer is not None or endpoints.names_issuer):
            log.warning("A sign-in came back from another authorization server", expected=self.issuer)
            raise AuthenticationError("This answer is of another authorization server.", hint=_AGAIN)
        code = answer.get("code", "")
        if "error" in answer or not 0 < len(code) <= _LONGEST:
            raise AuthenticationError(_REFUSALS.get(answer.get("error", ""), _NOT_FINISHED), hint=_AGAIN)
        return self._token_in(await self._exchanged(endpoints, code, request), request)

    async def check(self) -> None:
        """Raise ApiError if nobody can sign in."""
        await self._endpoints()

    async def _exchanged(self, endpoints: _Endpoints, code: str, request: SignInRequest) -> dict[str, Any]:
        assert self._http is not None, "nobody signs in before or after `running()`"
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect_uri,
            "code_verifier": request.verifier,
            "resource": self._audience,
        }
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        if self._secret is None or endpoints.secret_in_body:
            form["client_id"] = self._client_id
        if self._secret is not None and endpoints.secret_in_body:
            form["client_secret"] = self._secret.get_secret_value()
        elif self._secret is not None:
            pair = f"{quote_plus(self._client_id)}:{quote_plus(self._secret.get_secret_value())}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        answer = await self._http.request(
            "POST", endpoints.token, _EXCHANGE, content=urlencode(form).encode(), headers=headers, seconds=_SECONDS
        )
        try:
            document = await answer.json()
        except ValueError:
            document = None
        if not answer.ok or not isinstance(document, dict):
            reason = document.get("error") if isinstance(document, dict) else None
            log.warning("The authorization server gave no token", status=answer.status, reason=str(reason)[:100])
            raise AuthenticationError("The authorization server did not accept this sign-in.", hint=_AGAIN)
        return document

    def _token_in(self, document: dict[str, Any], request: SignInRequest) -> str:
        token, kind = document.get("access_token"), document.get("token_type")
        if not isinstance(token, str) or not isinstance(kind, str) or kind.lower() != "bearer":
            log.warning("The authorization server gave something else than a bearer token")
            raise AuthenticationError("The authorization server did not accept this sign-in.", hint=_AGAIN)
        if "id_token" in document and "openid" in self._scope.split():
            self._check_id_token(document["id_token"], request)
        return token

    def _check_id_token(self, token: Any, request: SignInRequest) -> None:
        """OpenID Connect, 3.1.3.7. It came from the server itself over TLS, so its signature adds nothing."""
        try:
            claims = jwt.decode(token, options={"verify_signature": False})
            audience = claims.get("aud")
            for_us = self._client_id in (audience if isinstance(audience, list) else [audience])
            same = hmac.compare_digest(str(claims.get("nonce")).encode(), request.nonce.encode())
        except (jwt.PyJWTError, ValueError, TypeError, AttributeError):
            for_us = same = False
        if not (for_us and same and claims.get("iss") == self.issuer):
            log.warning("An ID token was not made for this sign-in")
            raise AuthenticationError("This answer belongs to another sign-in.", hint=_AGAIN)

    async def _endpoints(self) -> _Endpoints:
        async with self._reading:
            now = time.monotonic()
            if self._known is not None and now - self._read < _KEPT_SECONDS:
                return self._known
            if now - self._failed < _TRY_AGAIN_SECONDS:
                raise _undescribed()
            try:
                self._known, self._read = await self._described(), now
            except ApiError:
                self._failed = now
                raise
            return self._known

    async def _described(self) -> _Endpoints:
        assert self._http is not None, "nobody signs in before or after `running()`"
        for address in description_addresses(self.issuer):
            answer = await self._http.request("GET", address, _DESCRIBE, seconds=_SECONDS)
            try:
                if answer.ok:
                    return _endpoints_in(await answer.json(), self.issuer)
            except (ValueError, KeyError, TypeError) as error:
                log.warning("The description of the authorization server is refused", reason=str(error)[:200])
        raise _undescribed()


def _endpoints_in(description: Any, issuer: str) -> _Endpoints:
    # RFC 8414: metadata of another issuer must not be trusted.
    if description["issuer"] != issuer:
        raise ValueError("it is of another issuer")
    authorization, token = description["authorization_endpoint"], description["token_endpoint"]
    for address in (authorization, token):
        if not _Endpoint.fullmatch(address) or crosses_a_network_unencrypted(address):
            raise ValueError("an address in it is not https")
    methods = description.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    return _Endpoints(
        authorization=authorization,
        token=token,
        names_issuer=description.get("authorization_response_iss_parameter_supported") is True,
        secret_in_body="client_secret_basic" not in methods and "client_secret_post" in methods,
    )


def _undescribed() -> ApiError:
    message = "Nobody can sign in now: the authorization server does not describe itself."
    return ApiError(message, unreachable=True, hint="Try again in a moment, or use an access token.")


def _random() -> str:
    return secrets.token_urlsafe(32)
