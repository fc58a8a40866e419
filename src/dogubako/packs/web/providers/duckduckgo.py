"""DuckDuckGo: searches over its HTML and Lite pages, and its Instant Answers."""

import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from dogubako.contract.errors import Blocked, HtmlParseError, HttpError, ValidationError
from dogubako.packs.web.models import Found, Hit, InstantAnswer, Query, Topic
from dogubako.packs.web.parsing.parser import Parser
from dogubako.packs.web.providers.base import MOST_ENTRIES, plain_text, read_object
from dogubako.packs.web.providers.duckduckgo_pages import ResultPage, offset_of
from dogubako.packs.web.search_http import Pace, SearchWire

_MOST_TOPICS: Final = 40


def read_instant_answer(body: bytes) -> InstantAnswer:
    """Parse the API's JSON, with any content type."""
    answer = read_object(body)
    return InstantAnswer(
        heading=_text(answer.get("Heading")),
        abstract=_text(answer.get("AbstractText")) or _text(answer.get("Abstract")),
        abstract_source=_text(answer.get("AbstractSource")),
        abstract_url=_text(answer.get("AbstractURL")),
        answer=_answer(answer.get("Answer")),
        definition=_text(answer.get("Definition")),
        definition_source=_text(answer.get("DefinitionSource")),
        definition_url=_text(answer.get("DefinitionURL")),
        topics=tuple(islice(_topics(answer.get("RelatedTopics"), ""), _MOST_TOPICS)),
        facts=tuple(islice(_facts(answer.get("Infobox")), MOST_ENTRIES)),
    )


def _answer(value: Any) -> str:
    """A text, or the text in an object."""
    if isinstance(value, Mapping):
        return next((text for key in ("result", "answer", "text", "value") if (text := _text(value.get(key)))), "")
    return _text(value)


def _topics(value: Any, group: str) -> Iterator[Topic]:
    for one in value if isinstance(value, list) else ():
        if not isinstance(one, Mapping):
            continue
        if isinstance(one.get("Topics"), list):
            yield from _topics(one["Topics"], _text(one.get("Name")))
        elif text := _text(one.get("Text")):
            yield Topic(text=text, url=_text(one.get("FirstURL")), group=group)


def _facts(value: Any) -> Iterator[tuple[str, str]]:
    content = value.get("content") if isinstance(value, Mapping) else None
    for one in content if isinstance(content, list) else ():
        if isinstance(one, Mapping) and (label := _text(one.get("label"))):
            fact = one.get("value")
            text = _text(fact) if not isinstance(fact, Mapping) else _answer(fact)
            if text:
                yield label, text


def _text(value: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else plain_text(value)


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
    """Pages through results with the forms on each page."""

    def __init__(self, wire: SearchWire, pace: Pace, parser: Parser, *, lite: bool = False) -> None:
        self.name = "duckduckgo-lite" if lite else "duckduckgo"
        self._wire = wire
        self._pace = pace
        self._url = LITE_URL if lite else HTML_URL
        self._parser = parser
        self._lite = lite
        # A page is reached through the pages before it; the last forms are cached.
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
                    # The next page would skip unseen results, so it is not offered.
                    return self._page_of(hits, skipped - start, wanted - start, more=False, notes=(note,))
                raise
            hits += page.hits
            if page.next_form is None or not page.hits or offset_of(page.next_form) <= offset_of(form):
                return self._page_of(hits, skipped - start, wanted - start, more=False)
            # The page's form repeats neither the filter nor the time range.
            form = {**first, **page.next_form}
            self._keep(first, start + len(hits), form)
            if start + len(hits) >= wanted:
                break
        if start + len(hits) <= skipped:
            raise _too_far(query.page)
        return self._page_of(hits, skipped - start, wanted - start, more=True)

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
            # A refusal without a challenge also counts as a block.
            self._pace.blocked()
            raise Blocked(f"status {answer.status}") from None
        self._pace.welcome()
        return page

    def _page_of(self, hits: list[Hit], begin: int, end: int, *, more: bool, notes: tuple[str, ...] = ()) -> Found:
        shown = tuple(hits[begin:end])
        return Found(hits=shown, source="DuckDuckGo", more=more or len(hits) > end, notes=notes)

    def _step_before(self, first: Mapping[str, str], skipped: int) -> tuple[int, Mapping[str, str]]:
        """The furthest known form that is not beyond the requested result."""
        steps = [value for key, value in self._forms.items() if key[:-1] == tuple(first.values())]
        return max((one for one in steps if one[0] <= skipped), key=lambda one: one[0], default=(0, first))

    def _keep(self, first: Mapping[str, str], position: int, form: Mapping[str, str]) -> None:
        self._forms[*first.values(), str(position)] = (position, form)
        while len(self._forms) > _KEPT_FORMS:
            self._forms.popitem(last=False)


def _too_far(page: int) -> HttpError:
    """The error for a page that cannot be reached, which does not mean that it is empty."""
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
