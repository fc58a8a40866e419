"""The work of a worker process: one request and the bytes of a page in, one reply out."""

from selectolax.lexbor import SelectolaxError

from dogubako.contract.errors import Blocked, HtmlParseError
from dogubako.packs.web.pages.decoding import decoded
from dogubako.packs.web.pages.parts import PagePart, SectionMissing, part_of
from dogubako.packs.web.pages.reading import read_page
from dogubako.packs.web.pages.robots_rules import read_rules
from dogubako.packs.web.pages.visiting import Visited
from dogubako.packs.web.parsing.messages import (
    ChallengeFound,
    PageRequest,
    ParseFailure,
    Reply,
    Request,
    ResultsRequest,
    RobotsRequest,
    RobotsVerdict,
)
from dogubako.packs.web.providers.duckduckgo_pages import ResultPage, read_html_page, read_lite_page

_LONGEST_CAUSE = 500


def perform(request: Request, body: bytes) -> Reply:
    """Parse. May take for ever, and all memory there is: call it where that does no harm."""
    try:
        match request:
            case PageRequest():
                return _page(request, body)
            case ResultsRequest():
                return _results(request, body)
            case RobotsRequest():
                rules = read_rules(body.decode("utf-8", "replace"), request.agent)
                return RobotsVerdict(allowed=rules.allow(request.path))
    except Blocked as error:
        return ChallengeFound(cause=_sendable(error.cause))
    except HtmlParseError as error:
        return ParseFailure(reason="refused", cause=_sendable(error.cause), message=_sendable(error.message))
    except (MemoryError, SelectolaxError) as error:
        # The HTML parser refuses no page; it fails only when there is no memory.
        return ParseFailure(reason="memory", cause=type(error).__name__)


def _page(request: PageRequest, body: bytes) -> PagePart | SectionMissing:
    visited = Visited(
        url=request.url, status=200, content_type=request.content_type, charset=request.charset, body=body
    )
    return part_of(read_page(visited, request.wanted.format), request.wanted)


def _results(request: ResultsRequest, body: bytes) -> ResultPage:
    text = decoded(body, request.charset)
    return read_lite_page(text) if request.lite else read_html_page(text)


def _sendable(text: str) -> str:
    """An exception may quote the page: at any length, and with halves of characters."""
    return text[:_LONGEST_CAUSE].encode("utf-8", "replace").decode()
