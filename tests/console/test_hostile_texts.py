"""Texts of tools, answers, errors and callers are texts: none of them becomes a part of the page."""

from pathlib import Path

import pytest

from dogubako.contract.call import ToolResult
from dogubako.gate.api_keys import KeyStore
from dogubako.transports.console.answer_view import json_tree, markdown, rendered
from tests.gate.guarded import guarded_box

from . import hostile_tools as hostile
from .browser import Browser, browsing, dangers

TOOLS = (hostile.hostile_text, hostile.hostile_json, hostile.hostile_xml, hostile.hostile_error, hostile.hostile_end)
# `{{ 7 * 7 }}` must stay what it is.
EVALUATED = "49{%"


async def _call_everything(browser: Browser) -> list[str]:
    pages = []
    for tool in TOOLS:
        path = f"/console/tools/{tool.metadata.name}"
        pages.append((await browser.get(path)).body.decode())
        fields = {"arg.value": hostile.ALL, "arg.what": hostile.ALL, "arg.choice": hostile.ALL}
        pages.append((await browser.post(path, fields)).body.decode())
        pages.append((await browser.post(path, {"json": "{}"})).body.decode())
        pages.append((await browser.post(path, {"json": hostile.ALL})).body.decode())
    return pages


async def test_no_page_runs_what_a_hostile_tool_or_caller_says(tmp_path: Path) -> None:
    box = guarded_box(tmp_path, *TOOLS, DOGUBAKO_CONSOLE_VALUES="true")
    secret = KeyStore(tmp_path).create(hostile.ALL[:99].replace("\n", ""), ["admin"])[0]
    async with browsing(box) as browser:
        await browser.sign_in(secret)
        pages = await _call_everything(browser)
        box._batches.flush()  # type: ignore[union-attr]
        for path in ("", "?q=" + "%3Cscript%3E", "/calls", "/keys", "/audit", "/services", "/settings?show=all"):
            pages.append((await browser.get(f"/console{path}")).body.decode())
        for record in box_calls(browser):
            pages.append((await browser.get(f"/console/calls/{record}")).body.decode())

    assert len(pages) > 30
    assert [found for page in pages if (found := dangers(page))] == []
    assert [page for page in pages if EVALUATED in page or "Undefined" in page] == []
    # They are shown all the same, as texts.
    assert any("&lt;script&gt;alert(1)&lt;/script&gt;" in page for page in pages)


def box_calls(browser: Browser) -> list[str]:
    recorder = browser._client._app._recorder  # type: ignore[attr-defined]
    return [record.id for record in recorder.all()]


def test_no_content_block_runs() -> None:
    result = ToolResult(content=tuple(hostile.blocks()))

    page = "".join(f"<div>{part}</div>" for _, part in rendered(result))

    assert dangers(page) == []
    assert "svg+xml" not in page.split("mimeType")[0]


@pytest.mark.parametrize(
    "text",
    [
        "[x](javascript:alert(1))",
        "[x](  JaVaScRiPt:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "![x](http://evil.example/pixel.png)",
        "<img src=x onerror=alert(1)>",
        "<svg/onload=alert(1)>",
        "[x]: javascript:alert(1)\n\n[x]",
        "| a |\n| :-: |\n| <script>alert(1)</script> |",
        '[x](http://a.example/"onmouseover="alert(1))',
        "# <script>alert(1)</script>",
    ],
)
def test_markdown_cannot_run_or_fetch(text: str) -> None:
    page = str(markdown(text))

    assert dangers(page) == []
    assert "<img" not in page


def test_a_huge_tree_is_cut() -> None:
    page = str(json_tree([{"a": list(range(100))} for _ in range(1_000)]))

    assert len(page) < 400_000
    assert "…" in page
