"""Where the clauses of a query end."""

import re

from dogubako.engine.search.constants import MOST_CLAUSES

# The end of a sentence needs a space after it, or 3.14 and example.com would be two. Commas and “and” are not taken for
# ends: lists of things would fall apart.
_END = re.compile(r"(?<=[.!?])\s+|[;\n。！？；]+")


def clauses(text: str) -> list[str]:
    """The clauses of a text; of too many the last ones stay together."""
    return [clause for clause in _END.split(text, MOST_CLAUSES - 1) if clause.strip()]
