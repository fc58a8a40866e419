"""Which tool fits this query.

A query is read (`question`), each of its clauses is scored against all tools (`scoring`, over `postings`), the clauses
are put together (`ranking`), names that are meant literally come first (`names`), and on request a score is taken apart
again (`explaining`). All numbers are in `constants`.
"""

from dogubako.engine.search.match import Match, Reason, ToolSearch
from dogubako.engine.search.tool_search import LexicalSearch

__all__ = ["LexicalSearch", "Match", "Reason", "ToolSearch"]
