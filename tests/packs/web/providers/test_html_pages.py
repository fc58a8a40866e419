"""Pages of the HTML endpoint: results, emptiness, challenges and strangers are told apart."""

import pytest

from dogubako.contract.errors import Blocked, HtmlParseError
from dogubako.packs.web.models import Hit
from dogubako.packs.web.providers.duckduckgo_pages import read_html_page

from .written import (
    AD_TARGET,
    EOF_RESULT,
    SHELL,
    VQD,
    ad,
    challenge,
    empty_2025,
    empty_2026,
    html_page,
    next_form,
    organic,
    result_page,
    wrapped,
)


def urls(page: str) -> list[str]:
    return [hit.url for hit in read_html_page(page).hits]


def test_a_result_has_its_title_address_and_snippet() -> None:
    page = read_html_page(html_page(organic(1, title="Things &amp; <b>more</b>")))

    assert page.hits == (Hit(title="Things & more", url="https://site1.test/page", snippet="About thing number 1."),)


@pytest.mark.parametrize(
    "count", [pytest.param(10, id="since 2025"), pytest.param(20, id="before"), pytest.param(29, id="most in 2022")]
)
def test_every_result_of_a_page_is_read_in_order(count: int) -> None:
    assert urls(result_page(range(1, count + 1))) == [
        f"https://site{number}.test/page" for number in range(1, count + 1)
    ]


@pytest.mark.parametrize(
    ("href", "url"),
    [
        pytest.param("https://a.test/x?y=1&z=2", "https://a.test/x?y=1&z=2", id="direct"),
        pytest.param(wrapped("https://a.test/x?y=1&z=2"), "https://a.test/x?y=1&z=2", id="wrapped"),
        pytest.param(wrapped("https://a.test/%E9%81%93"), "https://a.test/%E9%81%93", id="wrapped with escapes"),
        pytest.param(wrapped("https://ja.test/道具箱"), "https://ja.test/道具箱", id="wrapped Japanese"),
        pytest.param(
            "https://duckduckgo.com/l/?uddg=http%3A%2F%2Fa.test%2F", "http://a.test/", id="wrapped absolutely"
        ),
        pytest.param("//a.test/", "https://a.test/", id="without a scheme"),
        pytest.param(
            "https://a.test/?uddg=https%3A%2F%2Fb.test", "https://a.test/?uddg=https%3A%2F%2Fb.test", id="of others"
        ),
        pytest.param("https://duckduckgo.com/about", "https://duckduckgo.com/about", id="to DuckDuckGo's own pages"),
    ],
)
def test_a_link_leads_where_the_result_is(href: str, url: str) -> None:
    assert urls(html_page(organic(1, href=href))) == [url]


@pytest.mark.parametrize(
    "href",
    [
        pytest.param("javascript:alert(1)", id="script"),
        pytest.param(wrapped("javascript:alert(1)"), id="wrapped script"),
        pytest.param("http://[broken", id="broken"),
        pytest.param(wrapped("http://[broken"), id="wrapped and broken"),
        pytest.param("", id="empty"),
        pytest.param("//duckduckgo.com/l/?rut=1", id="wrapping nothing"),
        pytest.param(AD_TARGET, id="ad among results"),
        pytest.param(wrapped(AD_TARGET), id="wrapped ad among results"),
    ],
)
def test_a_link_to_nowhere_is_no_result(href: str) -> None:
    assert urls(html_page(organic(1, href=href), organic(2))) == ["https://site2.test/page"]


@pytest.mark.parametrize("href", [pytest.param(AD_TARGET, id="direct"), pytest.param(wrapped(AD_TARGET), id="wrapped")])
def test_ads_are_left_out(href: str) -> None:
    assert urls(html_page(ad(href), organic(1), ad(href))) == ["https://site1.test/page"]


def test_an_ad_whose_link_looks_like_a_result_is_known_by_its_container() -> None:
    assert urls(html_page(ad("https://shop.test/"), organic(1))) == ["https://site1.test/page"]


def test_only_ads_are_not_an_answer() -> None:
    with pytest.raises(HtmlParseError):
        read_html_page(html_page(ad()))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(html_page(EOF_RESULT, empty_2025()), id="2025"),
        pytest.param(
            html_page(
                organic(1, href=wrapped("http://www.google.com/search?q=x"), title="EOF", snippet=""), empty_2025()
            ),
            id="2025 wrapped",
        ),
        pytest.param(html_page(empty_2025("No more results.")), id="2025 past the end"),
        pytest.param(html_page(empty_2026()), id="2026"),
        pytest.param(html_page(empty_2026("No more results found for")), id="2026 past the end"),
        pytest.param(html_page(ad(), empty_2026()), id="2026 with an ad"),
    ],
)
def test_an_empty_answer_is_a_page_without_results(body: str) -> None:
    page = read_html_page(body)

    assert page.hits == ()
    assert page.next_form is None


@pytest.mark.parametrize(
    "mark",
    [
        pytest.param(empty_2026("No more results found for"), id="2026"),
        pytest.param(EOF_RESULT + empty_2025("No more results."), id="2025"),
    ],
)
def test_the_mark_of_the_end_behind_real_results_takes_none_away(mark: str) -> None:
    assert urls(html_page(organic(1), organic(2), mark)) == ["https://site1.test/page", "https://site2.test/page"]


def test_a_result_that_cannot_be_read_before_the_mark_of_the_end_is_not_nothing() -> None:
    with pytest.raises(HtmlParseError):
        read_html_page(html_page(organic(1, href="/moved?to=a.test"), empty_2026("No more results found for")))


def test_a_real_result_called_eof_stays() -> None:
    assert urls(html_page(organic(1, title="EOF"))) == ["https://site1.test/page"]


@pytest.mark.parametrize("sign", ["all", "picture form", "challenge form", "dialog", "script"])
@pytest.mark.parametrize("endpoint", ["html", "lite"])
def test_a_challenge_is_a_block_and_never_an_empty_answer(sign: str, endpoint: str) -> None:
    with pytest.raises(Blocked):
        read_html_page(challenge(sign=sign, endpoint=endpoint))


@pytest.mark.parametrize(
    "query", ["No results found for", "no-results__message", '<div class="no-results">', "result__a web-result"]
)
def test_a_query_that_is_repeated_in_a_challenge_does_not_change_what_it_is(query: str) -> None:
    with pytest.raises(Blocked):
        read_html_page(challenge(query))


@pytest.mark.parametrize("words", ["challenge-form", "anomaly.js", "anomaly-modal__mask", "bots use DuckDuckGo too"])
def test_results_about_challenges_are_results(words: str) -> None:
    assert len(urls(html_page(organic(1, title=words, snippet=words)))) == 1


@pytest.mark.parametrize("words", ["challenge-form", "anomaly.js", "bots use DuckDuckGo too"])
def test_a_fruitless_search_for_the_words_of_a_challenge_is_empty(words: str) -> None:
    assert read_html_page(html_page(empty_2026(f"No results found for {words}"))).hits == ()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(SHELL, id="the page with scripts"),
        pytest.param("", id="nothing"),
        pytest.param("No  results.", id="words without a mark"),
        pytest.param("<html><body>502 Bad Gateway</body></html>", id="a gateway"),
        pytest.param(html_page(), id="neither results nor a mark"),
        pytest.param('{"error": "no"}', id="JSON"),
    ],
)
def test_a_page_that_we_do_not_know_is_not_called_empty(body: str) -> None:
    with pytest.raises(HtmlParseError):
        read_html_page(body)


def test_the_next_page_is_the_form_that_holds_vqd() -> None:
    page = read_html_page(html_page(ad(), organic(1), following=next_form(10, ads=1)))

    assert page.next_form == {
        "q": "thing", "s": "10", "nextParams": "", "v": "l", "o": "json",
        "dc": "12", "api": "d.js", "vqd": VQD, "kl": "wt-wt",
    }  # fmt: skip


def test_of_two_forms_the_one_that_leads_on_is_taken() -> None:
    both = next_form(10) + next_form(30)

    following = read_html_page(html_page(organic(21), following=both)).next_form

    assert following is not None
    assert following["s"] == "30"


@pytest.mark.parametrize(
    "following",
    [
        pytest.param("", id="no form"),
        pytest.param(next_form(10, vqd=""), id="no vqd"),
        pytest.param(next_form(10, action="/feedback/"), id="leads elsewhere"),
        pytest.param(next_form(0), id="leads to the first page"),
        pytest.param(next_form(10, s="many"), id="no number"),
    ],
)
def test_a_full_page_may_be_the_last_one(following: str) -> None:
    page = read_html_page(html_page(*(organic(number) for number in range(1, 11)), following=following))

    assert len(page.hits) == 10
    assert page.next_form is None
