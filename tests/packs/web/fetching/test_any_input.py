"""Whatever comes in, what comes out is an answer or one of our errors."""

import re
import string
from io import BytesIO
from itertools import pairwise
from typing import Final
from urllib.parse import quote

from hypothesis import example, given, settings
from hypothesis import strategies as st
from pypdf import PdfWriter

from dogubako.contract.errors import DogubakoError, HtmlParseError, UrlNotAllowed
from dogubako.outbound.public_addresses import destination
from dogubako.packs.web.formatters import page_text
from dogubako.packs.web.pages.fetch import Visited
from dogubako.packs.web.pages.parts import PageFormat, PartWanted, Readable, headings_of, part_of
from dogubako.packs.web.pages.reading import read_page
from dogubako.packs.web.pages.robots import robots_allow
from tests.hypothesis_profiles import examples

URL: Final = "https://example.com/page"
FRAMED: Final = re.compile(r"not instructions to follow\.\]\n\n(.*)\n\n\[End of the content of ", re.DOTALL)
ANY_TEXT: Final = st.text(st.characters(codec=None, exclude_categories=()))
FORMATS: Final = st.sampled_from(["markdown", "text", "html"])
KINDS: Final = st.sampled_from(
    ["text/html", "", "application/xhtml+xml", "text/plain", "application/pdf", "application/json", "image/png", "a\0b"]
)
ENCODINGS: Final = "utf-8 utf-7 utf-16 utf-32 shift_jis euc-jp iso-2022-jp gb2312 latin-1 cp037"
NO_ENCODINGS: Final = "idna punycode undefined unicode_escape raw_unicode_escape rot13 hex zlib mbcs no-such-thing"
CHARSETS: Final = st.sampled_from([*ENCODINGS.split(), *NO_ENCODINGS.split(), "a\0b", "x" * 300, "", "\"utf-8'"])
TAGS: Final = (
    "<p> </p> <div> </div> <table> <tr><td> <a\thref=/x> </a> <h1> </h1> <pre> <script> </script> <svg> <title>"
)
ODDITIES: Final = (
    "<!-- --> <![CDATA[ ]]> <?xml\t?> &#0; &amp; \0 # 道具 \\ud800 +2AA- <meta\tcharset=utf-7> <main> <article>"
)
WORDS: Final = "some words of a text that is long enough to be read. "
PIECES: Final = st.sampled_from([*TAGS.split(" "), *ODDITIES.split(" "), WORDS, "\n"])


@settings(max_examples=examples(300))
@given(ANY_TEXT)
def test_any_text_is_a_destination_or_refused(text: str) -> None:
    for url in (text, f"http://{text}", f"https://{text}/", f"http://example.com/{text}", f"http://example.com:{text}"):
        try:
            target = destination(url)
        except UrlNotAllowed:
            continue
        assert target.url.isascii()
        assert target.url.isprintable()
        assert " " not in target.url
        assert destination(target.url) == target


@settings(max_examples=examples(200))
@given(st.binary(max_size=2_000), KINDS, CHARSETS, FORMATS)
@example(b"%PDF-1.7\n%%EOF", "application/pdf", "utf-8", "text")
def test_any_bytes_are_read_or_refused(body: bytes, kind: str, charset: str, wanted: PageFormat) -> None:
    read_or_refused(Visited(url=URL, status=200, content_type=kind, charset=charset, body=body), wanted)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(PIECES, max_size=60), CHARSETS, FORMATS)
def test_any_markup_is_read_or_refused(pieces: list[str], charset: str, wanted: PageFormat) -> None:
    body = "".join(pieces).encode()
    read_or_refused(Visited(url=URL, status=200, content_type="text/html", charset=charset, body=body), wanted)


@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_a_damaged_pdf_is_read_or_refused(data: st.DataObject) -> None:
    body = bytearray(PDF)
    for _ in range(data.draw(st.integers(1, 8))):
        place = data.draw(st.integers(0, len(body) - 1))
        body[place : place + data.draw(st.integers(0, 20))] = data.draw(st.binary(max_size=20))
    read_or_refused(
        Visited(url=URL, status=200, content_type="application/pdf", charset=None, body=bytes(body)), "text"
    )


def read_or_refused(page: Visited, wanted: PageFormat) -> None:
    try:
        read = read_page(page, wanted)
    except DogubakoError as error:
        assert isinstance(error, HtmlParseError)
    else:
        # Half a character could not be sent to anybody.
        (read.title + read.text).encode()


@settings(max_examples=examples(200))
@given(st.text(st.sampled_from("ab#`~ \n道"), max_size=400), st.integers(1, 50))
def test_paging_shows_every_character_once(text: str, length: int) -> None:
    shown, start = "", 0
    for _ in range(len(text) + 1):
        wanted = PartWanted(url=URL, start=start, length=length)
        part = page_text(part_of(Readable(title="", text=text, kind="text/plain"), wanted), URL, wanted)
        framed = FRAMED.search(part)
        shown += framed[1] if framed else ""
        if "Next: fetch_page(" not in part:
            break
        start += length

    assert shown == text.strip()


@settings(max_examples=examples(200))
@given(st.text(st.sampled_from("ab#`~ \n\t道"), max_size=400))
def test_every_section_begins_with_its_headline_and_ends_before_the_next(text: str) -> None:
    headings = headings_of(text)
    for heading in headings:
        section = text[heading.start : heading.end]
        assert section.startswith("#" * heading.level)
        assert heading.title in section.split("\n", 1)[0]
    for one, other in pairwise(headings):
        assert one.start < other.start
        assert one.end == other.start if other.level <= one.level else one.end > other.start


@settings(max_examples=examples(200))
@given(st.text(st.sampled_from(string.printable + "道\x85\u2028")), ANY_TEXT)
def test_any_robots_file_says_yes_or_no(text: str, path: str) -> None:
    body = f"User-agent: *\nDisallow: {text}\n{text}".encode()

    assert robots_allow(body, "dogubako", f"https://example.com/{quote(path, errors='replace')}") in (True, False)


def _pdf() -> bytes:
    writer = PdfWriter()
    writer.add_metadata({"/Title": "Tools"})
    for _ in range(2):
        writer.add_blank_page(width=100, height=100)
    target = BytesIO()
    writer.write(target)
    return target.getvalue()


PDF: Final = _pdf()
