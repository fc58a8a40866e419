"""Pages and PDFs that cost a parser much: time, memory, depth, or its mind."""

import zlib
from collections.abc import Iterator
from itertools import chain
from typing import Final

from tests.packs.web.page_server import ServedPage

MEGABYTE: Final = 1024 * 1024
# A little less than fetch_page takes.
LARGEST: Final = 10 * MEGABYTE - 1_000
PDF: Final = "application/pdf"
_BROKEN: Final = "道具箱の金槌".encode("cp932") + b"\x81"


def repeated(unit: bytes, size: int = LARGEST, start: bytes = b"") -> bytes:
    return start + unit * ((size - len(start)) // len(unit))


def attributes(count: int) -> bytes:
    return b"<p " + b" ".join(b"a%d=1" % number for number in range(count)) + b">text</p>"


def pdf(objects: Iterator[bytes], root: int = 1) -> bytes:
    """A file with these objects, numbered from 1, and without a table of them: readers rebuild it."""
    numbered = (b"%d 0 obj\n%s\nendobj\n" % (number, one) for number, one in enumerate(objects, 1))
    return b"%PDF-1.7\n" + b"".join(numbered) + b"trailer <</Root %d 0 R>>\nstartxref\n0\n%%%%EOF" % root


def stream(content: bytes, **entries: str) -> bytes:
    packed = zlib.compress(content, 9)
    told = "".join(f"/{name} {value}" for name, value in entries.items())
    head = f"<</Length {len(packed)}/Filter/FlateDecode{told}>>".encode()
    return head + b"\nstream\n" + packed + b"\nendstream"


def _pages_of(content: bytes) -> Iterator[bytes]:
    """A document with one page that has this content."""
    return iter(
        (
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
            content,
            b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        )
    )


def memory_bomb() -> bytes:
    """Millions of elements and attributes: ten megabytes that need gigabytes."""
    return repeated(b"<p a b c d e f g h>")


def _million_objects() -> Iterator[bytes]:
    return chain(_pages_of(stream(b"BT /F 1 Tf (hello) Tj ET")), (b"0" for _ in range(300_000)))


def html_pages() -> dict[str, bytes]:
    return {
        "/attributes": attributes(600_000),
        "/memory": memory_bomb(),
        "/some-attributes": attributes(20_000),
        "/deep": repeated(b"<div>"),
        "/deep-but-allowed": (b"<div>" * 4_900 + b"x" + b"</div>" * 4_900) * 100,
        "/formatting": repeated(b"<b><i></b>"),
        "/one-paragraph": repeated(b"some words of a text. ", start=b"<p>"),
        "/one-word": repeated(b"a", start=b"<p>"),
        "/entities": repeated(b"&amp;&lt;&#x41;", start=b"<p>"),
        "/open-entities": repeated(b"&am", start=b"<p>"),
        "/table": repeated(b"<tr><td>1<td>2", start=b"<table>"),
        "/tables-in-tables": b"<table><tr><td>" * 4_000,
        "/lists": repeated(b"<li>hammer<ul>", 100_000),
        "/line-breaks": repeated(b"<br>", 1_400_000),
        "/comment": repeated(b"<!-- ", start=b"<p>before"),
        "/script": repeated(b"<script>", start=b"<p>before"),
        "/doctype": repeated(b"<!doctype html [<!entity a 'b'>]>", 2 * MEGABYTE),
        "/null-bytes": repeated(b"\0<p>\0"),
        "/title": repeated(b"title ", start=b"<title>"),
        "/headings": repeated(b"<h2>a</h2>", 2 * MEGABYTE),
    }


def texts() -> dict[str, ServedPage]:
    kinds = {
        "/shift-jis": (repeated(_BROKEN), "Shift_JIS"),
        "/euc-jp": (repeated("道具".encode("euc-jp") + b"\x8f"), "EUC-JP"),
        "/iso-2022-jp": (repeated(b"\x1b$B" + b"F;" * 20), "ISO-2022-JP"),
        "/utf-16": (repeated(b"\xd8\x00\x00a", start=b"\xff\xfe"), "UTF-16"),
        "/punycode": (repeated(b"a-b"), "punycode"),
        "/utf-7": (repeated(b"+2AA-"), "utf-7"),
    }
    named = {
        path: ServedPage(body=body, content_type=f"text/plain; charset={name}") for path, (body, name) in kinds.items()
    }
    for path, text in (("/combining", "\u0300\u0323"), ("/ligatures", "\ufdfa")):
        named[path] = ServedPage(body=repeated(text.encode(), start=b"a"), content_type="text/plain; charset=utf-8")
    named["/marks"] = ServedPage(body=repeated(b"# a\n"), content_type="text/markdown")
    named["/json"] = ServedPage(body=repeated(b"["), content_type="application/json")
    return named


def pdfs() -> dict[str, bytes]:
    whole = pdf(_pages_of(stream(b"BT /F 1 Tf (hello) Tj ET")))
    cyclic = (b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[2 0 R 2 0 R]/Parent 2 0 R/Count 9>>")
    many = b"<</Type/Pages/Kids[" + b"3 0 R " * 400_000 + b"]/Count 400000>>"
    locked = b"trailer <</Root 1 0 R/Encrypt<</Filter/Standard/V 9/R 9/O(a)/U(b)/P -1>>/ID[(a)(b)]>>"
    return {
        "/objects.pdf": pdf(_million_objects()),
        "/cyclic.pdf": pdf(iter(cyclic)),
        "/bomb.pdf": pdf(_pages_of(stream(bytes(2_000 * MEGABYTE // 4)))),
        "/text-bomb.pdf": pdf(_pages_of(stream(b"BT /F 1 Tf " + b"(hello) Tj " * 20_000_000 + b"ET"))),
        "/many-pages.pdf": pdf(iter((b"<</Type/Catalog/Pages 2 0 R>>", many, b"<</Type/Page/Parent 2 0 R>>"))),
        "/nested.pdf": pdf(_pages_of(b"[" * 3_000_000)),
        "/locked.pdf": whole.replace(b"trailer <</Root 1 0 R>>", locked),
        "/truncated.pdf": whole[: len(whole) // 2],
        "/empty.pdf": b"%PDF-1.7",
    }


def hostile_pages() -> dict[str, ServedPage]:
    pages = {path: ServedPage(body=body) for path, body in html_pages().items()}
    pages |= {path: ServedPage(body=body, content_type=PDF) for path, body in pdfs().items()}
    return pages | texts()
