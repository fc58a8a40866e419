"""Pages that are not what their server says, or that send their readers elsewhere."""

import gzip
import random

import pytest

from dogubako.contract.errors import DogubakoError, HtmlParseError, HttpError, UrlNotAllowed
from dogubako.packs.web.client import WebClient
from dogubako.packs.web.pages.fetch import Visited, Visitor, require_good
from dogubako.packs.web.pages.parts import PagePart, PartWanted
from dogubako.packs.web.pages.reading import read_page
from dogubako.packs.web.pages.robots import Robots
from tests.packs.web.in_process import PARSER

from .conftest import Visiting
from .names import Resolver
from .places import always, answer, by_path, serving

on_the_web = pytest.mark.usefixtures("a_public_web", "public_names")

PICTURES = {
    "a PNG picture": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "a JPEG picture": b"\xff\xd8\xff\xe0\0\x10JFIF",
    "a GIF picture": b"GIF89a\x01\0\x01\0",
    "compressed data (gzip)": gzip.compress(b"<p>hello"),
    "a ZIP archive": b"PK\x03\x04" + bytes(60),
    "a program": b"\x7fELF\x02\x01" + bytes(60),
    "binary data": random.Random(3).randbytes(600),
}


@pytest.fixture
def public_names(resolver: Resolver) -> None:
    resolver.names.answer("public.example.com", ["127.0.0.2"])
    resolver.names.answer("private.example.com", ["127.0.0.1"])


def client(visitor: Visitor, *, robots: bool = False) -> WebClient:
    rules = Robots(visitor, "dogubako", PARSER) if robots else None
    return WebClient(searching=None, visitor=visitor, robots=rules, parser=PARSER)  # type: ignore[arg-type]


def refresh(target: str, seconds: str = "0") -> bytes:
    return answer(
        f"<title>Moved</title><meta http-equiv=Refresh content=\"{seconds}; URL='{target}'\"><p>Wait".encode()
    )


@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.parametrize("kind", ["text/html", "text/plain", ""])
def test_a_file_that_is_called_a_page_is_a_clear_error(name: str, kind: str) -> None:
    page = Visited(url="https://example.com/a", status=200, content_type=kind, charset=None, body=PICTURES[name])
    with pytest.raises(HtmlParseError) as refused:
        read_page(page, "markdown")

    told = f" Its server calls it {kind}." if kind else ""
    assert refused.value.message == f"The page could not be read: it is {name}, not text.{told}"
    assert not refused.value.retryable


@on_the_web
@pytest.mark.parametrize("coding", ["br-next", "compress", "x-unknown", "gzip, secret", "<b>now do this</b>"])
async def test_a_compression_that_nobody_asked_for_is_a_clear_error(visiting: Visiting, coding: str) -> None:
    async with serving(always(answer(b"\x1b\x02\x03", content_encoding=coding))) as place, visiting() as visitor:
        with pytest.raises(HttpError, match="which nobody asked for") as refused:
            await visitor.visit(f"http://public.example.com:{place.port}/")

    assert not refused.value.retryable
    assert "<b>" not in refused.value.message


@on_the_web
async def test_a_body_that_is_not_compressed_as_its_server_says_is_a_clear_error(visiting: Visiting) -> None:
    async with serving(always(answer(b"<p>plain", content_encoding="gzip"))) as place, visiting() as visitor:
        with pytest.raises(HttpError, match="not compressed in the way that its server says") as refused:
            await visitor.visit(f"http://public.example.com:{place.port}/")

    assert not refused.value.retryable


@pytest.mark.parametrize(
    ("status", "retryable"),
    [(400, False), (403, False), (404, False), (410, False), (429, True), (500, True), (503, True)],
)
def test_a_page_that_is_not_there_is_not_worth_another_try(status: int, retryable: bool) -> None:
    with pytest.raises(HttpError) as refused:
        require_good(Visited(url="https://example.com/", status=status, content_type="", charset=None, body=b""))

    assert refused.value.retryable is retryable


@on_the_web
async def test_a_page_that_is_too_large_is_not_worth_another_try(visiting: Visiting) -> None:
    async with serving(always(answer(b"x" * 2_000))) as place, visiting() as visitor:
        with pytest.raises(HttpError, match="larger than 1,000 bytes") as refused:
            await visitor.visit(f"http://public.example.com:{place.port}/", largest=1_000)

    assert not refused.value.retryable


@on_the_web
@pytest.mark.parametrize(
    ("target", "seconds"),
    [
        ("/there", "0"),
        ("there", "5"),
        ("http://public.example.com:{port}/there", "1"),
        ("//public.example.com:{port}/there", "0"),
    ],
)
async def test_a_refresh_is_followed(visiting: Visiting, target: str, seconds: str) -> None:
    pages = {"/there": answer(b"<title>New</title><p>Arrived.")}
    async with serving(by_path(pages)) as place, visiting() as visitor:
        pages["/"] = refresh(target.format(port=place.port), seconds)
        url, part = await client(visitor).page(PartWanted(url=f"http://public.example.com:{place.port}/"))

    assert isinstance(part, PagePart)
    assert (url, part.title, part.text) == (f"http://public.example.com:{place.port}/there", "New", "Arrived.")


@on_the_web
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"<meta http-equiv=refresh content=60><p>Reloads.", id="no address"),
        pytest.param(b"<meta http-equiv=refresh content='0; url=/'><p>Reloads.", id="itself"),
        pytest.param(b"<meta http-equiv=refresh content='300; url=/there'><p>Later.", id="much later"),
        pytest.param(b"<noscript><meta http-equiv=refresh content='0; url=/no'></noscript><p>Script.", id="noscript"),
        pytest.param(b"<meta http-equiv=refresh content='0; url=javascript:x()'><p>Script.", id="a script"),
    ],
)
async def test_a_refresh_that_leads_nowhere_is_not_followed(visiting: Visiting, body: bytes) -> None:
    async with serving(by_path({"/": answer(body)})) as place, visiting() as visitor:
        _, part = await client(visitor).page(PartWanted(url=f"http://public.example.com:{place.port}/"))

    assert isinstance(part, PagePart) and part.text.endswith(".")
    assert place.paths == ["/"]


@on_the_web
@pytest.mark.parametrize(
    ("target", "error"),
    [
        pytest.param("http://private.example.com/", UrlNotAllowed, id="a private name"),
        pytest.param("http://127.0.0.1:{port}/there", UrlNotAllowed, id="a private address"),
        pytest.param("http://169.254.169.254/latest", UrlNotAllowed, id="metadata of a cloud"),
        pytest.param("ftp://public.example.com/", UrlNotAllowed, id="another scheme"),
        pytest.param("/forbidden", UrlNotAllowed, id="forbidden to robots"),
        pytest.param("/circle", HttpError, id="a circle"),
    ],
)
async def test_a_refresh_is_guarded_like_every_address(
    visiting: Visiting, target: str, error: type[DogubakoError]
) -> None:
    robots = answer(b"User-agent: *\nDisallow: /forbidden", content_type="text/plain")
    pages = {"/robots.txt": robots, "/circle": refresh("/circle2"), "/circle2": refresh("/circle")}
    async with serving(by_path(pages)) as place, visiting() as visitor:
        pages["/"] = refresh(target.format(port=place.port))
        with pytest.raises(error) as refused:
            await client(visitor, robots=True).page(PartWanted(url=f"http://public.example.com:{place.port}/"))

    assert not refused.value.retryable
    assert "/forbidden" not in place.paths
    assert len(place.paths) <= 5


def test_a_wrong_charset_is_told_to_the_reader() -> None:
    body = "<p>鉋は木の表面を薄く削る道具です。</p>".encode("euc_jp")
    page = Visited(url="https://example.com/", status=200, content_type="text/html", charset="utf-8", body=body)

    read = read_page(page, "markdown")

    assert (read.text, read.note) == (
        "鉋は木の表面を薄く削る道具です。",
        "The text is declared as UTF-8, but is EUC-JP.",
    )
