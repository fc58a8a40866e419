"""The web pack: tools and health checks."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from dogubako._lazy import load
from dogubako.contract.pack import HealthCheck, Host, MissingSetting, Pack
from dogubako.contract.stored_tool import stored_tools
from dogubako.packs.web.connection import WebConnection
from dogubako.packs.web.settings import WebSettings

if TYPE_CHECKING:
    from dogubako.packs.web.parsing.parser import OpenPerformer


class WebPack(Pack[WebSettings, WebConnection]):
    """Search engines and public pages. Works without any account."""

    name = "web"
    about = "search the internet, read pages, quick facts"
    everyday_words = Path(__file__).with_name("everyday_words.tsv")
    tools = stored_tools(Path(__file__).parent, lambda: load("dogubako.packs.web.tools").TOOLS)
    settings = WebSettings
    default_retry = 2

    def __init__(self, open_performer: "OpenPerformer | None" = None) -> None:
        # Opens the parser; worker processes, if it is None.
        self._open_performer = open_performer

    def unconfigured(self, settings: WebSettings) -> MissingSetting | None:
        if any(find_spec(name) is None for name in ("lxml", "protego", "pypdf", "selectolax")):
            return MissingSetting(reason="The web pack needs the extra web.", extra="web")
        if "searxng" in settings.providers and settings.searxng_url is None:
            return MissingSetting(reason="WEB_PROVIDERS names searxng, which has no address.", setting="SEARXNG_URL")
        if "brave" in settings.providers and settings.brave_api_key is None:
            return MissingSetting(reason="WEB_PROVIDERS names brave, which needs a key.", setting="BRAVE_API_KEY")
        return None

    @asynccontextmanager
    async def connect(self, settings: WebSettings, host: Host) -> AsyncIterator[WebConnection]:
        async with WebConnection(settings, host, self._open_performer) as connection:
            # A proxy or a CA file that cannot be used is an error at the start.
            if settings.proxy is not None or settings.ca_bundle is not None:
                await connection.opened()
            yield connection

    async def check(self, settings: WebSettings, client: WebConnection) -> Sequence[HealthCheck]:
        """Report the configuration; search_health calls the engines, because frequent probes get blocked."""
        names = ", ".join(settings.providers)
        return [HealthCheck(ok=True, subject="web", message=f"Searches go to {names}; search_health asks them.")]


WEB = WebPack()
