"""Pages in browsers, where callers have keys: what they may ask beforehand, read and never change by looking."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dogubako.transports.http.app import HttpApp
from tests.doors import messages
from tests.doors.asgi import Client, Visit, opened

from .authorization_server import METADATA, AuthorizationServer
from .callers import Keyring
from .guarded import guarded_box
from .routes import GUARDED, ROUTES, Route, ask
from .token_gate import token_box

_APP = "https://app.example"
_CORS = {"CORS_ENABLED": "true", "CORS_ORIGIN": f"{_APP},https://two.example"}


@asynccontextmanager
async def serving(keyring: Keyring, **environ: str) -> AsyncIterator[Client]:
    async with opened(HttpApp(guarded_box(keyring.folder, **environ))) as client:
        yield client


def _asking_first(method: str, headers: str, origin: str = _APP) -> dict[str, str]:
    """What a browser sends before the request itself. It never has credentials."""
    return {
        "origin": origin,
        "access-control-request-method": method,
        "access-control-request-headers": headers,
    }


PREFLIGHTS = [
    pytest.param("/v1/tools/call", "POST", "authorization, content-type", id="a call"),
    pytest.param("/v1/tools/echo", "PATCH", "content-type, x-api-key", id="a switch"),
    pytest.param("/v1/tools", "GET", "x-api-key", id="a list"),
    pytest.param("/mcp", "POST", "authorization, content-type, mcp-method, mcp-name, mcp-protocol-version", id="MCP"),
    pytest.param("/mcp", "POST", "authorization, content-type, mcp-session-id, mcp-protocol-version", id="MCP of 2025"),
    pytest.param("/mcp", "DELETE", "authorization, mcp-session-id", id="the end of a session"),
    pytest.param("/mcp", "GET", "authorization, last-event-id, mcp-session-id", id="a stream"),
]


@pytest.mark.parametrize(("path", "method", "headers"), PREFLIGHTS)
async def test_what_a_browser_asks_beforehand_needs_no_key(
    keyring: Keyring, path: str, method: str, headers: str
) -> None:
    async with serving(keyring, **_CORS) as client:
        visit = await client.request("OPTIONS", path, headers=_asking_first(method, headers))

    assert (visit.status, visit.headers["access-control-allow-origin"]) == (200, _APP)
    assert method in visit.headers["access-control-allow-methods"]
    assert {one.strip() for one in headers.split(",")} <= _words(visit, "access-control-allow-headers")


@pytest.mark.parametrize("path", ["/mcp", "/v1/tools/call"])
async def test_a_page_that_was_not_named_is_told_so_beforehand(keyring: Keyring, path: str) -> None:
    asked = _asking_first("POST", "content-type", "https://evil.example")
    async with serving(keyring, **_CORS) as client:
        visit = await client.request("OPTIONS", path, headers=asked)

    assert visit.status in (400, 403)
    assert "access-control-allow-origin" not in visit.headers


async def test_open_cors_opens_rest_and_not_mcp(keyring: Keyring) -> None:
    async with serving(keyring, CORS_ENABLED="true") as client:
        rest = await client.request("OPTIONS", "/v1/tools/call", headers=_asking_first("POST", "authorization"))
        mcp = await client.request("OPTIONS", "/mcp", headers=_asking_first("POST", "authorization"))

    assert (rest.status, rest.headers["access-control-allow-origin"]) == (200, "*")
    assert (mcp.status, "access-control-allow-origin" in mcp.headers) == (403, False)


async def test_without_cors_a_question_beforehand_is_a_request_like_others(web: Client, keyring: Keyring) -> None:
    asked = _asking_first("POST", "authorization", "http://localhost:8080")

    answers = [await web.request("OPTIONS", path, headers=asked) for path in ("/v1/tools/call", "/mcp")]

    assert [(visit.status, _cors_headers(visit)) for visit in answers] == [(401, set()), (401, set())]


FAILURES = [
    pytest.param("GET", "/v1/tools", {}, 401, id="no key"),
    pytest.param("GET", "/nowhere", {}, 401, id="no key and no route"),
    pytest.param("GET", "/nowhere", {"scope": "read"}, 404, id="no route"),
    pytest.param("GET", "/v1/tools/write_n8n", {"scope": "redmine:read"}, 403, id="no scope"),
    pytest.param("POST", "/v1/tools/call", {"scope": "read"}, 415, id="no JSON"),
    pytest.param("POST", "/mcp", {}, 401, id="no key for MCP"),
    pytest.param("PUT", "/mcp", {"scope": "read"}, 405, id="no such method of MCP"),
]


@pytest.mark.parametrize(("method", "path", "caller", "status"), FAILURES)
async def test_a_page_that_may_read_answers_may_read_failures(
    keyring: Keyring, method: str, path: str, caller: Mapping[str, str], status: int
) -> None:
    credentials = keyring.header(caller["scope"]) if caller else {}
    async with serving(keyring, **_CORS) as client:
        visit = await client.request(method, path, headers={"origin": _APP, **credentials})

    assert (visit.status, visit.json["success"]) == (status, False)
    assert visit.headers["access-control-allow-origin"] == _APP
    assert {"www-authenticate", "retry-after"} <= _words(visit, "access-control-expose-headers")


async def test_a_page_learns_where_to_get_a_token(tmp_path: Path) -> None:
    async with opened(HttpApp(token_box(AuthorizationServer(), tmp_path, **_CORS))) as client:
        visit = await client.request("POST", "/mcp", headers={"origin": _APP, **messages.modern_headers("ping")})

    assert visit.headers["www-authenticate"] == f'Bearer resource_metadata="{METADATA}"'
    assert (visit.status, visit.headers["access-control-allow-origin"]) == (401, _APP)


async def test_a_named_page_speaks_mcp_and_sees_its_session(keyring: Keyring) -> None:
    async with serving(keyring, **_CORS) as client:
        opening = messages.request("initialize", messages.initialize())
        headers = {"origin": _APP, **messages.legacy_headers(), **keyring.header("read")}
        visit = await client.request("POST", "/mcp", headers=headers, body=opening)

    assert visit.status == 200 and visit.headers["access-control-allow-origin"] == _APP
    assert visit.headers["mcp-session-id"]
    assert "mcp-session-id" in _words(visit, "access-control-expose-headers")


@pytest.mark.parametrize("credentials", ["x-api-key", "authorization"])
async def test_no_key_helps_a_foreign_page_or_name(web: Client, keyring: Keyring, credentials: str) -> None:
    key = keyring.keys["admin"]
    given = {"x-api-key": key} if credentials == "x-api-key" else {"authorization": f"Bearer {key}"}

    page = await web.request("GET", "/v1/tools", headers={"origin": "https://evil.example", **given})
    name = await web.request("GET", "/v1/tools", headers={"host": "evil.example", **given})

    assert [(visit.status, visit.json["error"]) for visit in (page, name)] == [
        (403, "This origin is not allowed."),
        (403, "This host name is not allowed."),
    ]


@pytest.mark.parametrize("cors", [{}, _CORS], ids=["without CORS", "with CORS"])
@pytest.mark.parametrize("path", ["/", "/docs", "/healthz", "/nowhere", "/mcp", "/v1/tools/call"])
async def test_every_answer_tells_browsers_once_to_be_careful(
    keyring: Keyring, path: str, cors: dict[str, str]
) -> None:
    async with serving(keyring, **cors) as client:
        for credentials in ({}, keyring.header("admin")):
            visit = await client.request("GET", path, headers=credentials)
            names = [name.decode().lower() for name, _ in visit.sent[0]["headers"]]
            for name in ("x-content-type-options", "x-frame-options", "referrer-policy"):
                assert names.count(name) == 1, name
            assert visit.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("route", GUARDED, ids=" ".join)
async def test_open_cors_opens_no_route_to_those_without_a_key(keyring: Keyring, route: Route) -> None:
    async with serving(keyring, CORS_ENABLED="true") as client:
        visit = await ask(client, route, {"origin": "http://localhost:8080"})

    assert (visit.status, visit.json["error"]) == (401, "An API key is required.")


async def test_looking_changes_nothing(keyring: Keyring) -> None:
    door = HttpApp(guarded_box(keyring.folder))
    changes: list[object] = []
    door._inside.registry.subscribe(changes.append)
    door._inside.catalog.subscribe(changes.append)
    calls: list[object] = []
    async with opened(door) as client:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(door._inside.pipeline, "handle", calls.append)
            for route in (one for one in ROUTES if one[0] == "GET"):
                for method in ("GET", "HEAD") if route[1] != "/mcp" else ("GET",):
                    await ask(client, (method, route[1]), keyring.header("admin"))
            for path in ("/v1/tools/call?name=echo", "/v1/tools/search?query=echo", "/v1/tools/echo?enabled=false"):
                await client.request("GET", path, headers=keyring.header("admin"))

    assert (changes, calls) == ([], [])


def _words(visit: Visit, header: str) -> set[str]:
    return {word.strip().lower() for word in visit.headers.get(header, "").split(",")}


def _cors_headers(visit: Visit) -> set[str]:
    return {name for name in visit.headers if name.startswith("access-control")}
