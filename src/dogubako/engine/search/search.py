"""`IndexedSearch`: the tools of the registry in an index that is built in the background."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence, Set
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from threading import Condition, Thread
from time import monotonic
from typing import TYPE_CHECKING, Final

from dogubako._lazy import load
from dogubako.contract.errors import ToolDisabledError
from dogubako.engine.search.learning import LearnedPhrases
from dogubako.engine.search.match import MOST_NEAREST, Match, SearchResult

if TYPE_CHECKING:
    from dogubako.engine.registration import ToolRegistryEntry
    from dogubako.engine.search.index import ToolIndex
    from dogubako.engine.search.japanese import JapaneseReader
    from dogubako.engine.search.jmdict import Dictionary
    from dogubako.engine.search.text import Document

# A search waits so long for tools that are not indexed yet, then answers with those that are.
LONGEST_WAIT_SECONDS = 1.0
# So many tools are indexed before a search gets its turn: some milliseconds.
_AT_ONCE = 64
NO_SEARCH: Final = "Tool search needs an extra: pip install 'dogubako[search]'."


def can_search() -> bool:
    """Whether the packages of the extra `search` are installed."""
    return all(find_spec(name) is not None for name in ("numpy", "Stemmer"))


def japanese_reader(kept: Path) -> "Callable[[], JapaneseReader]":
    """Reads Japanese questions. Words of the extra `ja` are in the file `kept`."""

    @cache
    def dictionary() -> "Dictionary":
        made: Dictionary = load("dogubako.engine.search.jmdict").Dictionary(kept)
        return made

    return lambda: dictionary().reader()


class IndexedSearch:
    """Finds tools. Tools are indexed on the first search, or when `prepare` is called.

    Searches may run in threads. What is put in or dropped meanwhile is noted, and indexed in the background.
    """

    def __init__(
        self,
        reader: "Callable[[], JapaneseReader] | None" = None,
        *,
        words: Mapping[str, Sequence[str]] | None = None,
        learned: LearnedPhrases | None = None,
        longest_wait: float = LONGEST_WAIT_SECONDS,
    ) -> None:
        """`words` has more everyday phrases for tools, by the name of a tool or of its pack.

        `learned` has those that callers used.
        """
        self._words = words or {}
        self._learned = learned
        self._reader = reader
        self._entries: dict[str, ToolRegistryEntry] = {}
        self._changes: deque[tuple[str, ToolRegistryEntry | None]] = deque()
        self._turn = Condition()
        self._worker: Thread | None = None
        self._longest_wait = longest_wait
        self._can_search = can_search()

    @cached_property
    def _index(self) -> "ToolIndex":
        """Imported and made for the first search, beside the event loop."""
        module = load("dogubako.engine.search.index")
        index: ToolIndex = module.ToolIndex() if self._reader is None else module.ToolIndex(self._reader)
        return index

    def put(self, entry: "ToolRegistryEntry") -> None:
        """Add or replace a tool."""
        if self._can_search:
            self._changes.append((entry.name, entry))

    def drop(self, name: str) -> None:
        """Remove a tool, if it is there."""
        if self._can_search:
            self._changes.append((name, None))

    def prepare(self) -> None:
        """Begin to index what was put in, in the background."""
        with self._turn:
            self._work_if_needed()

    def find(
        self, query: str, allowed: Set[str] | None, *, explain: bool = False, learner: str | None = None
    ) -> SearchResult:
        """Matching tools, best first; only those of allowed names, if given.

        `learner` is whose own phrases count too, and for whom this search may be learned from.
        """
        if not self._can_search:
            raise ToolDisabledError("Tools cannot be searched here.", hint=NO_SEARCH)
        learned = self._learned if learner is not None else None
        own_phrases = learned.of(learner) if learned is not None and learner is not None else ()
        with self._turn:
            self._catch_up(_AT_ONCE)
            self._work_if_needed()
            self._wait()
            ranked = self._index.find(query, allowed, own_phrases)
            if learned is not None and learner is not None:
                shown = ranked.hits[:MOST_NEAREST] if ranked.is_doubtful else ranked.hits
                learned.searched(learner, query, [name for name, _ in shown])
            why = self._index.explain(query, allowed) if explain else {}
            matches = [
                Match(entry=self._entries[name], score=score, why=why.get(name, ())) for name, score in ranked.hits
            ]
            return SearchResult(ranked=matches, is_doubtful=ranked.is_doubtful, not_indexed=len(self._changes))

    def _work_if_needed(self) -> None:
        if self._changes and self._worker is None:
            # It ends when nothing is left to do, and must not keep a server from ending.
            self._worker = Thread(target=self._work, name="tool-index", daemon=True)
            self._worker.start()

    def _wait(self) -> None:
        until = monotonic() + self._longest_wait
        while self._changes and (left := until - monotonic()) > 0:
            self._turn.wait(left)

    def _work(self) -> None:
        while True:
            with self._turn:
                self._catch_up(_AT_ONCE)
                self._turn.notify_all()
                if not self._changes:
                    self._worker = None
                    return

    def _catch_up(self, most: int) -> None:
        """Index some of what waits; of several changes of one tool the last counts."""
        waiting: dict[str, ToolRegistryEntry | None] = {}
        while self._changes and len(waiting) < most:
            name, entry = self._changes.popleft()
            waiting[name] = entry
        fresh = [one for name, one in waiting.items() if one is not None and self._entries.get(name) is not one]
        for name, entry in waiting.items():
            if entry is None:
                self._entries.pop(name, None)
                self._index.drop(name)
        self._entries.update((one.name, one) for one in fresh)
        self._index.put(*map(self._document, fresh))

    def _document(self, entry: "ToolRegistryEntry") -> "Document":
        words, text = (
            (*self._words.get(entry.name, ()), *self._words.get(entry.pack, ())),
            load("dogubako.engine.search.text"),
        )
        document: Document = text.with_words(text.document_of(entry), words)
        return document
