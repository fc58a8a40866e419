"""Documents of the sandbox's web: HTML pages and PDFs."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Final, Literal

Kind = Literal["article", "bare", "pdf", "json"]

DOMAIN: Final = "sandbox.invalid"
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, kw_only=True)
class Document:
    """A page. Its text has paragraphs; a line that begins with `## ` is a heading."""

    site: str
    path: str
    title: str
    text: str
    language: str = "en"
    encoding: Literal["utf-8", "shift_jis"] = "utf-8"
    kind: Kind = "article"
    age_days: int = 500

    @property
    def host(self) -> str:
        return f"{self.site}.{DOMAIN}"

    @property
    def url(self) -> str:
        return f"https://{self.host}{self.path}"

    @cached_property
    def paragraphs(self) -> list[str]:
        return [" ".join(part.split()) for part in self.text.strip().split("\n\n")]

    @property
    def summary(self) -> str:
        """The snippet in search results."""
        return next((part for part in self.paragraphs if not part.startswith("## ")), "")

    @cached_property
    def searched(self) -> str:
        return f"{self.title}\n{' '.join(self.paragraphs)}".lower()

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(_WORD.findall(self.searched))


def as_html(document: Document) -> bytes:
    """The whole page, in the encoding that it declares."""
    body = "\n".join(_navigation(document) if document.kind == "bare" else _article(document))
    page = (
        f'<!DOCTYPE html>\n<html lang="{document.language}">\n<head>\n<meta charset="{document.encoding}">\n'
        f"<title>{escape(document.title)}</title>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )
    return page.encode(document.encoding)


def _article(document: Document) -> Iterator[str]:
    yield f'<nav><a href="/">{document.host}</a> <a href="/about">About us</a> <a href="/contact">Contact</a></nav>'
    yield f"<main><article>\n<h1>{escape(document.title)}</h1>"
    for part in document.paragraphs:
        yield f"<h2>{escape(part[3:])}</h2>" if part.startswith("## ") else f"<p>{escape(part)}</p>"
    yield "</article></main>"
    yield "<footer>All characters and goods on this site are made up.</footer>"


def _navigation(document: Document) -> Iterator[str]:
    """A page with a menu and no text."""
    yield "<nav><ul>"
    for part in document.paragraphs:
        yield f'<li><a href="/{escape(part.lower())}">{escape(part)}</a></li>'
    yield "</ul></nav>\n<script>document.title += '!'</script>"


_HEAD: Final = b"%PDF-1.4\n"
_FIRST_PAGE_OBJECT: Final = 5


def pdf(title: str, pages: Sequence[Sequence[str]]) -> bytes:
    """A PDF of these lines: Latin-1 only, without brackets and backslashes."""
    numbers = [_FIRST_PAGE_OBJECT + 2 * index for index in range(len(pages))]
    kids = " ".join(f"{number} 0 R" for number in numbers)
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        f"<< /Title ({title}) >>",
    ]
    for number, lines in zip(numbers, pages, strict=True):
        content = _content(lines)
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] "
            f"/Resources << /Font << /F1 3 0 R >> >> /Contents {number + 1} 0 R >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    return _assembled(objects)


def _content(lines: Sequence[str]) -> str:
    shown = "\n".join(f"({line}) Tj T*" for line in lines)
    return f"BT /F1 12 Tf 16 TL 72 770 Td\n{shown}\nET"


def _assembled(objects: Sequence[str]) -> bytes:
    """The objects, and the table of their offsets."""
    body = bytearray(_HEAD)
    places = []
    for number, text in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{text}\nendobj\n".encode("latin-1")
    rows = "".join(f"{place:010d} 00000 n \n" for place in places)
    table = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{rows}"
    end = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R /Info 4 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    return bytes(body) + table.encode() + end.encode()
