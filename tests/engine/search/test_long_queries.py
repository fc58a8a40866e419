"""Any text is a query, and none takes more than a bounded amount of work."""

import random
import string

import pytest

from dogubako.engine.search.constants import LONGEST_QUERY, MOST_CLAUSES, MOST_TERMS
from dogubako.engine.search.postings import Postings
from dogubako.engine.search.query import Reader, Vocabulary
from dogubako.engine.search.text import terms
from tests.engine.search.documents import a_tool, index_of, names_found

_RANDOM = random.Random(7)
_NOISE = " ".join("".join(_RANDOM.choices(string.ascii_lowercase, k=7)) for _ in range(1_300))


@pytest.fixture
def reader() -> Reader:
    return Reader(Postings(), Vocabulary())


@pytest.mark.parametrize(
    "query",
    [
        pytest.param(_NOISE, id="ten thousand characters of words"),
        pytest.param("課題を作成する" * 1_500, id="ten thousand characters of Japanese"),
        pytest.param("go! " * 2_500, id="ten thousand characters of sentences"),
        pytest.param("a" * 10_000, id="one endless word"),
        pytest.param("\n;。" * 4_000, id="nothing but ends of sentences"),
    ],
)
def test_a_long_query_has_a_bounded_number_of_terms(reader: Reader, query: str) -> None:
    question = reader.read(query)

    assert len(question.near) <= MOST_TERMS
    assert len(question.clauses) <= MOST_CLAUSES + 1
    assert len(question.text) <= LONGEST_QUERY


def test_of_too_many_words_the_rarest_that_somebody_has_are_kept() -> None:
    common, postings = " ".join(_NOISE.split()[:200]), Postings()
    for number in range(3):
        postings.add(a_tool(f"tool_{number}", common))
    postings.add(a_tool("rare", "Something about marmalade."))

    question = Reader(postings, Vocabulary()).read(f"{common} marmalade {_NOISE}")

    assert "marmalade" not in common
    assert {"marmalad"} == question.whole.worth.keys() - set(terms(common))
    assert len(question.whole.worth) == MOST_TERMS


def test_a_long_query_still_finds() -> None:
    index = index_of(a_tool("send_email", "Send an email."))

    assert names_found(index, f"Send an email. {_NOISE}") == ["send_email"]
