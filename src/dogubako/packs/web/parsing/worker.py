"""The worker process of the web pack: parse pages, result pages and robots.txt."""

from selectolax.lexbor import SelectolaxError

from dogubako.contract.errors import Blocked, HtmlParseError
from dogubako.outbound.parsing.process import serve
from dogubako.outbound.parsing.protocol import ParseFailure, sendable
from dogubako.outbound.text_decoding import decode_text
from dogubako.packs.web.pages.fetch import Visited
from dogubako.packs.web.pages.parts import PagePart, SectionMissing, part_of
from dogubako.packs.web.pages.reading import read_page
from dogubako.packs.web.pages.robots import robots_allow
from dogubako.packs.web.parsing.messages import (
    REQUESTS,
    ChallengeFound,
    Onward,
    PageRequest,
    Reply,
    Request,
    ResultsRequest,
    RobotsRequest,
    RobotsVerdict,
)
from dogubako.packs.web.providers.duckduckgo_pages import ResultPage, read_html_page, read_lite_page


def perform(request: Request, body: bytes) -> Reply:
    """Parse. May take unlimited time and memory: call it only under limits."""
    try:
        match request:
            case PageRequest():
                return _page(request, body)
            case ResultsRequest():
                return _results(request, body)
            case RobotsRequest():
                return RobotsVerdict(allowed=robots_allow(body, request.agent, request.url))
    except Blocked as error:
        return ChallengeFound(cause=sendable(error.cause))
    except HtmlParseError as error:
        return ParseFailure(
            reason="refused", cause=sendable(error.cause), message=sendable(error.message), hint=error.hint
        )
    except (MemoryError, SelectolaxError) as error:
        # The HTML parser accepts every page; it fails only without memory.
        return ParseFailure(reason="memory", cause=type(error).__name__)


def _page(request: PageRequest, body: bytes) -> PagePart | SectionMissing | Onward:
    visited = Visited(
        url=request.url, status=200, content_type=request.content_type, charset=request.charset, body=body
    )
    page = read_page(visited, request.wanted.format)
    return Onward(url=sendable(page.onward, 8_000)) if page.onward else part_of(page, request.wanted)


def _results(request: ResultsRequest, body: bytes) -> ResultPage:
    text = decode_text(body, request.charset).text
    return read_lite_page(text) if request.lite else read_html_page(text)


def load() -> None:
    """Import slow modules before the first request."""
    import protego  # noqa: F401, PLC0415
    import pypdf  # noqa: F401, PLC0415


if __name__ == "__main__":
    serve(perform, REQUESTS, load)
