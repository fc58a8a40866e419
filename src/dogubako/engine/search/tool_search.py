"""The registry's search: entries in, matches out."""

from collections import deque
from collections.abc import Set
from threading import Lock
from typing import TYPE_CHECKING

from dogubako.engine.search.fields import document_of
from dogubako.engine.search.index import ToolIndex
from dogubako.engine.search.match import Match

if TYPE_CHECKING:
    from dogubako.engine.entry import ToolRegistryEntry


class LexicalSearch:
    """Finds tools by their words. Nothing is indexed before somebody searches.

    Searches may run in threads. What is put in or dropped meanwhile is noted, and the next search indexes it.
    """

    def __init__(self) -> None:
        self._index = ToolIndex()
        self._entries: dict[str, ToolRegistryEntry] = {}
        self._changes: deque[tuple[str, ToolRegistryEntry | None]] = deque()
        self._searching = Lock()

    def put(self, entry: "ToolRegistryEntry") -> None:
        """Take a tool in, or what has become of it."""
        self._changes.append((entry.name, entry))

    def drop(self, name: str) -> None:
        """Forget a tool, if it is known."""
        self._changes.append((name, None))

    def find(self, query: str, allowed: Set[str] | None, *, explain: bool = False) -> list[Match]:
        """Tools that fit, best first; of those whose names are allowed, if that is said."""
        with self._searching:
            self._catch_up()
            why = self._index.explain(query, allowed) if explain else {}
            hits = self._index.find(query, allowed)
            return [Match(entry=self._entries[name], score=score, why=why.get(name, ())) for name, score in hits]

    def _catch_up(self) -> None:
        waiting: dict[str, ToolRegistryEntry | None] = {}
        while self._changes:
            name, entry = self._changes.popleft()
            waiting[name] = entry
        for name, entry in waiting.items():
            if entry is None:
                self._entries.pop(name, None)
                self._index.drop(name)
            elif self._entries.get(name) is not entry:
                self._entries[name] = entry
                self._index.put(document_of(entry))
