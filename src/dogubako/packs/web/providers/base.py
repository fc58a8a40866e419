"""What every search engine is to us."""

from typing import Any, Protocol

from dogubako.packs.web.models import Found, Query


class Provider(Protocol):
    """One search engine. Finding nothing is an answer without hits; everything else that is no result is raised."""

    name: str

    async def search(self, query: Query) -> Found: ...


def has_address(result: Any) -> bool:
    """Whether one entry of an engine's JSON is a result that somebody could open."""
    url = result.get("url") if isinstance(result, dict) else None
    return isinstance(url, str) and url.startswith(("http://", "https://"))
