"""`Parser`: have worker processes parse pages, result pages and robots.txt."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol

from dogubako.contract.errors import Blocked, HtmlParseError
from dogubako.outbound.parsing.pool import PYTHON, WorkerPool
from dogubako.outbound.parsing.protocol import ParseFailure
from dogubako.packs.web.pages.fetch import Visited
from dogubako.packs.web.pages.parts import PagePart, PartWanted, SectionMissing
from dogubako.packs.web.parsing.messages import (
    REPLIES,
    ChallengeFound,
    Onward,
    PageRequest,
    Reply,
    Request,
    ResultsRequest,
    RobotsRequest,
    RobotsVerdict,
)
from dogubako.packs.web.providers.duckduckgo_pages import ResultPage

PAGE_SECONDS: Final = 30.0
# Real pages take milliseconds.
SMALL_SECONDS: Final = 10.0
_SENTENCES: Final = {
    "time": "The page could not be read: parsing it takes too long.",
    "memory": "The page could not be read: parsing it takes too much memory.",
    "crash": "The page could not be read: the parser failed on it.",
}


class Performer(Protocol):
    """Performs requests: in worker processes, or, in tests of content, in this process."""

    async def run(self, request: Request, body: bytes | bytearray, seconds: float) -> Reply: ...


# Opened when the pack connects, closed when the server stops.
OpenPerformer = Callable[[], AbstractAsyncContextManager[Performer]]


def page_workers() -> WorkerPool[Reply]:
    """A pool of workers. No process is started before the first page."""
    return WorkerPool(command=(*PYTHON, "dogubako.packs.web.parsing.worker"), replies=REPLIES)


class Parser:
    """Parses untrusted pages, result pages and robots.txt."""

    def __init__(self, performer: Performer) -> None:
        self._performer = performer

    async def page(self, page: Visited, wanted: PartWanted) -> PagePart | SectionMissing | Onward:
        """The requested part. HtmlParseError if it cannot be parsed within the limits of time and memory."""
        request = PageRequest(url=page.url, content_type=page.content_type, charset=page.charset, wanted=wanted)
        reply = await self._performer.run(request, page.body, PAGE_SECONDS)
        if isinstance(reply, PagePart | SectionMissing | Onward):
            return reply
        failure = _failure_in(reply)
        sentence = failure.message or _SENTENCES.get(failure.reason, _SENTENCES["crash"])
        raise HtmlParseError(failure.described, message=sentence, hint=failure.hint)

    async def results(self, body: bytes, charset: str | None, *, lite: bool) -> ResultPage:
        """The results on a page. Blocked for a challenge, HtmlParseError for anything else."""
        reply = await self._performer.run(ResultsRequest(charset=charset, lite=lite), body, SMALL_SECONDS)
        if isinstance(reply, ResultPage):
            return reply
        if isinstance(reply, ChallengeFound):
            raise Blocked(reply.cause)
        failure = _failure_in(reply)
        raise HtmlParseError(failure.described, message=failure.message)

    async def robots_allow(self, body: bytes, agent: str, url: str) -> bool:
        """Whether the file allows this URL."""
        reply = await self._performer.run(RobotsRequest(agent=agent, url=url), body, SMALL_SECONDS)
        if isinstance(reply, RobotsVerdict):
            return reply.allowed
        message = "The page could not be fetched: the site's robots.txt could not be read."
        raise HtmlParseError(_failure_in(reply).described, message=message)


def _failure_in(reply: Reply) -> ParseFailure:
    """The failure in a reply; a reply of the wrong type is one too."""
    return reply if isinstance(reply, ParseFailure) else ParseFailure(reason="crash", cause=f"{type(reply).__name__}")
