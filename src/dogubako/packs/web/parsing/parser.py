"""Parse what strangers wrote. Where that happens is somebody else's business: `WorkerPool` does it in processes."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol

from dogubako.contract.errors import Blocked, HtmlParseError
from dogubako.packs.web.pages.parts import PagePart, PartWanted, SectionMissing
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
from dogubako.packs.web.providers.duckduckgo_pages import ResultPage

PAGE_SECONDS: Final = 30.0
# Real ones take milliseconds.
SMALL_SECONDS: Final = 10.0
_SENTENCES: Final = {
    "time": "The page could not be read: parsing it takes too long.",
    "memory": "The page could not be read: parsing it takes too much memory.",
    "crash": "The page could not be read: the parser failed on it.",
}


class Performer(Protocol):
    """Something that performs requests: in worker processes, or, in tests of content, right here."""

    async def run(self, request: Request, body: bytes | bytearray, seconds: float) -> Reply: ...


# Opened when the pack connects, closed when the server stops.
OpenPerformer = Callable[[], AbstractAsyncContextManager[Performer]]


class Parser:
    """Strangers' pages, result pages and robots.txt, in our types."""

    def __init__(self, performer: Performer) -> None:
        self._performer = performer

    async def page(self, page: Visited, wanted: PartWanted) -> PagePart | SectionMissing:
        """The wanted part. HtmlParseError for what cannot be parsed, or not with the time and memory we give it."""
        request = PageRequest(url=page.url, content_type=page.content_type, charset=page.charset, wanted=wanted)
        reply = await self._performer.run(request, page.body, PAGE_SECONDS)
        if isinstance(reply, PagePart | SectionMissing):
            return reply
        failure = _failure_in(reply)
        sentence = failure.message or _SENTENCES.get(failure.reason, _SENTENCES["crash"])
        raise HtmlParseError(_cause(failure), message=sentence)

    async def results(self, body: bytes, charset: str | None, *, lite: bool) -> ResultPage:
        """The results on a page. Blocked for a challenge, HtmlParseError for what is neither."""
        reply = await self._performer.run(ResultsRequest(charset=charset, lite=lite), body, SMALL_SECONDS)
        if isinstance(reply, ResultPage):
            return reply
        if isinstance(reply, ChallengeFound):
            raise Blocked(reply.cause)
        failure = _failure_in(reply)
        raise HtmlParseError(_cause(failure), message=failure.message)

    async def robots_allow(self, body: bytes, agent: str, path: str) -> bool:
        """What the file says about this path."""
        reply = await self._performer.run(RobotsRequest(agent=agent, path=path), body, SMALL_SECONDS)
        if isinstance(reply, RobotsVerdict):
            return reply.allowed
        message = "The page could not be fetched: the site's robots.txt could not be read."
        raise HtmlParseError(_cause(_failure_in(reply)), message=message)


def _failure_in(reply: Reply) -> ParseFailure:
    """The failure, which an answer to another question is too."""
    return reply if isinstance(reply, ParseFailure) else ParseFailure(reason="crash", cause=f"{type(reply).__name__}")


def _cause(failure: ParseFailure) -> str:
    return f"{failure.reason}: {failure.cause}" if failure.reason != "refused" else failure.cause
