"""A real searx with one engine of ours, started once, and a toolbox that searches with it."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from threading import Lock

import pytest

from dogubako.app import Toolbox, build
from dogubako.packs.web.pack import WEB
from dogubako.settings import Sources
from scripts.real_searx import RealSearx, running
from tests.log_capture import no_log_on_the_terminal

__all__ = ["no_log_on_the_terminal"]

PAGES = 3
TEN = 10


class Index:
    """What the engine behind searx knows, and what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []
        self._lock = Lock()

    def find(self, query: str, page: int) -> tuple[int, list[dict[str, str]]]:
        with self._lock:
            self.asked.append((query, page))
        if "broken" in query:
            return 500, []
        if "nothing" in query or page > PAGES:
            return 200, []
        return 200, [_result(number) for number in range((page - 1) * TEN + 1, page * TEN + 1)]


def _result(number: int) -> dict[str, str]:
    # searx itself takes the marks out of a text.
    content = f"About <b>thing</b> {number} & 道具箱"
    return {"url": f"http://site{number}.invalid/?a=1&b=2", "title": f"Thing {number}", "content": content}


@pytest.fixture(scope="session")
def index() -> Index:
    return Index()


@pytest.fixture(scope="session")
def searx(index: Index) -> Iterator[RealSearx]:
    with running(index.find) as server:
        yield server


@pytest.fixture
async def box(searx: RealSearx, tmp_path: Path) -> AsyncIterator[Toolbox]:
    environ = {
        "WEB_PROVIDERS": "searxng",
        "SEARXNG_URL": searx.url,
        "WEB_SEARCH_RATE": "50",
        "DOGUBAKO_DATA_DIR": str(tmp_path),
    }
    async with build(Sources(environ=environ, env_file=None), packs=[WEB]).running() as running_box:
        yield running_box
