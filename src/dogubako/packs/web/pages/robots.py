"""robots.txt: fetched once per site, parsed, and obeyed."""

import re
import time
from collections import OrderedDict
from typing import Final

from dogubako.contract.errors import HttpError, UrlNotAllowed
from dogubako.outbound.public_addresses import destination
from dogubako.packs.web.pages.fetch import PASSING, Visitor
from dogubako.packs.web.parsing.parser import Parser


def robots_allow(body: bytes, agent: str, url: str) -> bool:
    """Whether a robots.txt allows a URL. Slow for some files: a worker process reads it."""
    from protego import Protego  # noqa: PLC0415 - only worker processes need it

    return bool(Protego.parse(body.decode("utf-8", "replace").removeprefix("\ufeff")).can_fetch(url, agent))


_KEPT_SECONDS: Final = 3_600.0
_MOST_SITES: Final = 500
_LARGEST: Final = 512 * 1024
_MOST_BYTES: Final = 8 * 1024 * 1024


class Robots:
    """Caches the rules of each site. A site without rules allows everything; one that cannot answer, nothing."""

    def __init__(self, visitor: Visitor, user_agent: str, parser: Parser) -> None:
        self._visitor = visitor
        # Sites name us by our first word: "dogubako", not "dogubako/1.0 (tool server …)".
        self._agent = next(iter(re.findall(r"[^\s/]+", user_agent)), "*")
        self._parser = parser
        self._files: OrderedDict[str, tuple[float, bytes]] = OrderedDict()
        self._kept_bytes = 0

    async def require(self, url: str) -> None:
        """Raise UrlNotAllowed if the site disallows this URL."""
        target = destination(url)
        file = await self._file_of(f"{target.scheme}://{target.authority}")
        if file and not await self._parser.robots_allow(file, self._agent, target.url):
            message = "This URL may not be fetched: the site's robots.txt does not allow it."
            hint = "An operator can switch this off with WEB_ROBOTS=false."
            raise UrlNotAllowed("robots.txt", message=message, hint=hint)

    async def _file_of(self, site: str) -> bytes:
        cached = self._files.get(site)
        if cached is not None and time.monotonic() - cached[0] < _KEPT_SECONDS:
            return cached[1]
        file = await self._fetch(site)
        self._forget(site)
        self._files[site] = (time.monotonic(), file)
        self._kept_bytes += len(file)
        while len(self._files) > _MOST_SITES or self._kept_bytes > _MOST_BYTES:
            self._forget(next(iter(self._files)))
        return file

    def _forget(self, site: str) -> None:
        _, file = self._files.pop(site, (0.0, b""))
        self._kept_bytes -= len(file)

    async def _fetch(self, site: str) -> bytes:
        """Fetch robots.txt. Failures are not cached: the reason is reported, and the next call tries again."""
        page = await self._visitor.visit(f"{site}/robots.txt", _LARGEST, too_large="cut")
        if page.status >= 500:
            message = f"The page could not be fetched: its server answered with status {page.status} for robots.txt."
            raise HttpError(f"status {page.status}", passing=page.status in PASSING, message=message)
        if page.status >= 400:
            return b""
        return bytes(page.body)
