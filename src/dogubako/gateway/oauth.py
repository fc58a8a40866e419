"""OAuth at servers: the SDK's client, with tokens that outlive the process. Loaded late, because the SDK is heavy."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import BaseModel

from dogubako.contract.errors import BusyError
from dogubako.gateway.link import SignInRequired, UpstreamLost
from dogubako.gateway.settings import ServerSettings
from dogubako.gateway.sign_ins import NewTokens, RedirectTarget, ShowAddress, SignInFailed, Tokens
from dogubako.outbound.http import CONNECT_SECONDS, trusted

# How long a person may take to sign in.
SIGN_IN_SECONDS: Final = 600.0
_REQUEST_SECONDS: Final = 30.0
# Refresh a little before the token expires.
_EARLY_SECONDS: Final = 30.0
_LONG_AGO: Final = 1.0
_NOT_REFRESHED: Final = "Its token cannot be refreshed now."
_PATH: Final = "/callback"
_DONE_PAGE: Final = b"<!doctype html><title>Dogubako</title><p>You are signed in. You may close this page."
_PROBE: Final = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
_PROBE_HEADERS: Final = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}

Redirect = Callable[[str], Awaitable[None]]
Callback = Callable[[], Awaitable[AuthorizationCodeResult]]


class TokenStorage:
    """What the SDK reads and writes, kept in our store."""

    def __init__(self, stored: Tokens) -> None:
        self._stored = stored

    @property
    def kept(self) -> dict[str, Any]:
        """Everything that is stored."""
        return self._stored.read()

    async def keep(self, **models: BaseModel | None) -> None:
        """Store what a refresh needs beside the token."""
        known = {name: model for name, model in models.items() if model is not None}
        dumped = {name: model.model_dump(mode="json", exclude_none=True) for name, model in known.items()}
        await self._stored.write(**dumped)

    def wrote(self, changed: float) -> bool:
        """Whether the tokens changed at this time because of us."""
        return self._stored.written_at == changed

    def lock(self) -> AbstractAsyncContextManager[None]:
        return self._stored.lock()

    async def get_tokens(self) -> OAuthToken | None:
        tokens = self._stored.read().get("tokens")
        return OAuthToken.model_validate(tokens) if tokens else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        expires_at = time.time() + tokens.expires_in - _EARLY_SECONDS if tokens.expires_in else None
        await self._stored.write(tokens=tokens.model_dump(mode="json", exclude_none=True), expires_at=expires_at)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        client = self._stored.read().get("client")
        return OAuthClientInformationFull.model_validate(client) if client else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        await self._stored.write(client=client_info.model_dump(mode="json", exclude_none=True))


class Signer(OAuthClientProvider):
    """The SDK's provider. Without `redirect` it only uses and refreshes tokens, and says when somebody must sign in."""

    errors = (OAuthFlowError,)

    def __init__(
        self,
        settings: ServerSettings,
        storage: TokenStorage,
        redirect_uri: str = "http://127.0.0.1/callback",
        redirect: Redirect | None = None,
        callback: Callback | None = None,
    ) -> None:
        super().__init__(
            settings.url or "",
            _client_metadata(redirect_uri),
            storage,
            redirect_handler=redirect or _nobody_is_here,
            callback_handler=callback or _no_answer,
            client_metadata_url=settings.client_metadata_url,
        )
        self._tokens = storage
        self._settings = settings

    def wrote(self, changed: float) -> bool:
        return self._tokens.wrote(changed)

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send a request with the token. The SDK's flow would let no other request pass until this one is answered."""
        if not self._initialized:
            async with self.context.lock:
                await self._initialize()
        if self.context.is_token_valid():
            tokens = self.context.current_tokens
            self._add_auth_header(request)
            response = yield request
            if not _asks_to_sign_in(response):
                return
            if response.status_code == 401 and self.context.current_tokens is tokens:
                # Refresh it, if that is possible, before somebody has to sign in again.
                self.context.token_expiry_time = _LONG_AGO
        async with self.context.lock:
            if self._has_to_refresh():
                async with self._alone():
                    self._take_stored()
                    if self._has_to_refresh():
                        await self._handle_refresh_response((yield await self._refresh_token()))
        flow = super().async_auth_flow(request)
        try:
            outgoing = await anext(flow)
            while True:
                outgoing = await flow.asend((yield outgoing))
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()
            if self.context.current_tokens is None:
                # The next request looks whether somebody has signed in again.
                self._initialized = False

    def _has_to_refresh(self) -> bool:
        return not self.context.is_token_valid() and self.context.can_refresh_token()

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """Be the only process that refreshes this token: a refresh token often counts once."""
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(self._tokens.lock())
            except BusyError as error:
                raise UpstreamLost(f"{_NOT_REFRESHED} {error.message}", may_have_run=False) from error
            yield

    def _take_stored(self) -> None:
        """Use the token that another process has refreshed meanwhile."""
        kept, known = self._tokens.kept, self.context.current_tokens
        stored = OAuthToken.model_validate(kept["tokens"]) if kept.get("tokens") else None
        if stored is not None and (known is None or stored.access_token != known.access_token):
            self.context.current_tokens = stored
            self.context.token_expiry_time = kept.get("expires_at")

    async def _initialize(self) -> None:
        await super()._initialize()
        # The SDK forgets when a stored token expires and where it is refreshed, and would ask a person instead.
        context, kept = self.context, self._tokens.kept
        context.token_expiry_time = kept.get("expires_at")
        if "metadata" in kept:
            context.oauth_metadata = OAuthMetadata.model_validate(kept["metadata"])
        if "resource" in kept:
            context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(kept["resource"])
        if self._settings.client_id:
            context.client_info = _registered_by_hand(self._settings, context.client_metadata)

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        await super()._handle_token_response(response)
        await self._tokens.keep(metadata=self.context.oauth_metadata, resource=self.context.protected_resource_metadata)

    async def _handle_refresh_response(self, response: httpx2.Response) -> bool:
        if response.status_code >= 500 or response.status_code == 429:
            # It will work later. Only a refusal means that somebody has to sign in again.
            reason = f"The sign-in service answered with status {response.status_code}."
            raise UpstreamLost(reason, may_have_run=False)
        return await super()._handle_refresh_response(response)


def _asks_to_sign_in(response: httpx2.Response) -> bool:
    challenge = response.headers.get("www-authenticate", "")
    return response.status_code == 401 or (response.status_code == 403 and "insufficient_scope" in challenge)


async def _nobody_is_here(address: str) -> None:
    raise SignInRequired


async def _no_answer() -> AuthorizationCodeResult:
    raise SignInRequired


def signer(settings: ServerSettings, stored: Tokens) -> httpx2.Auth:
    """Signs the requests of a running server. With a client secret and no sign-in, the client signs in as itself."""
    storage = TokenStorage(stored)
    if settings.client_id and settings.client_secret and not stored.read().get("tokens"):
        secret = settings.client_secret.get_secret_value()
        # Every process asks for a token of its own: a stored one would look like a person's sign-in.
        return ClientCredentialsOAuthProvider(settings.url or "", TokenStorage(NewTokens()), settings.client_id, secret)
    return Signer(settings, storage)


async def sign_in(
    settings: ServerSettings, fresh: Tokens, show: ShowAddress, redirect_target: RedirectTarget | None
) -> bool:
    """Have a person sign in. Without a way back the browser comes back to a port of this machine."""
    if redirect_target is None:
        page = CallbackPage()
        async with page.listening() as redirect_uri:
            return await sign_in(settings, fresh, show, RedirectTarget(redirect_uri, page.query))

    async def callback() -> AuthorizationCodeResult:
        return code_in(await redirect_target.query())

    provider = Signer(settings, TokenStorage(fresh), redirect_target.redirect_uri, show, callback)
    return await _signed_in(settings, provider, fresh)


def code_in(query: dict[str, str]) -> AuthorizationCodeResult:
    if "error" in query:
        raise OAuthFlowError(query.get("error_description") or query["error"])
    return AuthorizationCodeResult(code=query.get("code", ""), state=query.get("state"), iss=query.get("iss"))


async def _signed_in(settings: ServerSettings, provider: httpx2.Auth, stored: Tokens) -> bool:
    timeout = httpx2.Timeout(_REQUEST_SECONDS, connect=CONNECT_SECONDS)
    verify = trusted(settings.ca_bundle)
    try:
        async with httpx2.AsyncClient(auth=provider, timeout=timeout, verify=verify, trust_env=False) as client:
            async with asyncio.timeout(SIGN_IN_SECONDS):
                response = await client.post(settings.url or "", json=_PROBE, headers=_PROBE_HEADERS)
    except OAuthFlowError as error:
        raise SignInFailed(f"The sign-in failed: {str(error)[:300]}") from error
    except TimeoutError as error:
        raise SignInFailed("Nobody signed in within ten minutes.") from error
    except (httpx2.HTTPError, OSError) as error:
        raise SignInFailed("The server could not be reached.") from error
    if response.status_code in (401, 403):
        raise SignInFailed("The server refuses the new token.")
    return bool(stored.read().get("tokens"))


class CallbackPage:
    """A page on this machine to which the browser returns with the authorization code."""

    def __init__(self) -> None:
        self._query: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()

    async def query(self) -> dict[str, str]:
        return await self._query

    def listening(self, port: int = 0) -> "_Listening":
        """Serve the page. 0 takes any free port; some services know only one that was registered."""
        return _Listening(self, port)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_REQUEST_SECONDS):
                line = (await reader.readline()).decode("ascii", "replace").split()
            target = urlsplit(line[1]) if len(line) > 1 else urlsplit("/")
            found = target.path == _PATH
            body = _DONE_PAGE if found else b""
            status = b"200 OK" if found else b"404 Not Found"
            head = b"HTTP/1.1 %s\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n" % (
                status,
                len(body),
            )
            writer.write(head + b"Connection: close\r\n\r\n" + body)
            await writer.drain()
            if found and not self._query.done():
                self._query.set_result({name: values[0] for name, values in parse_qs(target.query).items()})
        except (OSError, TimeoutError):
            return
        finally:
            writer.close()


class _Listening:
    """The address of the page while it is served."""

    def __init__(self, page: CallbackPage, port: int) -> None:
        self._page = page
        self._port = port

    async def __aenter__(self) -> str:
        self._server = await asyncio.start_server(self._page.serve, "127.0.0.1", self._port)
        port = self._server.sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}{_PATH}"

    async def __aexit__(self, *failure: object) -> None:
        self._server.close()


def _client_metadata(redirect_uri: str) -> OAuthClientMetadata:
    values: dict[str, Any] = {
        "client_name": "Dogubako",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
    return OAuthClientMetadata.model_validate(values)


def _registered_by_hand(settings: ServerSettings, metadata: OAuthClientMetadata) -> OAuthClientInformationFull:
    secret = settings.client_secret.get_secret_value() if settings.client_secret else None
    values = metadata.model_dump(mode="json", exclude_none=True)
    method = "client_secret_basic" if secret else "none"
    return OAuthClientInformationFull.model_validate(
        {**values, "client_id": settings.client_id, "client_secret": secret, "token_endpoint_auth_method": method}
    )
