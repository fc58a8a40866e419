"""Tool search: rank tools by a query, and say when none fits.

By words: a query becomes weighted terms and clauses (`query`), these are scored against the inverted index (`postings`)
and combined (`ranking`); tools that the query names come first (`lexical`). By meaning: a table of words (`word_table`)
gives texts vectors (`meanings`). A Japanese query is also read in English words (`japanese`). `blend` makes one score
and a probability of all that, `index` ranks by it, `search` keeps the index up to date. All numbers are in `constants`.
"""

from dogubako.engine.search.match import Match, Reason, SearchResult, ToolSearch
from dogubako.engine.search.search import NO_SEARCH, IndexedSearch, can_search, japanese_reader

__all__ = [
    "NO_SEARCH",
    "IndexedSearch",
    "Match",
    "Reason",
    "SearchResult",
    "ToolSearch",
    "can_search",
    "japanese_reader",
]
