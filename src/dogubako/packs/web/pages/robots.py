"""What a site asks of robots, remembered for an hour."""

import re
import time
from collections import OrderedDict
from typing import Final

from dogubako.contract.errors import HttpError, UrlNotAllowed
from dogubako.packs.web.pages.addresses import destination
from dogubako.packs.web.pages.robots_rules import RobotsRules, read_rules
from dogubako.packs.web.pages.visiting import PASSING, Visitor

_KEPT_SECONDS: Final = 3_600.0
_MOST_SITES: Final = 500
_LARGEST: Final = 512 * 1024


class Robots:
    """Asks every site once in a while. A site without rules allows everything; one that cannot say, nothing."""

    def __init__(self, visitor: Visitor, user_agent: str) -> None:
        self._visitor = visitor
        # Sites name us by our first word: "dogubako", not "dogubako/1.0 (tool server …)".
        self._agent = next(iter(re.findall(r"[^\s/]+", user_agent)), "*")
        self._rules: OrderedDict[str, tuple[float, RobotsRules]] = OrderedDict()

    async def require(self, url: str) -> None:
        """UrlNotAllowed when the site does not want us there."""
        target = destination(url)
        rules = await self._rules_of(f"{target.scheme}://{target.authority}")
        if not rules.allow(target.path):
            message = "This URL may not be fetched: the site's robots.txt does not allow it."
            hint = "An operator can switch this off with WEB_ROBOTS=false."
            raise UrlNotAllowed("robots.txt", message=message, hint=hint)

    async def _rules_of(self, site: str) -> RobotsRules:
        known = self._rules.get(site)
        if known is not None and time.monotonic() - known[0] < _KEPT_SECONDS:
            return known[1]
        rules = await self._fetch(site)
        self._rules[site] = (time.monotonic(), rules)
        self._rules.move_to_end(site)
        while len(self._rules) > _MOST_SITES:
            self._rules.popitem(last=False)
        return rules

    async def _fetch(self, site: str) -> RobotsRules:
        """What cannot be asked is not remembered: the reason is told, and the next call asks again."""
        page = await self._visitor.visit(f"{site}/robots.txt", _LARGEST, too_large="cut")
        if page.status >= 500:
            message = f"The page could not be fetched: its server answered with status {page.status} for robots.txt."
            raise HttpError(f"status {page.status}", passing=page.status in PASSING, message=message)
        if page.status >= 400:
            return RobotsRules(rules=())
        return read_rules(page.body.decode("utf-8", "replace"), self._agent)
