"""The registry's search: entries in, matches out."""

from collections.abc import Set
from typing import TYPE_CHECKING

from dogubako.engine.search.fields import document_of
from dogubako.engine.search.index import ToolIndex
from dogubako.engine.search.match import Match

if TYPE_CHECKING:
    from dogubako.engine.entry import ToolRegistryEntry


class LexicalSearch:
    """Finds tools by their words. Nothing is indexed before somebody searches."""

    def __init__(self) -> None:
        self._index = ToolIndex()
        self._entries: dict[str, ToolRegistryEntry] = {}
        self._waiting: dict[str, ToolRegistryEntry] = {}

    def put(self, entry: "ToolRegistryEntry") -> None:
        """Take a tool in, or what has become of it."""
        if self._entries.get(entry.name) is not entry:
            self._entries[entry.name] = self._waiting[entry.name] = entry

    def drop(self, name: str) -> None:
        """Forget a tool, if it is known."""
        self._entries.pop(name, None)
        self._waiting.pop(name, None)
        self._index.drop(name)

    def find(self, query: str, allowed: Set[str] | None, *, explain: bool = False) -> list[Match]:
        """Tools that fit, best first; of those whose names are allowed, if that is said."""
        self._catch_up()
        why = self._index.explain(query, allowed) if explain else {}
        hits = self._index.find(query, allowed)
        return [Match(entry=self._entries[name], score=score, why=why.get(name, ())) for name, score in hits]

    def _catch_up(self) -> None:
        for entry in self._waiting.values():
            self._index.put(document_of(entry))
        self._waiting.clear()
