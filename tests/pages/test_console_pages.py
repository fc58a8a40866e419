"""The console in a real Chromium: both languages, both colour schemes, both sizes, and accessible by axe-core."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, Dialog, Page, expect

from tests.doors.processes import PATIENCE

from .browser_server import SHOTS, SIZES, axe_source, chromium, served, violations

pytestmark = pytest.mark.browser

PAGES = {
    "tools": "/",
    "search": "/console?q=find+open+issues",
    "nothing-found": "/console?state=disabled&effect=destroy",
    "tool": "/console/tools/list_issues",
    "example": "/console/tools/list_issues?example=1",
    "hostile": "/console/tools/hostile_text",
    "calls": "/console/calls",
    "tasks": "/console/tasks",
    "services": "/console/services",
    "keys": "/console/keys",
    "audit": "/console/audit",
    "settings": "/console/settings?show=all",
    "connect": "/console/connect",
    "sign-in": "/console/sign-in",
    "missing": "/console/nowhere",
}
HARMLESS = "Failed to load resource: the server responded with a status of"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("server")) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as one:
        yield one


def _watched(page: Page) -> list[str]:
    """Everything that a page must not do: open dialogs, break, or try what the policy forbids."""
    said: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        said.append(f"dialog {dialog.message}")
        dialog.dismiss()

    page.on("dialog", dismiss)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", lambda line: said.append(line.text) if not line.text.startswith(HARMLESS) else None)
    return said


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "ja"])
def test_every_page_is_accessible_and_runs_nothing_of_others(
    browser: Browser, url: str, language: str, scheme: str, size: str
) -> None:
    folder = SHOTS / f"{language}-{scheme}-{size}"
    folder.mkdir(parents=True, exist_ok=True)
    context = browser.new_context(viewport=SIZES[size], color_scheme=scheme, locale=language)  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    said, wrong, wide = _watched(page), {}, {}
    source = axe_source()
    for name, path in PAGES.items():
        page.goto(f"{url}{path}")
        page.screenshot(path=str(folder / f"{name}.png"))
        if found := violations(page, source):
            wrong[name] = found
        if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
            wide[name] = page.evaluate("document.documentElement.scrollWidth")
    context.close()

    assert (wrong, said, wide) == ({}, [], {})


def test_a_form_is_filled_sent_and_answered_with_and_without_javascript(browser: Browser, url: str) -> None:
    for javascript in (True, False):
        context = browser.new_context(viewport=SIZES["desktop"], java_script_enabled=javascript, locale="en")
        page = context.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        said = _watched(page)
        page.goto(f"{url}/console/tools/list_issues")
        page.fill("[name='arg.project_id']", "webshop")
        page.fill("[name='arg.limit']", "2")
        page.click("form.arguments > button")
        expect(page.locator("section:has(#answer) .badge").first).to_have_text("OK")
        expect(page.locator("[data-kind=xml]")).to_contain_text("<issues")
        page.screenshot(path=str(SHOTS / f"answer-{'with' if javascript else 'without'}-javascript.png"))
        assert said == []
        context.close()


def test_a_tool_that_deletes_asks_and_then_does_it(browser: Browser, url: str) -> None:
    context = browser.new_context(viewport=SIZES["desktop"], locale="en")
    page = context.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    said = _watched(page)
    page.goto(f"{url}/console/tools/hostile_end")
    page.click("form.arguments > button")
    expect(page.locator(".confirm")).to_be_visible()
    assert violations(page, axe_source()) == []
    page.screenshot(path=str(SHOTS / "confirm.png"))
    page.click(".confirm .danger")
    expect(page.locator("section:has(#answer) .badge").first).to_have_text("OK")
    context.close()

    assert said == []


def test_new_calls_appear_live(browser: Browser, url: str) -> None:
    context = browser.new_context(viewport=SIZES["desktop"], locale="en")
    page = context.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    page.goto(f"{url}/console/calls?tool=picture")
    expect(page.locator(".live")).to_be_visible()
    expect(page.get_by_text("No remembered call fits.")).to_be_visible()

    httpx2.post(f"{url}/v1/tools/call", json={"name": "picture", "parameters": {}}, timeout=PATIENCE)

    expect(page.locator("table.calls tbody tr")).to_have_count(1, timeout=PATIENCE * 1000)
    context.close()


def test_language_and_colours_are_switched_in_the_page(browser: Browser, url: str) -> None:
    context = browser.new_context(viewport=SIZES["desktop"], locale="en", color_scheme="light")
    page = context.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    page.goto(f"{url}/console/calls")
    page.get_by_role("button", name="日本語").click()
    expect(page.locator("h1")).to_have_text("呼び出し")
    page.get_by_role("button", name="ダーク").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 22, 26)"
    context.close()


def test_the_page_of_the_rest_api_calls_a_tool_that_exists(browser: Browser, url: str, tmp_path: Path) -> None:
    context = browser.new_context(viewport=SIZES["desktop"], locale="en")
    page = context.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    said = _watched(page)
    page.goto(f"{url}/docs")
    expect(page.locator("#routes details").first).to_be_visible()
    page.select_option("#tool", "echo")
    page.click("#send")
    expect(page.locator("#answer")).to_contain_text('"success": true')
    assert violations(page, axe_source()) == []
    page.screenshot(path=str(SHOTS / "docs.png"))
    context.close()

    assert said == []


def test_a_task_that_was_started_elsewhere_is_shown(browser: Browser, url: str) -> None:
    body = {"name": "list_issues", "options": {"task": True}}
    begun = httpx2.post(f"{url}/v1/tools/call", json=body, trust_env=False, timeout=PATIENCE)
    assert begun.status_code == 202
    page = browser.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    page.goto(f"{url}/console/tasks")

    row = page.locator("tbody tr", has_text=begun.headers["location"].rpartition("/")[2])
    expect(row).to_contain_text("list_issues")
    page.close()
