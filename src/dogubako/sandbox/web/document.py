"""One page of the small web: what it says, and how it looks to a browser."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Final, Literal

Kind = Literal["article", "bare", "pdf", "json"]

DOMAIN: Final = "sandbox.invalid"
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, kw_only=True)
class Document:
    """A page. Its text is written in paragraphs; a line that begins with `## ` is a headline."""

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
        """What a search engine shows of it."""
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
    """A page that is all menu and no text."""
    yield "<nav><ul>"
    for part in document.paragraphs:
        yield f'<li><a href="/{escape(part.lower())}">{escape(part)}</a></li>'
    yield "</ul></nav>\n<script>document.title += '!'</script>"
