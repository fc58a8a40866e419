"""Pages, feeds and Office files that are made to cost a converter much."""

import zipfile
from io import BytesIO
from typing import Final

from tests.packs.web.page_server import ServedPage

_MEGABYTE: Final = 1024 * 1024
_XLSX: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_DOCX: Final = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_LEVELS: Final = 4_900
_CONTENT_TYPES: Final = (
    b"<Types xmlns='http://schemas.openxmlformats.org/package/2006/content-types'><Default Extension='xml' "
    b"ContentType='application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml'/></Types>"
)


def markup() -> dict[str, bytes]:
    """HTML that nests, repeats or spans as far as a page may."""
    return {
        "/nested-lists": b"<ul><li>a" * (_LEVELS // 2),
        "/nested-quotes": b"<blockquote>a\n" * _LEVELS,
        "/nested-emphasis": b"<b>a<i>b" * (_LEVELS // 2),
        "/nested-tables": b"<table><tr><td>a" * (_LEVELS // 3),
        "/nested-links": b"<div><a href=/x>a" * (_LEVELS // 2),
        "/spans": b"<table>" + b"<tr><td colspan=1000 rowspan=65000>a<td colspan=9999>b" * 20_000,
        "/one-row": b"<table><tr>" + b"<td>a" * 300_000,
        "/anchors": b"<a href='../../../../a/b/c?d#e'>a</a> " * 60_000,
        "/long-addresses": (b"<a href='/" + b"a/../" * 1_500 + b"'>a</a>") * 300,
        "/backticks": b"<pre>" + b"`" * 1_000_000 + b"</pre><p><code>" + b"` " * 200_000,
        "/sidebars": b"<div class='sidebar menu'><a href=/a>a</a>" * 4_000 + b"<p>text",
        "/spaces": b"<p>" + b" \n\t" * 900_000 + "道\n".encode() * 100_000,
        "/list-numbers": b"<ol start=999999999>" + b"<li value=-999999999>a" * 100_000,
        "/refresh": b"<meta http-equiv=refresh content='0;url=/refresh?" + b"a" * 7_000 + b"'>" * 1_000,
        "/declarations": b"<meta charset=" * 500 + b"<?xml encoding=" * 500 + b"<p>text",
    }


def feeds() -> dict[str, bytes]:
    """Feeds with entities, depth and entries without end."""
    entities = b"".join(b"<!ENTITY a%d '%s'>" % (n, (b"&a%d;" % (n - 1) if n else b"ha") * 10) for n in range(12))
    return {
        "/laughs.xml": b"<!DOCTYPE rss [" + entities + b"]><rss><channel><title>&a11;</title></channel></rss>",
        "/file.xml": b"<!DOCTYPE rss [<!ENTITY f SYSTEM 'file:///etc/passwd'>]><rss><channel><title>&f;</title></channel></rss>",
        "/deep.xml": b"<rss><channel>" + b"<item>" * 200_000,
        "/entries.xml": b"<rss><channel>"
        + b"<item><title>a</title><description>&lt;p&gt;b</description></item>" * 90_000,
    }


def archive(**members: bytes) -> bytes:
    target = BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in members.items():
            opened.writestr(name.replace("__", "/").replace("_dot_", "."), content)
    return target.getvalue()


def documents() -> dict[str, ServedPage]:
    """Archives that unpack to much, or to nothing that they say they are."""
    bomb = archive(xl__workbook_dot_xml=bytes(400 * _MEGABYTE))
    below = archive(xl__sharedStrings_dot_xml=b"<a>" * (80 * _MEGABYTE // 3), xl__workbook_dot_xml=b"<workbook/>")
    crowd = archive(**{f"m{number}": b"" for number in range(30_000)})
    word = archive(**{"[Content_Types]_dot_xml": _CONTENT_TYPES, "word__document_dot_xml": b"<w>" * 5_000_000})
    return {
        "/bomb.xlsx": ServedPage(body=bomb, content_type=_XLSX),
        "/below.xlsx": ServedPage(body=below, content_type=_XLSX),
        "/crowd.docx": ServedPage(body=crowd, content_type=_DOCX),
        "/deep.docx": ServedPage(body=word, content_type=_DOCX),
        "/polyglot.pdf": ServedPage(body=b"GIF89a%PDF-1.7\n" + bomb, content_type="text/html"),
        "/picture": ServedPage(body=b"\x89PNG\r\n\x1a\n" + bytes(9 * _MEGABYTE)),
        "/gzip": ServedPage(body=b"\x1f\x8b\x08" + bytes(9 * _MEGABYTE)),
    }


def hostile_documents() -> dict[str, ServedPage]:
    pages = {path: ServedPage(body=body) for path, body in markup().items()}
    pages |= {path: ServedPage(body=body, content_type="application/rss+xml") for path, body in feeds().items()}
    return pages | documents()
