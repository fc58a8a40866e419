"""The official client, told nothing but our address, finds the authorization server and comes back with a token."""

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
import mcp
import pytest
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dogubako.transports.http.app import HttpApp
from tests.doors.asgi import opened

from .authorization_server import AUDIENCE, ISSUER, OAUTH_PATH, AuthorizationServer
from .token_gate import token_box


class SigningIn(AuthorizationServer):
    """An authorization server where people sign in, and clients register themselves."""

    def __init__(self) -> None:
        super().__init__()
        self.grants: list[dict[str, str]] = []
        self.description |= {
            "authorization_endpoint": f"{ISSUER}/authorize",
            "token_endpoint": f"{ISSUER}/token",
            "registration_endpoint": f"{ISSUER}/register",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
        }

    def app(self) -> Starlette:
        app = super().app()
        app.routes.append(Route("/tenant/register", self._register, methods=["POST"]))
        app.routes.append(Route("/tenant/token", self._give_token, methods=["POST"]))
        return app

    async def _register(self, request: Request) -> Response:
        return JSONResponse({**await request.json(), "client_id": "a client"}, status_code=201)

    async def _give_token(self, request: Request) -> Response:
        form = {key: str(value) for key, value in (await request.form()).items()}
        self.grants.append(form)
        token = self.token(scope="read openid", aud=form["resource"])
        return JSONResponse({"access_token": token, "token_type": "Bearer", "expires_in": 300})


class Person:
    """Signs in when the client sends them there, and keeps what the client wants kept."""

    def __init__(self) -> None:
        self.visited: list[dict[str, list[str]]] = []
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def visit(self, url: str) -> None:
        assert url.startswith(f"{ISSUER}/authorize?")
        self.visited.append(parse_qs(urlsplit(url).query))

    async def return_with_code(self) -> AuthorizationCodeResult:
        return AuthorizationCodeResult(code="a code", state=self.visited[-1]["state"][0])

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Internet(httpx2.AsyncBaseTransport):
    """Two hosts, and no socket."""

    def __init__(self, door: HttpApp, server: AuthorizationServer) -> None:
        self._hosts = {"tools.example": httpx2.ASGITransport(app=door), "id.example": server.transport()}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        host = self._hosts.get(request.url.host)
        return await host.handle_async_request(request) if host else httpx2.Response(404, request=request)


def _provider(person: Person) -> OAuthClientProvider:
    wishes = OAuthClientMetadata(redirect_uris=[AnyUrl("http://localhost:9/callback")], client_name="a client")
    return OAuthClientProvider(AUDIENCE, wishes, person, person.visit, person.return_with_code)


async def test_the_official_client_signs_in_by_itself(tmp_path: Path) -> None:
    server, person = SigningIn(), Person()
    door = HttpApp(token_box(server, tmp_path, DOGUBAKO_ALLOWED_HOSTS="tools.example"))
    async with (
        opened(door),
        httpx2.AsyncClient(transport=Internet(door, server), auth=_provider(person)) as http,
        mcp.Client(streamable_http_client(AUDIENCE, http_client=http), mode="2026-07-28") as client,
    ):
        names = {tool.name for tool in (await client.list_tools()).tools}
        answer = await client.call_tool("echo", {"text": "hello"})

    assert names == {"echo", "read_redmine", "read_n8n", "read_more"}
    assert answer.content[0].text == "hello"  # type: ignore[union-attr]
    # It asked for a token for this very server, and found where by itself.
    assert (server.asked[OAUTH_PATH] > 0, len(server.grants)) == (True, 1)
    assert server.grants[0]["resource"] == AUDIENCE
    assert set(person.visited[0]["scope"][0].split()) >= {"read", "write", "destroy", "admin"}


async def test_the_official_client_refuses_to_sign_in_for_another_resource(tmp_path: Path) -> None:
    server, person = SigningIn(), Person()
    settings = {"DOGUBAKO_ALLOWED_HOSTS": "tools.example", "DOGUBAKO_OAUTH_AUDIENCE": "https://other.example/mcp"}
    door = HttpApp(token_box(server, tmp_path, **settings))
    async with opened(door), httpx2.AsyncClient(transport=Internet(door, server), auth=_provider(person)) as http:
        with pytest.raises(OAuthFlowError):
            await http.post(AUDIENCE, json={})

    assert person.visited == []
