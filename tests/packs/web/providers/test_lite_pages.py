"""Pages of the Lite endpoint, which are tables."""

import pytest

from dogubako.contract.errors import Blocked, HtmlParseError
from dogubako.packs.web.models import Hit
from dogubako.packs.web.providers.duckduckgo_pages import read_lite_page

from .written import (
    AD_TARGET,
    SHELL,
    VQD,
    challenge,
    html_page,
    lite_ad,
    lite_page,
    lite_row,
    next_form,
    organic,
    wrapped,
)


def test_a_result_is_spread_over_rows() -> None:
    page = read_lite_page(lite_page(lite_row(1), lite_row(2)))

    assert page.hits == (
        Hit(title="Thing 1", url="https://site1.test/page", snippet="About thing number 1."),
        Hit(title="Thing 2", url="https://site2.test/page", snippet="About thing number 2."),
    )


def test_wrapped_links_are_decoded() -> None:
    page = read_lite_page(lite_page(lite_row(1, href=wrapped("https://a.test/x?y=1"))))

    assert [hit.url for hit in page.hits] == ["https://a.test/x?y=1"]


@pytest.mark.parametrize(
    "href",
    [
        pytest.param(AD_TARGET, id="direct"),
        pytest.param(wrapped(AD_TARGET), id="wrapped"),
        pytest.param("https://shop.test/", id="like a result"),
    ],
)
def test_sponsored_rows_and_their_further_links_are_left_out(href: str) -> None:
    page = read_lite_page(lite_page(lite_ad(href), lite_row(1), lite_ad(href), lite_row(2), lite_ad(href)))

    assert [(hit.title, hit.snippet) for hit in page.hits] == [
        ("Thing 1", "About thing number 1."),
        ("Thing 2", "About thing number 2."),
    ]


def test_a_result_without_a_snippet_does_not_take_that_of_an_ad() -> None:
    bare = "<tr><td><a class='result-link' href='https://a.test/'>Bare</a></td></tr>"

    page = read_lite_page(lite_page(bare, lite_ad(), bare))

    assert page.hits == (Hit(title="Bare", url="https://a.test/"), Hit(title="Bare", url="https://a.test/"))


def test_of_two_identical_forms_one_leads_to_the_next_page() -> None:
    page = read_lite_page(lite_page(lite_row(1), following=next_form(10, action="/lite/")))

    assert page.next_form is not None
    assert (page.next_form["s"], page.next_form["vqd"]) == ("10", VQD)


@pytest.mark.parametrize(
    "words", ["No results found for thing", "No more results found for thing", "No more results.", "No results."]
)
def test_an_empty_answer_is_a_page_without_results(words: str) -> None:
    assert read_lite_page(lite_page(f"<tr><td>{words}</td></tr>")).hits == ()


def test_the_words_of_an_empty_answer_behind_results_take_none_away() -> None:
    assert len(read_lite_page(lite_page(lite_row(1), "<tr><td>No more results.</td></tr>")).hits) == 1


@pytest.mark.parametrize("sign", ["all", "picture form", "challenge form", "dialog", "script"])
def test_a_challenge_is_a_block(sign: str) -> None:
    with pytest.raises(Blocked):
        read_lite_page(challenge("No results found for", sign=sign, endpoint="lite"))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(SHELL, id="the page with scripts"),
        pytest.param("", id="nothing"),
        pytest.param(lite_page(), id="an empty table"),
        pytest.param(lite_page(lite_ad()), id="only ads"),
        pytest.param(html_page(organic(1)), id="a page of the other endpoint"),
    ],
)
def test_a_page_that_we_do_not_know_is_not_called_empty(body: str) -> None:
    with pytest.raises(HtmlParseError):
        read_lite_page(body)
