"""From a page to text: the readable part as Markdown, the text of a PDF, other texts as they are."""

import logging
import re
import struct
import zlib
from io import BytesIO
from typing import Final

from selectolax.lexbor import LexborHTMLParser

from dogubako.contract.errors import HtmlParseError
from dogubako.packs.web.pages.decoding import decoded
from dogubako.packs.web.pages.nesting import require_flat
from dogubako.packs.web.pages.parts import PageFormat, Readable
from dogubako.packs.web.pages.visiting import Visited

_HTML: Final = frozenset({"text/html", "application/xhtml+xml", ""})
_TEXTUAL: Final = frozenset({"application/json", "application/xml", "application/rss+xml", "application/atom+xml"})
_TEXTUAL_ENDINGS: Final = ("+json", "+xml", "/javascript", "/yaml", "/x-yaml", "/toml")
_KIND: Final = re.compile(r"[a-z0-9.+-]{1,60}/[a-z0-9.+-]{1,60}")
_MOST_PDF_PAGES: Final = 300
# Finding the main part takes up to 10 s and 300 MB per million characters; all of its text is found at once.
_LONGEST_FOR_EXTRACTION: Final = 1_500_000
# What a damaged file makes the PDF reader stumble over, besides its own errors.
_STUMBLES: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)


def read_page(page: Visited, wanted: PageFormat) -> Readable:
    """Slow for long pages, and for ever for some: a worker process does it."""
    if page.content_type == "application/pdf" or page.body.startswith(b"%PDF-"):
        return _pdf(bytes(page.body))
    text = decoded(bytes(page.body), page.charset)
    if page.content_type in _HTML or text.lstrip()[:15].lower().startswith(("<!doctype html", "<html")):
        return _html(text, page.url, wanted)
    if page.content_type.startswith("text/") or page.content_type in _TEXTUAL:
        return Readable(title="", text=text, kind=page.content_type)
    if page.content_type.endswith(_TEXTUAL_ENDINGS):
        return Readable(title="", text=text, kind=page.content_type)
    kind = page.content_type if _KIND.fullmatch(page.content_type) else "of an unknown type"
    raise HtmlParseError(kind, message=f"The page could not be read: it is {kind}, not text.")


def _html(text: str, url: str, wanted: PageFormat) -> Readable:
    require_flat(text)
    tree = LexborHTMLParser(text)
    head = tree.css_first("title")
    title = " ".join(head.text().split()) if head is not None else ""
    if wanted == "html":
        return Readable(title=title, text=text, kind="text/html")
    if len(text) > _LONGEST_FOR_EXTRACTION:
        return Readable(title=title, text=_all_text(tree), kind="text/html")
    # Heavy, and only needed once somebody reads a page.
    import trafilatura  # noqa: PLC0415

    # Odd pages are strangers' business, and no fault of this server.
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    form = "markdown" if wanted == "markdown" else "txt"
    readable = trafilatura.extract(
        text,
        url=url,
        output_format=form,
        include_links=wanted == "markdown",
        include_tables=True,
        include_comments=False,
    )
    return Readable(title=title, text=readable or _all_text(tree), kind="text/html")


def _all_text(tree: LexborHTMLParser) -> str:
    """Every word of the page, where no main part was found."""
    for node in tree.css("script, style, noscript, template, svg"):
        node.decompose()
    body = tree.body
    lines = (" ".join(line.split()) for line in (body.text(separator="\n") if body is not None else "").split("\n"))
    return "\n".join(line for line in lines if line)


def _pdf(body: bytes) -> Readable:
    from pypdf import PdfReader  # noqa: PLC0415 - heavy, and few pages are PDFs
    from pypdf.errors import PyPdfError  # noqa: PLC0415

    try:
        document = PdfReader(BytesIO(body))
        pages = [page.extract_text() for page in document.pages[:_MOST_PDF_PAGES]]
        title = str(document.metadata.title or "") if document.metadata else ""
    except (PyPdfError, *_STUMBLES) as error:
        cause = f"{type(error).__name__}: {error}"
        raise HtmlParseError(cause, message="The page could not be read: the PDF is damaged or locked.") from error
    text = "\n\n".join(f"## Page {number}\n\n{text.strip()}" for number, text in enumerate(pages, 1))
    # The reader makes halves of characters out of a wrong character map.
    whole, name = (value.encode("utf-8", "replace").decode() for value in (text, title))
    return Readable(title=name, text=whole, kind="application/pdf")
