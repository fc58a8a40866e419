"""DuckDuckGo without a key: the HTML and the Lite endpoint."""

import re
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from dogubako.contract.errors import Blocked, HtmlParseError, HttpError, ValidationError
from dogubako.packs.web.models import Found, Hit, Query
from dogubako.packs.web.pace import Pace
from dogubako.packs.web.parsing.parser import Parser
from dogubako.packs.web.providers.duckduckgo_pages import ResultPage, offset_of
from dogubako.packs.web.wire import SearchWire

HTML_URL: Final = "https://html.duckduckgo.com/html/"
LITE_URL: Final = "https://lite.duckduckgo.com/lite/"

_LONGEST: Final = 499
_MOST_PAGES: Final = 12
_KEPT_FORMS: Final = 200
_TIME: Final = {"day": "d", "week": "w", "month": "m", "year": "y"}
_SAFE: Final = {"strict": "1", "moderate": "-1", "off": "-2"}
_BANG: Final = re.compile(r"(?<!\S)(!\S+|\S+!)(?!\S)")
_READABLE: Final = frozenset({200, 202, 403, 418, 429})


class DuckDuckGo:
    """Walks result pages through the forms that they hold."""

    def __init__(self, wire: SearchWire, pace: Pace, parser: Parser, *, lite: bool = False) -> None:
        self.name = "duckduckgo-lite" if lite else "duckduckgo"
        self._wire = wire
        self._pace = pace
        self._url = LITE_URL if lite else HTML_URL
        self._parser = parser
        self._lite = lite
        # The way to a page leads through the pages before it; the last steps are kept.
        self._forms: OrderedDict[tuple[str, ...], tuple[int, Mapping[str, str]]] = OrderedDict()

    async def search(self, query: Query) -> Found:
        first = _form(query)
        skipped, wanted = (query.page - 1) * query.count, query.page * query.count
        start, form = self._step_before(first, skipped)
        hits: list[Hit] = []
        for _ in range(_MOST_PAGES):
            try:
                page = await self._ask(form)
            except Blocked:
                if start + len(hits) > skipped:
                    note = "The provider blocked us before all results were fetched; a search later may show more."
                    # The next page would begin behind results that nobody has seen: it is not proposed.
                    return self._found(hits, skipped - start, wanted - start, more=False, notes=(note,))
                raise
            hits += page.hits
            if page.next_form is None or not page.hits or offset_of(page.next_form) <= offset_of(form):
                return self._found(hits, skipped - start, wanted - start, more=False)
            # The page's form repeats neither the filter nor the time range.
            form = {**first, **page.next_form}
            self._keep(first, start + len(hits), form)
            if start + len(hits) >= wanted:
                break
        if start + len(hits) <= skipped:
            raise _too_far(query.page)
        return self._found(hits, skipped - start, wanted - start, more=True)

    async def _ask(self, form: Mapping[str, str]) -> ResultPage:
        await self._pace.turn()
        answer = await self._wire.post(self._url, form)
        if answer.status not in _READABLE:
            raise answer.refused()
        try:
            page = await self._parser.results(answer.body, answer.charset, lite=self._lite)
        except Blocked:
            self._pace.blocked()
            raise
        except HtmlParseError:
            if answer.status == 200:
                raise
            # A refusal without a challenge on it is a refusal all the same.
            self._pace.blocked()
            raise Blocked(f"status {answer.status}") from None
        self._pace.welcome()
        return page

    def _found(self, hits: list[Hit], begin: int, end: int, *, more: bool, notes: tuple[str, ...] = ()) -> Found:
        shown = tuple(hits[begin:end])
        return Found(hits=shown, source="DuckDuckGo", more=more or len(hits) > end, notes=notes)

    def _step_before(self, first: Mapping[str, str], skipped: int) -> tuple[int, Mapping[str, str]]:
        """The furthest form that we know and that is not beyond what is wanted."""
        known = [value for key, value in self._forms.items() if key[:-1] == tuple(first.values())]
        return max((one for one in known if one[0] <= skipped), key=lambda one: one[0], default=(0, first))

    def _keep(self, first: Mapping[str, str], position: int, form: Mapping[str, str]) -> None:
        self._forms[*first.values(), str(position)] = (position, form)
        while len(self._forms) > _KEPT_FORMS:
            self._forms.popitem(last=False)


def _too_far(page: int) -> HttpError:
    """Not reaching a page is not the same as: there is nothing on it."""
    hint = "Ask again: every call comes further. Or ask for an earlier page."
    return HttpError("too many pages before it", message=f"Page {page} is too far to reach at once.", hint=hint)


def _form(query: Query) -> dict[str, str]:
    terms = _BANG.sub(lambda word: f'"{word[0]}"', query.terms)
    if len(terms) > _LONGEST:
        message = f"Invalid value for parameter query: DuckDuckGo takes at most {_LONGEST} characters"
        raise ValidationError.of("query", message)
    return {
        "q": terms,
        "kl": query.region or "wt-wt",
        "df": _TIME[query.time_range] if query.time_range else "",
        "kp": _SAFE[query.safesearch],
    }
