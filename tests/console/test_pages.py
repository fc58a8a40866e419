"""Every page in both languages, without JavaScript, with the headers that keep it safe."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dogubako import Effect, tool
from dogubako.transports.console.page import environment
from dogubako.transports.console.texts import all_texts, preferred
from tests.gate.guarded import guarded_box

from .browser import Browser, browsing, dangers, text_of

PAGES = {
    "/console": ("Tools", "ツール"),
    "/console?q=say+it+again": ("Tools", "ツール"),
    "/console/tools/echo": ("Try it", "試す"),
    "/console/calls": ("Calls", "呼び出し"),
    "/console/tasks": ("Tasks", "タスク"),
    "/console/services": ("Services", "サービス"),
    "/console/keys": ("Keys", "API キー"),
    "/console/keys/00000000/revoke": ("That did not work", "エラーが発生しました"),
    "/console/audit": ("Audit log", "監査ログ"),
    "/console/settings": ("Settings", "設定"),
    "/console/settings?show=all": ("Settings", "設定"),
    "/console/connect": ("Connect", "接続"),
    "/console/sign-in": ("Sign in", "サインイン"),
    "/console/nowhere": ("That did not work", "エラーが発生しました"),
}


@tool(effect=Effect.READ)
async def count(numbers: list[int]) -> int:
    """Add numbers."""
    return sum(numbers)


@pytest.fixture
async def browser(tmp_path: Path) -> AsyncIterator[Browser]:
    async with browsing(guarded_box(tmp_path, count, DOGUBAKO_AUTH="off", DOGUBAKO_AUDIT="true")) as one:
        yield one


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("path", PAGES)
async def test_every_page_speaks_both_languages_and_runs_nothing_of_others(
    browser: Browser, path: str, language: str
) -> None:
    await browser.post("/v1/tools/call")
    browser._language = language

    visit = await browser.get(path)

    page = visit.body.decode()
    assert visit.status == (404 if "That did not" in PAGES[path][0] else 200)
    assert f'<html lang="{language}"' in page
    assert PAGES[path][language == "ja"] in text_of(visit)
    assert dangers(page) == []


@pytest.mark.parametrize("path", PAGES)
async def test_every_page_has_a_strict_policy_and_fits_no_frame(browser: Browser, path: str) -> None:
    headers = (await browser.get(path)).headers

    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert "report-uri /console/csp-report" in policy
    assert (headers["x-frame-options"], headers["cache-control"]) == ("DENY", "no-store")


async def test_a_browser_gets_the_console_at_the_root_and_a_program_gets_json(browser: Browser) -> None:
    person = await browser.get("/")
    program = await browser.get("/", accept="*/*")

    assert (person.status, person.headers["location"]) == (303, "/console")
    assert program.json["status"] == "ok"
    assert "Accept" in person.headers["vary"]


async def test_the_console_can_be_switched_off(tmp_path: Path) -> None:
    async with browsing(guarded_box(tmp_path, DOGUBAKO_AUTH="off", DOGUBAKO_CONSOLE="false")) as browser:
        assert (await browser.get("/")).json["status"] == "ok"
        assert (await browser.get("/console")).status == 404


async def test_language_and_colours_can_be_chosen_without_javascript(browser: Browser) -> None:
    await browser.get("/console")
    changed = await browser.post("/console/preferences", {"language": "ja", "theme": "dark", "back": "/console/calls"})

    page = (await browser.get("/console/calls")).body.decode()

    assert (changed.status, changed.headers["location"]) == (303, "/console/calls")
    assert '<html lang="ja" data-theme="dark">' in page


@pytest.mark.parametrize("back", ["https://evil.example", "//evil.example", "/console\\..\\x", "/v1", "/consolex"])
async def test_a_form_cannot_lead_to_another_place(browser: Browser, back: str) -> None:
    await browser.get("/console")

    visit = await browser.post("/console/preferences", {"theme": "dark", "back": back})

    assert visit.headers["location"] == "/console"


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        pytest.param("ja,en;q=0.8", "ja", id="Japanese first"),
        pytest.param("en-GB,ja;q=0.8", "en", id="English first"),
        pytest.param("de,ja;q=0.3,en;q=0.7", "en", id="by weight"),
        pytest.param("de", "ja", id="neither"),
        pytest.param(";q=x,,ja;q=", "ja", id="nonsense"),
    ],
)
def test_the_browser_says_which_language(accepted: str, language: str) -> None:
    assert preferred(accepted, "ja") == language


def test_every_text_is_in_both_languages_and_used() -> None:
    texts = all_texts()
    folder = Path("src/dogubako/transports/console")
    source = "\n".join(path.read_text() for path in [*folder.rglob("*.html"), *folder.rglob("*.py")])
    used = set(re.findall(r"""\bt\(\s*["']([a-z_]+\.[a-z_0-9]+)["'](?! ~)""", source))
    begun = set(re.findall(r"""\bt\(\s*["']([a-z_]+\.[a-z_]*)["'] ~""", source))

    unused = [key for key in texts if key not in used and not key.startswith(tuple(begun))]

    assert [key for key, both in texts.items() if not all(both)] == []
    assert used - texts.keys() == set()
    assert unused == []
    assert [key for key, (en, ja) in texts.items() if _holes(en) != _holes(ja)] == []


def _holes(text: str) -> set[str]:
    return set(re.findall(r"{(\w+)}", text))


def test_templates_escape_everything_by_themselves() -> None:
    assert environment().autoescape is True
    templates = list(Path("src/dogubako/transports/console/templates").glob("*.html"))
    assert [path.name for path in templates if "|safe" in path.read_text() or "| safe" in path.read_text()] == []
    # It does not escape quotes.
    assert [path.name for path in templates if "tojson" in path.read_text()] == []


async def test_a_page_that_does_not_exist_keeps_the_menu(browser: Browser) -> None:
    visit = await browser.get("/console/nowhere")

    assert visit.status == 404
    assert b'href="/console/keys"' in visit.body


async def test_a_wrong_form_does_not_repeat_the_schema_of_a_tool_whose_fields_it_shows(tmp_path: Path) -> None:
    async with browsing(guarded_box(tmp_path, DOGUBAKO_AUTH="off", DOGUBAKO_DISCOVERY="search")) as browser:
        await browser.get("/console/tools/echo")
        text = text_of(await browser.post("/console/tools/echo", {}))

    assert "Required parameter missing: text" in text
    assert "The arguments of echo" not in text


async def test_settings_are_shown_as_they_are_written(tmp_path: Path) -> None:
    async with browsing(guarded_box(tmp_path, DOGUBAKO_AUTH="off", DOGUBAKO_READ_ONLY="1")) as browser:
        text = text_of(await browser.get("/console/settings"))

    assert "DOGUBAKO_READ_ONLY true environment" in text
