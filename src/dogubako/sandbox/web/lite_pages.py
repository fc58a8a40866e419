"""Result pages as lite.duckduckgo.com writes them: rows of one table, single quotes around classes."""

from collections.abc import Iterator
from html import escape
from typing import Final

from dogubako.sandbox.web.document import Document
from dogubako.sandbox.web.result_pages import PIXEL, Results

_GAP: Final = "<td>&nbsp;&nbsp;&nbsp;</td>"


def lite_page(results: Results) -> str:
    """Results, one sponsored row above them, and the same next form above and below."""
    rows = [*_sponsored(results)]
    for number, document in enumerate(results.documents, results.start + 1):
        rows += _result(results, number, document)
    following = _next_form(results) if results.end < results.total else ""
    table = "\n".join(["<table border='0'>", *rows, "</table>"])
    return lite_framed(results.query, f"{following}\n{table}\n{following}")


def lite_empty(query: str) -> str:
    return lite_framed(query, "<table border='0'>\n<tr><td>No results.</td></tr>\n</table>")


def lite_framed(query: str, content: str) -> str:
    said = escape(query)
    return (
        "<!DOCTYPE html>\n<html>\n<head>\n<meta charset='UTF-8'>\n"
        f"<title>{said} at DuckDuckGo</title>\n</head>\n<body>\n"
        f"<form action='/lite/' method='post'><input class='query' type='text' name='q' value='{said}'></form>\n"
        f"{content}\n{PIXEL.format('l')}\n</body>\n</html>\n"
    )


def _result(results: Results, number: int, document: Document) -> Iterator[str]:
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


def _next_form(results: Results) -> str:
    button = "<input type='submit' class='navbutton' value='Next Page &gt;'>"
    return f"<form class='next_form' action='/lite/' method='post'>\n{button}\n{results.next_fields()}\n</form>"
