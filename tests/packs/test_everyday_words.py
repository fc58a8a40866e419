"""Every built-in tool says, in English and in Japanese, what people call what it does."""

import re

import pytest

from dogubako.contract.tool import BaseTool
from dogubako.engine.registration import RegisterOptions
from dogubako.engine.registry import ToolRegistry
from dogubako.engine.search.text import document_of
from dogubako.packs import PACKS

TOOLS = [one for pack in PACKS for one in pack.tools if isinstance(one, type)]
FEWEST_PHRASES = 2
LONGEST_PHRASE = 14
FEWEST_WORDS = 4


def words_of(one: type[BaseTool], language: str) -> str:
    return one.keywords.get(language, "")


@pytest.mark.parametrize("one", TOOLS, ids=lambda one: str(one.name))
def test_a_tool_has_english_phrases_and_japanese_words(one: type[BaseTool]) -> None:
    phrases = [phrase.split() for phrase in words_of(one, "en").split(";") if phrase.strip()]
    words = words_of(one, "ja").split()

    assert len(phrases) >= FEWEST_PHRASES, 'write keywords["en"]: phrases that people use, separated by ";"'
    assert all(len(phrase) <= LONGEST_PHRASE for phrase in phrases)
    assert len(set(words)) >= FEWEST_WORDS, 'write keywords["ja"]: everyday words, separated by spaces'
    assert len(set(words)) == len(words)


def test_the_file_of_a_pack_has_words_for_each_of_its_tools_and_no_others() -> None:
    for pack in PACKS:
        if pack.everyday_words is None:
            continue
        rows = [line.split("\t") for line in pack.everyday_words.read_text(encoding="utf-8").splitlines()]
        named = {str(one.name) for one in pack.tools}

        assert all(len(row) == 3 and row[2].strip() for row in rows)
        assert [row[:2] for row in sorted(rows)] == sorted(
            [name, language] for name in named for language in ("en", "ja")
        )


def test_the_words_of_a_file_are_searched() -> None:
    registry = ToolRegistry()
    pack = next(pack for pack in PACKS if pack.name == "redmine")
    for one in pack.tools:
        tool = one() if isinstance(one, type) else one
        registry.register(tool, RegisterOptions(pack=pack.name, everyday_words=pack.everyday_words))
    entry = registry.get("archive_project")

    assert "mothball" not in entry.metadata.keywords["en"]
    assert "mothball" in document_of(entry).fields["everyday"]
    assert registry.search("mothball it").ranked[0].entry is entry


@pytest.mark.parametrize("one", TOOLS, ids=lambda one: str(one.name))
def test_everyday_words_say_more_than_the_name(one: type[BaseTool]) -> None:
    said = set(re.findall(r"[a-z]+", words_of(one, "en").lower()))

    assert said - set(re.findall(r"[a-z]+", f"{one.name} {one.description}".lower()))


def test_no_two_tools_have_the_same_words() -> None:
    for language in ("en", "ja"):
        texts = [words_of(one, language) for one in TOOLS]
        assert len(set(texts)) == len(texts)


def test_everyday_words_are_not_listed() -> None:
    for one in TOOLS:
        assert words_of(one, "en") not in str(one().to_definition())
