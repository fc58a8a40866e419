"""A real server with calls behind it, a real Chromium in front of it, and axe-core from npm."""

import json
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx2
from platformdirs import user_cache_path
from playwright.sync_api import Browser, Page, sync_playwright

from tests.doors.processes import PATIENCE, ROOT, WORKBENCH, serving

HOSTILE: Final = ROOT / "tests" / "console" / "hostile_tools.py"
# Kept by `make clean`'s folder; CI uploads it.
SHOTS: Final = ROOT / "build" / "screenshots"
_AXE_VERSION: Final = "4.14.0"
_AXE: Final = user_cache_path("dogubako") / f"axe-core-{_AXE_VERSION}" / "node_modules" / "axe-core" / "axe.min.js"
SIZES: Final[Mapping[str, Any]] = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}
CALLS: Final[list[tuple[str, dict[str, Any]]]] = [
    ("echo", {"text": "hello"}),
    ("list_issues", {"project_id": "webshop"}),
    ("list_workflows", {}),
    ("get_execution", {"id": "1"}),
    ("web_search", {"query": "python"}),
    ("echo", {}),
    ("get_execution", {"id": "99999"}),
    ("hostile_error", {}),
    ("hostile_json", {}),
]


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server with a few calls of every kind."""
    with serving(WORKBENCH, HOSTILE, folder=folder, words=["--sandbox"]) as server:
        url = server.url()
        for name, arguments in CALLS * 3:
            body = {"name": name, "parameters": arguments}
            httpx2.post(f"{url}/v1/tools/call", json=body, timeout=PATIENCE)
        yield url
        server.signal(signal.SIGTERM)
        server.wait()


@contextmanager
def chromium() -> Iterator[Browser]:
    path = shutil.which("chromium")
    assert path is not None, "install chromium to test pages"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield browser
        finally:
            browser.close()


def axe_source() -> str:
    """The script of axe-core, installed once into the user's cache folder."""
    if not _AXE.exists():
        npm = shutil.which("npm")
        assert npm is not None, "install npm to check pages with axe-core"
        folder = _AXE.parents[2]
        folder.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--silent", "--no-save", "--prefix", str(folder), f"axe-core@{_AXE_VERSION}"]
        subprocess.run(command, check=True, timeout=300)
    return _AXE.read_text(encoding="utf-8")


def violations(page: Page, source: str) -> list[str]:
    """What axe-core finds wrong with the page as it stands."""
    page.evaluate(source)
    found = page.evaluate("async () => (await axe.run(document, {resultTypes: ['violations']})).violations")
    return [
        f"{one['id']}: {json.dumps(one['nodes'][0]['target'])} {one['nodes'][0].get('failureSummary', '')[:300]}"
        for one in found
    ]
