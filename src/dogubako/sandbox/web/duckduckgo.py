"""The search endpoints. Some queries bring out what a search engine does on bad days."""

import re
from collections.abc import Callable, Mapping
from typing import Final, Literal
from urllib.parse import parse_qsl

import anyio
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from dogubako.sandbox.web import other_pages
from dogubako.sandbox.web.index import search
from dogubako.sandbox.web.lite_pages import lite_empty, lite_page
from dogubako.sandbox.web.result_pages import A_PAGE, Results, html_page, vqd

Face = Literal["html", "lite"]

_AN_HOUR: Final = 3_600
_TEN_MEGABYTES: Final = 10_000_000
_STATUS: Final = re.compile(r"\bwith (200|403|429)\b")
_BANG: Final = re.compile(r"(?<!\S)(!\S+|\S+!)(?!\S)")
_BANG_TARGET: Final = "https://encyclopedia.sandbox.invalid/"


def _challenge(query: str, face: Face) -> Response:
    """Mostly with 202; `blocked with 429` shows one of the other statuses."""
    asked = _STATUS.search(query)
    return HTMLResponse(other_pages.challenge(query, face), int(asked[1]) if asked else 202)


def _huge(query: str, face: Face) -> Response:
    return HTMLResponse(f"<!-- {'.' * _TEN_MEGABYTES} -->{other_pages.challenge(query, face)}")


def _nothing(query: str, face: Face) -> Response:
    return HTMLResponse(other_pages.nothing_in_2026(query) if face == "html" else lite_empty(query))


# Asked in this order; the first whose words are in the query answers.
_SCENES: Final[Mapping[str, Callable[[str, Face], Response]]] = {
    "blocked": _challenge,
    "nothing at all": _nothing,
    "nothing in 2025": lambda query, _: HTMLResponse(other_pages.nothing_in_2025(query)),
    "broken page": lambda _query, _face: HTMLResponse(other_pages.unexpected()),
    "huge page": _huge,
    "server error": lambda _query, _face: PlainTextResponse("Service Unavailable", 503),
}


async def search_html(request: Request) -> Response:
    return await _answer(request, "html")


async def search_lite(request: Request) -> Response:
    return await _answer(request, "lite")


async def _answer(request: Request, face: Face) -> Response:
    form = await _form(request)
    query, start = form.get("q", "").strip(), int(form.get("s") or 0)
    said = query.lower()
    if "slow" in said.split():
        await anyio.sleep(_AN_HOUR)
    for words, scene in _SCENES.items():
        if words in said:
            return scene(query, face)
    if start and "captcha at page 2" in said:
        return _challenge(query, face)
    if start and form.get("vqd") != vqd(query):
        return PlainTextResponse("Forbidden", 403)
    if _BANG.search(query):
        return RedirectResponse(_BANG_TARGET, 302)
    return _results(form, start, face, wrapped=request.method == "GET" or face == "lite" or start > 0)


def _results(form: Mapping[str, str], start: int, face: Face, *, wrapped: bool) -> Response:
    query = form.get("q", "").strip()
    found = search(query, form.get("df", "")) if query else ()
    shown = found[start : start + A_PAGE]
    if not shown:
        return _nothing(query, face)
    results = Results(
        query=query, region=form.get("kl", ""), start=start, documents=shown, total=len(found), wrapped=wrapped
    )
    page = html_page(results) if face == "html" else lite_page(results)
    if "old encoding" in query.lower():
        return Response(page.encode("shift_jis", "replace"), headers={"content-type": "text/html; charset=Shift_JIS"})
    return HTMLResponse(page)


async def _form(request: Request) -> Mapping[str, str]:
    """What was asked, by the address or by a form."""
    if request.method == "GET":
        return dict(request.query_params)
    return dict(parse_qsl((await request.body()).decode(), keep_blank_values=True))
