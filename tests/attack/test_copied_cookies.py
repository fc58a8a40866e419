"""Cookies of the console that somebody copied: after signing out they open nothing, in no worker."""

import re
from pathlib import Path
from typing import Final

import httpx2
import pytest

from dogubako.gate.api_keys import KeyStore
from tests.doors.processes import PATIENCE

from .conftest import Tally
from .server import target

pytestmark = pytest.mark.attack

_CSRF: Final = re.compile(r'name="csrf" value="([0-9a-f]{64})"')
_ROUNDS: Final = 3
# Each on a connection of its own, so that every worker is met.
_VISITS: Final = 12


def test_copied_cookies(tmp_path: Path, tally: Tally) -> None:
    data = tmp_path / "data"
    secret, _ = KeyStore(data).create("ann", ["admin"])
    settings = {"DOGUBAKO_DATA_DIR": str(data), "DOGUBAKO_AUTH": "keys"}
    with target(folder=tmp_path, words=("--workers", "2"), settings=settings) as aim:
        aim.command.stderr.first(lambda line: b"Application startup complete" in line, nth=2)
        for number in range(_ROUNDS):
            with httpx2.Client(base_url=aim.url, timeout=PATIENCE, trust_env=False) as browser:
                token = _token(browser.get("/console/sign-in"))
                browser.post("/console/sign-in", data={"key": secret, "csrf": token, "back": "/console"})
                copied = dict(browser.cookies)
                page = browser.get("/console/settings")
                tally.check(page.status_code == 200, f"round {number}: signed in, but {page.status_code}")
                tally.check(set(_visits(aim.url, copied)) == {200}, f"round {number}: the copy does not work before")
                browser.post("/console/sign-out", data={"csrf": _token(page)})
            for status in _visits(aim.url, copied):
                tally.check(status == 401, f"round {number}: a copy after signing out: {status}")


def _token(page: httpx2.Response) -> str:
    found = _CSRF.search(page.text)
    assert found is not None, page.text[:500]
    return found[1]


def _visits(url: str, cookies: dict[str, str]) -> list[int]:
    carried = "; ".join(f"{name}={value}" for name, value in cookies.items())
    return [
        httpx2.get(f"{url}/console/settings", headers={"cookie": carried, "accept": "text/html"}).status_code
        for _ in range(_VISITS)
    ]
