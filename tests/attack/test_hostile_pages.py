"""Pages made to be slow, large or confusing: each is read or refused in our words, and no process is left behind."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

import httpx2
import pytest

from tests.doors.waiting import until
from tests.packs.web.page_server import SETTINGS, PageServer, ServedPage, page_server
from tests.process_tree import children_of, processor_seconds

from .conftest import Tally
from .hostile_documents import hostile_documents
from .hostile_pages import MEGABYTE, hostile_pages, repeated
from .server import Target, target

pytestmark = pytest.mark.attack

# What reading a page may answer, and nothing else.
ALLOWED: Final = frozenset({"OK", "HTML_PARSE_ERROR", "TIMEOUT", "BUSY"})
MOST_MEGABYTES: Final = 60
ROUND_TIMEOUT: Final = 2_000
LARGE_PAGES: Final = {
    "/paragraphs": ServedPage(body=repeated(b"<p>a<b>hammer</b></p>")),
    "/rows": ServedPage(body=repeated(b"<tr><td>1<td>2", start=b"<table>")),
    "/words": ServedPage(body=repeated(b"some words of a text. ", start=b"<p>")),
    "/lines": ServedPage(body=repeated(b"a line of text\n"), content_type="text/plain"),
}


@pytest.fixture
def aim(tmp_path: Path) -> Iterator[Target]:
    with target(folder=tmp_path, words=(), settings=SETTINGS) as aim:
        yield aim


def fetch(aim: Target, url: str, **options: int) -> str:
    """The code of the answer."""
    call = {"name": "fetch_page", "parameters": {"url": url}, "options": options}
    answer: httpx2.Response = aim.http.post("/v1/tools/call", json=call)
    return "OK" if answer.status_code == 200 else str(answer.json()["code"])


async def no_worker_left(aim: Target) -> bool:
    """Wait until only idle workers are left: none of them uses the processor."""
    workers = children_of(aim.command.process.pid)
    used = {worker: processor_seconds(worker) for worker in workers}
    await until(lambda: aim.call("echo", text="still here").status_code == 200, "the server answers")
    return len(workers) <= 2 and all(processor_seconds(worker) - used[worker] < 0.2 for worker in workers)


async def test_hostile_pages(aim: Target, tally: Tally) -> None:
    with page_server({**hostile_pages(), **hostile_documents()}) as pages:
        for path in pages.pages:
            # A worker is ready, so that the time is for parsing.
            fetch(aim, f"{pages.url}/empty.pdf")
            aim.heartbeat()
            before = pages.requests[path]
            code = fetch(aim, f"{pages.url}{path}", timeout=ROUND_TIMEOUT)
            tally.check(code in ALLOWED, f"{path}: {code}")
            tally.check(pages.requests[path] == before + 1, f"{path}: fetched {pages.requests[path] - before} times")
            aim.check_loop(tally, path, partial(fetch, aim, f"{pages.url}{path}", timeout=ROUND_TIMEOUT))
        tally.check(await no_worker_left(aim), "a worker is busy although no call is")


async def test_a_hundred_hostile_pages_at_once(aim: Target, tally: Tally) -> None:
    chosen = ("/attributes", "/memory", "/deep-but-allowed", "/line-breaks", "/objects.pdf")
    pages = {path: page for path, page in hostile_pages().items() if path in chosen}
    _, before = aim.heartbeat()
    with page_server(pages) as server, ThreadPoolExecutor(8) as threads:

        def fetch_all(paths: Sequence[str]) -> None:
            jobs = [threads.submit(fetch, aim, f"{server.url}{path}", timeout=800, retry=0) for path in paths]
            for path, job in zip(paths, jobs, strict=True):
                tally.check(job.result() in ALLOWED, f"{path}: {job.result()}")

        fetch_all(chosen * 20)
        aim.check_loop(tally, "a hundred hostile pages", lambda: fetch_all(chosen * 2))
    tally.check(await no_worker_left(aim), "a worker is busy although no call is")
    _, after = aim.heartbeat()
    tally.check(after - before <= MOST_MEGABYTES, f"{before:.0f} MB before, {after:.0f} MB afterwards")


def test_a_hundred_pages_that_are_too_large_or_no_pages(aim: Target, tally: Tally) -> None:
    pages = {
        "/too-large": ServedPage(body=bytes(11 * MEGABYTE)),
        "/picture": ServedPage(body=bytes(9 * MEGABYTE), content_type="image/png"),
        "/missing": ServedPage(body=bytes(9 * MEGABYTE), status=404),
        "/away": ServedPage(body=bytes(9 * MEGABYTE), status=503),
    }
    _, before = aim.heartbeat()
    with page_server(pages) as server:

        def fetch_all(paths: Sequence[str]) -> None:
            for path in paths:
                code = fetch(aim, f"{server.url}{path}", retry=0)
                tally.check(code in ("HTTP_ERROR", "HTML_PARSE_ERROR"), f"{path}: {code}")

        fetch_all(list(pages) * 25)
        aim.check_loop(tally, "pages that are refused", lambda: fetch_all(list(pages)))
    _, after = aim.heartbeat()
    tally.check(after - before <= MOST_MEGABYTES, f"{before:.0f} MB before, {after:.0f} MB afterwards")


def test_four_pages_of_ten_megabytes_at_once(aim: Target, tally: Tally) -> None:
    with page_server(LARGE_PAGES) as pages, ThreadPoolExecutor(4) as threads:
        _, before = aim.heartbeat()
        _fetch_all(aim, pages, threads, tally)
        _, after = aim.heartbeat()
        tally.check(after - before <= MOST_MEGABYTES, f"{before:.0f} MB before, {after:.0f} MB afterwards")


def _fetch_all(aim: Target, pages: PageServer, threads: ThreadPoolExecutor, tally: Tally) -> None:
    urls = [f"{pages.url}{path}" for path in pages.pages]

    def fetch_all() -> None:
        for url, code in zip(urls, threads.map(lambda url: fetch(aim, url), urls), strict=True):
            tally.check(code == "OK", f"{url}: {code}")

    fetch_all()
    aim.check_loop(tally, "pages of ten megabytes", fetch_all)
