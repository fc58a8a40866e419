"""`WebClient`: everything that the tools of this pack use."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from dogubako.contract.errors import HttpError
from dogubako.contract.pack import Host
from dogubako.packs.web.engines import Searching
from dogubako.packs.web.pages.fetch import Visited, Visitor, require_good, visitor
from dogubako.packs.web.pages.parts import PagePart, PartWanted, SectionMissing
from dogubako.packs.web.pages.robots import Robots
from dogubako.packs.web.parsing.messages import Onward
from dogubako.packs.web.parsing.parser import OpenPerformer, Parser, page_workers
from dogubako.packs.web.search_http import search_wire
from dogubako.packs.web.settings import WebSettings

# How often a page may refer to another one by `<meta http-equiv=refresh>`.
_MOST_REFRESHES: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class WebClient:
    """Searches, and fetches pages."""

    searching: Searching
    visitor: Visitor
    robots: Robots | None
    parser: Parser

    async def page(self, wanted: PartWanted) -> tuple[str, PagePart | SectionMissing]:
        """The final URL of a page, and the requested part of it."""
        url = wanted.url
        for _ in range(_MOST_REFRESHES + 1):
            page = await self._visited(url)
            try:
                part = await self.parser.page(page, wanted)
            finally:
                page.release()
            if not isinstance(part, Onward):
                return page.url, part
            # Checked like every other address: it may be private, or forbidden to robots.
            url = part.url
        raise HttpError(
            "too many refreshes", lasting=True, message="The page could not be fetched: it redirects too often."
        )

    async def _visited(self, url: str) -> Visited:
        permit = self.robots.require if self.robots is not None else None
        return require_good(await self.visitor.visit(url, permit=permit))


@asynccontextmanager
async def connect(
    settings: WebSettings, host: Host, open_performer: OpenPerformer = page_workers
) -> AsyncIterator[WebClient]:
    """Open a client while the server runs."""
    async with (
        search_wire(settings, host.transport) as wire,
        visitor(settings, host.transport) as visits,
        open_performer() as performer,
    ):
        parser = Parser(performer)
        robots = Robots(visits, settings.user_agent, parser) if settings.robots else None
        yield WebClient(searching=Searching(settings, wire, parser), visitor=visits, robots=robots, parser=parser)
