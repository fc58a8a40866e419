"""Queries and results of search engines."""

from dataclasses import dataclass, field
from typing import Literal

SafeSearch = Literal["strict", "moderate", "off"]
TimeRange = Literal["day", "week", "month", "year"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """One search, for any engine."""

    text: str
    count: int = 10
    page: int = 1
    region: str | None = None
    safesearch: SafeSearch = "moderate"
    time_range: TimeRange | None = None
    site: str | None = None
    exclude_sites: tuple[str, ...] = ()

    @property
    def terms(self) -> str:
        """The query with its site filters, in the syntax of search engines."""
        parts = [self.text.strip()]
        if self.site:
            parts.append(f"site:{self.site}")
        parts += [f"-site:{site}" for site in self.exclude_sites]
        return " ".join(parts)


@dataclass(frozen=True, kw_only=True, slots=True)
class Hit:
    """One result."""

    title: str
    url: str
    snippet: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """The answer of one engine. No results are an answer; a refusal is an error."""

    hits: tuple[Hit, ...]
    source: str
    more: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Topic:
    """A related subject."""

    text: str
    url: str = ""
    group: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class InstantAnswer:
    """An Instant Answer of DuckDuckGo."""

    heading: str = ""
    abstract: str = ""
    abstract_source: str = ""
    abstract_url: str = ""
    answer: str = ""
    definition: str = ""
    definition_source: str = ""
    definition_url: str = ""
    topics: tuple[Topic, ...] = ()
    facts: tuple[tuple[str, str], ...] = field(default=())

    @property
    def empty(self) -> bool:
        return not (self.abstract or self.answer or self.definition or self.topics or self.facts)
