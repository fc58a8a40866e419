"""Signing in through the authorization server, and what somebody may try with it."""

import re
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import jwt
import pytest

from dogubako.settings import SettingsError
from dogubako.transports.console.issuer_sign_in import COOKIE as PENDING
from tests.doors.asgi import Visit
from tests.gate.authorization_server import AUTHORIZE, ISSUER, AuthorizationServer
from tests.gate.token_gate import token_box

from .browser import Browser, browsing, text_of

SESSION = "dogubako_console"
CALLBACK = "/console/callback"
NOT_ACCEPTED = "The authorization server did not accept this sign-in."
OTHER_SIGN_IN = "This answer belongs to another sign-in."
NOT_VALID = "The access token is not valid."


@pytest.fixture
def server() -> AuthorizationServer:
    return AuthorizationServer()


@pytest.fixture
async def browser(server: AuthorizationServer, tmp_path: Path) -> AsyncIterator[Browser]:
    async with browsing(token_box(server, tmp_path, DOGUBAKO_OAUTH_CLIENT_ID="console")) as one:
        yield one


async def _start(browser: Browser, back: str = "/console/calls") -> str:
    """Follow the link of the sign-in page; the address at the authorization server."""
    page = (await browser.get(f"/console/sign-in?{urlencode({'back': back})}")).body.decode()
    link = re.search(r'<a class="button" href="https://tools\.example([^"]+)"', page)
    assert link is not None
    started = await browser.get(link[1].replace("&amp;", "&"))
    assert started.status == 303
    return started.headers["location"]


async def _come_back(browser: Browser, answer: dict[str, str]) -> Visit:
    return await browser.get(f"{CALLBACK}?{urlencode({**answer, 'again': '1'})}")


async def _refused(browser: Browser, answer: dict[str, str]) -> str:
    """Come back with this answer, see no session, and return what the page says."""
    visit = await _come_back(browser, answer)
    assert visit.status == 401
    assert (await browser.get("/console/calls")).status == 401
    return text_of(visit)


async def test_who_signs_in_there_comes_back_to_the_page_that_was_wanted(
    browser: Browser, server: AuthorizationServer
) -> None:
    address = await _start(browser)
    asked = dict(parse_qsl(urlsplit(address).query))

    done = await _come_back(browser, server.approve(address))

    assert address.startswith(f"{AUTHORIZE}?")
    assert asked["redirect_uri"] == "https://tools.example/console/callback"
    assert (asked["resource"], asked["scope"], "nonce" in asked) == (
        "https://tools.example/mcp",
        "read write admin",
        False,
    )
    assert (done.status, done.headers["location"]) == (303, "/console/calls")
    assert "somebody" in (await browser.get("/console/settings")).body.decode()


async def test_cookies_of_a_sign_in_are_strict_short_and_for_tls(browser: Browser, server: AuthorizationServer) -> None:
    await browser.get("/console/sign-in")
    started = await browser.get("/console/sign-in/start")
    cookie = started.headers["set-cookie"]
    address = started.headers["location"]
    sealed = browser.cookies[PENDING]

    done = await _come_back(browser, server.approve(address))

    wanted = {"HttpOnly", "SameSite=strict", "Secure", "Path=/console/callback", "Max-Age=600"}
    assert wanted <= {part.strip() for part in cookie.split(";")}
    assert dict(parse_qsl(urlsplit(address).query))["state"] not in sealed
    cookies = [value.decode() for name, value in done.sent[0]["headers"] if name == b"set-cookie"]
    assert {one.split("=")[0]: "Secure" in one for one in cookies} == {SESSION: True, PENDING: True}
    assert browser.cookies[PENDING] == ""


@pytest.mark.parametrize("methods", [None, ["client_secret_post"]])
async def test_a_confidential_client_shows_its_secret(
    server: AuthorizationServer, tmp_path: Path, methods: list[str] | None
) -> None:
    server.secret = "s3cret: +/ä"
    server.description["token_endpoint_auth_methods_supported"] = methods
    settings = {"DOGUBAKO_OAUTH_CLIENT_ID": "console", "DOGUBAKO_OAUTH_CLIENT_SECRET": server.secret}
    async with browsing(token_box(server, tmp_path, **settings)) as browser:
        assert (await _come_back(browser, server.approve(await _start(browser)))).status == 303
        assert (await browser.get("/console")).status == 200


async def test_a_forged_state_opens_nothing_and_asks_nobody(browser: Browser, server: AuthorizationServer) -> None:
    answer = server.approve(await _start(browser))

    said = await _refused(browser, {**answer, "state": "x" * 43})

    assert OTHER_SIGN_IN in said
    assert server.asked["/token"] == 0
    # The sign-in is over: the right state does not help any more.
    assert "No sign-in was begun in this browser" in await _refused(browser, answer)


async def test_the_code_of_somebody_else_is_not_taken_in_my_browser(
    browser: Browser, server: AuthorizationServer
) -> None:
    mallory = Browser(browser._client)
    planted = server.approve(await _start(mallory))

    assert "No sign-in was begun in this browser" in await _refused(browser, planted)
    mine = dict(parse_qsl(urlsplit(await _start(browser)).query))["state"]
    # With my own state, the code fails for the verifier that only Mallory's browser has.
    assert NOT_ACCEPTED in await _refused(browser, {**planted, "state": mine})


async def test_a_code_counts_once(browser: Browser, server: AuthorizationServer) -> None:
    answer = server.approve(await _start(browser))
    pending = browser.cookies[PENDING]
    assert (await _come_back(browser, answer)).status == 303

    browser.cookies = {PENDING: pending}

    assert NOT_ACCEPTED in await _refused(browser, answer)


@pytest.mark.parametrize("change", [lambda text: text[:-4] + "AAAA", lambda text: "x", lambda text: text * 30])
async def test_a_changed_cookie_is_no_sign_in(browser: Browser, server: AuthorizationServer, change: Any) -> None:
    answer = server.approve(await _start(browser))
    browser.cookies[PENDING] = change(browser.cookies[PENDING])

    assert "No sign-in was begun in this browser" in await _refused(browser, answer)


async def test_one_kind_of_cookie_is_not_taken_for_the_other(browser: Browser, server: AuthorizationServer) -> None:
    answer = server.approve(await _start(browser))
    pending, browser.cookies[SESSION] = browser.cookies[PENDING], browser.cookies[PENDING]
    assert (await browser.get("/console/calls")).status == 401

    browser.cookies[PENDING] = browser.cookies[SESSION]

    assert browser.cookies[PENDING] != pending
    assert "No sign-in was begun in this browser" in await _refused(browser, answer)


async def test_a_sign_in_that_took_too_long_is_over(
    browser: Browser, server: AuthorizationServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = server.approve(await _start(browser))
    later = time.time() + 601
    monkeypatch.setattr("dogubako.transports.console.session.time.time", lambda: later)

    assert "or it took too long" in text_of(await _come_back(browser, answer))


@pytest.mark.parametrize(
    "back", ["https://evil.example/", "//evil.example", "/console\\@evil.example", "/v1/tools", "/consoles", ""]
)
async def test_nobody_is_sent_elsewhere_afterwards(browser: Browser, server: AuthorizationServer, back: str) -> None:
    started = await browser.get(f"/console/sign-in/start?{urlencode({'back': back})}")

    done = await _come_back(browser, server.approve(started.headers["location"]))

    assert (done.status, done.headers["location"]) == (303, "/console")


@pytest.mark.parametrize("named", ["https://evil.example", "", ISSUER + "/"])
async def test_an_answer_of_another_issuer_is_refused(
    browser: Browser, server: AuthorizationServer, named: str
) -> None:
    said = await _refused(browser, {**server.approve(await _start(browser)), "iss": named})

    assert "This answer is of another authorization server." in said
    assert server.asked["/token"] == 0


async def test_a_server_that_names_itself_has_to_do_so(browser: Browser, server: AuthorizationServer) -> None:
    server.description["authorization_response_iss_parameter_supported"] = True

    assert "another authorization server" in await _refused(browser, server.approve(await _start(browser)))
    answer = {**server.approve(await _start(browser)), "iss": ISSUER}
    assert (await _come_back(browser, answer)).status == 303


@pytest.mark.parametrize(
    "claims",
    [
        pytest.param({"aud": "https://other.example/mcp"}, id="another audience"),
        pytest.param({"iss": "https://evil.example"}, id="another issuer"),
        pytest.param({"kid": "unknown", "headers": {"kid": "unknown"}}, id="an unknown key"),
    ],
)
async def test_a_token_that_is_not_for_us_opens_nothing(
    browser: Browser, server: AuthorizationServer, claims: dict[str, Any]
) -> None:
    server.claims = claims

    assert NOT_VALID in await _refused(browser, server.approve(await _start(browser)))


@pytest.mark.parametrize("members", [{"token_type": "DPoP"}, {"access_token": None}, {"access_token": "opaque"}])
async def test_something_else_than_a_bearer_token_of_ours_opens_nothing(
    browser: Browser, server: AuthorizationServer, members: dict[str, Any]
) -> None:
    server.answer_members = members

    await _refused(browser, server.approve(await _start(browser)))


async def test_a_stolen_cookie_ends_with_its_token(
    browser: Browser, server: AuthorizationServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.claims = {"exp": int(time.time()) + 300}
    await _come_back(browser, server.approve(await _start(browser)))
    assert (await browser.get("/console/settings")).status == 200
    later = time.time() + 301
    monkeypatch.setattr("dogubako.transports.console.session.time.time", lambda: later)

    assert (await browser.get("/console/settings")).status == 401


async def test_the_scopes_of_the_token_count(browser: Browser, server: AuthorizationServer) -> None:
    server.claims = {"scope": "read"}
    await _come_back(browser, server.approve(await _start(browser)))

    assert [(await browser.get(f"/console{path}")).status for path in ("", "/settings")] == [200, 403]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ("access_denied", "The authorization server did not let you in."),
        ("<script>alert(1)</script> call 555-0100", "The sign-in was not finished at the authorization server."),
    ],
)
async def test_a_refusal_is_told_in_our_words(
    browser: Browser, server: AuthorizationServer, error: str, message: str
) -> None:
    state = server.approve(await _start(browser))["state"]

    said = await _refused(browser, {"state": state, "error": error, "error_description": "call 555-0100"})

    assert message in said
    assert "555-0100" not in said


@pytest.mark.parametrize(
    ("id_claims", "accepted"),
    [
        ({}, True),
        ({"nonce": "another"}, False),
        ({"aud": "another"}, False),
        ({"iss": "https://evil.example"}, False),
        (None, False),
    ],
)
async def test_an_id_token_has_to_be_of_this_sign_in(
    server: AuthorizationServer, tmp_path: Path, id_claims: dict[str, str] | None, accepted: bool
) -> None:
    settings = {"DOGUBAKO_OAUTH_CLIENT_ID": "console", "DOGUBAKO_OAUTH_SCOPE": "openid read"}
    async with browsing(token_box(server, tmp_path, **settings)) as browser:
        address = await _start(browser)
        nonce = dict(parse_qsl(urlsplit(address).query))["nonce"]
        claims = {"iss": ISSUER, "aud": "console", "nonce": nonce, **(id_claims or {})}
        made = jwt.encode(claims, "x" * 32) if id_claims is not None else "no token"
        server.answer_members = {"id_token": made}

        visit = await _come_back(browser, server.approve(address))

        assert (visit.status == 303) is accepted


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"issuer": "https://evil.example"}, id="another issuer"),
        pytest.param({"authorization_endpoint": "http://id.example/authorize"}, id="not encrypted"),
        pytest.param({"token_endpoint": "http://id.example/token"}, id="token not encrypted"),
        pytest.param({"authorization_endpoint": "javascript:alert(1)"}, id="a script"),
        pytest.param({"authorization_endpoint": 7}, id="a number"),
    ],
)
async def test_a_description_that_cannot_be_trusted_sends_nobody_anywhere(
    browser: Browser, server: AuthorizationServer, change: dict[str, Any]
) -> None:
    server.description |= change

    visit = await browser.get("/console/sign-in/start")

    assert (visit.status, "location" in visit.headers) == (502, False)
    assert "Nobody can sign in now" in text_of(visit)


async def test_a_crowd_that_begins_to_sign_in_asks_the_server_once(
    browser: Browser, server: AuthorizationServer
) -> None:
    for _ in range(20):
        await browser.get("/console/sign-in/start")

    assert sum(server.asked.values()) == 1


async def test_without_a_client_id_there_is_no_such_way_in(server: AuthorizationServer, tmp_path: Path) -> None:
    async with browsing(token_box(server, tmp_path)) as browser:
        page = await browser.get("/console/sign-in")
        statuses = [(await browser.get(path)).status for path in ("/console/sign-in/start", f"{CALLBACK}?again=1")]

    assert b"sign-in/start" not in page.body
    assert statuses == [404, 404]


async def test_a_link_of_another_site_neither_ends_a_session_nor_needs_a_new_one(
    browser: Browser, server: AuthorizationServer
) -> None:
    """A browser that follows such a link does not send strict cookies."""
    await _come_back(browser, server.approve(await _start(browser)))
    kept, browser.cookies = browser.cookies, {}

    linked = await browser.get("/console/calls?tool=%22%3E&hours=24", sec_fetch_site="cross-site")

    assert (linked.status, "set-cookie" in linked.headers) == (200, False)
    assert b'content="0; url=/console/calls?tool=%22%3E&amp;hours=24"' in linked.body
    browser.cookies = kept
    assert (await browser.get("/console/calls?tool=%22%3E&hours=24", sec_fetch_site="same-origin")).status == 200


async def test_the_browser_that_comes_back_loads_the_address_again_from_our_site(
    browser: Browser, server: AuthorizationServer
) -> None:
    answer = server.approve(await _start(browser))
    kept, browser.cookies = browser.cookies, {}

    first = await browser.get(f"{CALLBACK}?{urlencode(answer)}", sec_fetch_site="cross-site")

    assert (first.status, "set-cookie" in first.headers) == (200, False)
    again = re.search(rb'content="0; url=([^"]+)"', first.body)
    assert again is not None
    browser.cookies = kept
    assert (await browser.get(again[1].decode().replace("&amp;", "&"))).status == 303


async def test_doctor_names_the_address_that_the_issuer_has_to_know(
    server: AuthorizationServer, tmp_path: Path
) -> None:
    found = {}
    for endpoint in (AUTHORIZE, "http://id.example/authorize"):
        server.description["authorization_endpoint"] = endpoint
        box = token_box(server, tmp_path, DOGUBAKO_OAUTH_CLIENT_ID="console")
        async with box.authenticator.running():
            found[endpoint] = [(one.ok, one.message) for one in await box.authenticator.check()][-1]

    good, bad = found.values()
    assert good == (
        True,
        f"people sign in at {ISSUER}, which sends them back to https://tools.example/console/callback",
    )
    assert bad == (False, "Nobody can sign in now: the authorization server does not describe itself.")


def test_a_secret_without_a_client_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="DOGUBAKO_OAUTH_CLIENT_SECRET needs DOGUBAKO_OAUTH_CLIENT_ID"):
        token_box(AuthorizationServer(), tmp_path, DOGUBAKO_OAUTH_CLIENT_SECRET="s3cret")


async def test_the_client_secret_is_masked(server: AuthorizationServer, tmp_path: Path) -> None:
    settings = {"DOGUBAKO_OAUTH_CLIENT_ID": "console", "DOGUBAKO_OAUTH_CLIENT_SECRET": "s3cret-of-the-console"}
    server.secret = settings["DOGUBAKO_OAUTH_CLIENT_SECRET"]
    async with browsing(token_box(server, tmp_path, **settings)) as browser:
        await _come_back(browser, server.approve(await _start(browser)))
        page = (await browser.get("/console/settings")).body.decode()

    assert "DOGUBAKO_OAUTH_CLIENT_SECRET" in page
    assert server.secret not in page
