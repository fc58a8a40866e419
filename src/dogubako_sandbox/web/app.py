"""The small web, by host: DuckDuckGo's three endpoints and a dozen sites under `sandbox.invalid`."""

from collections.abc import Mapping
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Host, Route, Router

from dogubako_sandbox.web.documents import DOMAIN, Document, as_html, pdf
from dogubako_sandbox.web.duckduckgo import instant_answer, search_html, search_lite
from dogubako_sandbox.web.sites import DOCUMENTS, REDIRECTS, ROBOTS

_BY_ADDRESS: Final[Mapping[tuple[str, str], Document]] = {(one.host, one.path): one for one in DOCUMENTS}
_LINES_A_PAGE: Final = 20


def web_app() -> Starlette:
    """A web without state. Only these hosts exist."""
    return Starlette(
        routes=[
            Host("html.duckduckgo.com", app=Router([Route("/html/", search_html, methods=["GET", "POST"])])),
            Host("lite.duckduckgo.com", app=Router([Route("/lite/", search_lite, methods=["GET", "POST"])])),
            Host("api.duckduckgo.com", app=Router([Route("/", instant_answer)])),
            Host("{site}." + DOMAIN, app=Router([Route("/{path:path}", _site)])),
        ]
    )


async def _site(request: Request) -> Response:
    host, path = request.url.hostname or "", request.url.path
    if path == "/robots.txt" and host in ROBOTS:
        return PlainTextResponse(ROBOTS[host])
    if (host, path) in REDIRECTS:
        return RedirectResponse(REDIRECTS[host, path], 301)
    document = _BY_ADDRESS.get((host, path))
    if document is None:
        return PlainTextResponse("There is no such page.", 404)
    return _shown(document)


def _shown(document: Document) -> Response:
    match document.kind:
        case "pdf":
            return Response(_printed(document), media_type="application/pdf")
        case "json":
            return Response(document.text.strip(), media_type="application/json")
        case _:
            # Only the page itself declares its encoding.
            return Response(as_html(document), headers={"content-type": "text/html"})


def _printed(document: Document) -> bytes:
    """A PDF with one sheet per heading."""
    sheets: list[list[str]] = [[document.title]]
    for part in document.paragraphs:
        if part.startswith("## "):
            sheets.append([part[3:]])
        else:
            sheets[-1] += part.split(". ")[:_LINES_A_PAGE]
    return pdf(document.title, sheets)
