"""OAuth 2 at services: tokens of client credentials, sign-ins of a person (authorization code), and their refresh.

The addresses come from the description. A sign-in is refreshed at the address at which it was made, and is used for no
other description: a changed one cannot have our tokens or our client's secret sent somewhere else.
"""

import asyncio
import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import structlog

from dogubako._lazy import load
from dogubako.contract.errors import ApiError, CredentialRequiredError, DogubakoError
from dogubako.gateway.sign_ins import ShowAddress, SignInFailed, StoredTokens
from dogubako.openapi.connections import Connections
from dogubako.openapi.schemes import CLIENT_FLOWS, CODE_FLOWS, flow_of, is_open_id
from dogubako.openapi.settings import ApiSettings
from dogubako.outbound.http import Operation, ServiceResponse

log = structlog.get_logger("dogubako.openapi")

# A token is renewed before it ends, so that a request does not carry one that ends on its way.
_MARGIN_SECONDS: Final = 30.0
_DEFAULT_SECONDS: Final = 300.0


@dataclass(frozen=True, kw_only=True)
class Client:
    """The OAuth client that was registered at the service."""

    id: str
    secret: str = ""


@dataclass(frozen=True, kw_only=True)
class Granted:
    """What a token request was answered with."""

    token: str
    refresh_token: str = ""
    # How long the token counts; None if the service does not say.
    seconds: float | None = None

    @property
    def ends(self) -> float:
        return time.time() + max((self.seconds or _DEFAULT_SECONDS) - _MARGIN_SECONDS, 1.0)


def _scopes(flow: Mapping[str, Any]) -> str:
    scopes = flow.get("scopes")
    return " ".join(map(str, scopes)) if isinstance(scopes, Mapping) else ""


async def client_token(connections: Connections, scheme: Mapping[str, Any], client: Client) -> Granted:
    """A token for the client itself."""
    flow = flow_of(scheme, CLIENT_FLOWS)
    form = {"grant_type": "client_credentials", "scope": _scopes(flow)}
    return await _granted(await _requested(connections, str(flow["tokenUrl"]), form, client), connections.name)


async def _requested(
    connections: Connections, address: str, form: Mapping[str, str], client: Client
) -> ServiceResponse:
    """The answer to a token request. The secret is sent in the form, and in a header to who wants it there."""
    http = await connections.to(address)
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    own = {key: value for key, value in form.items() if value} | {"client_id": client.id}

    async def posted(fields: Mapping[str, str], **more: str) -> ServiceResponse:
        content = urlencode(fields).encode()
        return await http.request(
            "POST", address, Operation(name="get a token"), content=content, headers=headers | more
        )

    if not client.secret:
        return await posted(own)
    answer = await posted(own | {"client_secret": client.secret})
    if answer.status != 401:
        return answer
    pair = urlencode({client.id: client.secret}).replace("=", ":", 1)
    return await posted(own, Authorization=f"Basic {base64.b64encode(pair.encode()).decode()}")


async def _granted(answer: ServiceResponse, service: str) -> Granted:
    try:
        said = await answer.json() if answer.ok else {}
    except ValueError:
        said = {}
    token = said.get("access_token") if isinstance(said, Mapping) else None
    if not isinstance(token, str) or not token:
        hint = "Check the client id and the secret in the settings."
        raise ApiError(f"{service} gave no access token", status_code=answer.status, hint=hint)
    seconds, refresh = said.get("expires_in"), said.get("refresh_token")
    return Granted(
        token=token,
        refresh_token=refresh if isinstance(refresh, str) else "",
        seconds=float(seconds) if isinstance(seconds, int | float) else None,
    )


class SignedIn:
    """The sign-in of a person at one service, as another process may have made it. Refreshed once at a time."""

    def __init__(self, stored: StoredTokens, settings: ApiSettings, connections: Connections) -> None:
        self._stored = stored
        self._settings = settings
        self._connections = connections
        self._refreshing = asyncio.Lock()
        self._seen = -1.0
        self._kept: dict[str, Any] = {}

    @property
    def scheme(self) -> str:
        """The security scheme that somebody has signed in for; empty if nobody has."""
        if (changed := self._stored.changed_at) != self._seen:
            self._seen, kept = changed, self._stored.read() if changed else {}
            # Tokens of another service that had this name before are not sent to this one.
            self._kept = kept if kept.get("openapi") == self._settings.openapi else {}
        return str(self._kept.get("scheme", ""))

    @property
    def shown(self) -> str:
        """The present access token, which no answer may repeat."""
        return str(self._kept.get("token", "")) if self.scheme else ""

    async def token(self, *, refused: str = "") -> str:
        """The access token; a new one if it ends or is the one that the service refused."""
        async with self._refreshing:
            assert self.scheme
            token, ends = str(self._kept["token"]), self._kept.get("ends")
            if token != refused and (ends is None or ends > time.time()):
                return token
            async with self._stored.lock():
                # Another process may have refreshed it, or somebody has signed out.
                if self.scheme and self._kept["token"] != token:
                    return str(self._kept["token"])
                return await self._refreshed()

    async def _refreshed(self) -> str:
        name, kept = self._connections.name, self._kept
        if not kept.get("refresh_token"):
            raise _sign_in_again(name)
        form = {"grant_type": "refresh_token", "refresh_token": kept["refresh_token"]}
        answer = await _requested(self._connections, kept["token_url"], form, client_of(self._settings))
        if answer.status in (400, 401, 403):
            raise _sign_in_again(name)
        granted = await _granted(answer, name)
        self._kept = {**kept, **_kept(granted, kept["refresh_token"])}
        try:
            await self._stored.write(**self._kept)
            self._seen = self._stored.changed_at
        except OSError as error:
            # It works until this process ends.
            log.error("A sign-in cannot be stored", service=name, reason=error.strerror)
        return granted.token


def _kept(granted: Granted, refresh_token: str = "") -> dict[str, Any]:
    """What is stored of a grant. A service that gives no new refresh token means that the old one stays."""
    # A token without an end is used until the service refuses it.
    ends = granted.ends if granted.seconds is not None else None
    return {"token": granted.token, "refresh_token": granted.refresh_token or refresh_token, "ends": ends}


def _sign_in_again(name: str) -> CredentialRequiredError:
    message = f"The sign-in at {name} has ended."
    return CredentialRequiredError(message, hint=f"Somebody has to sign in again: dogubako services login {name}")


def client_of(settings: ApiSettings) -> Client:
    secret = settings.client_secret.get_secret_value() if settings.client_secret else ""
    return Client(id=settings.client_id or "", secret=secret)


async def sign_in(
    scheme_name: str,
    scheme: Mapping[str, Any],
    settings: ApiSettings,
    connections: Connections,
    stored: StoredTokens,
    show: ShowAddress,
    port: int = 0,
) -> None:
    """Have a person sign in with a browser, which comes back to a port of this machine. Raises SignInFailed."""
    oauth = load("dogubako.gateway.oauth")
    try:
        flow = await _endpoints(scheme, connections)
        page, state, verifier = oauth.CallbackPage(), secrets.token_urlsafe(24), secrets.token_urlsafe(64)
        async with page.listening(port) as redirect_uri:
            query = {
                "response_type": "code",
                "client_id": settings.client_id or "",
                "redirect_uri": redirect_uri,
                "scope": _scopes(flow),
                "state": state,
                "code_challenge": _challenge(verifier),
                "code_challenge_method": "S256",
            }
            written = urlencode({key: value for key, value in query.items() if value})
            await show(f"{flow['authorizationUrl']}{'&' if '?' in flow['authorizationUrl'] else '?'}{written}")
            async with asyncio.timeout(oauth.SIGN_IN_SECONDS):
                result = oauth.code_in(await page.query())
        if not hmac.compare_digest((result.state or "").encode(), state.encode()) or not result.code:
            raise SignInFailed("The browser came back with an answer to another question. Nobody is signed in.")
        form = {
            "grant_type": "authorization_code",
            "code": result.code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
        }
        answer = await _requested(connections, flow["tokenUrl"], form, client_of(settings))
        granted = await _granted(answer, connections.name)
        address = flow.get("refreshUrl") or flow["tokenUrl"]
        await stored.write(scheme=scheme_name, openapi=settings.openapi, token_url=address, **_kept(granted))
    except TimeoutError as error:
        raise SignInFailed("Nobody signed in within ten minutes.") from error
    except oauth.OAuthFlowError as error:
        raise SignInFailed(f"The sign-in failed: {str(error)[:300]}") from error
    except OSError as error:
        raise SignInFailed(f"The sign-in failed on this machine: {error.strerror}.") from error
    except DogubakoError as error:
        raise SignInFailed(f"{error.message} {error.hint or ''}".strip()) from error


def _challenge(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


async def _endpoints(scheme: Mapping[str, Any], connections: Connections) -> dict[str, Any]:
    """The addresses and scopes of the flow, those of OpenID Connect as its own document has them."""
    flow: dict[str, Any] = dict(flow_of(scheme, CODE_FLOWS))
    if is_open_id(scheme):
        address = str(scheme.get("openIdConnectUrl", ""))
        answer = await (await connections.to(address)).request("GET", address, Operation(name="read how to sign in"))
        try:
            read = answer.short_json() if answer.ok else {}
        except ValueError:
            read = {}
        found = read if isinstance(read, Mapping) else {}
        names = {"authorizationUrl": "authorization_endpoint", "tokenUrl": "token_endpoint"}
        flow = {name: found.get(theirs) for name, theirs in names.items()}
        # Some issuers refuse a scope that they do not know.
        known = found.get("scopes_supported", ["offline_access"])
        offline = ["offline_access"] if isinstance(known, list) and "offline_access" in known else []
        flow["scopes"] = dict.fromkeys(["openid", *scheme.get("scopes", ()), *offline], "")
    if any(urlsplit(str(flow.get(one))).scheme not in ("http", "https") for one in ("authorizationUrl", "tokenUrl")):
        raise SignInFailed("The description has no addresses to sign in at.")
    return flow
