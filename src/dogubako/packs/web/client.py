"""The web as our tools see it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

import anyio.to_thread

from dogubako.contract.pack import Host
from dogubako.packs.web.pages.reading import PageFormat, Readable, read_page
from dogubako.packs.web.pages.robots import Robots
from dogubako.packs.web.pages.visiting import Visitor, require_good, visitor
from dogubako.packs.web.searching import Searching
from dogubako.packs.web.settings import WebSettings
from dogubako.packs.web.wire import search_wire


@dataclass(frozen=True, kw_only=True, slots=True)
class WebClient:
    """Search, and pages."""

    searching: Searching
    visitor: Visitor
    robots: Robots | None

    async def page(self, url: str, wanted: PageFormat) -> tuple[str, Readable]:
        """Where the page really was, and how it reads."""
        permit = self.robots.require if self.robots is not None else None
        page = require_good(await self.visitor.visit(url, permit=permit))
        # Reading a long page takes a while, and others want to be served meanwhile.
        return page.url, await anyio.to_thread.run_sync(partial(read_page, page, wanted), abandon_on_cancel=True)


@asynccontextmanager
async def connect(settings: WebSettings, host: Host) -> AsyncIterator[WebClient]:
    """A client for as long as the server runs."""
    async with search_wire(settings, host.transport) as wire, visitor(settings, host.transport) as visits:
        robots = Robots(visits, settings.user_agent) if settings.robots else None
        yield WebClient(searching=Searching(settings, wire), visitor=visits, robots=robots)
