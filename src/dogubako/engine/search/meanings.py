"""The vectors of all tools, made in the background. Nobody waits for them."""

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Protocol

import structlog

from dogubako.engine.search.clauses import clauses
from dogubako.engine.search.sentence_model import ModelError
from dogubako.engine.search.vector_store import VectorStore

log = structlog.get_logger()

if TYPE_CHECKING:
    from numpy.typing import NDArray

_AT_ONCE = 64


class Embeds(Protocol):
    """A model that turns each text into a row of numbers, of length 1."""

    def embed(self, texts: Sequence[str]) -> "NDArray[Any]": ...


class Meanings:
    """Knows what each tool means, or that it does not know yet."""

    def __init__(self, load: Callable[[], Embeds], store: VectorStore) -> None:
        self._load = load
        self._store = store
        self._lock = Lock()
        self._model: Embeds | None = None
        self._texts: dict[str, str] = {}
        self._waiting: dict[str, str] = {}
        self._vectors: dict[str, NDArray[Any]] = {}
        self._worker: Thread | None = None

    def put(self, name: str, text: str) -> None:
        """What a tool says of itself now. Its vector is made soon."""
        with self._lock:
            if self._texts.get(name) != text:
                self._texts[name] = self._waiting[name] = text
                self._vectors.pop(name, None)
            if self._waiting and self._worker is None:
                # It ends when nothing is left to do, and must not keep a server from ending.
                self._worker = Thread(target=self._work, name="tool-meanings", daemon=True)
                self._worker.start()

    def drop(self, name: str) -> None:
        with self._lock:
            for kept in (self._texts, self._waiting, self._vectors):
                kept.pop(name, None)

    def likeness(self, query: str) -> dict[str, float]:
        """How much each tool means what the query means, as a whole and in the clause that is most like it.

        Nothing, as long as some tool's vector is missing.
        """
        import numpy as np  # noqa: PLC0415 - a server that nobody searches does not need it

        with self._lock:
            model, vectors = self._model, dict(self._vectors)
            if model is None or not vectors or len(vectors) < len(self._texts):
                return {}
        alike = np.stack(list(vectors.values())) @ model.embed([query, *clauses(query)]).T
        means = (alike[:, 0] + alike[:, 1:].max(axis=1, initial=-1.0)) / 2
        return dict(zip(vectors, means.tolist(), strict=True))

    def wait(self, seconds: float) -> None:
        """Until the vectors are made, for those who have the time."""
        worker = self._worker
        if worker is not None:
            worker.join(seconds)

    def _work(self) -> None:
        try:
            model = self._load()
        except ModelError as error:
            # Whoever searches still finds tools by their words. Nobody tries again before the next start.
            log.warning("Tools are found by words only", reason=str(error))
            return
        while batch := self._next():
            vectors = self._vectors_of(model, sorted(set(batch.values())))
            with self._lock:
                fresh = {name: vectors[text] for name, text in batch.items() if self._texts.get(name) == text}
                self._vectors.update(fresh)
                self._model = model

    def _next(self) -> Mapping[str, str]:
        """Some of what waits. With nothing left the work is over, and is begun anew by who comes next."""
        with self._lock:
            batch = {name: self._waiting[name] for name in islice(self._waiting, _AT_ONCE)}
            for name in batch:
                del self._waiting[name]
            if not batch:
                self._worker = None
            return batch

    def _vectors_of(self, model: Embeds, texts: Sequence[str]) -> "dict[str, NDArray[Any]]":
        known = self._store.known(texts)
        missing = [text for text in texts if text not in known]
        made = dict(zip(missing, model.embed(missing), strict=True)) if missing else {}
        self._store.keep(made)
        return {**known, **made}
