"""Result pages as html.duckduckgo.com writes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from typing import Final
from urllib.parse import quote

from dogubako.sandbox.web.document import Document

A_PAGE: Final = 10
ADS_A_PAGE: Final = 2
PIXEL: Final = '<img src="//duckduckgo.com/t/sl_{0}"/>'
_AD: Final = "https://duckduckgo.com/y.js?ad_domain=ads.sandbox.invalid&ad_provider=made-up&u3=https%3A%2F%2Fads"


@dataclass(frozen=True, kw_only=True, slots=True)
class Results:
    """What is shown of a search: some pages, and where they stand among all that were found."""

    query: str
    region: str
    start: int
    documents: Sequence[Document]
    total: int
    wrapped: bool

    @property
    def end(self) -> int:
        return self.start + len(self.documents)

    def link(self, url: str) -> str:
        """The address of a result, on some pages through DuckDuckGo's own redirect."""
        if not self.wrapped:
            return escape(url)
        return escape(f"//duckduckgo.com/l/?uddg={quote(url, safe='')}&rut={_digest(url)}")

    @property
    def ad_link(self) -> str:
        return self.link(_AD)

    def next_fields(self) -> str:
        """The hidden fields that lead to the page after this one."""
        ads = ADS_A_PAGE * (self.start // A_PAGE + 1)
        fields = {
            "q": self.query,
            "s": str(self.end),
            "nextParams": "",
            "v": "l",
            "o": "json",
            "dc": str(self.end + ads + 1),
            "api": "d.js",
            "vqd": vqd(self.query),
            "kl": self.region,
        }
        return "\n".join(f'<input type="hidden" name="{name}" value="{escape(said)}">' for name, said in fields.items())


def vqd(query: str) -> str:
    """The ticket that a query gets with its first page; without it there is no second."""
    return f"4-{int(_digest(query)[:24], 16)}"


def html_page(results: Results) -> str:
    """Results with ads between them, and the form to the next page where there is one."""
    shown = [_result(results, document) for document in results.documents]
    shown[4:4] = [_ad(results, 2)]
    rest = _next_form(results) if results.end < results.total else no_more(results.query)
    back = _previous_form(results) if results.start else ""
    return framed(results.query, "\n".join([_ad(results, 1), *shown, back, rest]))


def framed(query: str, content: str) -> str:
    """The page around the results."""
    said = escape(query)
    return (
        '<!DOCTYPE html>\n<html>\n<head>\n<meta charset="UTF-8">\n'
        f"<title>{said} at DuckDuckGo</title>\n</head>\n<body>\n"
        '<form name="x" class="header__form" action="/html/" method="post">\n'
        f'<input name="q" type="text" value="{said}"><input name="b" type="submit" value="">\n</form>\n'
        f'<div class="serp__results"><div id="links" class="results">\n{content}\n</div></div>\n'
        f"{PIXEL.format('h')}\n</body>\n</html>\n"
    )


def no_more(query: str) -> str:
    """Stands also after real results."""
    return f'<div class="no-results__message">No more results found for <b>{escape(query)}</b>.</div>'


def _result(results: Results, document: Document) -> str:
    link = results.link(document.url)
    title = f'<a rel="nofollow" class="result__a" href="{link}">{escape(document.title)}</a>'
    return (
        '<div class="result results_links results_links_deep web-result">\n'
        '<div class="links_main links_deep result__body">\n'
        f'<h2 class="result__title">{title}</h2>\n'
        f'<a class="result__url" href="{link}">{document.host}{document.path}</a>\n'
        f'<a class="result__snippet" href="{link}">{_bold(document.summary, results.query)}</a>\n</div>\n</div>'
    )


def _ad(results: Results, number: int) -> str:
    return (
        '<div class="result results_links results_links_deep result--ad">\n'
        '<div class="links_main links_deep result__body">\n'
        f'<h2 class="result__title"><a class="result__a" href="{results.ad_link}">Buy it here {number}</a></h2>\n'
        '<button class="badge--ad">Ad</button>\n'
        f'<a class="result__snippet" href="{results.ad_link}">Somebody paid for this line.</a>\n</div>\n</div>'
    )


def _next_form(results: Results) -> str:
    button = '<input type="submit" class="btn btn--alt" value="Next">'
    return (
        f'<div class="nav-link"><form action="/html/" method="post">\n{button}\n{results.next_fields()}\n</form></div>'
    )


def _previous_form(results: Results) -> str:
    said = escape(results.query)
    return (
        '<div class="nav-link"><form action="/html/" method="post">\n'
        f'<input type="submit" class="btn btn--alt" value="Previous"><input type="hidden" name="q" value="{said}">\n'
        f'<input type="hidden" name="s" value="{max(results.start - A_PAGE, 0)}">\n</form></div>'
    )


def _bold(text: str, query: str) -> str:
    """The words of the query stand out in a snippet."""
    wanted = set(query.lower().split())
    return " ".join(f"<b>{escape(one)}</b>" if one.lower() in wanted else escape(one) for one in text.split())


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
