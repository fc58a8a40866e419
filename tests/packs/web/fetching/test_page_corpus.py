"""Every page of the corpus is read without any loss: links, encodings, code, lists, tables."""

import pytest

from bench.pages.corpus_page import CorpusPage
from bench.pages.run import CORPUS, HELD_BACK
from bench.pages.scoring import score
from dogubako.packs.web.pages.fetch import Visited
from dogubako.packs.web.pages.reading import read_page


def read(page: CorpusPage) -> str:
    kind, _, charset = page.content_type.partition("; charset=")
    visited = Visited(url=page.url, status=200, content_type=kind, charset=charset or None, body=page.body)
    return read_page(visited, "markdown").text


def test_the_corpus_is_large_enough() -> None:
    assert len(CORPUS) >= 60
    assert len(HELD_BACK) >= 30
    assert len({page.name for page in (*CORPUS, *HELD_BACK)}) == len(CORPUS) + len(HELD_BACK)


@pytest.mark.parametrize("page", CORPUS, ids=lambda page: page.name)
def test_nothing_of_a_page_is_lost(page: CorpusPage) -> None:
    text = read(page)

    assert {name: value for name, value in score(page, text).items() if value < 1} == {}, text


def test_a_page_as_text_has_no_marks() -> None:
    body = b"<h2>Saws</h2><p>Rip <b>and</b> <a href=/x>cross</a>.</p><ol start=3><li>one</ol><pre>a\n\nb</pre>"
    page = Visited(url="https://example.com/", status=200, content_type="text/html", charset=None, body=body)

    assert read_page(page, "text").text == "Saws\nRip and cross.\n3. one\na\n\nb"
