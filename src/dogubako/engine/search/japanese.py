"""`JapaneseReader`: the words of a Japanese text in English, by longest match and without an analyser."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

from dogubako.contract.normalization import nfkc

_KANA = re.compile(r"[\u3041-\u3096\u30a1-\u30fa\u30fc]")
_HIRAGANA = re.compile(r"[\u3041-\u3096]+")
_ASCII_WORD = re.compile(r"[A-Za-z0-9_.:/\-]+")

# What may follow the stem of a verb whose dictionary form ends in this kana.
_VERB_ROWS: Mapping[str, str] = {
    "う": "わいうえおっ",
    "く": "かきくけこい",
    "ぐ": "がぎぐげごい",
    "す": "さしすせそ",
    "つ": "たちつてとっ",
    "ぬ": "なにぬねのん",
    "ぶ": "ばびぶべぼん",
    "む": "まみむめもん",
    "る": "らりるれろってたまなよさずば",
    "い": "いくかさけ",
}
# Words of every question, whatever it is about.
_STOP_WORDS = frozenset(
    re.findall(
        r"\S+",
        """
    する いる ある なる できる くれる もらう 下さい ください こと もの よう ため これ それ あれ この その あの
    ここ そこ どこ 何 なに さん です ます ほしい たい とき 時 人 方 中 上 下 私 誰 いつ いくつ どう みる 見る やつ
    みたい という いう 言う 知る 思う もう まだ また ない いい よい 教える お願い ちょっと どの どれ
        """,
    )
)
_SHORTEST_HIRAGANA = 3
_MOST_GLOSSES = 3
_LONGEST_TEXT = 2_000


def is_japanese(text: str) -> bool:
    """Whether a text has kana. Ideographs alone may be Chinese."""
    return _KANA.search(text if text.isascii() else nfkc(text)) is not None


class JapaneseReader:
    """Reads texts with a list of words; English words stay as they are."""

    def __init__(self, words: Mapping[str, str]) -> None:
        """`words` has the glosses of each word, separated by `/`, the most usual one first."""
        self._words = words
        self._stems = _stems(words)
        self._longest = max(map(len, words), default=0)

    def english(self, text: str) -> str:
        return " ".join(gloss for _, gloss in self.read(text))

    def read(self, text: str) -> Iterator[tuple[str, str]]:
        """Each word that is known, with its English."""
        text = nfkc(text[:_LONGEST_TEXT])
        at = 0
        while at < len(text):
            if (ascii_word := _ASCII_WORD.match(text, at)) is not None:
                yield ascii_word[0], ascii_word[0]
                at = ascii_word.end()
            elif (found := self._longest_at(text, at)) is None:
                at += 1
            else:
                word, length = found
                gloss = " ".join(self._words[word].split("/")[:_MOST_GLOSSES])
                if gloss and word not in _STOP_WORDS:
                    yield word, gloss
                at += length

    def _longest_at(self, text: str, at: int) -> tuple[str, int] | None:
        for length in range(min(self._longest, len(text) - at), 0, -1):
            part = text[at : at + length]
            if part in self._words and not _is_chance(part):
                return part, length
            stem, ending = part[:-1], part[-1]
            for word in self._stems.get(stem, ()):
                if ending in _VERB_ROWS[word[-1]]:
                    return word, length
        # A stem at the very end: 調べ.
        rest = text[at : at + self._longest]
        return next(((word, len(rest)) for word in self._stems.get(rest, ()) if word[-1] == "る"), None)


def _is_chance(part: str) -> bool:
    """A short run of hiragana inside a longer one is rather a particle or an ending than a word."""
    return len(part) < _SHORTEST_HIRAGANA and _HIRAGANA.fullmatch(part) is not None


def _stems(words: Mapping[str, str]) -> dict[str, list[str]]:
    """The stems of verbs and adjectives, each with its dictionary forms."""
    stems: dict[str, list[str]] = {}
    for word in words:
        stem = word[:-1]
        if word[-1] in _VERB_ROWS and stem and not (len(stem) < 2 and _HIRAGANA.fullmatch(stem)):
            stems.setdefault(stem, []).append(word)
    return stems


def own_words() -> dict[str, str]:
    """Words of our trade with their English, written for this project."""
    lines = (files("dogubako.engine.search") / "japanese_words.tsv").read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t", 1) for line in lines if line and not line.startswith("#"))


@cache
def japanese() -> JapaneseReader:
    """The reader, made when the first Japanese text comes."""
    return JapaneseReader(own_words())
