"""The extra `ja`: more Japanese words, from the dictionary JMdict as the package `jamdict-data` carries it.

JMdict is the property of the Electronic Dictionary Research and Development Group, and is used under its licence
(CC BY-SA 3.0, https://www.edrdg.org/edrdg/licence.html). Nothing of it is part of Dogubako: common words are read from
the installed package once, and kept as a small file in the data folder, which says the same.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import structlog

from dogubako.engine.search.japanese import JapaneseReader, japanese, own_words

if TYPE_CHECKING:
    import sqlite3

log = structlog.get_logger()

_PACKAGE = "jamdict_data"
_ATTRIBUTION = (
    "# Derived from JMdict, (c) the Electronic Dictionary Research and Development Group, CC BY-SA 3.0,\n"
    "# https://www.edrdg.org/edrdg/licence.html\n"
)
# The marks of words that newspapers and word lists use often.
_COMMON = ("ichi1", "ichi2", "news1", "news2", "spec1", "spec2", "gai1", "gai2")
_MOST_GLOSSES = 3
_MOST_WORDS_OF_A_GLOSS = 3
# Short words in kana have many meanings; what is usually written with ideographs is looked up by those.
_SHORTEST_KANA = 4
_NOT_ENGLISH = re.compile(r"\([^()]*+\)|[^a-z0-9 '-]")
_FILLERS = frozenset({"a", "an", "the", "to", "of", "be", "for", "in", "on", "with", "and", "or", "one's", "as", "at"})


class Dictionary:
    """The reader of Japanese questions, with JMdict's words as soon as there are any."""

    def __init__(self, kept: Path) -> None:
        """`kept` is the file with the words that were read from the package."""
        self._kept = kept
        self._reader: JapaneseReader | None = None
        self._worker: Thread | None = None

    def reader(self) -> JapaneseReader:
        """Read the kept words; if there are none yet, our own words answer until they are made."""
        if self._reader is None:
            if self._kept.is_file():
                self._reader = JapaneseReader({**_read(self._kept), **own_words()})
            elif database() is None:
                self._reader = japanese()
            elif self._worker is None:
                self._worker = Thread(target=self._make, name="japanese-words", daemon=True)
                self._worker.start()
        return self._reader or japanese()

    def wait(self, seconds: float) -> None:
        """Wait until the words are made."""
        if self._worker is not None:
            self._worker.join(seconds)

    def _make(self) -> None:
        import sqlite3  # noqa: PLC0415 - most servers have no dictionary

        found = database()
        assert found is not None
        try:
            keep_words(found, self._kept)
        except (OSError, sqlite3.Error) as error:
            log.warning("Japanese questions are read with our own words only", reason=type(error).__name__)
            self._reader = japanese()


def database() -> Path | None:
    """Where the package keeps the dictionary, if it is installed. It is not imported."""
    found = find_spec(_PACKAGE)
    path = Path(found.origin).with_name("jamdict.db") if found is not None and found.origin else None
    return path if path is not None and path.is_file() else None


def keep_words(found: Path, kept: Path) -> None:
    """Write the common words of the dictionary to a file, whole or not at all."""
    import sqlite3  # noqa: PLC0415

    kept.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(f"file:{found}?mode=ro", uri=True)) as opened:
        lines = [f"{word}\t{'/'.join(glosses)}\n" for word, glosses in sorted(common_words(opened).items())]
    unfinished = kept.with_suffix(".unfinished")
    unfinished.write_text(_ATTRIBUTION + "".join(lines), encoding="utf-8")
    unfinished.replace(kept)


def common_words(opened: "sqlite3.Connection") -> dict[str, list[str]]:
    """The common words with their first English glosses; of two entries of one spelling, the first."""
    marks = ", ".join(f"'{mark}'" for mark in _COMMON)
    written = _words_of(opened, "Kanji", "KJP", marks)
    spoken = _words_of(opened, "Kana", "KNP", marks)
    glosses = _glosses(opened, {*written, *spoken})
    words: dict[str, list[str]] = {}
    for entry in sorted({*written, *spoken}):
        kana = [word for word in spoken.get(entry, ()) if entry not in written or len(word) >= _SHORTEST_KANA]
        for word in [*written.get(entry, ()), *kana]:
            if len(word) > 1 and glosses.get(entry):
                words.setdefault(word, glosses[entry])
    return words


def _words_of(opened: "sqlite3.Connection", table: str, marked: str, marks: str) -> dict[int, list[str]]:
    rows = opened.execute(
        f"SELECT DISTINCT one.idseq, one.text FROM {table} one JOIN {marked} mark ON mark.kid = one.ID"  # noqa: S608
        f" WHERE mark.text IN ({marks}) ORDER BY one.ID"
    )
    return _grouped(rows)


def _glosses(opened: "sqlite3.Connection", wanted: Iterable[int]) -> dict[int, list[str]]:
    rows = opened.execute(
        "SELECT Sense.idseq, SenseGloss.text FROM SenseGloss JOIN Sense ON Sense.ID = SenseGloss.sid"
        " WHERE SenseGloss.lang IN ('', 'eng') ORDER BY Sense.ID, SenseGloss.rowid"
    )
    wanted = set(wanted)
    found = _grouped((entry, short) for entry, text in rows if entry in wanted for short in _short(text))
    return {entry: list(dict.fromkeys(texts))[:_MOST_GLOSSES] for entry, texts in found.items()}


def _short(gloss: str) -> Iterator[str]:
    """A gloss of few words, without what stands in brackets."""
    left = [word for word in _NOT_ENGLISH.sub(" ", gloss.lower()).replace("-", " ").split() if word not in _FILLERS]
    if 0 < len(left) <= _MOST_WORDS_OF_A_GLOSS:
        yield " ".join(left)


def _grouped(rows: Iterable[tuple[int, str]]) -> dict[int, list[str]]:
    groups: dict[int, list[str]] = defaultdict(list)
    for entry, text in rows:
        groups[entry].append(text)
    return groups


def _read(path: Path) -> dict[str, str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t", 1) for line in lines if line and not line.startswith("#"))
