"""Vectors of texts, kept between starts: what was embedded once is not embedded again."""

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3

    from numpy.typing import NDArray


class VectorStore:
    """A file of vectors by content. Where it cannot be read or written, vectors are made again; that is all."""

    def __init__(self, path: Path, model: str) -> None:
        self._path = path
        self._model = model

    def known(self, texts: Iterable[str]) -> "dict[str, NDArray[Any]]":
        """The vectors of those texts that were kept."""
        import sqlite3  # noqa: PLC0415 - most servers have no model, and should not wait for a database

        import numpy as np  # noqa: PLC0415

        try:
            with closing(self._open()) as database:
                rows = [(text, self._row(database, text)) for text in texts]
        except (OSError, sqlite3.Error):
            return {}
        return {text: np.frombuffer(row[0], np.float32) for text, row in rows if row is not None}

    def keep(self, vectors: "Mapping[str, NDArray[Any]]") -> None:
        import sqlite3  # noqa: PLC0415

        rows = [(self._digest(text), vector.astype("<f4").tobytes()) for text, vector in vectors.items()]
        try:
            with closing(self._open()) as database, database:
                database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
        except (OSError, sqlite3.Error):
            return

    def _row(self, database: "sqlite3.Connection", text: str) -> tuple[bytes] | None:
        found: tuple[bytes] | None = database.execute(
            "SELECT vector FROM vectors WHERE digest = ?", (self._digest(text),)
        ).fetchone()
        return found

    def _open(self) -> "sqlite3.Connection":
        import sqlite3  # noqa: PLC0415

        self._path.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(self._path, timeout=5)
        database.execute("CREATE TABLE IF NOT EXISTS vectors (digest BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")
        return database

    def _digest(self, text: str) -> bytes:
        return hashlib.sha256(f"{self._model}\0{text}".encode("utf-8", "surrogatepass")).digest()
