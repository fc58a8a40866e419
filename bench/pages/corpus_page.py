"""A page of the corpus, and what is true about it."""

from dataclasses import dataclass
from typing import Final

from selectolax.lexbor import LexborHTMLParser

URL: Final = "https://corpus.sandbox.invalid/shop/tools/page.html"


@dataclass(frozen=True, kw_only=True, slots=True)
class CorpusPage:
    """A page, and what a reader of it has to find."""

    name: str
    body: bytes
    content_type: str = "text/html"
    url: str = URL
    # Label and address of links.
    links: tuple[tuple[str, str], ...] = ()
    # Strings that only appear if the text was decoded rightly.
    texts: tuple[str, ...] = ()
    # Language and text of code.
    code: tuple[tuple[str, str], ...] = ()
    # Depth, marker and text of list items.
    items: tuple[tuple[int, str, str], ...] = ()
    # The cells of rows.
    rows: tuple[tuple[str, ...], ...] = ()
    # Strings of menus and footers.
    noise: tuple[str, ...] = ()


def page(
    name: str,
    html: str,
    *,
    encoding: str = "utf-8",
    header: str = "text/html",
    bom: bytes = b"",
    url: str = URL,
    links: tuple[tuple[str, str], ...] = (),
    texts: tuple[str, ...] = (),
    code: tuple[tuple[str, str], ...] = (),
    items: tuple[tuple[int, str, str], ...] = (),
    rows: tuple[tuple[str, ...], ...] = (),
    noise: tuple[str, ...] = (),
) -> CorpusPage:
    """A page in an encoding. Characters that the encoding lacks are errors."""
    return CorpusPage(
        name=name,
        body=bom + html.encode(encoding),
        content_type=header,
        url=url,
        links=links,
        texts=texts,
        code=code,
        items=items,
        rows=rows,
        noise=noise,
    )


def article(inner: str, *, head: str = "", lang: str = "en", closed: bool = True) -> str:
    """An ordinary page with a menu and a footer around its article; `closed`: with all end tags."""
    html = (
        f"<!doctype html><html lang={lang}><head><title>Workshop notes</title>{head}</head><body>"
        "<nav><ul><li><a href=/start>Start page</a><li><a href=/contact>Write to us</a></ul></nav>"
        f"<main><article>{inner}</article></main>"
        "<footer><p>Printed on recycled bytes by nobody.</p></footer></body></html>"
    )
    return LexborHTMLParser(html).html or "" if closed else html


PROSE: Final = (
    "<p>A workshop that is used every day needs a place for each tool, and a habit of putting it back. The bench stays "
    "free, the blades stay sharp, and nobody looks for the small square in the evening.</p>"
)
