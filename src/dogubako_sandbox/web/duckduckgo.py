"""DuckDuckGo of the sandbox: result pages, challenges and Instant Answers."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal
from urllib.parse import parse_qsl

import anyio
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from dogubako_sandbox.web import result_pages
from dogubako_sandbox.web.index import search
from dogubako_sandbox.web.result_pages import A_PAGE, Results, html_page, lite_empty, lite_page, vqd

_EMPTY: Final[Mapping[str, Any]] = {
    "Abstract": "",
    "AbstractSource": "",
    "AbstractText": "",
    "AbstractURL": "",
    "Answer": "",
    "AnswerType": "",
    "Definition": "",
    "DefinitionSource": "",
    "DefinitionURL": "",
    "Entity": "",
    "Heading": "",
    "Image": "",
    "ImageHeight": 0,
    "ImageIsLogo": 0,
    "ImageWidth": 0,
    "Infobox": "",
    "Redirect": "",
    "RelatedTopics": [],
    "Results": [],
    "Type": "",
    "meta": {"id": "just_another_test", "name": "Just Another Test", "status": None},
}


def _topic(text: str, path: str) -> dict[str, Any]:
    return {
        "FirstURL": f"https://encyclopedia.sandbox.invalid/{path}",
        "Icon": {"Height": "", "URL": "", "Width": ""},
        "Result": "",
        "Text": text,
    }


_TOOLBOX: Final = {
    "Heading": "Toolbox",
    "AbstractText": "A toolbox is a box with a handle in which tools are kept, carried and found again.",
    "AbstractSource": "Encyclopedia of the Sandbox",
    "AbstractURL": "https://encyclopedia.sandbox.invalid/toolbox",
    "Entity": "thing",
    "Type": "A",
    "Infobox": {
        "content": [
            {"data_type": "string", "label": "Japanese", "value": "道具箱", "wiki_order": 0},
            {"data_type": "number", "label": "Handles", "value": 1, "wiki_order": 1},
            {"data_type": "time", "label": "First described", "value": {"text": "in the year 12"}, "wiki_order": 2},
        ],
        "meta": [],
    },
    "RelatedTopics": [
        _topic("Workbench - A strong table for work by hand.", "workbench"),
        {"Name": "Tools", "Topics": [_topic("Plane - It makes wood smooth.", "plane")]},
        {"Name": "Empty group", "Topics": []},
    ],
}

_SUBJECTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "toolbox": _TOOLBOX,
    "2 + 2": {"Answer": {"from": "calculator", "result": "4"}, "AnswerType": "calc", "Type": "E"},
    "define plane": {
        "Heading": "Plane",
        "Definition": "plane: a tool with a blade that takes thin shavings off wood.",
        "DefinitionSource": "Dictionary of the Sandbox",
        "DefinitionURL": "https://encyclopedia.sandbox.invalid/plane",
        "Type": "D",
    },
}


async def instant_answer(request: Request) -> Response:
    """JSON with a wrong content type, as the real one."""
    query = " ".join(request.query_params.get("q", "").lower().split())
    if query == "broken page":
        return Response("<html>not JSON</html>", media_type="application/x-javascript")
    return Response(json.dumps({**_EMPTY, **_SUBJECTS.get(query, {})}), media_type="application/x-javascript")


Face = Literal["html", "lite"]

_AN_HOUR: Final = 3_600
_TEN_MEGABYTES: Final = 10_000_000
_STATUS: Final = re.compile(r"\bwith (200|403|429)\b")
_BANG: Final = re.compile(r"(?<!\S)(!\S+|\S+!)(?!\S)")
_BANG_TARGET: Final = "https://encyclopedia.sandbox.invalid/"


def _challenge(query: str, face: Face) -> Response:
    """Usually with status 202; `blocked with 429` shows another one."""
    match = _STATUS.search(query)
    return HTMLResponse(result_pages.challenge(query, face), int(match[1]) if match else 202)


def _huge(query: str, face: Face) -> Response:
    return HTMLResponse(f"<!-- {'.' * _TEN_MEGABYTES} -->{result_pages.challenge(query, face)}")


def _nothing(query: str, face: Face) -> Response:
    return HTMLResponse(result_pages.nothing_in_2026(query) if face == "html" else lite_empty(query))


# Tried in this order; the first whose words are in the query answers.
_SCENES: Final[Mapping[str, Callable[[str, Face], Response]]] = {
    "blocked": _challenge,
    "nothing at all": _nothing,
    "nothing in 2025": lambda query, _: HTMLResponse(result_pages.nothing_in_2025(query)),
    "broken page": lambda _query, _face: HTMLResponse(result_pages.unexpected()),
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
    documents = search(query, form.get("df", "")) if query else ()
    shown = documents[start : start + A_PAGE]
    if not shown:
        return _nothing(query, face)
    results = Results(
        query=query, region=form.get("kl", ""), start=start, documents=shown, total=len(documents), wrapped=wrapped
    )
    page = html_page(results) if face == "html" else lite_page(results)
    if "old encoding" in query.lower():
        return Response(page.encode("shift_jis", "replace"), headers={"content-type": "text/html; charset=Shift_JIS"})
    return HTMLResponse(page)


async def _form(request: Request) -> Mapping[str, str]:
    """The parameters of the URL or of the form."""
    if request.method == "GET":
        return dict(request.query_params)
    return dict(parse_qsl((await request.body()).decode(), keep_blank_values=True))
