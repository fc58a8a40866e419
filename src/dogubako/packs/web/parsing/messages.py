"""What the server and a worker process say to each other: plain data in MessagePack, decoded by type, never pickled.

A worker reads hostile input and may be taken over by it, so the server checks the size and the form of every reply.
"""

import struct
from typing import Final, Literal

import msgspec

from dogubako.packs.web.pages.parts import PagePart, PartWanted, SectionMissing
from dogubako.packs.web.providers.duckduckgo_pages import ResultPage

# A worker's first words.
READY: Final = b"ready\n"
# Before a request: the length of the message, the length of the page, the seconds of processor time it may use.
REQUEST_HEAD: Final = struct.Struct("!III")
# Before a reply: the length of the message, and whether the worker must not be used again.
REPLY_HEAD: Final = struct.Struct("!I?")
# The longest part of a page that a caller can ask for, at four bytes per character, and its headlines.
MAX_REPLY_BYTES: Final = 2 * 1024 * 1024


class PageRequest(msgspec.Struct, frozen=True, kw_only=True, tag="page"):
    """Parse a page, a PDF or a text, and cut out a part."""

    url: str
    content_type: str
    charset: str | None
    wanted: PartWanted


class ResultsRequest(msgspec.Struct, frozen=True, kw_only=True, tag="results"):
    """Parse a result page of DuckDuckGo."""

    charset: str | None
    lite: bool


class RobotsRequest(msgspec.Struct, frozen=True, kw_only=True, tag="robots"):
    """Parse a robots.txt and judge one path by it."""

    agent: str
    path: str


class RobotsVerdict(msgspec.Struct, frozen=True, kw_only=True, tag="robots"):
    """Whether the path may be fetched."""

    allowed: bool


class ChallengeFound(msgspec.Struct, frozen=True, kw_only=True, tag="challenge"):
    """The result page asks for a proof that we are human."""

    cause: str


class ParseFailure(msgspec.Struct, frozen=True, kw_only=True, tag="failure"):
    """Why there is no result. `message` is our sentence for the caller, where the parser has one."""

    reason: Literal["refused", "time", "memory", "crash"]
    cause: str = ""
    message: str | None = None


Request = PageRequest | ResultsRequest | RobotsRequest
Reply = PagePart | SectionMissing | ResultPage | RobotsVerdict | ChallengeFound | ParseFailure

REQUESTS: Final = msgspec.msgpack.Decoder(Request)
REPLIES: Final = msgspec.msgpack.Decoder(Reply)
encode: Final = msgspec.msgpack.Encoder().encode
