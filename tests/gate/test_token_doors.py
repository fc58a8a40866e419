"""Every route where callers bring tokens; and what a client is told that has none."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from dogubako.settings import SettingsError, Sources
from dogubako.transports.http.app import HttpApp
from tests.doors.asgi import opened

from .authorization_server import AUDIENCE, ISSUER, METADATA, AuthorizationServer
from .callers import KINDS, ONE_OF_TWO, READER, Kind
from .methods import ERAS, METHODS, Era, refused_token_call, refused_token_reading, unknown
from .routes import GUARDED, NO_ROUTES, OPEN, ROUTES, Route, ask, case_of, routes_of, shown
from .seen import body_of, refusal
from .speaking import Speaker, outcome
from .token_gate import token_box

_WELL_KNOWN = "/.well-known/oauth-protected-resource"
_DESCRIPTIONS = (("GET", _WELL_KNOWN), ("GET", f"{_WELL_KNOWN}/mcp"))
NEW_ONE = "Get a new one; the operator's log names the reason."
_HOW = f"{METADATA} names the authorization server."
_CHALLENGE = f'Bearer resource_metadata="{METADATA}"'
# The tool that the matrix calls.
CALLED = str((METHODS["tools/call"].params or {})["name"])

# What a request brings, what is said, the hint, and whether a client should throw its token away.
REFUSED: dict[str, tuple[dict[str, Any], str, str | None, bool]] = {
    "no token": ({}, "An access token is required.", _HOW, False),
    "an empty token": ({"authorization": "Bearer "}, "An access token is required.", _HOW, False),
    "no token at all": ({"authorization": "Bearer abc"}, "The access token is not valid.", NEW_ONE, True),
    "an expired token": ({"exp": 1}, "The access token has expired.", "Get a new one.", True),
    "a token for others": ({"aud": "https://other.example"}, "The access token is not valid.", NEW_ONE, True),
    "a token of others": ({"iss": "https://evil.example"}, "The access token is not valid.", NEW_ONE, True),
    "another scheme": ({"authorization": "Basic YTpi"}, "Only the scheme Bearer is understood here.", ONE_OF_TWO, True),
}


def _credentials(server: AuthorizationServer, which: str) -> dict[str, str]:
    brought = REFUSED[which][0]
    if not brought or "authorization" in brought:
        return brought
    return {"authorization": f"Bearer {server.token(**brought)}"}


def _token(server: AuthorizationServer, kind: Kind) -> dict[str, str]:
    token = server.token(sub=f"a caller with {kind.scope}", scope=" ".join(["openid", *kind.scopes]))
    return kind.credentials(token)


async def test_every_route_is_in_the_matrix_and_two_more_describe_us(tmp_path: Path) -> None:
    door = HttpApp(token_box(AuthorizationServer(), tmp_path))
    async with opened(door):
        assert routes_of(door) == {*ROUTES, *_DESCRIPTIONS}


@pytest.mark.parametrize("which", REFUSED)
async def test_no_route_answers_without_a_good_token(tmp_path: Path, which: str) -> None:
    server = AuthorizationServer()
    _, error, hint, invalid = REFUSED[which]
    expected = refusal(error, "AUTHENTICATION_ERROR", hint), _CHALLENGE + (', error="invalid_token"' if invalid else "")
    async with opened(HttpApp(token_box(server, tmp_path))) as client:
        for route in GUARDED:
            visit = await ask(client, route, _credentials(server, which))
            assert (visit.status, body_of(visit), visit.headers["www-authenticate"]) == (401, *expected), route
        for method, path in NO_ROUTES.keys() - set(_DESCRIPTIONS):
            visit = await client.request(method, path, headers=_credentials(server, which))
            assert (visit.status, visit.json["error"]) == (401, error), path


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.scope)
async def test_a_token_gives_what_its_scopes_give(tmp_path: Path, kind: Kind) -> None:
    server = AuthorizationServer()
    async with opened(HttpApp(token_box(server, tmp_path))) as client:
        credentials = _token(server, kind)
        for route in ROUTES:
            # The second time the token is remembered.
            for _ in range(2):
                visit = await ask(client, route, credentials)
                assert (visit.status, shown(route, visit)) == case_of(route).answers(kind), route


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.scope)
@pytest.mark.parametrize("era", ERAS)
async def test_every_method_gives_what_the_token_gives(tmp_path: Path, era: Era, kind: Kind) -> None:
    server = AuthorizationServer()
    async with opened(HttpApp(token_box(server, tmp_path))) as client:
        speaker = await Speaker(client, _token(server, kind), era).open()
        for method in METHODS.keys() - {"subscriptions/listen"}:
            case = METHODS[method]
            visit = await speaker.ask(method, case.params, case.name)
            assert (visit.status == 403, outcome(visit.response)) == _expected(method, era, kind), method


def _expected(method: str, era: Era, kind: Kind) -> tuple[bool, Any]:
    """Whether the status asks for another token, and the outcome. Other refusals are the same for keys and tokens."""
    case = METHODS[method]
    if method == "tools/call" and not kind.may(CALLED):
        return True, refused_token_call(CALLED, kind)
    if method in ("resources/read", "prompts/get") and "redmine" not in kind.packs:
        return True, refused_token_reading(kind)
    return False, case.answers(kind) if era in case.eras else unknown(method)


@pytest.mark.parametrize("route", OPEN, ids=" ".join)
async def test_probes_need_no_token(tmp_path: Path, route: Route) -> None:
    async with opened(HttpApp(token_box(AuthorizationServer(), tmp_path))) as client:
        visit = await ask(client, route, {"authorization": "Bearer abc"})

    assert (visit.status, body_of(visit)) == case_of(route).answers(READER)


@pytest.mark.parametrize("path", [path for _, path in _DESCRIPTIONS])
async def test_who_has_no_token_learns_where_to_get_one(tmp_path: Path, path: str) -> None:
    async with opened(HttpApp(token_box(AuthorizationServer(), tmp_path))) as client:
        visit = await client.get(path)

    assert (visit.status, visit.json) == (
        200,
        {
            "resource": AUDIENCE,
            "authorization_servers": [ISSUER],
            "scopes_supported": ["read", "write", "destroy", "admin"],
            "bearer_methods_supported": ["header"],
            "resource_name": "dogubako",
        },
    )


ADDRESSES = [
    pytest.param("https://a.example/mcp", f"https://a.example{_WELL_KNOWN}/mcp", id="our path"),
    pytest.param("https://a.example", f"https://a.example{_WELL_KNOWN}", id="a host"),
    pytest.param("https://a.example/", f"https://a.example{_WELL_KNOWN}", id="a host with a slash"),
    pytest.param("https://a.example:8443/x/mcp", f"https://a.example:8443{_WELL_KNOWN}/x/mcp", id="behind a proxy"),
]


@pytest.mark.parametrize(("audience", "address"), ADDRESSES)
async def test_the_description_is_where_the_standard_puts_it(tmp_path: Path, audience: str, address: str) -> None:
    box = token_box(AuthorizationServer(), tmp_path, DOGUBAKO_OAUTH_AUDIENCE=audience)
    async with opened(HttpApp(box)) as client:
        visit = await client.get("/")
        described = await client.get(urlsplit(address).path)

    assert visit.headers["www-authenticate"] == f'Bearer resource_metadata="{address}"'
    assert (described.status, described.json["resource"]) == (200, audience)


@pytest.mark.parametrize("left_out", ["DOGUBAKO_OAUTH_ISSUER", "DOGUBAKO_OAUTH_AUDIENCE"])
def test_tokens_need_to_know_whom_to_trust_and_who_we_are(left_out: str) -> None:
    environ = {
        "DOGUBAKO_AUTH": "oauth",
        "DOGUBAKO_OAUTH_ISSUER": ISSUER,
        "DOGUBAKO_OAUTH_AUDIENCE": AUDIENCE,
    }
    del environ[left_out]

    with pytest.raises(SettingsError, match="DOGUBAKO_AUTH=oauth needs DOGUBAKO_OAUTH_ISSUER and"):
        Sources(environ=environ, env_file=None).load()
