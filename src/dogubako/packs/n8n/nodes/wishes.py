"""What people wish for, in the words by which n8n describes its nodes: English ones, and names of nodes.

`node_words.tsv` has everyday words of several languages for them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from dogubako.contract.normalization import nfc, nfkc, nfkd

_FILE: Final = Path(__file__).parents[1] / "node_words.tsv"
_WORD: Final = re.compile(r"[a-z0-9]+|[^\x00-\x7f]+")
_MOST_TERMS: Final = 12
_LONGEST: Final = 200
_SILENT: Final = "-"
_NODE: Final = "="
_ANY_ENDING: Final = "*"


@dataclass(frozen=True, kw_only=True, slots=True)
class Term:
    """One thing that a wish speaks of: English words for it, and the nodes that people mean by it."""

    written: str
    words: tuple[str, ...] = ()
    meant: tuple[str, ...] = ()
    # How many words of the wish it stands for.
    size: int = 1
    # Whether its meaning is known; else a node may have a longer word that begins with it.
    known: bool = True


@dataclass(slots=True)
class _Place:
    """A place in the tree of all expressions: what may follow, and what the expression that ends here means."""

    following: dict[str, "_Place"] = field(default_factory=dict)
    # Words of which only the beginning is given.
    beginnings: dict[str, "_Place"] = field(default_factory=dict)
    ends: bool = False
    words: list[str] = field(default_factory=list)
    meant: list[str] = field(default_factory=list)

    @property
    def silent(self) -> bool:
        """Whether it says nothing about a node."""
        return self.ends and not self.words and not self.meant

    def after(self, part: str) -> "_Place | None":
        return self.following.get(part) or self.begun(part)

    def begun(self, part: str) -> "_Place | None":
        sizes = range(len(part), 1, -1) if self.beginnings else ()
        return next((self.beginnings[part[:size]] for size in sizes if part[:size] in self.beginnings), None)

    def means(self, targets: Sequence[str]) -> None:
        self.ends = True
        self.meant += [one.removeprefix(_NODE) for one in targets if one.startswith(_NODE)]
        self.words += [one for one in targets if not one.startswith((_NODE, _SILENT))]


def words_of(text: str) -> list[str]:
    """The words of a text in small letters, without accents."""
    return _WORD.findall(text.lower() if text.isascii() else _folded(text))


def terms_of(wish: str) -> list[Term]:
    """What a wish speaks of, in order, without words that say nothing."""
    words = words_of(wish[:_LONGEST])
    parts = [part for word in words for part in (word if word[0] > "\x7f" else (word,))]
    spoken = list(_spoken(parts, _expressions()))
    plain = [Term(written=word, words=(word,), known=False) for word in words]
    return (spoken or plain)[:_MOST_TERMS]


def named_nodes() -> set[str]:
    """The nodes that the file names, in small letters and without their package."""
    waiting, found = [_expressions()], set[str]()
    while waiting:
        place = waiting.pop()
        found.update(place.meant)
        waiting += [*place.following.values(), *place.beginnings.values()]
    return found


def _spoken(parts: Sequence[str], root: _Place) -> Iterator[Term]:
    at = 0
    while at < len(parts):
        found, end = _longest(parts, at, root)
        written = "".join(parts[at:end])
        spaced = written.isascii()
        if found is None and spaced and not written.isdecimal():
            yield Term(written=written, words=(written,), known=False)
        elif found is not None and not found.silent:
            own = (written,) if end - at == 1 and spaced else ()
            size = max(sum(not _is_silent(one, root) for one in parts[at:end]), 1) if spaced else 1
            yield Term(written=written, words=(*own, *found.words), meant=tuple(found.meant), size=size)
        at = end


def _longest(parts: Sequence[str], at: int, root: _Place) -> tuple[_Place | None, int]:
    """The longest expression that begins here, and where it ends. Words that say nothing may stand inside of it."""
    found, end, place = None, at + 1, root
    for index in range(at, len(parts)):
        after = place.after(parts[index])
        if after is None:
            if index > at and _is_silent(parts[index], root):
                continue
            break
        place = after
        if place.ends:
            found, end = place, index + 1
    return found, end


def _is_silent(part: str, root: _Place) -> bool:
    place = root.following.get(part)
    return place is not None and place.silent


@cache
def _expressions() -> _Place:
    """The file as a tree, word by word, and letter by letter where a language has no spaces."""
    root = _Place()
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        targets, _, expressions = line.split("\t")
        for expression in expressions.split("|"):
            place = root
            for written in expression.split():
                word = _folded(written)
                for part in word if word[0] > "\x7f" else [word]:
                    branches = place.beginnings if part.endswith(_ANY_ENDING) else place.following
                    place = branches.setdefault(part.removesuffix(_ANY_ENDING), _Place())
            place.means(targets.split())
    _complete(root)
    return root


def _complete(place: _Place) -> None:
    """A word that only begins longer expressions means what its beginning means."""
    for word, after in place.following.items():
        beginning = place.begun(word)
        if beginning is not None and not after.ends:
            after.ends, after.words, after.meant = beginning.ends, beginning.words, beginning.meant
        _complete(after)


def _folded(text: str) -> str:
    """Small letters without accents; those of Japanese stay, where they make another letter."""
    letters = map(nfkd, nfkc(text).casefold())
    return "".join(one[0] if one[0].isascii() else nfc(one) for one in letters)
