"""Tools that the query names, literally or nearly."""

from collections.abc import Iterable
from difflib import SequenceMatcher

from dogubako.engine.search.constants import NEAR_LIKENESS
from dogubako.engine.search.postings import Indexed
from dogubako.engine.search.question import Question
from dogubako.engine.search.words import joined


class Names:
    """Finds the numbers of tools by their names: however these are written, and whatever the order of their words."""

    def __init__(self) -> None:
        self._spelled: dict[str, set[int]] = {}
        self._worded: dict[frozenset[str], set[int]] = {}

    def add(self, tool: Indexed, number: int) -> None:
        self._spelled.setdefault(joined(tool.document.name), set()).add(number)
        self._worded.setdefault(tool.name_terms, set()).add(number)

    def remove(self, tool: Indexed, number: int) -> None:
        self._spelled[joined(tool.document.name)].discard(number)
        self._worded[tool.name_terms].discard(number)

    def meant(self, question: Question) -> set[int]:
        """Tools whose name is the query, and tools that the query calls by a name as it is written in code."""
        return {number for name in question.names for number in self._spelled.get(name, ())}

    def nearly_meant(self, question: Question, fitting: Iterable[tuple[int, Indexed]]) -> set[int]:
        """Tools whose name has the same words, in other forms or order, or is a slip away from the query."""
        same = self._worded.get(frozenset(question.typed), set())
        if not question.is_one_word:
            return set(same)
        return same | {number for number, tool in fitting if _is_a_slip(question.spelled, joined(tool.document.name))}


def _is_a_slip(query: str, name: str) -> bool:
    alike = SequenceMatcher(None, query, name, autojunk=False)
    return alike.real_quick_ratio() >= NEAR_LIKENESS and alike.ratio() >= NEAR_LIKENESS
