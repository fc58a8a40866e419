"""CSRF: a form counts only with the token of its session, from our own pages."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dogubako.app import Toolbox
from dogubako.gate.api_keys import KeyStore
from tests.gate.guarded import guarded_box

from .browser import Browser, browsing, text_of

ACTIONS = {
    "/console/tools/echo": {"arg.text": "x"},
    "/console/tools/echo/switch": {"enabled": "no"},
    "/console/keys": {"name": "mallory", "scope": "admin"},
    "/console/keys/00000000/revoke": {},
    "/console/sign-out": {},
    "/console/preferences": {"theme": "dark"},
}


@pytest.fixture(params=["off", "keys"])
def box(tmp_path: Path, request: pytest.FixtureRequest) -> Toolbox:
    return guarded_box(tmp_path, DOGUBAKO_AUTH=request.param)


@pytest.fixture
async def browser(box: Toolbox) -> AsyncIterator[Browser]:
    async with browsing(box) as one:
        if box.settings.auth == "keys":
            await one.sign_in(KeyStore(box.settings.data_dir).create("eve", ["admin"])[0])
        await one.get("/console")
        yield one


@pytest.mark.parametrize("token", ["", "0" * 64, "é"])
@pytest.mark.parametrize("path", ACTIONS)
async def test_a_form_without_its_token_does_nothing(browser: Browser, box: Toolbox, path: str, token: str) -> None:
    visit = await browser.post(path, ACTIONS[path], csrf=token)

    assert (visit.status, "This form has expired; nothing was done." in text_of(visit)) == (403, True)
    assert box.registry.get("echo").enabled
    assert [key.name for key in KeyStore(box.settings.data_dir).all()] in ([], ["eve"])


async def test_the_token_of_another_session_does_not_count(browser: Browser, box: Toolbox) -> None:
    other = Browser(browser._client)
    await other.get("/console/sign-in")
    assert other.csrf != browser.csrf

    assert (await browser.post("/console/preferences", {"theme": "dark"}, csrf=other.csrf)).status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_a_form_of_another_site_does_nothing_even_with_the_token(browser: Browser, site: str) -> None:
    visit = await browser.post("/console/preferences", {"theme": "dark"}, sec_fetch_site=site)

    assert visit.status == 403


async def test_a_form_of_another_origin_is_refused_at_the_door(browser: Browser) -> None:
    assert (await browser.post("/console/preferences", {"theme": "dark"}, origin="https://evil.example")).status == 403


async def test_a_json_body_is_no_form(browser: Browser) -> None:
    visit = await browser.post("/console/preferences", {"theme": "dark"}, content_type="text/plain")

    assert visit.status == 403
