"""Brave's search API, with a key."""

import html
import re
from typing import Any, Final

from dogubako.contract.errors import Blocked, HttpError, JsonParseError, ValidationError
from dogubako.packs.web.models import Found, Hit, Query
from dogubako.packs.web.pace import Pace
from dogubako.packs.web.providers.base import has_address
from dogubako.packs.web.providers.json_answers import plain_text, read_object
from dogubako.packs.web.providers.regions import country_of
from dogubako.packs.web.wire import SearchWire

URL: Final = "https://api.search.brave.com/res/v1/web/search"
_MOST: Final = 20
_LAST_PAGE: Final = 10
_TIME: Final = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}
_LONGEST: Final = 4_000
_TAGS: Final = re.compile(r"</?[a-zA-Z][^>]{0,100}>")


class Brave:
    """An index of its own."""

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
    hits = tuple(_hit(one) for one in [one for one in listed if has_address(one)][: query.count])
    if listed and not hits:
        raise JsonParseError("no result has an address")
    more = bool(asked.get("more_results_available")) if isinstance(asked, dict) else False
    notes = (f"Brave gives at most {_MOST} results a page.",) if query.count > _MOST else ()
    return Found(hits=hits, source="Brave", more=more, notes=notes)


def _hit(one: dict[str, Any]) -> Hit:
    return Hit(title=_plain(one.get("title")), url=one["url"], snippet=_plain(one.get("description")))


def _plain(value: Any) -> str:
    """Brave marks words with tags and writes the rest as entities."""
    return plain_text(html.unescape(_TAGS.sub("", value[:_LONGEST]))) if isinstance(value, str) else ""
