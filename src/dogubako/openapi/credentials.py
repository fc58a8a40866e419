"""Add the credentials of an API to a request, as its security schemes say."""

import asyncio
import base64
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from dogubako.contract.redaction import MASK
from dogubako.openapi.connections import Connections
from dogubako.openapi.oauth import Client, SignedIn, client_token
from dogubako.openapi.request import Request
from dogubako.openapi.schemes import token_address
from dogubako.outbound.http import ServiceResponse


class Credentials:
    """Knows the schemes of an API, the secrets of the settings, and who has signed in."""

    def __init__(
        self,
        schemes: Mapping[str, Any],
        secrets: Mapping[str, str],
        connections: Connections,
        signed_in: SignedIn | None = None,
    ) -> None:
        self._schemes = schemes
        self._secrets = secrets
        self._connections = connections
        self._signed_in = signed_in
        self._refused = ""
        self._tokens: dict[str, tuple[str, float]] = {}
        self._renewing = asyncio.Lock()

    async def sign(self, request: Request, security: Sequence[Sequence[str]]) -> None:
        """Add what the first group of schemes wants that we have secrets for. Without any, the service decides."""
        for group in security:
            if all(self._secret(name) or self._is_signed_in(name) for name in group):
                for name in group:
                    await self._add(request, name, self._schemes.get(name))
                return

    def forget(self) -> None:
        """Fetch new tokens with the next request: the service refused the present one."""
        self._tokens.clear()
        self._refused = self._signed_in.shown if self._signed_in else ""

    @property
    def has_tokens(self) -> bool:
        return bool(self._tokens) or bool(self._signed_in and self._signed_in.shown)

    def masked(self, response: ServiceResponse) -> ServiceResponse:
        """The answer without tokens that we fetched ourselves; those of the settings are masked with every answer."""
        tokens = [token for token, _ in self._tokens.values()] + ([self._signed_in.shown] if self._signed_in else [])
        body = response.body
        for token in filter(None, tokens):
            body = body.replace(token.encode(), MASK.encode())
        return response if body is response.body else replace(response, body=body)

    def _secret(self, name: str) -> str:
        return self._secrets.get(name) or self._secrets.get("", "")

    def _is_signed_in(self, name: str) -> bool:
        """Whether a person's sign-in is used for this scheme. A secret for exactly this scheme counts before it."""
        return self._signed_in is not None and not self._secrets.get(name) and self._signed_in.scheme == name

    async def _add(self, request: Request, name: str, scheme: Any) -> None:
        if self._signed_in is not None and self._is_signed_in(name):
            request.headers["Authorization"] = f"Bearer {await self._signed_in.token(refused=self._refused)}"
            return
        secret = self._secret(name)
        kind = str(scheme.get("type", "")) if isinstance(scheme, Mapping) else ""
        if kind == "apiKey":
            self._add_key(request, scheme, secret)
        elif kind == "basic" or (kind == "http" and str(scheme.get("scheme", "")).lower() == "basic"):
            request.headers["Authorization"] = f"Basic {base64.b64encode(secret.encode()).decode()}"
        elif token_address(scheme) is not None and ":" in secret:
            request.headers["Authorization"] = f"Bearer {await self._token(name, secret, scheme)}"
        else:
            # http bearer, OpenID Connect, and OAuth with a token that the operator has already.
            request.headers["Authorization"] = f"Bearer {secret}"

    def _add_key(self, request: Request, scheme: Mapping[str, Any], secret: str) -> None:
        name = str(scheme.get("name", "Authorization"))
        if scheme.get("in") == "query":
            request.query.append(f"{quote(name, safe='')}={quote(secret, safe='')}")
        elif scheme.get("in") == "cookie":
            request.cookies.append(f"{name}={quote(secret, safe='')}")
        else:
            request.headers[name] = secret

    async def _token(self, name: str, secret: str, scheme: Mapping[str, Any]) -> str:
        """A token of OAuth 2 client credentials; renewed once at a time."""
        async with self._renewing:
            token, ends = self._tokens.get(name, ("", 0.0))
            if ends > time.time():
                return token
            client_id, _, client_secret = secret.partition(":")
            granted = await client_token(self._connections, scheme, Client(id=client_id, secret=client_secret))
            self._tokens[name] = granted.token, granted.ends
            return granted.token
