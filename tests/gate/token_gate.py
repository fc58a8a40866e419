"""The part of the gate that takes tokens, connected to the small authorization server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from dogubako.app import Toolbox
from dogubako.contract.errors import ApiError, AuthenticationError
from dogubako.gate.jwks import Jwks
from dogubako.gate.oauth import TokenAuthentication, token_authentication

from .authorization_server import AUDIENCE, ISSUER, METADATA, AuthorizationServer
from .guarded import guarded_box


@asynccontextmanager
async def taking_tokens(
    server: AuthorizationServer, jwks_url: str | None = None, issuer: str = ISSUER
) -> AsyncIterator[TokenAuthentication]:
    keys = Jwks(issuer, jwks_url, transport=server.transport())
    async with keys.running():
        yield TokenAuthentication(issuer=issuer, audience=AUDIENCE, keys=keys, metadata_url=METADATA)


def token_box(server: AuthorizationServer, folder: Path, **environ: str) -> Toolbox:
    """A whole toolbox whose callers bring tokens of this server."""
    settings = {"DOGUBAKO_AUTH": "oauth", "DOGUBAKO_OAUTH_ISSUER": ISSUER, "DOGUBAKO_OAUTH_AUDIENCE": AUDIENCE}
    box = guarded_box(folder, **{**settings, **environ})
    box.authenticator = box.gate.authenticator = token_authentication(box.settings, server.transport())
    return box


async def verdict(gate: TokenAuthentication, token: str) -> str:
    """Who gets in with this token, or why nobody does. Both ways must agree."""
    headers = [(b"authorization", f"Bearer {token}".encode("latin-1"))]
    try:
        caller = gate.authenticate_cached(headers) or await gate.authenticate(headers)
    except (AuthenticationError, ApiError) as error:
        return error.message
    return caller.name
