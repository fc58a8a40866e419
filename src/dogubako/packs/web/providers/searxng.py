"""SearXNG (or searx) of one's own, through its JSON answer."""

from typing import Any, Final

from dogubako.contract.errors import HttpError, JsonParseError
from dogubako.packs.web.models import Found, Hit, Query
from dogubako.packs.web.pace import Pace
from dogubako.packs.web.providers.base import has_address
from dogubako.packs.web.providers.json_answers import MOST_ENTRIES, plain_text, read_object
from dogubako.packs.web.providers.regions import language_tag
from dogubako.packs.web.wire import SearchWire

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
    hits = tuple(_hit(one) for one in found[: query.count])
    if answer["results"] and not hits:
        raise JsonParseError("no result has an address")
    unresponsive = answer.get("unresponsive_engines")
    silent = [_engine(one) for one in unresponsive[:MOST_ENTRIES]] if isinstance(unresponsive, list) else []
    if not hits and silent:
        # Nobody answered, which is not the same as: there is nothing.
        hint = "Look at the engines of your SearXNG, or use another provider."
        raise HttpError(f"engines did not answer: {', '.join(silent)}", hint=hint)
    notes = [f"These engines did not answer: {', '.join(silent)}."] if silent else []
    if query.time_range and not hits:
        notes.append("SearXNG leaves out engines that know no time range; there may be results without one.")
    if len(found) > query.count:
        # SearXNG's pages have the size they have: page 2 does not begin where we stop.
        notes.append(f"{len(found) - query.count} more results of this page are shown with a larger max_results.")
    return Found(hits=hits, source="SearXNG", more=bool(hits), notes=tuple(notes))


def _hit(one: dict[str, Any]) -> Hit:
    return Hit(title=plain_text(one.get("title")) or one["url"], url=one["url"], snippet=plain_text(one.get("content")))


def _engine(one: Any) -> str:
    return ": ".join(plain_text(part) for part in one[:2]) if isinstance(one, list) else plain_text(one)
