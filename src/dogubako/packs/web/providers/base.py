"""The interface of search engines, and shared helpers for regions and JSON answers."""

from typing import Any, Final, Protocol

import msgspec

from dogubako.contract.errors import JsonParseError
from dogubako.outbound.bounds import Bound
from dogubako.packs.web.models import Found, Query
from dogubako.packs.web.search_http import MAX_PAGE_BYTES

_EVERYWHERE: Final = "wt"
# DuckDuckGo's codes that differ from ISO; None for a region that is no country.
_COUNTRIES: Final = {"uk": "GB", "sl": "SI", "ct": "ES", "xa": None, _EVERYWHERE: None}
_LANGUAGES: Final = {"jp": "ja", "kr": "ko", "tzh": "zh"}


def country_of(region: str) -> str | None:
    """The country, as in `US`, or None for all."""
    first, _, second = region.partition("-")
    if second.isupper():
        return second
    return _COUNTRIES.get(first.lower(), first.upper())


def language_tag(region: str) -> str:
    """The language with its country, as in `en-US`; a tag in this form stays unchanged."""
    first, _, second = region.partition("-")
    if not second or second.isupper():
        return region
    if first.lower() == _EVERYWHERE:
        return "all"
    language, country = _LANGUAGES.get(second.lower(), second.lower()), country_of(region)
    return f"{language}-{country}" if country else language


# Longer texts or lists are not genuine, and would block the event loop.
LONGEST_TEXT: Final = 20_000
MOST_ENTRIES: Final = 200
_BOUND: Final = Bound(most_bytes=MAX_PAGE_BYTES, most_values=50_000)


def read_object(body: bytes) -> dict[str, Any]:
    """The JSON object in an API's answer, with any content type."""
    if not _BOUND.allows_values_of(body):
        raise JsonParseError("more values than anybody needs")
    try:
        decoded = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise JsonParseError(str(error)) from error
    if not isinstance(decoded, dict):
        raise JsonParseError("not an object")
    return decoded


def plain_text(value: Any) -> str:
    """A string as one line; empty for other values."""
    return " ".join(value[:LONGEST_TEXT].split()) if isinstance(value, str) else ""


_LONGEST_URL: Final = 8_000


class Provider(Protocol):
    """One search engine. No results are an answer without hits; other outcomes are raised."""

    name: str

    async def search(self, query: Query) -> Found: ...


def has_address(result: Any) -> bool:
    """Whether an entry of an engine's JSON is a result with a usable URL."""
    url = result.get("url") if isinstance(result, dict) else None
    return isinstance(url, str) and len(url) <= _LONGEST_URL and url.startswith(("http://", "https://"))
