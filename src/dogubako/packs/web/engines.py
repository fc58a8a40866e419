"""Choose the search engine, with fallbacks."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import structlog

from dogubako.contract.errors import (
    Blocked,
    EmptyQuery,
    HttpError,
    JsonParseError,
    Timeout,
    ValidationError,
    WebSearchError,
)
from dogubako.packs.web.models import Found, InstantAnswer, Query
from dogubako.packs.web.parsing.parser import Parser
from dogubako.packs.web.providers.base import Provider
from dogubako.packs.web.providers.duckduckgo import DuckDuckGo, read_instant_answer
from dogubako.packs.web.providers.json_apis import Brave, SearXNG
from dogubako.packs.web.search_http import Pace, SearchWire
from dogubako.packs.web.settings import WebSettings

log = structlog.get_logger("dogubako.web")

INSTANT_URL: Final = "https://api.duckduckgo.com/"


class Searching:
    """Tries the engines in the configured order. Without an order there is one engine and no fallback."""

    def __init__(self, settings: WebSettings, wire: SearchWire, parser: Parser) -> None:
        self._wire = wire
        self._instant_pace = Pace(settings.searches_per_second)
        self.providers: Mapping[str, Provider] = {
            name: _made(name, settings, wire, parser) for name in settings.providers
        }

    async def search(self, query: Query, only: str | None = None) -> Found:
        if not query.text.strip():
            raise EmptyQuery
        log.debug("Searching", query=query.terms, page=query.page)
        first: WebSearchError | None = None
        for provider in self._chosen(only):
            try:
                found = await provider.search(query)
            except WebSearchError as error:
                log.warning("Search engine failed", provider=provider.name, code=error.code, cause=error.cause)
                first = first or error
                continue
            return found if first is None else _standing_in(found, first, self._chosen(only)[0].name)
        assert first is not None
        raise first

    async def instant_answer(self, text: str) -> InstantAnswer:
        if not text.strip():
            raise EmptyQuery
        log.debug("Asking for an instant answer", query=text)
        await self._instant_pace.turn()
        params = {"q": text.strip(), "format": "json", "no_html": "1", "skip_disambig": "1", "no_redirect": "1"}
        answer = await self._wire.get(INSTANT_URL, params)
        if not answer.ok:
            raise answer.refused()
        try:
            return read_instant_answer(answer.body)
        except JsonParseError:
            if answer.status != 202:
                raise
            # DuckDuckGo sends its challenge with status 202.
            self._instant_pace.blocked()
            raise Blocked("status 202") from None

    async def health(self) -> list[dict[str, Any]]:
        """Whether each engine answers now, by a search that always has results."""
        states: list[dict[str, Any]] = []
        for provider in self.providers.values():
            try:
                found = await provider.search(Query(text="wikipedia", count=1))
            except WebSearchError as error:
                states.append({"provider": provider.name, "ok": False, "code": error.code, "message": error.message})
            else:
                ok = bool(found.hits)
                states.append({"provider": provider.name, "ok": ok} | ({} if ok else {"message": "It found nothing."}))
        return states

    def _chosen(self, only: str | None) -> Sequence[Provider]:
        if only is None:
            return list(self.providers.values())
        if only not in self.providers:
            names = ", ".join(self.providers)
            message = f"Invalid value for parameter provider: this server has {names}"
            raise ValidationError.of("provider", message)
        return [self.providers[only]]


def _made(name: str, settings: WebSettings, wire: SearchWire, parser: Parser) -> Provider:
    pace = Pace(settings.searches_per_second)
    match name:
        case "searxng":
            return SearXNG(wire, pace, settings.searxng_url or "")
        case "brave":
            return Brave(wire, pace, settings.brave_key)
        case _:
            return DuckDuckGo(wire, pace, parser, lite=name == "duckduckgo-lite")


def _reason(error: WebSearchError) -> str:
    match error:
        case Blocked():
            return "it blocked the search"
        case Timeout():
            return "it took too long"
        case HttpError():
            return "it could not be reached or refused"
        case _:
            return "its answer could not be read"


def _standing_in(found: Found, error: WebSearchError, name: str) -> Found:
    note = f"{name} did not answer ({_reason(error)}); {found.source} was asked instead."
    return Found(hits=found.hits, source=found.source, more=found.more, notes=(note, *found.notes))
