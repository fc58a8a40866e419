"""Which names and which web pages may talk to the server, on every route; and who may reach it at all."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from dogubako.app import build
from dogubako.settings import Sources
from dogubako.transports.http.app import HttpApp

from . import messages
from .asgi import Client, Visit, opened
from .processes import PATIENCE, WORKBENCH, run, serving

_JSON = {"content-type": "application/json"}
_CALL = b'{"name": "echo", "parameters": {"text": "a"}}'
_MCP = messages.request("tools/call", messages.call("echo", {"text": "a"}, modern=True))

ROUTES = [
    pytest.param("GET", "/", b"", id="front page"),
    pytest.param("GET", "/healthz", b"", id="health"),
    pytest.param("GET", "/readyz", b"", id="readiness"),
    pytest.param("GET", "/openapi.json", b"", id="description"),
    pytest.param("GET", "/docs", b"", id="page"),
    pytest.param("GET", "/v1/tools", b"", id="list"),
    pytest.param("GET", "/v1/tools/echo", b"", id="tool"),
    pytest.param("PATCH", "/v1/tools/echo", b'{"enabled": true}', id="switch"),
    pytest.param("POST", "/v1/tools/call", _CALL, id="call"),
    pytest.param("POST", "/v1/tools/search", b'{"query": "a"}', id="search"),
    pytest.param("GET", "/tools", b"", id="old list"),
    pytest.param("POST", "/tools/call", _CALL, id="old call"),
    pytest.param("POST", "/mcp", _MCP, id="MCP"),
    pytest.param("GET", "/mcp", b"", id="MCP stream"),
    pytest.param("DELETE", "/mcp", b"", id="MCP end"),
    pytest.param("GET", "/nowhere", b"", id="unknown"),
]


@asynccontextmanager
async def serving_with(**environ: str) -> AsyncIterator[Client]:
    box = build(Sources(overrides={"tools": (WORKBENCH,)}, environ=environ, env_file=None))
    async with opened(HttpApp(box)) as client:
        yield client


async def _mcp(client: Client, **headers: str) -> Visit:
    return await client.post("/mcp", _MCP, {**messages.modern_headers("tools/call", "echo"), **headers})


def _headers(path: str, more: Mapping[str, str]) -> dict[str, str]:
    own = messages.modern_headers("tools/call", "echo") if path == "/mcp" else _JSON
    return {**own, **more}


@pytest.mark.parametrize(("method", "path", "body"), ROUTES)
async def test_a_foreign_host_name_is_refused_everywhere(web: Client, method: str, path: str, body: bytes) -> None:
    visit = await web.request(method, path, body=body, headers=_headers(path, {"host": "evil.example:3000"}))

    assert (visit.status, visit.json["code"]) == (403, "AUTHORIZATION_ERROR")
    assert visit.json["error"] == "This host name is not allowed."
    assert "DOGUBAKO_ALLOWED_HOSTS" in visit.json["hint"]


@pytest.mark.parametrize(("method", "path", "body"), ROUTES)
async def test_a_page_of_another_site_is_refused_everywhere(web: Client, method: str, path: str, body: bytes) -> None:
    visit = await web.request(method, path, body=body, headers=_headers(path, {"origin": "https://evil.example"}))

    assert (visit.status, visit.json["error"]) == (403, "This origin is not allowed.")


HOSTS = [
    pytest.param("localhost:3000", 200, id="localhost"),
    pytest.param("LOCALHOST", 200, id="in capitals"),
    pytest.param("127.0.0.1:3000", 200, id="an address"),
    pytest.param("[::1]:3000", 200, id="an address of six"),
    pytest.param("box.example:3000", 200, id="one that was allowed"),
    pytest.param("", 403, id="none"),
    pytest.param("localhost.evil.example", 403, id="one that looks like ours"),
    pytest.param("evil.example:3000@localhost", 403, id="ours behind a user and a password"),
    pytest.param("localhost@evil.example", 403, id="another one behind ours"),
    pytest.param("[::1", 403, id="half an address"),
]


@pytest.mark.parametrize(("host", "status"), HOSTS)
async def test_own_names_and_plain_addresses_are_hosts(host: str, status: int) -> None:
    async with serving_with(DOGUBAKO_ALLOWED_HOSTS="box.example, other.example") as client:
        visit = await client.request("GET", "/healthz", headers={"host": host})

    assert visit.status == status


ORIGINS = [
    pytest.param("http://localhost:8080", 200, id="a page from here"),
    pytest.param("http://127.0.0.1:5173", 200, id="a page from this address"),
    pytest.param("https://evil.example", 403, id="a page from elsewhere"),
    pytest.param("null", 403, id="a page from nowhere"),
    pytest.param("file://", 403, id="a file"),
    pytest.param("chrome-extension://abcdef", 403, id="an extension"),
]


@pytest.mark.parametrize(("origin", "status"), ORIGINS)
@pytest.mark.parametrize("cors", [{}, {"CORS_ENABLED": "true", "CORS_ORIGIN": "*"}], ids=["closed", "open to all"])
async def test_mcp_always_asks_where_a_page_came_from(cors: dict[str, str], origin: str, status: int) -> None:
    async with serving_with(**cors) as client:
        visit = await _mcp(client, origin=origin)

    assert visit.status == status


async def test_a_page_that_was_named_may_use_mcp_and_no_other_may() -> None:
    async with serving_with(CORS_ENABLED="true", CORS_ORIGIN="https://app.example,*") as client:
        named, other = await _mcp(client, origin="https://app.example"), await _mcp(client, origin="https://x.example")

    assert (named.status, other.status) == (200, 403)


async def test_open_cors_lets_pages_read_rest_answers() -> None:
    async with serving_with(CORS_ENABLED="true") as client:
        asked = {
            "origin": "https://app.example",
            "access-control-request-method": "PATCH",
            "access-control-request-headers": "content-type",
        }
        before = await client.request("OPTIONS", "/v1/tools/echo", headers=asked)
        answer = await client.request("GET", "/v1/tools", headers={"origin": "https://app.example"})
        refused = await client.request("GET", "/nowhere", headers={"origin": "https://app.example"})

    assert before.status == 200 and "PATCH" in before.headers["access-control-allow-methods"]
    assert answer.headers["access-control-allow-origin"] == "*"
    # A page must be able to read what went wrong, too.
    assert (refused.status, refused.headers.get("access-control-allow-origin")) == (404, "*")


async def test_cors_for_one_site_is_for_that_site_only() -> None:
    async with serving_with(CORS_ENABLED="true", CORS_ORIGIN="https://app.example") as client:
        named = await client.request("GET", "/v1/tools", headers={"origin": "https://app.example"})
        other = await client.request("GET", "/v1/tools", headers={"origin": "https://evil.example"})

    assert named.headers["access-control-allow-origin"] == "https://app.example"
    assert "access-control-allow-origin" not in other.headers


async def test_without_cors_no_page_is_invited(web: Client) -> None:
    visit = await web.get("/v1/tools")

    assert not [name for name in visit.headers if name.startswith("access-control")]


@pytest.mark.slow
def test_whoever_means_it_may_serve_others_under_names_that_were_allowed(tmp_path: Path) -> None:
    settings = {"HOST": "0.0.0.0", "DOGUBAKO_ALLOWED_HOSTS": "box.example"}
    with serving(WORKBENCH, folder=tmp_path, words=["--allow-unauthenticated"], settings=settings) as server:
        url = server.url().replace("0.0.0.0", "127.0.0.1")
        statuses = [
            httpx2.get(url, headers={"host": host}, timeout=PATIENCE).status_code
            for host in ("127.0.0.1", "box.example", "evil.example")
        ]

    assert statuses == [200, 200, 403]


@pytest.mark.slow
@pytest.mark.parametrize("host", ["0.0.0.0", "box.example"])
def test_a_server_that_others_can_reach_needs_a_word_that_it_is_meant(host: str, tmp_path: Path) -> None:
    ended = run("serve", "--port", "0", folder=tmp_path, settings={"HOST": host})

    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1] == (
        f"dogubako: HOST is {host}, which others can reach, and authentication is off. "
        "Use HOST=127.0.0.1, set DOGUBAKO_AUTH=keys, or say --allow-unauthenticated if that is what you want."
    )
