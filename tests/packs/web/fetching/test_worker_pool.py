"""The pool of worker processes: how many there are, how long they live, and that it believes none of them."""

import asyncio
import os
import sys
from typing import Final

import anyio
import pytest

from dogubako.contract.errors import BusyError, HtmlParseError
from dogubako.outbound.parsing.pool import PYTHON, WorkerPool
from dogubako.outbound.parsing.protocol import REPLY_HEAD, encode
from dogubako.packs.web.pages.fetch import Visited
from dogubako.packs.web.pages.parts import PagePart, PartWanted, SectionMissing
from dogubako.packs.web.parsing import parser as parser_module
from dogubako.packs.web.parsing.messages import REPLIES, Onward, Reply, RobotsVerdict
from dogubako.packs.web.parsing.parser import Parser, page_workers
from tests.attack.hostile_pages import attributes
from tests.doors.processes import PATIENCE
from tests.doors.waiting import until
from tests.process_tree import children_of

URL: Final = "https://example.com/page"
WANTED: Final = PartWanted(url=URL)
SLOW: Final = attributes(200_000)


def visited(body: bytes) -> Visited:
    return Visited(url=URL, status=200, content_type="text/html", charset=None, body=body)


async def read(
    pool: WorkerPool[Reply], body: bytes = b"<p>A hammer drives nails."
) -> PagePart | SectionMissing | Onward:
    return await Parser(pool).page(visited(body), WANTED)


_others: set[int] = set()


@pytest.fixture(autouse=True)
def _remember_other_processes() -> None:
    """Servers that other tests share may be children of this process too."""
    _others.clear()
    _others.update(children_of(os.getpid()))


def workers() -> set[int]:
    return children_of(os.getpid()) - _others


def pretending(reply: bytes, then: str = "time.sleep(99)") -> WorkerPool[Reply]:
    """A pool whose workers answer every request with these bytes, and then execute a statement."""
    script = (
        "import os, signal, sys, time; out = sys.stdout.buffer;"
        f"out.write(b'ready\\n' + {reply!r}); out.flush(); sys.stdin.buffer.read(1); {then}"
    )
    return WorkerPool(command=(sys.executable, "-c", script), replies=REPLIES)


async def test_there_is_no_process_before_the_first_page_and_none_after_the_end() -> None:
    async with page_workers() as pool:
        assert not workers()
        await read(pool)
        assert len(workers()) == 1
    assert not workers()


async def test_a_closed_pool_starts_no_worker() -> None:
    async with page_workers() as pool:
        pass
    with pytest.raises(BusyError):
        await read(pool)
    assert not workers()


@pytest.mark.slow
async def test_many_pages_at_once_share_a_few_workers() -> None:
    most = 0
    async with page_workers() as pool:
        pages = asyncio.gather(*(read(pool) for _ in range(12)))
        with anyio.fail_after(PATIENCE):
            while not pages.done():
                most = max(most, len(workers()))
                await anyio.sleep(0.01)
        assert len(await pages) == 12
    assert most == 2


@pytest.mark.slow
async def test_a_worker_without_work_ends_itself_and_the_next_page_gets_another() -> None:
    async with WorkerPool(
        command=(*PYTHON, "dogubako.packs.web.parsing.worker"), replies=REPLIES, idle_seconds=0.2
    ) as pool:
        await read(pool)
        await until(lambda: not workers(), "the idle worker has ended")
        assert isinstance(await read(pool), PagePart)


async def test_a_worker_is_killed_when_its_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser_module, "PAGE_SECONDS", 0.5)
    async with page_workers() as pool:
        await read(pool)
        with pytest.raises(HtmlParseError) as refused:
            await read(pool, SLOW)
        assert not workers()

    assert refused.value.message == "The page could not be read: parsing it takes too long."
    assert not refused.value.transient


@pytest.mark.parametrize(
    ("ending", "reason"),
    [
        pytest.param("os.kill(os.getpid(), signal.SIGXCPU)", "parsing it takes too long", id="processor time"),
        pytest.param("os.kill(os.getpid(), signal.SIGSEGV)", "the parser failed on it", id="a crash"),
    ],
)
async def test_a_worker_that_the_kernel_ends_says_why(ending: str, reason: str) -> None:
    async with pretending(b"", then=ending) as pool:
        with pytest.raises(HtmlParseError, match=reason):
            await read(pool)


@pytest.mark.slow
async def test_a_worker_is_killed_before_its_cancelled_call_ends() -> None:
    async with page_workers() as pool:
        await read(pool)
        task = asyncio.ensure_future(read(pool, SLOW))
        await asyncio.wait({task}, timeout=0.5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not workers()


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(REPLY_HEAD.pack(2**32 - 1, False), id="endless"),
        pytest.param(REPLY_HEAD.pack(4, False) + b"\xc1\xc1\xc1\xc1", id="no MessagePack"),
        pytest.param(REPLY_HEAD.pack(3, False) + encode([1, 2]), id="another form"),
        pytest.param(
            REPLY_HEAD.pack(len(encode(RobotsVerdict(allowed=True))), False) + encode(RobotsVerdict(allowed=True)),
            id="the answer to another question",
        ),
    ],
)
async def test_a_worker_that_was_taken_over_is_not_believed(reply: bytes) -> None:
    async with pretending(reply) as pool:
        with pytest.raises(HtmlParseError, match="the parser failed on it"):
            await read(pool)


async def test_a_worker_that_cannot_start_is_said_to_be_one() -> None:
    async with WorkerPool(command=(sys.executable, "-c", "raise SystemExit(3)"), replies=REPLIES) as pool:
        with pytest.raises(BusyError, match="No worker process could be started"):
            await read(pool)
        assert not workers()


async def test_a_section_that_is_not_there_comes_back_as_such() -> None:
    async with page_workers() as pool:
        part = await Parser(pool).page(visited(b"<h1>Tools</h1>"), PartWanted(url=URL, section="Hammers"))

    assert isinstance(part, SectionMissing)
