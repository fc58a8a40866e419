"""Pages of strangers are parsed in worker processes of a real server: what hurts a worker does not hurt the server."""

import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.attack.hostile_pages import attributes, memory_bomb
from tests.doors.pipe import speaking
from tests.doors.processes import PATIENCE, Command, run, serving
from tests.doors.waiting import until
from tests.packs.web.page_server import SETTINGS, PageServer, ServedPage, page_server
from tests.process_tree import children_of, is_alive, processor_seconds

PAGES: Final = {
    # A parser needs minutes for it.
    "/attributes": ServedPage(body=attributes(600_000)),
    "/memory": ServedPage(body=memory_bomb()),
    "/ordinary": ServedPage(body=b"<title>Tools</title><p>A hammer drives nails into wood.</p>"),
}


@pytest.fixture(scope="module")
def pages() -> Iterator[PageServer]:
    with page_server(PAGES) as server:
        yield server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Command]:
    with serving(folder=tmp_path, settings={**SETTINGS, "N8N_API_KEY": "a-secret-of-the-server"}) as command:
        yield command


def call(pages: PageServer, path: str, **options: Any) -> dict[str, Any]:
    return {"name": "fetch_page", "parameters": {"url": f"{pages.url}{path}"}, "options": options}


def fetch(server: Command, pages: PageServer, path: str, **options: Any) -> httpx2.Response:
    url = f"{server.url()}/v1/tools/call"
    return httpx2.post(url, json=call(pages, path, **options), timeout=PATIENCE, trust_env=False)


def worker_of(server: Command, pages: PageServer) -> int:
    """The only worker process of a server, which has just read a page."""
    assert "A hammer drives nails" in fetch(server, pages, "/ordinary").json()["result"]
    (pid,) = children_of(server.process.pid)
    return pid


def sent(server: Command, pages: PageServer, path: str) -> socket.socket:
    """A connection on which a call has been sent and the answer is still to come."""
    address, body = urlsplit(server.url()), json.dumps(call(pages, path)).encode()
    assert address.hostname and address.port
    connection = socket.create_connection((address.hostname, address.port), PATIENCE)
    head = f"POST /v1/tools/call HTTP/1.1\r\nhost: {address.netloc}\r\ncontent-type: application/json\r\n"
    connection.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
    return connection


async def busy(worker: int) -> None:
    """Wait until the worker is in the middle of the page that takes minutes."""
    before = processor_seconds(worker)
    await until(lambda: processor_seconds(worker) > before + 0.5, "the worker parses")


async def gone(worker: int) -> None:
    await until(lambda: not is_alive(worker), "the worker is gone")


@pytest.mark.slow
async def test_a_page_that_takes_minutes_ends_with_its_call_and_is_not_tried_again(
    server: Command, pages: PageServer
) -> None:
    worker, before = worker_of(server, pages), pages.requests["/attributes"]

    answer = fetch(server, pages, "/attributes", timeout=6_000)
    began, used = time.monotonic(), processor_seconds(server.process.pid)

    assert (answer.status_code, answer.json()["error"]) == (408, "Execution timeout after 6000ms")
    assert (answer.json()["code"], answer.json()["retryable"]) == ("TIMEOUT", False)
    assert pages.requests["/attributes"] == before + 1
    await gone(worker)
    await until(lambda: time.monotonic() - began > 2, "two seconds are over")
    assert not children_of(server.process.pid)
    assert processor_seconds(server.process.pid) - used < 1


@pytest.mark.slow
def test_a_page_that_takes_all_memory_is_refused_and_the_next_one_is_read(server: Command, pages: PageServer) -> None:
    worker, before = worker_of(server, pages), pages.requests["/memory"]

    answer = fetch(server, pages, "/memory")

    assert (answer.status_code, answer.json()["code"]) == (502, "HTML_PARSE_ERROR")
    assert answer.json()["error"] == "The page could not be read: parsing it takes too much memory."
    assert not answer.json()["retryable"]
    assert pages.requests["/memory"] == before + 1
    assert not is_alive(worker)
    assert worker_of(server, pages) != worker


@pytest.mark.slow
async def test_a_worker_that_dies_is_a_clear_error_and_the_next_page_is_read(
    server: Command, pages: PageServer
) -> None:
    worker = worker_of(server, pages)
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(fetch, server, pages, "/attributes")
        await busy(worker)
        os.kill(worker, signal.SIGSEGV)

    assert (answer.result().status_code, answer.result().json()["code"]) == (502, "HTML_PARSE_ERROR")
    assert answer.result().json()["error"] == "The page could not be read: the parser failed on it."
    assert worker_of(server, pages) != worker


@pytest.mark.slow
async def test_a_worker_is_killed_when_the_client_hangs_up(server: Command, pages: PageServer) -> None:
    worker = worker_of(server, pages)
    with closing(sent(server, pages, "/attributes")):
        await busy(worker)
    await gone(worker)

    assert worker_of(server, pages) != worker


@pytest.mark.slow
@pytest.mark.parametrize("at_work", [pytest.param(True, id="busy"), pytest.param(False, id="idle")])
async def test_a_server_that_is_killed_leaves_no_worker_behind(
    server: Command, pages: PageServer, at_work: bool
) -> None:
    worker = worker_of(server, pages)
    with closing(sent(server, pages, "/attributes" if at_work else "/ordinary")):
        if at_work:
            await busy(worker)
        server.signal(signal.SIGKILL)
        server.wait()
    await gone(worker)


@pytest.mark.slow
async def test_a_server_that_is_stopped_ends_its_busy_worker(tmp_path: Path, pages: PageServer) -> None:
    with serving(folder=tmp_path, settings={**SETTINGS, "DOGUBAKO_SHUTDOWN_GRACE": "1"}) as server:
        worker = worker_of(server, pages)
        with closing(sent(server, pages, "/attributes")):
            await busy(worker)
            server.signal(signal.SIGTERM)
            assert server.wait() == 0
    assert not is_alive(worker)


@pytest.mark.slow
async def test_several_servers_behind_one_port_leave_no_worker_behind(tmp_path: Path, pages: PageServer) -> None:
    with serving(folder=tmp_path, words=("--workers", "2"), settings=SETTINGS) as server:
        server.stderr.first(lambda line: b"Application startup complete" in line, nth=2)
        assert fetch(server, pages, "/ordinary").status_code == 200
        workers = {worker for one in children_of(server.process.pid) for worker in children_of(one)}
        assert workers
        server.signal(signal.SIGTERM)
        assert server.wait() == 0
    assert not any(map(is_alive, workers))


@pytest.mark.slow
def test_a_worker_is_used_again_and_knows_no_secret_of_the_server(server: Command, pages: PageServer) -> None:
    worker = worker_of(server, pages)

    assert worker_of(server, pages) == worker
    variables = {one.partition(b"=")[0] for one in Path(f"/proc/{worker}/environ").read_bytes().split(b"\0") if one}
    assert variables <= {b"PYTHONPATH", b"LD_LIBRARY_PATH", b"LC_CTYPE"}
    opened = [str(one.readlink()) for one in Path(f"/proc/{worker}/fd").iterdir()]
    # The two pipes to the server, which may be sockets, and nothing; no connection and no log of the server.
    assert len([one for one in opened if one != os.devnull]) == 2


def test_stdio_answers_with_the_page_and_nothing_else(tmp_path: Path, pages: PageServer) -> None:
    with speaking(folder=tmp_path, settings=SETTINGS) as pipe:
        pipe.open()
        result = pipe.call("fetch_page", {"url": f"{pages.url}/ordinary"})["result"]
        (worker,) = children_of(pipe.command.process.pid)
        pipe.command.stdin.close()
        assert pipe.command.wait() == 0

    assert "A hammer drives nails" in result["content"][0]["text"]
    assert not is_alive(worker)
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in pipe.command.stdout.text().splitlines())


@pytest.mark.slow
def test_the_command_line_reads_a_page_and_ends(tmp_path: Path, pages: PageServer) -> None:
    url = f"url={pages.url}/ordinary"
    done = run("tools", "call", "fetch_page", url, folder=tmp_path, settings=SETTINGS)

    assert (done.returncode, "A hammer drives nails" in done.stdout) == (0, True), done.stderr
