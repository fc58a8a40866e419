"""Result pages in our own words, built the way DuckDuckGo builds its own."""

from collections.abc import Iterable, Mapping
from html import escape
from typing import Final
from urllib.parse import quote

AD_TARGET: Final = "https://duckduckgo.com/y.js?ad_domain=shop.test&ad_provider=p&u3=https%3A%2F%2Fshop.test%2F"
VQD: Final = "4-1234567890"


def wrapped(url: str) -> str:
    """As links look on pages that were asked for with GET."""
    return f"//duckduckgo.com/l/?uddg={quote(url, safe='')}&rut=0a1b2c"


def organic(number: int, *, href: str | None = None, title: str = "", snippet: str | None = None) -> str:
    address = escape(f"https://site{number}.test/page" if href is None else href)
    said = f"About <b>thing</b> number {number}." if snippet is None else snippet
    return f"""
      <div class="result results_links results_links_deep web-result ">
        <div class="links_main links_deep result__body">
          <h2 class="result__title">
            <a rel="nofollow" class="result__a" href="{address}">{title or f"Thing {number}"}</a>
          </h2>
          <div class="result__extras"><a class="result__url" href="{address}"> site{number}.test/page </a></div>
          <a class="result__snippet" href="{address}">{said}</a>
        </div>
      </div>"""


def ad(href: str = AD_TARGET) -> str:
    address = escape(href)
    return f"""
      <div class="result results_links results_links_deep result--ad ">
        <div class="links_main links_deep result__body">
          <h2 class="result__title"><a rel="nofollow" class="result__a" href="{address}">Buy things</a></h2>
          <button class="badge--ad">Ad</button>
          <a class="result__snippet" href="{address}">Cheap things.</a>
        </div>
      </div>"""


# The made-up result and the element without text that empty answers of 2025 have.
EOF_RESULT: Final = """
      <div class="result results_links results_links_deep web-result ">
        <div class="links_main links_deep result__body">
          <h2 class="result__title">
            <a rel="nofollow" class="result__a" href="http://www.google.com/search?hl=en&amp;q=nothing">EOF</a>
          </h2>
          <a class="result__url" href="http://www.google.com/search?hl=en&amp;q=nothing"> google.com search </a>
        </div>
      </div>"""


def empty_2025(words: str = "") -> str:
    return f"""
      <div class="result results_links results_links_deep web-result result--no-result">
        <div class="links_main links_deep result__body">
          <h2 class="result__title"></h2>
          <div class="no-results">{words}</div>
          <a class="result__url" href=""></a>
        </div>
      </div>"""


def empty_2026(words: str = "No results found for") -> str:
    return f'<div class="no-results__message">{words} <b>thing</b></div>'


def next_form(offset: int, *, action: str = "/html/", ads: int = 0, **fields: str) -> str:
    given = {
        "q": "thing",
        "s": str(offset),
        "nextParams": "",
        "v": "l",
        "o": "json",
        "dc": str(offset + ads + 1),
        "api": "d.js",
        "vqd": VQD,
        "kl": "wt-wt",
        **fields,
    }
    return _form(action, given)


def _form(action: str, fields: Mapping[str, str]) -> str:
    inputs = "".join(f'<input type="hidden" name="{name}" value="{escape(value)}" />' for name, value in fields.items())
    return f'<form action="{action}" method="post"><input type="submit" class="btn" value="Next" />{inputs}</form>'


def html_page(*parts: str, following: str = "") -> str:
    """A whole answer: the search form above, the results, the pixel below."""
    search = (
        '<form action="/html/" method="post"><input name="q" value="thing" /><input name="b" type="submit" /></form>'
    )
    results = f'<div id="links" class="results">{"".join(parts)}</div>'
    pixel = '<img src="//duckduckgo.com/t/sl_h"/>'
    return f"<!DOCTYPE html><html><body>{search}{results}{following}{pixel}</body></html>"


def result_page(numbers: Iterable[int], *, ads: int = 0, last: bool = False) -> str:
    """Results with these numbers, and the form to those behind them unless it is the last page."""
    shown = list(numbers)
    following = "" if last else next_form(shown[-1], ads=ads)
    return html_page(*(ad() for _ in range(ads)), *(organic(number) for number in shown), following=following)


def challenge(query: str = "thing", *, sign: str = "all", endpoint: str = "html") -> str:
    """The page that asks whether we are human, or a part of it that is enough to know it."""
    action = f"//duckduckgo.com/anomaly.js?sv={endpoint}&amp;cc=botnet&amp;q={quote(query)}"
    signs = {
        "picture form": f'<form id="img-form" action="{action}" method="post"></form>',
        "challenge form": f'<form id="challenge-form" action="{action}" method="post"></form>',
        "dialog": '<div class="anomaly-modal__modal is-ie"><p class="anomaly-modal__title">Bots, too.</p></div>',
        "script": f'<script src="{action}"></script>',
    }
    shown = "".join(signs.values()) if sign == "all" else signs[sign]
    return f"<!DOCTYPE html><html><body><h1>Unfortunately, there are bots.</h1>{shown}</body></html>"


# What duckduckgo.com/ itself answers: scripts that would fetch results.
SHELL: Final = (
    '<!DOCTYPE html><html><head><title>thing at DuckDuckGo</title><script src="/dist/d.js"></script></head>'
    '<body><div id="react-layout"></div><noscript>Use the version without scripts.</noscript></body></html>'
)


def lite_row(number: int, *, href: str | None = None) -> str:
    address = escape(href or f"https://site{number}.test/page")
    return f"""
      <tr><td valign="top">{number}.&nbsp;</td>
        <td><a rel="nofollow" href="{address}" class='result-link'>Thing {number}</a></td></tr>
      <tr><td>&nbsp;</td><td class='result-snippet'> About <b>thing</b> number {number}. </td></tr>
      <tr><td>&nbsp;</td><td><span class='link-text'>site{number}.test/page</span></td></tr>
      <tr><td>&nbsp;</td><td>&nbsp;</td></tr>"""


def lite_ad(href: str = AD_TARGET) -> str:
    more = "https://duckduckgo.com/duckduckgo-help-pages/company/ads"
    return f"""
      <tr class="result-sponsored"><td>1.&nbsp;</td>
        <td><a rel="nofollow" href="{escape(href)}" class='result-link'>Buy things</a> Sponsored link
          <a href="{more}" class='result-link'>more info</a></td></tr>
      <tr class="result-sponsored"><td>&nbsp;</td><td class='result-snippet'>Cheap things.</td></tr>
      <tr class="result-sponsored"><td>&nbsp;</td><td><span class='link-text'>shop.test</span></td></tr>"""


def lite_page(*rows: str, following: str = "") -> str:
    pixel = '<img src="//duckduckgo.com/t/sl_l"/>'
    # The form to the next page is above and below the results.
    return f"<html><body>{following}<table>{''.join(rows)}</table>{following}{pixel}</body></html>"
