"""`/docs` in a real Chromium."""

import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.doors.processes import PATIENCE, WORKBENCH, serving

pytestmark = pytest.mark.browser

QUIET = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=5000",
]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    with serving(WORKBENCH, folder=tmp_path) as running:
        url = running.url()
        assert httpx2.get(f"{url}/healthz", timeout=PATIENCE).status_code == 200
        yield url
        running.signal(signal.SIGTERM)
        assert running.wait() == 0


def _rendered(url: str, profile: Path) -> str:
    browser = shutil.which("chromium")
    assert browser is not None, "install chromium to test pages"
    command = [browser, *QUIET, f"--user-data-dir={profile}", "--dump-dom", url]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def test_the_page_shows_every_route_of_the_description(server: str, tmp_path: Path) -> None:
    page = _rendered(f"{server}/docs", tmp_path / "profile")

    paths = httpx2.get(f"{server}/openapi.json", timeout=PATIENCE).json()["paths"]
    assert paths
    for path in paths:
        assert f"<code>{path}</code>" in page
    assert "Loading…" not in page


def test_the_page_needs_nothing_from_elsewhere(server: str) -> None:
    answer = httpx2.get(f"{server}/docs", timeout=PATIENCE)

    assert "http://" not in answer.text
    assert "https://" not in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]
