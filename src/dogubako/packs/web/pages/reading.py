"""Read a fetched page by what it is: HTML, a feed, a document or a text."""

import re
from dataclasses import replace
from typing import Final

from dogubako.contract.errors import HtmlParseError
from dogubako.outbound.documents.document import DocumentError, DocumentKind, document_kind
from dogubako.outbound.documents.worker import READERS
from dogubako.outbound.text_decoding import decode_text
from dogubako.packs.web.pages.feeds import is_xml_feed, read_json_feed, read_xml_feed
from dogubako.packs.web.pages.fetch import Visited
from dogubako.packs.web.pages.html_page import read_html
from dogubako.packs.web.pages.parts import PageFormat, Readable

_HTML: Final = frozenset({"text/html", "application/xhtml+xml", ""})
_TEXTUAL: Final = frozenset({"application/json", "application/xml", "application/rss+xml", "application/atom+xml"})
_TEXTUAL_ENDINGS: Final = ("+json", "+xml", "/javascript", "/yaml", "/x-yaml", "/toml")
_KIND: Final = re.compile(r"[a-z0-9.+-]{1,60}/[a-z0-9.+-]{1,60}")
_MOST_PAGES: Final = 300
# The first bytes of files that are no text, whatever their server calls them.
_MARKS: Final = (
    (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF87a", "a GIF picture"),
    (b"GIF89a", "a GIF picture"),
    (b"BM", "a BMP picture"),
    (b"RIFF", "a picture, a sound or a video"),
    (b"II*\0", "a TIFF picture"),
    (b"MM\0*", "a TIFF picture"),
    (b"\0\0\1\0", "an icon"),
    (b"PK\3\4", "a ZIP archive"),
    (b"\x1f\x8b", "compressed data (gzip)"),
    (b"\x28\xb5\x2f\xfd", "compressed data (zstd)"),
    (b"BZh", "compressed data (bzip2)"),
    (b"\xfd7zXZ\0", "compressed data (xz)"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\7", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90\0", "a program"),
    (b"\0asm", "a program"),
    (b"OggS", "a sound or a video"),
    (b"ID3", "a sound"),
    (b"fLaC", "a sound"),
    (b"\x1aE\xdf\xa3", "a video"),
    (b"wOFF", "a font"),
    (b"wOF2", "a font"),
    (b"SQLite format 3\0", "a database"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office file"),
)
# Marks of two letters may also begin a text; those files have zero bytes soon.
_SHORT_MARK: Final = 4
_LOOKED_AT: Final = 1_024
# Text has no control characters besides white space and the escape of ISO-2022.
_CONTROLS: Final = re.compile(rb"[\0-\x06\x0e-\x1a\x1c-\x1f]")
_MOST_CONTROLS: Final = 0.05


def read_page(page: Visited, wanted: PageFormat) -> Readable:
    """Extract the readable text. Slow for long pages, and endless for some: a worker process does it."""
    body = bytes(page.body)
    name = page.url.partition("?")[0].rpartition("/")[2] if page.content_type not in _HTML else ""
    document = document_kind(page.content_type, name, body)
    if document is not None:
        return _document(body, document)
    if (mark := _mark_of(body)) is not None and (page.content_type in _HTML or page.content_type.startswith("text/")):
        told = f" Its server calls it {page.content_type}." if page.content_type else ""
        raise HtmlParseError(mark, message=f"The page could not be read: it is {mark}, not text.{told}")
    decoded = decode_text(body, page.charset)
    readable = _text_page(page, decoded.text, wanted)
    notes = [note for note in (readable.note, decoded.note) if note]
    return replace(readable, note=" ".join(notes) or None)


def _text_page(page: Visited, text: str, wanted: PageFormat) -> Readable:
    kind = page.content_type
    begins = text.lstrip()[:200].lower()
    if wanted != "html" and (feed := _feed(text, page.url)) is not None:
        return feed
    if kind in _HTML or begins.startswith(("<!doctype html", "<html")):
        html = read_html(text, page.url, wanted)
        return replace(html.readable, onward=html.onward)
    if kind.startswith("text/") or kind in _TEXTUAL or kind.endswith(_TEXTUAL_ENDINGS):
        return Readable(title="", text=text, kind=kind)
    shown = kind if _KIND.fullmatch(kind) else "of an unknown type"
    raise HtmlParseError(shown, message=f"The page could not be read: it is {shown}, not text.")


def _feed(text: str, url: str) -> Readable | None:
    if is_xml_feed(text):
        return read_xml_feed(text, url)
    return read_json_feed(text, url) if text.lstrip()[:1] == "{" else None


def _mark_of(body: bytes) -> str | None:
    """What a file is by its first bytes, if it is no text."""
    head = body[:_LOOKED_AT]
    for mark, name in _MARKS:
        if head.startswith(mark) and (len(mark) >= _SHORT_MARK or b"\0" in head or not head[2:3].isascii()):
            return name
    if head[4:8] == b"ftyp":
        return "a video or a picture"
    noise = len(_CONTROLS.findall(head)) > len(head) * _MOST_CONTROLS
    return "binary data" if noise and not decode_text(head).known else None


def _document(body: bytes, kind: DocumentKind) -> Readable:
    """A document, all its pages below headings of their own."""
    try:
        document = READERS[kind](body)
        shown = range(1, min(document.count, _MOST_PAGES) + 1)
        texts = [document.page(number) for number in shown]
    except DocumentError as error:
        message = f"The page could not be read: {error.message}."
        raise HtmlParseError(error.cause, message=message, hint=error.hint) from error
    if document.unit == "page":
        texts = [f"## Page {number}\n\n{text}" for number, text in zip(shown, texts, strict=True)]
    left = document.count - len(texts)
    note = f"{left:,} more pages are not shown." if left > 0 else None
    return Readable(title=document.title, text="\n\n".join(texts), kind=kind, note=note)
