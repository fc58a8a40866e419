"""A score can be taken apart: which words, in which fields, with how much."""

import pytest

from dogubako.engine.search.lexical import LexicalIndex
from dogubako.engine.search.match import Reason
from tests.engine.search.documents import a_tool, index_of


@pytest.fixture
def index() -> LexicalIndex:
    return index_of(
        a_tool("list_issues", "List the issues of a project.", group="tracker", tags="planning"),
        a_tool("show_issue", "Show one issue.", group="tracker"),
        a_tool("get_weather", "The weather of a city.", group="web"),
    )


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("list_issues", id="a name"),
        pytest.param("list_isues", id="a name with a slip"),
        pytest.param("issue", id="one word"),
        pytest.param("planned issues of a project", id="several words"),
        pytest.param("List issues. How is the weather in my city?", id="several sentences"),
    ],
)
def test_the_shares_add_up_to_the_score(index: LexicalIndex, query: str) -> None:
    why = index.explain(query)

    assert why.keys() == {key for key, _ in index.find(query)}
    for key, score in index.find(query):
        assert sum(reason.share for reason in why[key]) == pytest.approx(score, abs=0.0005)
        assert all(reason.share > 0 for reason in why[key])


def test_a_reason_names_the_word_as_it_was_typed_and_the_field_that_holds_it(index: LexicalIndex) -> None:
    reasons = index.explain("planned cities")

    assert [(one.word, one.field) for one in reasons["list_issues"]] == [("planned", "tags")]
    assert [(one.word, one.field) for one in reasons["get_weather"]] == [("cities", "description")]


def test_what_neighbours_gave_is_said(index: LexicalIndex) -> None:
    fields = [(one.word, one.field) for one in index.explain("list issues of a project")["show_issue"]]

    assert ("", "neighbours") in fields


def test_the_largest_share_comes_first(index: LexicalIndex) -> None:
    shares = [one.share for one in index.explain("list the issues of a project")["list_issues"]]

    assert shares == sorted(shares, reverse=True)
    assert len(shares) > 3


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        pytest.param(Reason(word="runs", field="name", share=0.314), "runs in name 0.31", id="a word"),
        pytest.param(Reason(word="", field="neighbours", share=0.05), "neighbours 0.05", id="neighbours"),
    ],
)
def test_a_reason_reads_like_one(reason: Reason, text: str) -> None:
    assert str(reason) == text
