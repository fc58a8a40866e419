"""Connect a session and find the protocol era of its server.

The first message decides the era of a process for its whole life, so `server/discover` is tried first. Any error means
the older era. A server that stays silent may be slow or may ignore what it does not know: it is asked with
`initialize` as well, and whichever is answered counts. A server that ends has to be started again.
"""

import asyncio
from typing import Any, Final

from dogubako.gateway.link import Message, UpstreamError, UpstreamLost, WrongConfiguration
from dogubako.gateway.pending_requests import Answered, Event, Failed
from dogubako.gateway.session import (
    ALL_CAPABILITIES,
    CLIENT_INFO,
    LEGACY_VERSION,
    MODERN_VERSION,
    Era,
    UpstreamSession,
)

# A server that does not answer `server/discover` within this time is asked with `initialize` as well.
DISCOVER_SECONDS: Final = 10.0
# Over HTTP every request is answered, with an error at least.
HTTP_SECONDS: Final = 60.0
# The slowest servers need half a minute on a busy machine, and `npx` and `uvx` may install first.
START_SECONDS: Final = 120.0

_UNSUPPORTED_VERSION: Final = -32022


class WrongEra(Exception):  # noqa: N818 - says which era to start again with
    """The first message of this process was of the other era; it has to be started again."""

    def __init__(self, era: Era, reason: str) -> None:
        super().__init__(reason)
        self.era = era


async def connect(session: UpstreamSession, era: Era | None = None) -> None:
    """Connect and find the era. `era` is what an earlier process needed; None to detect it.

    Raises `UpstreamLost`, `UpstreamError`, `WrongEra`, `WrongConfiguration`, `SignInRequired` or TimeoutError.
    """
    await session.link.open(session)
    async with asyncio.timeout(START_SECONDS):
        await (_initialize(session) if era == "legacy" else _discover(session))


async def _discover(session: UpstreamSession, *, again: bool = True) -> None:
    session.link.use(MODERN_VERSION)
    probe = await session.start("server/discover", {}, modern=True)
    waiting = asyncio.ensure_future(probe.next())
    try:
        await asyncio.wait({waiting}, timeout=DISCOVER_SECONDS if session.link.may_be_silent else HTTP_SECONDS)
        if not waiting.done():
            await _first_answer(session, waiting)
            return
    finally:
        waiting.cancel()
    match waiting.result():
        case Answered(result) if MODERN_VERSION in _versions(result):
            session.adopt("modern", result)
        case Failed(UpstreamLost(may_have_run=True) as lost):
            raise WrongEra("legacy", lost.reason)
        case Failed(UpstreamError() as error) if again and MODERN_VERSION in _supported(error):
            # It refuses the version of a probe and names the one that we speak.
            await _discover(session, again=False)
        case Failed(UpstreamError() as error):
            _refuse_unknown_versions(error)
            await _initialize(session)
        case Failed(error):
            raise error
        case _:
            await _initialize(session)


async def _first_answer(session: UpstreamSession, discovered: "asyncio.Future[Event]") -> None:
    """Ask with `initialize` too, and take what is answered first."""
    session.link.use("")
    handshake = await session.start("initialize", _initialize_params(), modern=False)
    initialized = asyncio.ensure_future(handshake.next())
    try:
        await asyncio.wait({discovered, initialized}, return_when=asyncio.FIRST_COMPLETED)
        if discovered.done():
            match discovered.result():
                case Answered(result) if MODERN_VERSION in _versions(result):
                    session.adopt("modern", result)
                    return
        await _finish_initialize(session, await initialized)
    finally:
        initialized.cancel()


async def _initialize(session: UpstreamSession) -> None:
    session.link.use("")
    handshake = await session.start("initialize", _initialize_params(), modern=False)
    await _finish_initialize(session, await handshake.next())


async def _finish_initialize(session: UpstreamSession, event: Event) -> None:
    match event:
        case Answered(result):
            session.adopt("legacy", result)
            await session.notify("notifications/initialized", {})
        case Failed(UpstreamError() as error) if error.code == _UNSUPPORTED_VERSION:
            raise WrongEra("modern", error.message)
        case Failed(error):
            raise error


def _initialize_params() -> Message:
    return {"protocolVersion": LEGACY_VERSION, "capabilities": dict(ALL_CAPABILITIES), "clientInfo": CLIENT_INFO}


def _versions(result: Message) -> list[Any]:
    versions = result.get("supportedVersions")
    return versions if isinstance(versions, list) else []


def _supported(error: UpstreamError) -> list[Any]:
    """The versions that a server names when it refuses one."""
    supported = error.data.get("supported") if isinstance(error.data, dict) else None
    return supported if error.code == _UNSUPPORTED_VERSION and isinstance(supported, list) else []


def _refuse_unknown_versions(error: UpstreamError) -> None:
    """Stop at a server that says that it speaks only revisions that we do not know."""
    versions = _supported(error)
    if versions and not any(isinstance(one, str) and one <= MODERN_VERSION for one in versions):
        raise WrongConfiguration("The server speaks only protocol revisions that are not supported.")
