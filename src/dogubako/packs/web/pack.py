"""The web pack: tools and health checks."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

from dogubako.contract.pack import HealthCheck, Host, MissingSetting, Pack
from dogubako.packs.web.client import WebClient, connect
from dogubako.packs.web.parsing.parser import OpenPerformer, page_workers
from dogubako.packs.web.settings import WebSettings
from dogubako.packs.web.tools import TOOLS


class WebPack(Pack[WebSettings, WebClient]):
    """Search engines and public pages. Works without any account."""

    name = "web"
    about = "search the internet, read pages, quick facts"
    everyday_words = Path(__file__).with_name("everyday_words.tsv")
    tools = TOOLS
    settings = WebSettings
    default_retry = 2

    def __init__(self, open_performer: OpenPerformer = page_workers) -> None:
        # Opens the parser. No process is started before the first page.
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
    async def connect(self, settings: WebSettings, host: Host) -> AsyncIterator[WebClient]:
        async with connect(settings, host, self._open_performer) as client:
            yield client

    async def check(self, settings: WebSettings, client: WebClient) -> Sequence[HealthCheck]:
        """Report the configuration; search_health calls the engines, because frequent probes get blocked."""
        names = ", ".join(settings.providers)
        return [HealthCheck(ok=True, subject="web", message=f"Searches go to {names}; search_health asks them.")]


WEB = WebPack()
