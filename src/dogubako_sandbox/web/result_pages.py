"""DuckDuckGo's pages: results (HTML and Lite), challenges and no results."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from typing import Final
from urllib.parse import quote

from dogubako_sandbox.web.documents import Document

A_PAGE: Final = 10
ADS_A_PAGE: Final = 2
PIXEL: Final = '<img src="//duckduckgo.com/t/sl_{0}"/>'
_AD: Final = "https://duckduckgo.com/y.js?ad_domain=ads.sandbox.invalid&ad_provider=made-up&u3=https%3A%2F%2Fads"


@dataclass(frozen=True, kw_only=True, slots=True)
class Results:
    """Some pages of a search, and their offset among all results."""

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
        """The URL of a result, on some pages through DuckDuckGo's own redirect."""
        if not self.wrapped:
            return escape(url)
        return escape(f"//duckduckgo.com/l/?uddg={quote(url, safe='')}&rut={_digest(url)}")

    @property
    def ad_link(self) -> str:
        return self.link(_AD)

    def next_fields(self) -> str:
        """The hidden fields of the form for the next page."""
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
        return "\n".join(
            f'<input type="hidden" name="{name}" value="{escape(value)}">' for name, value in fields.items()
        )


def vqd(query: str) -> str:
    """The token of a query from its first page; the next page requires it."""
    return f"4-{int(_digest(query)[:24], 16)}"


def html_page(results: Results) -> str:
    """Results with ads between them, and the form for the next page if there is one."""
    shown = [_result(results, document) for document in results.documents]
    shown[4:4] = [_ad(results, 2)]
    rest = _next_form(results) if results.end < results.total else no_more(results.query)
    back = _previous_form(results) if results.start else ""
    return framed(results.query, "\n".join([_ad(results, 1), *shown, back, rest]))


def framed(query: str, content: str) -> str:
    """The page around the results."""
    text = escape(query)
    return (
        '<!DOCTYPE html>\n<html>\n<head>\n<meta charset="UTF-8">\n'
        f"<title>{text} at DuckDuckGo</title>\n</head>\n<body>\n"
        '<form name="x" class="header__form" action="/html/" method="post">\n'
        f'<input name="q" type="text" value="{text}"><input name="b" type="submit" value="">\n</form>\n'
        f'<div class="serp__results"><div id="links" class="results">\n{content}\n</div></div>\n'
        f"{PIXEL.format('h')}\n</body>\n</html>\n"
    )


def no_more(query: str) -> str:
    """Also shown after real results."""
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
    text = escape(results.query)
    return (
        '<div class="nav-link"><form action="/html/" method="post">\n'
        f'<input type="submit" class="btn btn--alt" value="Previous"><input type="hidden" name="q" value="{text}">\n'
        f'<input type="hidden" name="s" value="{max(results.start - A_PAGE, 0)}">\n</form></div>'
    )


def _bold(text: str, query: str) -> str:
    """Highlight the words of the query in a snippet."""
    wanted = set(query.lower().split())
    return " ".join(f"<b>{escape(one)}</b>" if one.lower() in wanted else escape(one) for one in text.split())


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


_GAP: Final = "<td>&nbsp;&nbsp;&nbsp;</td>"


def lite_page(results: Results) -> str:
    """Results, one sponsored row above them, and the same next form above and below."""
    rows = [*_sponsored(results)]
    for number, document in enumerate(results.documents, results.start + 1):
        rows += _lite_result(results, number, document)
    following = _lite_next_form(results) if results.end < results.total else ""
    table = "\n".join(["<table border='0'>", *rows, "</table>"])
    return lite_framed(results.query, f"{following}\n{table}\n{following}")


def lite_empty(query: str) -> str:
    return lite_framed(query, "<table border='0'>\n<tr><td>No results.</td></tr>\n</table>")


def lite_framed(query: str, content: str) -> str:
    text = escape(query)
    return (
        "<!DOCTYPE html>\n<html>\n<head>\n<meta charset='UTF-8'>\n"
        f"<title>{text} at DuckDuckGo</title>\n</head>\n<body>\n"
        f"<form action='/lite/' method='post'><input class='query' type='text' name='q' value='{text}'></form>\n"
        f"{content}\n{PIXEL.format('l')}\n</body>\n</html>\n"
    )


def _lite_result(results: Results, number: int, document: Document) -> Iterator[str]:
    link = results.link(document.url)
    yield (
        f"<tr><td valign='top'>{number}.&nbsp;</td><td>"
        f"<a rel='nofollow' href='{link}' class='result-link'>{escape(document.title)}</a></td></tr>"
    )
    yield f"<tr>{_GAP}<td class='result-snippet'>{escape(document.summary)}</td></tr>"
    yield f"<tr>{_GAP}<td><span class='link-text'>{document.host}{document.path}</span></td></tr>"
    yield "<tr><td>&nbsp;</td><td>&nbsp;</td></tr>"


def _sponsored(results: Results) -> Iterator[str]:
    yield (
        "<tr class='result-sponsored'><td>&nbsp;</td><td>"
        f"<a rel='nofollow' href='{results.ad_link}' class='result-link'>Buy it here</a></td></tr>"
    )
    yield (
        f"<tr class='result-sponsored'>{_GAP}<td class='result-snippet'>Somebody paid for this line. "
        "<a href='https://duckduckgo.com/duckduckgo-help-pages/company/ads-by-microsoft-on-duckduckgo-private-search' "
        "class='result-link'>more info</a></td></tr>"
    )


def _lite_next_form(results: Results) -> str:
    button = "<input type='submit' class='navbutton' value='Next Page &gt;'>"
    return f"<form class='next_form' action='/lite/' method='post'>\n{button}\n{results.next_fields()}\n</form>"


_TILES: Final = 9


def nothing_in_2026(query: str) -> str:
    return framed(query, f'<div class="no-results__message">No results found for <b>{escape(query)}</b>.</div>')


def nothing_in_2025(query: str) -> str:
    """An empty result page of 2025: it ends with a made-up result that links to another search engine."""
    return framed(
        query,
        '<div class="result results_links results_links_deep web-result result--no-result">\n'
        '<div class="links_main links_deep result__body">\n<h2 class="result__title">\n</h2>\n'
        '<div class="no-results"></div>\n<a class="result__url" href=""></a>\n</div>\n</div>\n'
        '<div class="result results_links results_links_deep web-result">\n'
        '<div class="links_main links_deep result__body">\n'
        '<h2 class="result__title"><a class="result__a" href="https://www.google.com/search">EOF</a></h2>\n'
        "</div>\n</div>",
    )


def challenge(query: str, face: str) -> str:
    """A CAPTCHA. It repeats the query; the tracking pixel of real answers is missing."""
    action = escape(f"//duckduckgo.com/anomaly.js?sv={face}&cc=botnet&ti=1&q={quote(query)}")
    tiles = "\n".join(
        f'<div class="anomaly-modal__box" data-index="{number}">'
        f'<input type="checkbox" class="anomaly-modal__check" name="tile_{number}"></div>'
        for number in range(_TILES)
    )
    return (
        '<!DOCTYPE html>\n<html>\n<head>\n<meta charset="UTF-8">\n<title>DuckDuckGo</title>\n</head>\n<body>\n'
        f'<form id="img-form" action="{action}" target="_blank" method="POST"></form>\n'
        f'<form id="challenge-form" action="{action}" method="POST">\n<div class="anomaly-modal__mask">\n'
        '<div class="anomaly-modal__modal">\n<div class="anomaly-modal__title">It seems that bots use DuckDuckGo too'
        f'</div>\n<div class="anomaly-modal__puzzle">\n{tiles}\n</div>\n</div>\n</div>\n</form>\n</body>\n</html>\n'
    )


def unexpected() -> str:
    """Neither results, nor "no results", nor a challenge."""
    return (
        "<!DOCTYPE html>\n<html>\n<head>\n<title>DuckDuckGo</title>\n</head>\n<body>\n"
        '<div id="react-layout"></div>\n<script src="/dist/new-page.js"></script>\n</body>\n</html>\n'
    )
