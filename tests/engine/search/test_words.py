"""What is written differently and means the same becomes equal."""

import pytest

from dogubako.engine.search.text import joined, terms, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("list_http-routes", ["list", "http", "routes"], id="snake and kebab"),
        pytest.param("listHTTPRoutes", ["list", "http", "routes"], id="camel case with an acronym"),
        pytest.param("allURLs", ["all", "urls"], id="several of an acronym"),
        pytest.param("ＬＩＳＴ　ｉｔｅｍｓ", ["list", "items"], id="wide letters"),
        pytest.param("n8n", ["n", "8", "n", "n8n"], id="a name with a digit inside"),
        pytest.param("base64 encode", ["base", "64", "base64", "encode"], id="a word with digits after it"),
        pytest.param("Größe_ändern", ["grösse", "ändern"], id="letters beyond ASCII"),
        pytest.param("「チケット」作成", ["チケット", "作成"], id="brackets are no letters"),
        pytest.param("?!… –", [], id="no words"),
    ],
)
def test_words_are_split_where_a_reader_would(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("running workflows", "run the workflow", id="forms of a word"),
        pytest.param("What is the status of it?", "status", id="words that say nothing"),
        pytest.param("ﾜｰｸﾌﾛｰ", "ワークフロー", id="narrow kana"),
        pytest.param("날씨 알려줘", "날씨", id="asking politely in Korean"),
        pytest.param("天気を教えてください", "天気を", id="asking politely in Japanese"),
        pytest.param("请问天气", "天气", id="asking politely in Chinese"),
    ],
)
def test_what_means_the_same_has_the_same_terms(one: str, other: str) -> None:
    assert terms(one) == terms(other)
    assert terms(one)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("課題一覧", ["課題", "題一", "一覧"], id="Japanese"),
        pytest.param("주식가격", ["주식", "식가", "가격"], id="Korean"),
        pytest.param("天气预报", ["天气", "气预", "预报"], id="Chinese"),
        pytest.param("อากาศ", ["อา", "าก", "กา", "าศ"], id="Thai"),
        pytest.param("本", ["本"], id="a single character"),
        pytest.param("ngạc nhiên", ["ngạc", "nhiên"], id="Vietnamese has spaces"),
    ],
)
def test_scripts_without_spaces_are_read_in_pairs(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_a_name_is_the_same_however_it_is_written() -> None:
    assert joined("List-Issues") == joined("list_issues") == joined("listIssues") == joined("list issues")
