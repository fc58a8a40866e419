"""Signing in: the cookie, what it holds, and when it ends."""

import os
import re
import time
from base64 import urlsafe_b64decode
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dogubako.app import Toolbox
from dogubako.gate.api_keys import KeyStore
from dogubako.transports.console import ended_sessions
from tests.gate.authorization_server import AuthorizationServer
from tests.gate.guarded import guarded_box
from tests.gate.token_gate import token_box

from .browser import Browser, browsing, text_of

COOKIE = "dogubako_console"


@pytest.fixture
def box(tmp_path: Path) -> Toolbox:
    return guarded_box(tmp_path)


@pytest.fixture
def store(box: Toolbox) -> KeyStore:
    return KeyStore(box.settings.data_dir)


@pytest.fixture
async def browser(box: Toolbox) -> AsyncIterator[Browser]:
    async with browsing(box) as one:
        yield one


async def test_a_key_opens_the_console_and_its_cookie_does_not_hold_it(browser: Browser, store: KeyStore) -> None:
    secret, key = store.create("ann", ["read"])

    signed_in = await browser.sign_in(secret)

    assert (signed_in.status, signed_in.headers["location"]) == (303, "/console")
    cookie = signed_in.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/console"} <= {part.strip() for part in cookie.split(";")}
    sealed = urlsafe_b64decode(browser.cookies[COOKIE])
    assert not any(part.encode() in sealed for part in (secret, key.id, "ann"))
    assert "ann" in (await browser.get("/console")).body.decode()


async def test_over_tls_the_cookie_is_for_tls_alone(browser: Browser, store: KeyStore) -> None:
    await browser.get("/console/sign-in")
    fields = {"key": store.create("ann", ["read"])[0], "back": "/console"}

    visit = await browser.post("/console/sign-in", fields, origin="https://127.0.0.1:3000")

    assert "Secure" in visit.headers["set-cookie"]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        pytest.param("", "An API key is required.", id="empty"),
        pytest.param("dgb_00000000_wrong", "The API key is not valid.", id="unknown"),
        pytest.param("鍵", "The API key is not valid.", id="not a key at all"),
        pytest.param("x" * 9_000, "The API key is not valid.", id="very long"),
    ],
)
async def test_a_wrong_key_opens_nothing(browser: Browser, key: str, message: str) -> None:
    visit = await browser.sign_in(key)

    assert visit.status == 401
    assert message in text_of(visit) or key == ""
    assert (await browser.get("/console")).status == 401


async def test_a_stolen_cookie_ends_with_its_key(browser: Browser, store: KeyStore, box: Toolbox) -> None:
    secret, key = store.create("ann", ["admin"])
    await browser.sign_in(secret)
    stolen = dict(browser.cookies)
    assert (await browser.get("/console/settings")).status == 200

    store.revoke(key.id)
    box.authenticator._keys._looked = float("-inf")  # type: ignore[attr-defined]

    browser.cookies = stolen
    visit = await browser.get("/console/settings")
    assert (visit.status, "The API key is revoked." in text_of(visit)) == (401, True)


async def test_signing_in_makes_a_new_session_and_signing_out_ends_it(browser: Browser, store: KeyStore) -> None:
    await browser.get("/console/sign-in")
    before = browser.cookies[COOKIE]
    await browser.sign_in(store.create("ann", ["read"])[0])
    during = browser.cookies[COOKIE]
    await browser.get("/console")

    left = await browser.post("/console/sign-out")

    assert before != during
    assert left.status == 303
    assert (await browser.get("/console")).status == 401


async def test_signing_out_ends_every_copy_of_the_cookie(browser: Browser, store: KeyStore, tmp_path: Path) -> None:
    secret, _ = store.create("ann", ["admin"])
    await browser.sign_in(secret)
    copied, token = dict(browser.cookies), ""
    # Another process of the same server: it shares the data folder.
    async with browsing(guarded_box(tmp_path)) as thief:
        thief.cookies = dict(copied)
        assert (await thief.get("/console/settings")).status == 200
        token = thief.csrf
        await browser.get("/console")

        await browser.post("/console/sign-out")

        thief.cookies = dict(copied)
        assert (await thief.get("/console/settings")).status == 401
        thief.cookies = dict(copied)
        form = await thief.post("/console/tools/echo", {"text": "hello"}, csrf=token)
        thief.cookies = dict(copied)
        stream = await thief.get("/console/events")
        browser.cookies = dict(copied)
        assert (form.status, stream.status, (await browser.get("/console/settings")).status) == (401, 401, 401)
    await browser.sign_in(secret)
    assert (await browser.get("/console/settings")).status == 200


async def test_signing_out_ends_this_session_and_no_other_one(browser: Browser, store: KeyStore) -> None:
    secret, _ = store.create("ann", ["read"])
    await browser.sign_in(secret)
    elsewhere = dict(browser.cookies)
    browser.cookies = {}
    await browser.sign_in(secret)
    await browser.get("/console")

    await browser.post("/console/sign-out")

    browser.cookies = elsewhere
    assert (await browser.get("/console")).status == 200


async def test_signing_in_again_ends_the_session_before(browser: Browser, store: KeyStore) -> None:
    secret, _ = store.create("ann", ["read"])
    await browser.sign_in(secret)
    first = dict(browser.cookies)

    await browser.sign_in(secret)

    assert (await browser.get("/console")).status == 200
    browser.cookies = first
    assert (await browser.get("/console")).status == 401


async def test_who_signs_out_very_often_leaves_few_files(
    browser: Browser, store: KeyStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ended_sessions, "MOST_PER_SUBJECT", 3)
    secret, _ = store.create("ann", ["read"])
    copies = []
    for _ in range(6):
        await browser.sign_in(secret)
        copies.append(dict(browser.cookies))
        await browser.get("/console")
        await browser.post("/console/sign-out")
        assert len(list((tmp_path / ended_sessions.FOLDER).iterdir())) <= 4

    for copy in copies:
        browser.cookies = copy
        assert (await browser.get("/console")).status == 401
    await browser.sign_in(secret)
    assert (await browser.get("/console")).status == 200


async def test_files_of_sessions_that_have_expired_are_removed(
    browser: Browser, store: KeyStore, tmp_path: Path
) -> None:
    folder = tmp_path / ended_sessions.FOLDER
    folder.mkdir()
    (folder / "old").touch()
    os.utime(folder / "old", (0, 0))
    await browser.sign_in(store.create("ann", ["read"])[0])
    await browser.get("/console")

    await browser.post("/console/sign-out")

    assert not (folder / "old").exists()
    assert len(list(folder.iterdir())) == 1


async def test_where_nothing_can_be_written_the_session_ends_in_this_process_and_the_page_says_so(
    browser: Browser, store: KeyStore, tmp_path: Path
) -> None:
    (tmp_path / ended_sessions.FOLDER).write_text("not a folder")
    await browser.sign_in(store.create("ann", ["read"])[0])
    await browser.get("/console")
    copied = dict(browser.cookies)

    left = await browser.post("/console/sign-out")

    assert "You are signed out here" in text_of(left)
    assert (await browser.get("/console")).status == 401
    browser.cookies = copied
    assert (await browser.get("/console")).status == 401


@pytest.mark.parametrize("change", [lambda text: text[:-4] + "AAAA", lambda text: "x", lambda text: text * 30])
async def test_a_changed_cookie_is_no_session(browser: Browser, store: KeyStore, change: object) -> None:
    await browser.sign_in(store.create("ann", ["admin"])[0])
    assert callable(change)
    browser.cookies[COOKIE] = change(browser.cookies[COOKIE])

    assert (await browser.get("/console/settings")).status == 401


async def test_a_cookie_of_another_server_is_no_session(browser: Browser, store: KeyStore, tmp_path: Path) -> None:
    await browser.sign_in(store.create("ann", ["admin"])[0])

    async with browsing(guarded_box(tmp_path / "other")) as other:
        other.cookies = browser.cookies
        assert (await other.get("/console")).status == 401


async def test_the_cookie_opens_no_other_transport(browser: Browser, store: KeyStore) -> None:
    await browser.sign_in(store.create("ann", ["admin"])[0])

    assert [(await browser.get(path, accept="*/*")).status for path in ("/", "/v1/tools", "/metrics")] == [401] * 3


@pytest.mark.parametrize(("valid_for", "most"), [(60, 60), (86_400, 3_600)])
async def test_an_access_token_opens_the_console_until_it_expires_or_for_an_hour(
    tmp_path: Path, valid_for: int, most: int
) -> None:
    server = AuthorizationServer()
    async with browsing(token_box(server, tmp_path)) as browser:
        signed_in = await browser.sign_in(server.token(scope="read", exp=int(time.time()) + valid_for))

        assert signed_in.status == 303
        age = re.search(r"Max-Age=(\d+)", signed_in.headers["set-cookie"])
        assert age is not None
        # A busy machine may have spent some of the time already.
        assert 0 < int(age[1]) <= most
        assert (await browser.get("/console")).status == 200
        assert (await browser.get("/console/settings")).status == 403


async def test_who_signs_in_comes_back_to_the_very_page(browser: Browser, store: KeyStore) -> None:
    asked = (await browser.get("/console/calls?tool=echo&hours=24")).body.decode()

    assert 'name="back" value="/console/calls?tool=echo&amp;hours=24"' in asked


async def test_without_a_session_nobody_learns_which_pages_there_are(browser: Browser) -> None:
    assert (await browser.get("/console/nowhere")).status == 401
