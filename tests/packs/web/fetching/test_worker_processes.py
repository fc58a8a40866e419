"""Pages of strangers are parsed in worker processes of a real server: what hurts a worker does not hurt the server."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from tests.doors.processes import PATIENCE, Command, serving
from tests.doors.waiting import until
from tests.packs.web.page_server import SETTINGS, PageServer, ServedPage, page_server
from tests.process_tree import children_of, processor_seconds

# A parser needs minutes for it.
ATTRIBUTES: Final = b"<p " + b" ".join(b"a%d=1" % number for number in range(600_000)) + b">text</p>"
ORDINARY: Final = b"<title>Tools</title><p>A hammer drives nails into wood.</p>"
PAGES: Final = {
    "/attributes": ServedPage(body=ATTRIBUTES),
    "/ordinary": ServedPage(body=ORDINARY),
}


@pytest.fixture(scope="module")
def pages() -> Iterator[PageServer]:
    with page_server(PAGES) as server:
        yield server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Command]:
    with serving(folder=tmp_path, settings=SETTINGS) as command:
        yield command


def fetch(server: Command, url: str, **options: Any) -> httpx2.Response:
    call = {"name": "fetch_page", "parameters": {"url": url}, "options": options}
    return httpx2.post(f"{server.url()}/v1/tools/call", json=call, timeout=PATIENCE, trust_env=False)


def worker_of(server: Command) -> int:
    """The only worker process of a server."""
    (pid,) = children_of(server.process.pid)
    return pid


async def test_a_page_that_takes_minutes_ends_with_its_call_and_is_not_tried_again(
    server: Command, pages: PageServer
) -> None:
    assert fetch(server, f"{pages.url}/ordinary").status_code == 200
    before = pages.requests["/attributes"]

    answer = fetch(server, f"{pages.url}/attributes", timeout=3_000)
    began, used = time.monotonic(), processor_seconds(server.process.pid)

    assert (answer.status_code, answer.json()["error"]) == (408, "Execution timeout after 3000ms")
    assert pages.requests["/attributes"] == before + 1
    await until(lambda: not children_of(server.process.pid), "the worker is gone")
    await until(lambda: time.monotonic() - began > 2, "two seconds are over")
    assert processor_seconds(server.process.pid) - used < 1
