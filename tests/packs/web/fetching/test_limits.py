"""Servers that send too much, too slowly, too little, or something else than they said."""

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import Callable

import pytest

from dogubako.contract.errors import HttpError, Timeout
from dogubako.packs.web.pages import fetch as fetch_module
from dogubako.packs.web.pages.fetch import MAX_PAGE_BYTES, require_good

from .conftest import Visiting
from .names import Resolver
from .places import Guest, Serve, always, answer, serving

pytestmark = pytest.mark.usefixtures("a_public_web")

TICK = 0.01
PATIENCE = 20
# Seconds. A busy machine may need more than the first of them to reach the server at all.
SHORT_TIMES = (0.3, 3.0, 15.0)
ZEROS = bytes(64 * 1024 * 1024)


@pytest.fixture(autouse=True)
def public_names(resolver: Resolver) -> None:
    resolver.names.answer("public.example.com", ["127.0.0.2"])


async def flood(guest: Guest) -> None:
    """Never says how much it will be, and never ends."""
    await guest.say(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n")
    while True:
        await guest.say(b"a" * 65_536)


async def headers_without_end(guest: Guest) -> None:
    await guest.say(b"HTTP/1.1 200 OK\r\n")
    while True:
        await guest.say(b"x-more: " + b"a" * 8_000 + b"\r\n")


async def silence(guest: Guest) -> None:
    await guest.gone_within(60)


async def slow_head(guest: Guest) -> None:
    await guest.say(b"HTTP/1.1 200 OK\r\n")
    await guest.gone_within(60)


async def drip(guest: Guest) -> None:
    """One byte after the other: never silent, never done."""
    await guest.say(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n")
    while not await guest.gone_within(TICK):
        await guest.say(b"a")


async def not_yet(guest: Guest) -> None:
    """Says again and again that the answer will come."""
    while not await guest.gone_within(TICK):
        await guest.say(b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n")


async def test_a_page_may_be_as_large_as_the_limit_and_no_larger(visiting: Visiting) -> None:
    async with serving(always(answer(b"a" * 1_000))) as place, visiting() as visitor:
        url = f"http://public.example.com:{place.port}/"
        assert len((await visitor.visit(url, 1_000)).body) == 1_000
        with pytest.raises(HttpError, match="it is larger than 999 bytes"):
            await visitor.visit(url, 999)
        assert len((await visitor.visit(url, 999, too_large="cut")).body) == 999


async def test_a_page_without_end_is_left_at_the_limit(visiting: Visiting) -> None:
    async with serving(flood) as place, visiting() as visitor:
        with pytest.raises(HttpError, match="it is larger than 10,485,760 bytes"):
            await visitor.visit(f"http://public.example.com:{place.port}/")
        await asyncio.wait_for(place.left.wait(), PATIENCE)


@pytest.mark.parametrize(
    ("pack", "encoding"),
    [
        pytest.param(gzip.compress, "gzip", id="gzip"),
        pytest.param(zlib.compress, "deflate", id="deflate"),
        pytest.param(lambda data: gzip.compress(gzip.compress(data)), "gzip, gzip", id="gzip in gzip"),
    ],
)
async def test_a_bomb_is_left_at_the_limit_and_takes_no_memory(
    visiting: Visiting, pack: Callable[[bytes], bytes], encoding: str
) -> None:
    packed = pack(ZEROS)
    async with serving(always(answer(packed, content_encoding=encoding))) as place, visiting() as visitor:
        tracemalloc.start()
        try:
            with pytest.raises(HttpError, match="it is larger than"):
                await visitor.visit(f"http://public.example.com:{place.port}/")
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert most < MAX_PAGE_BYTES * 3 < len(ZEROS)


@pytest.mark.parametrize(
    "serve",
    [
        pytest.param(silence, id="silent"),
        pytest.param(slow_head, id="half a head"),
        pytest.param(drip, id="byte after byte"),
        pytest.param(not_yet, id="not yet"),
    ],
)
async def test_a_slow_server_is_left_in_time(visiting: Visiting, monkeypatch: pytest.MonkeyPatch, serve: Serve) -> None:
    async with serving(serve) as place, visiting() as visitor:
        for seconds in SHORT_TIMES:
            place.left.clear()
            monkeypatch.setattr(fetch_module, "VISIT_SECONDS", seconds)
            with pytest.raises(Timeout):
                async with asyncio.timeout(seconds + PATIENCE):
                    await visitor.visit(f"http://public.example.com:{place.port}/")
            if place.asked.is_set():
                break
        await asyncio.wait_for(place.left.wait(), PATIENCE)


async def test_a_resolver_without_an_answer_is_left_in_time(
    visiting: Visiting, resolver: Resolver, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(host: str, kind: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    monkeypatch.setattr(fetch_module, "VISIT_SECONDS", 0.1)
    monkeypatch.setattr(resolver, "_ask", never)
    async with visiting() as visitor:
        with pytest.raises(Timeout):
            async with asyncio.timeout(PATIENCE):
                await visitor.visit("http://public.example.com/")


async def test_redirects_share_one_time_limit(visiting: Visiting, monkeypatch: pytest.MonkeyPatch) -> None:
    async def slowly_onward(guest: Guest) -> None:
        await guest.gone_within(0.15)
        await guest.say(answer(status=302, location="/"))

    monkeypatch.setattr(fetch_module, "VISIT_SECONDS", 0.4)
    async with serving(slowly_onward) as place, visiting() as visitor:
        with pytest.raises(Timeout):
            await visitor.visit(f"http://public.example.com:{place.port}/")

    assert len(place.heads) < 6


@pytest.mark.parametrize(
    "serve",
    [
        pytest.param(headers_without_end, id="headers without end"),
        pytest.param(always(b""), id="nothing"),
        pytest.param(always(b"hello\r\n\r\n"), id="not HTTP"),
        pytest.param(always(b"HTTP/1.1 twohundred OK\r\n\r\n"), id="a status in letters"),
        pytest.param(always(b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n"), id="a header without a colon"),
        pytest.param(always(answer(b"short", content_length="1000")), id="less than promised"),
        pytest.param(always(answer(b"a", content_length="minus one")), id="a length in letters"),
        pytest.param(always(answer(b"zz\r\n", content_length="", transfer_encoding="chunked")), id="bad chunks"),
        pytest.param(always(answer(b"not packed", content_encoding="gzip")), id="garbled gzip"),
        pytest.param(always(answer(b"not packed", content_encoding="deflate")), id="garbled deflate"),
    ],
)
async def test_a_broken_answer_is_a_failure_of_the_page(visiting: Visiting, serve: Serve) -> None:
    async def once(guest: Guest) -> None:
        await serve(guest)
        guest.writer.close()

    async with serving(once) as place, visiting() as visitor:
        with pytest.raises(HttpError, match=r"^The page could not be fetched"):
            await visitor.visit(f"http://public.example.com:{place.port}/")


async def test_more_than_promised_is_not_read(visiting: Visiting) -> None:
    async with serving(always(answer(b"hello, and more", content_length="5"))) as place, visiting() as visitor:
        page = await visitor.visit(f"http://public.example.com:{place.port}/")

    assert page.body == b"hello"


@pytest.mark.parametrize(("status", "passing"), [(404, False), (403, False), (429, False), (500, False), (503, True)])
async def test_an_error_page_is_not_what_was_asked_for(visiting: Visiting, status: int, passing: bool) -> None:
    async with serving(always(answer(b"<p>sorry</p>", status))) as place, visiting() as visitor:
        page = await visitor.visit(f"http://public.example.com:{place.port}/")
        with pytest.raises(HttpError, match=f"its server answered with status {status}") as failed:
            require_good(page)

    assert failed.value.transient is passing


@pytest.mark.parametrize("serve", [pytest.param(silence, id="waiting"), pytest.param(drip, id="reading")])
async def test_cancelling_closes_the_connection(visiting: Visiting, serve: Serve) -> None:
    async with serving(serve) as place, visiting() as visitor:
        visit = asyncio.create_task(visitor.visit(f"http://public.example.com:{place.port}/"))
        await asyncio.wait_for(place.asked.wait(), PATIENCE)
        visit.cancel()
        with pytest.raises(asyncio.CancelledError):
            await visit
        await asyncio.wait_for(place.left.wait(), PATIENCE)
