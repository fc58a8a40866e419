"""`/docs` in a real Chromium."""

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

pytestmark = pytest.mark.browser

WORKBENCH = Path(__file__).parents[2] / "examples" / "workbench.py"
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
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "dogubako", "serve", "--port", str(port), "--tools", str(WORKBENCH)]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        transport = httpx2.HTTPTransport(retries=10)
        with httpx2.Client(transport=transport, timeout=10) as client:
            assert client.get(f"{url}/healthz").status_code == 200
        yield url
    finally:
        process.terminate()
        assert process.wait(15) == 0


def _rendered(url: str, profile: Path) -> str:
    browser = shutil.which("chromium")
    assert browser is not None, "install chromium to test pages"
    command = [browser, *QUIET, f"--user-data-dir={profile}", "--dump-dom", url]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def test_the_page_shows_every_route_of_the_description(server: str, tmp_path: Path) -> None:
    page = _rendered(f"{server}/docs", tmp_path / "profile")

    paths = httpx2.get(f"{server}/openapi.json").json()["paths"]
    assert paths
    for path in paths:
        assert f"<code>{path}</code>" in page
    assert "Loading…" not in page


def test_the_page_needs_nothing_from_elsewhere(server: str) -> None:
    answer = httpx2.get(f"{server}/docs")

    assert "http://" not in answer.text
    assert "https://" not in answer.text
    assert "default-src 'self'" in answer.headers["content-security-policy"]
