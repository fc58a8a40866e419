"""The web as our tools see it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from dogubako.contract.pack import Host
from dogubako.packs.web.pages.parts import PagePart, PartWanted, SectionMissing
from dogubako.packs.web.pages.robots import Robots
from dogubako.packs.web.pages.visiting import Visitor, require_good, visitor
from dogubako.packs.web.parsing.parser import OpenPerformer, Parser
from dogubako.packs.web.searching import Searching
from dogubako.packs.web.settings import WebSettings
from dogubako.packs.web.wire import search_wire


@dataclass(frozen=True, kw_only=True, slots=True)
class WebClient:
    """Search, and pages."""

    searching: Searching
    visitor: Visitor
    robots: Robots | None
    parser: Parser

    async def page(self, wanted: PartWanted) -> tuple[str, PagePart | SectionMissing]:
        """Where the page really was, and the part that is wanted of it."""
        permit = self.robots.require if self.robots is not None else None
        page = require_good(await self.visitor.visit(wanted.url, permit=permit))
        try:
            return page.url, await self.parser.page(page, wanted)
        finally:
            page.release()


@asynccontextmanager
async def connect(settings: WebSettings, host: Host, open_performer: OpenPerformer) -> AsyncIterator[WebClient]:
    """A client for as long as the server runs."""
    async with (
        search_wire(settings, host.transport) as wire,
        visitor(settings, host.transport) as visits,
        open_performer() as performer,
    ):
        parser = Parser(performer)
        robots = Robots(visits, settings.user_agent, parser) if settings.robots else None
        yield WebClient(searching=Searching(settings, wire, parser), visitor=visits, robots=robots, parser=parser)
