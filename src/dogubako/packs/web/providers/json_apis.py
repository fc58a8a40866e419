"""Search providers with a JSON API: Brave and SearXNG."""

import html
import re
from typing import Any, Final

from dogubako.contract.errors import Blocked, HttpError, JsonParseError, ValidationError
from dogubako.packs.web.models import Found, Hit, Query
from dogubako.packs.web.providers.base import (
    MOST_ENTRIES,
    country_of,
    has_address,
    language_tag,
    plain_text,
    read_object,
)
from dogubako.packs.web.search_http import Pace, SearchWire

URL: Final = "https://api.search.brave.com/res/v1/web/search"
_MOST: Final = 20
_LAST_PAGE: Final = 10
_TIME: Final = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}
_LONGEST: Final = 4_000
_TAGS: Final = re.compile(r"</?[a-zA-Z][^>]{0,100}>")


class Brave:
    """Brave Search, which has its own index."""

    name = "brave"

    def __init__(self, wire: SearchWire, pace: Pace, key: str) -> None:
        self._wire = wire
        self._pace = pace
        self._key = key

    async def search(self, query: Query) -> Found:
        if query.page > _LAST_PAGE:
            message = f"Invalid value for parameter page: Brave has pages 1 to {_LAST_PAGE}"
            raise ValidationError.of("page", message)
        await self._pace.turn()
        country = country_of(query.region) if query.region else None
        given = {
            "q": query.terms,
            "count": str(min(query.count, _MOST)),
            "offset": str(query.page - 1),
            "safesearch": query.safesearch,
            **({"country": country} if country else {}),
            **({"freshness": _TIME[query.time_range]} if query.time_range else {}),
        }
        answer = await self._wire.get(URL, given, {"X-Subscription-Token": self._key, "Accept": "application/json"})
        if answer.status in (401, 403, 422):
            hint = "Check BRAVE_API_KEY, and whether Brave knows the region."
            raise HttpError(f"status {answer.status}", hint=hint)
        if answer.status == 429:
            self._pace.blocked()
            raise Blocked("status 429")
        if not answer.ok:
            raise answer.refused()
        self._pace.welcome()
        return read_brave_answer(answer.body, query)


def read_brave_answer(body: bytes, query: Query) -> Found:
    answer = read_object(body)
    web, asked = answer.get("web"), answer.get("query")
    if not isinstance(web, dict) and not isinstance(asked, dict):
        raise JsonParseError("neither results nor the query")
    results = web.get("results") if isinstance(web, dict) else None
    listed = results if isinstance(results, list) else []
    hits = tuple(_brave_hit(one) for one in [one for one in listed if has_address(one)][: query.count])
    if listed and not hits:
        raise JsonParseError("no result has an address")
    more = bool(asked.get("more_results_available")) if isinstance(asked, dict) else False
    notes = (f"Brave gives at most {_MOST} results a page.",) if query.count > _MOST else ()
    return Found(hits=hits, source="Brave", more=more, notes=notes)


def _brave_hit(one: dict[str, Any]) -> Hit:
    return Hit(title=_plain(one.get("title")), url=one["url"], snippet=_plain(one.get("description")))


def _plain(value: Any) -> str:
    """The text without tags and entities, with which Brave marks words."""
    return plain_text(html.unescape(_TAGS.sub("", value[:_LONGEST]))) if isinstance(value, str) else ""


_SAFE: Final = {"strict": "2", "moderate": "1", "off": "0"}


class SearXNG:
    """A metasearch engine that an operator runs."""

    name = "searxng"

    def __init__(self, wire: SearchWire, pace: Pace, url: str) -> None:
        self._wire = wire
        self._pace = pace
        self._url = url

    async def search(self, query: Query) -> Found:
        await self._pace.turn()
        given = {
            "q": query.terms,
            "format": "json",
            "pageno": str(query.page),
            "safesearch": _SAFE[query.safesearch],
            **({"language": language_tag(query.region)} if query.region else {}),
            **({"time_range": query.time_range} if query.time_range else {}),
        }
        answer = await self._wire.get(f"{self._url}/search", given)
        if answer.status == 403:
            hint = "Enable JSON in SearXNG's settings.yml: add json to search.formats."
            raise HttpError("status 403", hint=hint)
        if not answer.ok:
            raise answer.refused()
        return read_searxng_answer(answer.body, query)


def read_searxng_answer(body: bytes, query: Query) -> Found:
    answer = read_object(body)
    if not isinstance(answer.get("results"), list):
        raise JsonParseError("no list of results")
    found = [one for one in answer["results"] if has_address(one)]
    hits = tuple(_searxng_hit(one) for one in found[: query.count])
    if answer["results"] and not hits:
        raise JsonParseError("no result has an address")
    unresponsive = answer.get("unresponsive_engines")
    silent = [_engine(one) for one in unresponsive[:MOST_ENTRIES]] if isinstance(unresponsive, list) else []
    if not hits and silent:
        # No engine answered, which does not mean that there are no results.
        hint = "Look at the engines of your SearXNG, or use another provider."
        raise HttpError(f"engines did not answer: {', '.join(silent)}", hint=hint)
    notes = [f"These engines did not answer: {', '.join(silent)}."] if silent else []
    if query.time_range and not hits:
        notes.append("SearXNG leaves out engines that know no time range; there may be results without one.")
    if len(found) > query.count:
        # SearXNG's page size is fixed: page 2 does not begin where we stop.
        notes.append(f"{len(found) - query.count} more results of this page are shown with a larger max_results.")
    return Found(hits=hits, source="SearXNG", more=bool(hits), notes=tuple(notes))


def _searxng_hit(one: dict[str, Any]) -> Hit:
    return Hit(title=plain_text(one.get("title")) or one["url"], url=one["url"], snippet=plain_text(one.get("content")))


def _engine(one: Any) -> str:
    return ": ".join(plain_text(part) for part in one[:2]) if isinstance(one, list) else plain_text(one)
