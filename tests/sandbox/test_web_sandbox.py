"""The sandbox's web speaks as DuckDuckGo does: results, ads, forms, emptiness, challenges, and sites to be found."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import pytest
from selectolax.lexbor import LexborHTMLParser

from dogubako_sandbox.web.app import web_app
from dogubako_sandbox.web.index import search
from dogubako_sandbox.web.sites import DOCUMENTS

HTML: Final = "https://html.duckduckgo.com/html/"
LITE: Final = "https://lite.duckduckgo.com/lite/"
INSTANT: Final = "https://api.duckduckgo.com/"
Form = dict[str, str]


@pytest.fixture
async def web() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=web_app())) as client:
        yield client


async def asked(web: httpx2.AsyncClient, url: str = HTML, **form: str) -> LexborHTMLParser:
    response = await web.post(url, data=form)
    assert response.status_code == 200, response.text
    return LexborHTMLParser(response.text)


def links(page: LexborHTMLParser, selector: str = "div.web-result a.result__a") -> list[str]:
    return [node.attributes["href"] or "" for node in page.css(selector)]


def forms(page: LexborHTMLParser) -> list[Form]:
    """The fields of every form that knows the next page."""
    found = [
        {str(one.attributes["name"]): one.attributes["value"] or "" for one in form.css("input[type=hidden]")}
        for form in page.css("form")
    ]
    return [fields for fields in found if "vqd" in fields]


def unwrapped(link: str) -> str:
    return parse_qs(urlsplit(link).query)["uddg"][0]


def test_there_are_enough_pages_for_three_pages_of_results_on_a_dozen_sites() -> None:
    assert len(DOCUMENTS) >= 40
    assert len({document.host for document in DOCUMENTS}) >= 12
    assert len({document.url for document in DOCUMENTS}) == len(DOCUMENTS)
    assert len(search("toolbox")) > 20


async def test_a_page_holds_ten_results_and_two_ads_that_are_no_results(web: httpx2.AsyncClient) -> None:
    page = await asked(web, q="toolbox")

    assert links(page) == [document.url for document in search("toolbox")[:10]]
    assert len(page.css("div.result--ad")) == 2
    assert not page.css("div.result--ad.web-result")
    assert all("duckduckgo.com/y.js?ad_domain=" in link for link in links(page, "div.result--ad a.result__a"))
    assert page.css_first('img[src="//duckduckgo.com/t/sl_h"]') is not None


async def test_the_next_form_holds_what_the_next_page_needs(web: httpx2.AsyncClient) -> None:
    (form,) = forms(await asked(web, q="toolbox", kl="jp-jp"))

    assert list(form) == ["q", "s", "nextParams", "v", "o", "dc", "api", "vqd", "kl"]
    assert (form["q"], form["s"], form["dc"], form["kl"]) == ("toolbox", "10", "13", "jp-jp")


async def test_forms_lead_to_the_end_where_a_marker_stands_beside_real_results(web: httpx2.AsyncClient) -> None:
    page = await asked(web, q="toolbox")
    found, seen = links(page), 1
    while following := forms(page):
        page = await asked(web, **following[0])
        found += [unwrapped(link) for link in links(page)]
        seen += 1

    assert found == [document.url for document in search("toolbox")]
    assert seen == 3
    assert "No more results found for" in page.css(".no-results__message")[0].text()


async def test_a_next_page_without_its_ticket_is_refused(web: httpx2.AsyncClient) -> None:
    assert (await web.post(HTML, data={"q": "toolbox", "s": "10", "vqd": "4-1"})).status_code == 403


async def test_ads_on_wrapped_pages_are_wrapped_themselves(web: httpx2.AsyncClient) -> None:
    page = LexborHTMLParser((await web.get(HTML, params={"q": "toolbox"})).text)

    assert [unwrapped(link) for link in links(page)] == [document.url for document in search("toolbox")[:10]]
    ads = links(page, "div.result--ad a.result__a")
    assert [urlsplit(unwrapped(link)).path for link in ads] == ["/y.js", "/y.js"]


async def test_lite_has_sponsored_rows_and_the_next_form_twice(web: httpx2.AsyncClient) -> None:
    response = await web.post(LITE, data={"q": "toolbox"})
    page = LexborHTMLParser(response.text)

    assert "class='result-link'" in response.text
    rows = [unwrapped(link) for link in links(page, "tr:not(.result-sponsored) a.result-link")]
    assert rows == [document.url for document in search("toolbox")[:10]]
    assert page.css("tr.result-sponsored a.result-link")[-1].text() == "more info"
    first, second = forms(page)
    assert first == second


@pytest.mark.parametrize("url", [HTML, LITE])
@pytest.mark.parametrize(
    ("query", "status", "marker"),
    [
        pytest.param("is it blocked", 202, "form#challenge-form", id="blocked"),
        pytest.param("broken page", 200, "#react-layout", id="neither results nor nothing"),
        pytest.param("server error", 503, "body", id="an error"),
    ],
)
async def test_bad_days_have_their_words(
    web: httpx2.AsyncClient, url: str, query: str, status: int, marker: str
) -> None:
    response = await web.post(url, data={"q": query})

    assert response.status_code == status
    assert LexborHTMLParser(response.text).css_first(marker) is not None
    assert "t/sl_" not in response.text


async def test_a_captcha_waits_at_the_second_page(web: httpx2.AsyncClient) -> None:
    (form,) = forms(await asked(web, q="toolbox captcha at page 2"))
    response = await web.post(HTML, data=form)

    assert response.status_code == 202
    assert 'id="challenge-form"' in response.text


async def test_nothing_looks_different_in_two_years(web: httpx2.AsyncClient) -> None:
    old, new = await asked(web, q="nothing in 2025"), await asked(web, q="nothing at all")

    assert old.css_first("div.result--no-result div.no-results") is not None
    assert [node.text() for node in old.css("a.result__a")] == ["EOF"]
    assert new.css(".no-results__message")[0].text().startswith("No results found for")
    assert not new.css("a.result__a")


async def test_a_query_that_fits_no_page_finds_nothing(web: httpx2.AsyncClient) -> None:
    assert (await asked(web, q="zeppelin")).css_first(".no-results__message") is not None


async def test_a_slow_answer_can_be_given_up(web: httpx2.AsyncClient) -> None:
    with anyio.move_on_after(0.1) as patience:
        await web.post(HTML, data={"q": "slow"})

    assert patience.cancelled_caught


@pytest.mark.parametrize(
    ("query", "status"), [pytest.param("bangs !w", 302, id="bare"), pytest.param('bangs "!w"', 200, id="quoted")]
)
async def test_a_bang_leads_away_unless_it_is_quoted(web: httpx2.AsyncClient, query: str, status: int) -> None:
    assert (await web.post(HTML, data={"q": query})).status_code == status


@pytest.mark.parametrize(
    ("query", "hosts"),
    [
        pytest.param("plane site:shop.sandbox.invalid", {"shop"}, id="one site"),
        pytest.param("plane site:sandbox.invalid", {"shop", "encyclopedia", "data"}, id="the whole domain"),
        pytest.param("plane -site:shop.sandbox.invalid", {"encyclopedia", "data"}, id="not this site"),
        pytest.param("plane -shavings", {"shop", "data"}, id="not this word"),
        pytest.param('"a tool with a blade"', {"encyclopedia"}, id="a phrase"),
    ],
)
def test_the_index_understands(query: str, hosts: set[str]) -> None:
    assert {document.site for document in search(query)} == hosts


async def instant(web: httpx2.AsyncClient, query: str) -> Any:
    response = await web.get(INSTANT, params={"q": query, "format": "json"})
    assert response.headers["content-type"] == "application/x-javascript"
    return json.loads(response.text)


async def test_an_unknown_subject_gets_the_placeholder(web: httpx2.AsyncClient) -> None:
    answer = await instant(web, "the weather on Mars")

    assert answer["meta"]["id"] == "just_another_test"
    assert not [key for key, value in answer.items() if value and key != "meta"]


async def test_instant_answers_have_the_types_that_vary(web: httpx2.AsyncClient) -> None:
    toolbox, sum_ = await instant(web, "toolbox"), await instant(web, "2 + 2")

    assert isinstance(toolbox["Infobox"], dict)
    assert isinstance(sum_["Infobox"], str)
    assert isinstance(sum_["Answer"], dict)
    assert [set(topic) == {"Name", "Topics"} for topic in toolbox["RelatedTopics"]] == [False, True, True]


@pytest.mark.parametrize("document", [pytest.param(one, id=one.url) for one in DOCUMENTS])
async def test_every_page_that_can_be_found_is_there(web: httpx2.AsyncClient, document: Any) -> None:
    assert (await web.get(document.url)).status_code == 200


async def test_a_page_in_shift_jis_says_so_only_in_itself(web: httpx2.AsyncClient) -> None:
    response = await web.get("https://ja.sandbox.invalid/kanna")

    assert response.headers["content-type"] == "text/html"
    assert b'<meta charset="shift_jis">' in response.content
    assert "木の表面" in response.content.decode("shift_jis")


async def test_the_pdf_names_where_its_objects_begin(web: httpx2.AsyncClient) -> None:
    body = (await web.get("https://papers.sandbox.invalid/order.pdf")).content
    places = [int(place) for place in re.findall(rb"^(\d{10}) 00000 n $", body, re.MULTILINE)]

    assert [body[place:].split(b"\n")[0] for place in places] == [b"%d 0 obj" % n for n in range(1, len(places) + 1)]
    assert body[int(re.findall(rb"startxref\n(\d+)", body)[0]) :].startswith(b"xref")


@pytest.mark.parametrize(
    ("url", "status"),
    [
        pytest.param("https://docs.sandbox.invalid/nowhere", 404, id="no such page"),
        pytest.param("https://nobody.sandbox.invalid/", 404, id="no such site"),
        pytest.param("https://example.com/", 404, id="another host"),
        pytest.param("https://moved.sandbox.invalid/", 301, id="a page that moved"),
        pytest.param("https://club.sandbox.invalid/robots.txt", 200, id="rules for robots"),
        pytest.param("https://docs.sandbox.invalid/robots.txt", 404, id="no rules for robots"),
    ],
)
async def test_other_addresses_answer_as_they_should(web: httpx2.AsyncClient, url: str, status: int) -> None:
    assert (await web.get(url)).status_code == status
