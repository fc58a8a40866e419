"""Japanese questions in English words."""

import pytest

from dogubako.engine.search.japanese import JapaneseReader, is_japanese, japanese, own_words


@pytest.mark.parametrize(
    ("text", "known"), [("チケット", True), ("消して", True), ("ticket", False), ("工作流列表", False), ("ﾁｹｯﾄ", True)]
)
def test_kana_make_a_text_japanese(text: str, known: bool) -> None:
    assert is_japanese(text) is known


def test_our_own_words_are_many_and_have_no_gap() -> None:
    words = own_words()

    assert len(words) >= 1_000
    assert all(word.strip() == word and gloss.isascii() for word, gloss in words.items())


@pytest.mark.parametrize(
    ("text", "english"),
    [
        pytest.param("消したい", "delete", id="a verb by its stem"),
        pytest.param("調べて", "search", id="a verb in る"),
        pytest.param("新しいファイル", "new file", id="an adjective"),
        pytest.param("ＣＳＶに書き出して", "CSV export", id="wide letters stay"),
        pytest.param("これはどこ", "", id="words of every question say nothing"),
    ],
)
def test_words_are_read_by_the_longest_match(text: str, english: str) -> None:
    read = japanese().english(text).split()

    assert set(english.split()) <= set(read)
    assert english or not read


def test_a_reader_takes_the_longest_word_that_it_knows() -> None:
    reader = JapaneseReader({"作業": "work", "作業時間": "work hours", "時間": "time"})

    assert reader.english("作業時間") == "work hours"
    assert reader.english("作業の時間") == "work time"
    assert JapaneseReader({}).english("作業") == ""
