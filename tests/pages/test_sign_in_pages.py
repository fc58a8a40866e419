"""Signing in at an authorization server of another site, in a real Chromium that keeps strict cookies back."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.doors.processes import PATIENCE, WORKBENCH, serving
from tests.gate.issuer_service import IssuerService, issuing
from tests.redis_server import free_port

from .browser_server import SHOTS, axe_source, chromium, violations

pytestmark = pytest.mark.browser


@pytest.fixture
def issuer() -> Iterator[IssuerService]:
    with issuing("localhost") as one:
        yield one


@pytest.fixture
def url(issuer: IssuerService, tmp_path: Path) -> Iterator[str]:
    port = free_port()
    own = f"http://127.0.0.1:{port}"
    settings = {
        **issuer.settings(),
        "DOGUBAKO_OAUTH_AUDIENCE": f"{own}/mcp",
        "DOGUBAKO_OAUTH_CLIENT_ID": "console",
    }
    with serving(WORKBENCH, folder=tmp_path, words=["--port", str(port)], settings=settings) as server:
        server.url()
        yield own
        server.signal(signal.SIGTERM)
        server.wait()


@pytest.mark.parametrize("javascript", [True, False])
def test_a_person_signs_in_there_and_a_link_elsewhere_keeps_the_session(
    issuer: IssuerService, url: str, javascript: bool
) -> None:
    with chromium() as browser:
        page = browser.new_context(locale="en", java_script_enabled=javascript).new_page()
        page.set_default_timeout(PATIENCE * 1000)
        page.goto(f"{url}/console/calls?hours=6")
        if javascript:
            assert violations(page, axe_source()) == []
            page.screenshot(path=str(SHOTS / "sign-in-at-issuer.png"))

        page.get_by_role("link", name="Sign in at").click()

        expect(page.locator("h1")).to_have_text("Calls")
        assert page.url == f"{url}/console/calls?hours=6"
        expect(page.locator(".who .name")).to_have_text("somebody")
        _follow_a_link_of_another_site(page, f"{issuer.origin}/page", f"{url}/console/settings")
        expect(page.locator("h1")).to_have_text("Settings")
        page.goto(f"{url}/console/calls")
        expect(page.locator(".who .name")).to_have_text("somebody")


def _follow_a_link_of_another_site(page: Page, there: str, target: str) -> None:
    page.route(there, lambda route: route.fulfill(body=f'<a href="{target}">here</a>', content_type="text/html"))
    page.goto(there)
    page.get_by_role("link", name="here").click()
