"""Everyday phrases for tools of other people, words of the settings, and the dictionary of the extra `ja`."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from dogubako.app import build
from dogubako.engine.search import jmdict
from dogubako.engine.search.index import ToolIndex
from dogubako.engine.search.jmdict import Dictionary, keep_words
from dogubako.engine.search.text import Document
from dogubako.engine.search.thesaurus import phrases_of, spelled_out, thesaurus
from dogubako.settings import SettingsError, Sources

PATIENCE = 30.0


def a_document(name: str, description: str, everyday: str = "") -> Document:
    fields = {"name": name, "description": description, "everyday": everyday}
    return Document(key=name, name=name, group="", fields=fields)


def test_a_name_gives_phrases_with_other_words() -> None:
    phrases = thesaurus().phrases("delete_chart")

    assert {"remove chart", "get rid of graph"} <= set(phrases)
    assert thesaurus().phrases("xyzzy") == []


def test_words_that_a_tool_was_given_count_more_than_its_name() -> None:
    assert phrases_of(a_document("delete_chart", "", "wipe the picture")) == ["wipe the picture"]


def test_alternatives_are_phrases_of_their_own() -> None:
    assert spelled_out("open|file ticket|bug|feature_request") == ["open ticket", "file bug", "open feature request"]
    assert spelled_out("log hours") == ["log hours"]


def test_a_misspelt_everyday_word_is_understood() -> None:
    index = ToolIndex()
    index.put(
        a_document("create_news", "Publish news in a project.", "post an announcement to everybody"),
        a_document("create_issue", "Create an issue.", "open a ticket; file a bug"),
    )

    assert index.find("put up an anouncement").hits[0][0] == "create_news"
    assert index.find("open a tiket").hits[0][0] == "create_issue"
    assert not index.find("open a tiket").is_doubtful


def test_a_question_about_many_finds_the_tool_for_many() -> None:
    index = ToolIndex()
    index.put(
        a_document("update_issue", "Change an issue.", "close a ticket; raise the priority"),
        a_document("update_issues", "Change issues alike.", "close tickets; raise the priority"),
    )

    assert index.find("close all issues").hits[0][0] == "update_issues"
    assert index.find("close #7, #8 and #9").hits[0][0] == "update_issues"
    assert index.find("close #7").hits[0][0] == "update_issue"


def test_a_tool_of_other_people_is_found_by_other_words() -> None:
    index = ToolIndex()
    index.put(
        a_document("create_directory", "Create a new directory or ensure a directory exists."),
        a_document("create_chart", "Create a chart from a range."),
        a_document("get_file_info", "Retrieve metadata about a file."),
    )

    assert index.find("make a folder").hits[0][0] == "create_directory"
    assert index.find("draw a diagram").hits[0][0] == "create_chart"


def test_settings_add_words_for_a_tool_and_for_a_pack() -> None:
    words = ("create_issue=raise a card; カードを切る", "n8n=zaps")
    box = build(Sources(overrides={"search_words": words, "sandbox": True}, environ={}, env_file=None))

    assert box.registry.search("raise a card")[0].entry.name == "create_issue"
    assert box.registry.search("カードを切る")[0].entry.name == "create_issue"
    assert box.registry.search("zaps")[0].entry.pack == "n8n"


def test_words_without_a_tool_are_refused() -> None:
    with pytest.raises(SettingsError, match="DOGUBAKO_SEARCH_WORDS"):
        build(Sources(overrides={}, environ={"DOGUBAKO_SEARCH_WORDS": "raise a card"}, env_file=None))


def a_dictionary(path: Path) -> Path:
    """A database as `jamdict-data` has it, with two words."""
    with closing(sqlite3.connect(path)) as made:
        made.executescript(
            """
            CREATE TABLE Kanji (ID INTEGER, idseq INTEGER, text TEXT);
            CREATE TABLE KJP (kid INTEGER, text TEXT);
            CREATE TABLE Kana (ID INTEGER, idseq INTEGER, text TEXT, nokanji INTEGER);
            CREATE TABLE KNP (kid INTEGER, text TEXT);
            CREATE TABLE Sense (ID INTEGER, idseq INTEGER);
            CREATE TABLE SenseGloss (sid INTEGER, lang TEXT, text TEXT);
            INSERT INTO Kanji VALUES (1, 10, '盆栽'), (2, 20, '稀語');
            INSERT INTO KJP VALUES (1, 'ichi1');
            INSERT INTO Kana VALUES (1, 10, 'ぼんさい', 0), (2, 30, 'ギター', 0);
            INSERT INTO KNP VALUES (1, 'ichi1'), (2, 'gai1');
            INSERT INTO Sense VALUES (1, 10), (2, 20), (3, 30);
            INSERT INTO SenseGloss VALUES (1, 'eng', 'bonsai (miniature tree)'), (1, 'eng', 'potted plant'),
                (1, 'ger', 'Zwergbaum'), (2, 'eng', 'rare word'), (3, '', 'guitar');
            """
        )
    return path


def test_common_words_of_the_dictionary_are_kept_with_their_licence(tmp_path: Path) -> None:
    kept = tmp_path / "data" / "words.tsv"

    keep_words(a_dictionary(tmp_path / "jamdict.db"), kept)

    text = kept.read_text(encoding="utf-8")
    assert "盆栽\tbonsai/potted plant\n" in text and "ギター\tguitar\n" in text
    assert "稀語" not in text
    assert "Electronic Dictionary Research and Development Group" in text and "CC BY-SA" in text


def test_the_dictionary_is_read_in_the_background_and_our_own_words_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = a_dictionary(tmp_path / "jamdict.db")
    monkeypatch.setattr(jmdict, "database", lambda: found)
    dictionary = Dictionary(tmp_path / "words.tsv")

    at_once = dictionary.reader().english("チケットと盆栽")
    dictionary.wait(PATIENCE)
    later = dictionary.reader().english("チケットと盆栽")

    assert "ticket" in at_once
    assert "ticket" in later and "bonsai" in later


def test_without_the_extra_our_own_words_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jmdict, "database", lambda: None)
    dictionary = Dictionary(tmp_path / "words.tsv")

    assert "ticket" in dictionary.reader().english("チケット")
    assert not (tmp_path / "words.tsv").exists()


def test_a_broken_dictionary_is_no_reason_to_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "jamdict.db"
    broken.write_bytes(b"no database")
    monkeypatch.setattr(jmdict, "database", lambda: broken)
    dictionary = Dictionary(tmp_path / "words.tsv")

    dictionary.reader()
    dictionary.wait(PATIENCE)

    assert "ticket" in dictionary.reader().english("チケット")
