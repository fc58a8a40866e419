"""What the web pack asks its parsing workers, and what they reply."""

from typing import Final

import msgspec

from dogubako.outbound.parsing.protocol import ParseFailure
from dogubako.packs.web.pages.parts import PagePart, PartWanted, SectionMissing
from dogubako.packs.web.providers.duckduckgo_pages import ResultPage


class PageRequest(msgspec.Struct, frozen=True, kw_only=True, tag="page"):
    """Parse a page, a document or a text, and extract a part."""

    url: str
    content_type: str
    charset: str | None
    wanted: PartWanted


class ResultsRequest(msgspec.Struct, frozen=True, kw_only=True, tag="results"):
    """Parse a result page of DuckDuckGo."""

    charset: str | None
    lite: bool


class RobotsRequest(msgspec.Struct, frozen=True, kw_only=True, tag="robots"):
    """Parse a robots.txt and check one URL."""

    agent: str
    url: str


class Onward(msgspec.Struct, frozen=True, kw_only=True, tag="onward"):
    """The page refers its readers to another address (`<meta http-equiv=refresh>`)."""

    url: str


class RobotsVerdict(msgspec.Struct, frozen=True, kw_only=True, tag="robots"):
    """Whether the URL may be fetched."""

    allowed: bool


class ChallengeFound(msgspec.Struct, frozen=True, kw_only=True, tag="challenge"):
    """The result page is a CAPTCHA challenge."""

    cause: str


Request = PageRequest | ResultsRequest | RobotsRequest
Reply = PagePart | SectionMissing | Onward | ResultPage | RobotsVerdict | ChallengeFound | ParseFailure

REQUESTS: Final = msgspec.msgpack.Decoder(Request)
REPLIES: Final = msgspec.msgpack.Decoder(Reply)
