"""What every search engine is to us."""

from typing import Any, Final, Protocol

from dogubako.packs.web.models import Found, Query

_LONGEST_URL: Final = 8_000


class Provider(Protocol):
    """One search engine. Finding nothing is an answer without hits; everything else that is no result is raised."""

    name: str

    async def search(self, query: Query) -> Found: ...


def has_address(result: Any) -> bool:
    """Whether one entry of an engine's JSON is a result that somebody could open."""
    url = result.get("url") if isinstance(result, dict) else None
    return isinstance(url, str) and len(url) <= _LONGEST_URL and url.startswith(("http://", "https://"))
