"""Text becomes search terms: what is written differently and means the same becomes equal."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec.structs import replace

from dogubako.contract.metadata import Effect
from dogubako.contract.normalization import nfkc

if TYPE_CHECKING:
    from dogubako.contract.metadata import ToolExample
    from dogubako.engine.registration import ToolRegistryEntry


# Scripts that put no spaces between words, and Korean, whose words carry their particles: their terms are the pairs of
# neighbouring characters.
_PAIRED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3005\u3006\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # kana and what repeats it
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # ideographs
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"  # Korean letters and syllables
)
# How people ask, in the languages whose terms are pairs: it would match every description that is as polite.
_POLITE = (
    r"알려\s?(?:줘|주세요|줄래)|(?:해\s?)?(?:줘|주세요|줄래)|싶어요?|합니다|입니다|있어요?|있을까요?|하려고|하는데"
    r"|教えて(?:ください)?|(?:して)?ください|下さい|お願いします|してほしい|したい(?:です)?|ですか?|ますか?"
    r"|请(?:问|帮我)?|請(?:問|幫我)?|帮我|幫我|我(?:想|要)|告诉我|告訴我"
)

Words = tuple[tuple[str, tuple[str, ...]], ...]

_RUN = rf"[{_PAIRED}]+|[^\W_{_PAIRED}]+"
_IN_A_RUN = r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+"

# Words of every question and of every description, whatever it is about.
_STOP_WORDS = frozenset(
    re.findall(
        r"[a-z]+",
        """
    a an the of to in on at for from by with into about up out over and or but if so as than then too
    is are was were be been being am do does did have has had having can could will would shall should may might must
    i me my mine we our us you your he him his she her it its they them their this that these those there here
    what which who whom whose when where why how not no nor very just also any some all each
    s t m ve d ll re eg ie please want need like help let know tell give looking look
        """,
    )
)


def terms(text: str) -> list[str]:
    """The terms of a text, in order: stems, or pairs of characters, without words that say nothing."""
    return [term for run in _runs(text) for _, found in _words_of(run) for term in found]


def words(text: str) -> list[str]:
    """The single words of a text in one spelling: `listHTTPRoutes` and `list_http-routes` give the same."""
    return [word for run in _runs(text) for word, _ in _words_of(run)]


def terms_as_typed(text: str) -> dict[str, str]:
    """Each term of a text with the word that it comes from."""
    return {term: word for run in _runs(text) for word, found in _words_of(run) for term in found}


def joined(text: str) -> str:
    """A text without anything between its words, to compare names however they are written."""
    return "".join(_runs(text)).casefold()


def _runs(text: str) -> list[str]:
    if not text.isascii():
        text = _pattern(_POLITE).sub(" ", nfkc(text))
    found: list[str] = _pattern(_RUN).findall(text)
    return found


def _words_of(run: str) -> Words:
    return _seen_words(run) if len(run) <= _LONGEST_SEEN else _read_words(run)


def _read_words(run: str) -> Words:
    """The words of a run of letters and digits, each with its terms."""
    if not run.isascii():
        word = run.casefold()
        return ((word, _pairs(word) if _pattern(f"[{_PAIRED}]").match(word) else (stem(word),)),)
    parts = [part.lower() for part in _pattern(_IN_A_RUN).findall(run)]
    # What is written with digits inside is a word of its own too: n8n, base64.
    if len(parts) > 1 and any(part.isdigit() for part in parts):
        parts.append(run.lower())
    return tuple((part, () if part in _STOP_WORDS else (stem(part),)) for part in parts)


def _pairs(word: str) -> tuple[str, ...]:
    return tuple(word[at : at + 2] for at in range(len(word) - 1)) or (word,)


# Most words of most texts have been seen before. Whole sentences without a space are not kept.
_seen_words = lru_cache(maxsize=50_000)(_read_words)
_LONGEST_SEEN = 32

# Compiled when somebody searches: classes of characters as wide as these take longer than a start should.
_pattern = cache(re.compile)


def stem(word: str) -> str:
    """The part of an English word that its forms share; other words stay as they are."""
    return _stemmer()(word)


@cache
def _stemmer() -> Callable[[str], str]:
    import Stemmer  # noqa: PLC0415 - nobody needs it before the first search

    made: Callable[[str], str] = Stemmer.Stemmer("english").stemWord
    return made


class Document(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A tool as the index sees it. `group` is where it comes from; tools of one group are neighbours."""

    key: str
    name: str
    group: str
    fields: Mapping[str, str]
    # Whether it deletes something.
    destroys: bool = False
    # Whether it only reads or also changes something; None leaves that to its name.
    act: Literal["read", "change"] | None = None
    # The arguments that it cannot do without.
    requires: tuple[str, ...] = ()


_EVERYDAY = ("en", "ja")
# Instructions go on with how to use the server.
_LONGEST_SERVER_WORDS = 600


def with_words(document: Document, phrases: Sequence[str]) -> Document:
    """The document with more everyday phrases, each in the field of its language."""
    if not phrases:
        return document
    fields = dict(document.fields)
    for phrase in phrases:
        field = "everyday" if phrase.isascii() else "everyday ja"
        fields[field] = f"{fields.get(field, '')}; {phrase}".removeprefix("; ")
    return replace(document, fields=fields)


def document_of(entry: "ToolRegistryEntry") -> Document:
    metadata = entry.metadata
    everyday = {language: _everyday(entry, language) for language in _EVERYDAY}
    fields = {
        "name": metadata.name,
        "description": metadata.description,
        "everyday": everyday["en"],
        "everyday ja": everyday["ja"],
        "keywords": " ".join(text for language, text in metadata.keywords.items() if language not in _EVERYDAY),
        "category": entry.category if entry.category == entry.pack else f"{entry.category} {entry.pack}",
        "server": entry.words[:_LONGEST_SERVER_WORDS],
        "tags": " ".join(entry.tags),
        "parameters": " ".join(parameter.name for parameter in metadata.parameters),
        "parameter descriptions": " ".join(parameter.description for parameter in metadata.parameters),
        "examples": " ".join(_example(example) for example in metadata.examples),
    }
    destroys = metadata.effect is Effect.DESTROY
    return Document(
        key=metadata.name,
        name=metadata.name,
        group=entry.pack,
        fields=fields,
        destroys=destroys,
        act="read" if metadata.effect is Effect.READ else None,
        requires=tuple(parameter.name for parameter in metadata.parameters if parameter.required),
    )


def _everyday(entry: "ToolRegistryEntry", language: str) -> str:
    """The words of the tool itself, and those that its pack's file has for it."""
    more = () if entry.everyday_words is None else _words_of_file(entry.everyday_words).get((entry.name, language), ())
    joined_by = "; " if language == "en" else " "
    return joined_by.join(filter(None, (entry.metadata.keywords.get(language, ""), *more)))


@cache
def _words_of_file(path: Path) -> Mapping[tuple[str, str], Sequence[str]]:
    """By tool and language. Lines that begin with # are for its readers."""
    found: dict[tuple[str, str], list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            tool, language, said = line.split("\t")
            found.setdefault((tool, language), []).append(said)
    return found


def _example(example: "ToolExample") -> str:
    """What it is for, and the values that are words; numbers and nested values help nobody to find it."""
    values = [value for value in example.parameters.values() if isinstance(value, str)]
    return " ".join([example.description, *values])
