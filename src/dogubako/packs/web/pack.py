"""Front door of the web pack."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from dogubako.contract.pack import Finding, Host, Pack, Unconfigured
from dogubako.packs.web.client import WebClient, connect
from dogubako.packs.web.parsing.parser import OpenPerformer
from dogubako.packs.web.parsing.pool import WorkerPool
from dogubako.packs.web.settings import WebSettings
from dogubako.packs.web.tools import TOOLS


class WebPack(Pack[WebSettings, WebClient]):
    """Search engines and public pages. Works without any account."""

    name = "web"
    tools = TOOLS
    settings = WebSettings
    default_retry = 2

    def __init__(self, open_performer: OpenPerformer = WorkerPool) -> None:
        # Where pages are parsed. No process is started before the first one.
        self._open_performer = open_performer

    def unconfigured(self, settings: WebSettings) -> Unconfigured | None:
        if "searxng" in settings.providers and settings.searxng_url is None:
            return Unconfigured(reason="WEB_PROVIDERS names searxng, which has no address.", setting="SEARXNG_URL")
        if "brave" in settings.providers and settings.brave_api_key is None:
            return Unconfigured(reason="WEB_PROVIDERS names brave, which needs a key.", setting="BRAVE_API_KEY")
        return None

    @asynccontextmanager
    async def connect(self, settings: WebSettings, host: Host) -> AsyncIterator[WebClient]:
        async with connect(settings, host, self._open_performer) as client:
            yield client

    async def check(self, settings: WebSettings, client: WebClient) -> Sequence[Finding]:
        """Says what is set up; search_health asks the engines, because frequent probes get one blocked."""
        names = ", ".join(settings.providers)
        return [Finding(ok=True, subject="web", message=f"Searches go to {names}; search_health asks them.")]


WEB = WebPack()
