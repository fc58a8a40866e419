"""Pages without results: nothing found, a challenge, and something that nobody expected."""

from html import escape
from typing import Final
from urllib.parse import quote

from dogubako.sandbox.web.result_pages import framed

_TILES: Final = 9


def nothing_in_2026(query: str) -> str:
    return framed(query, f'<div class="no-results__message">No results found for <b>{escape(query)}</b>.</div>')


def nothing_in_2025(query: str) -> str:
    """With a made-up result at its end, which leads to another search engine."""
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
    """A puzzle for people. The query is repeated in it; the pixel of real answers is not there."""
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
    """Neither results, nor nothing, nor a challenge."""
    return (
        "<!DOCTYPE html>\n<html>\n<head>\n<title>DuckDuckGo</title>\n</head>\n<body>\n"
        '<div id="react-layout"></div>\n<script src="/dist/new-page.js"></script>\n</body>\n</html>\n'
    )
