"""Brave over a wire: the key, the words, and what its refusals mean."""

from typing import Any

import httpx2
import pytest

from .wired import Answers, bench, hint_of, in_turn, told

KEY = "brave-key-of-the-test"
ENVIRON = {"WEB_PROVIDERS": "brave", "BRAVE_API_KEY": KEY}


def answering(*results: dict[str, Any], more: bool = False) -> Answers:
    asked = {"original": "thing", "more_results_available": more}
    return in_turn(httpx2.Response(200, json={"type": "search", "query": asked, "web": {"results": list(results)}}))


THING = {"title": "Thing", "url": "https://a.test/", "description": "About it."}


async def test_the_key_goes_into_a_header_and_nowhere_else() -> None:
    async with bench(answering(THING), ENVIRON) as web:
        text = await web.text()

        [request] = web.wire.requests
        assert request.headers["x-subscription-token"] == KEY
        assert KEY not in str(request.url)
        assert KEY not in text
        assert (request.url.host, request.url.path) == ("api.search.brave.com", "/res/v1/web/search")


async def test_marked_words_and_entities_become_plain_text() -> None:
    given = {
        "title": "Tom &amp; Jerry &#x27;s &lt;b&gt; <strong>thing</strong>",
        "url": "https://a.test/",
        "description": "A <strong>thing</strong> is\n 5 &lt; 6 &quot;big&quot;.",
    }
    async with bench(answering(given), ENVIRON) as web:
        text = await web.text()

        assert "Tom & Jerry 's <b> thing" in text
        assert 'A thing is 5 < 6 "big".' in text


@pytest.mark.parametrize(("more", "said"), [pytest.param(True, True, id="more"), pytest.param(False, False, id="last")])
async def test_whether_there_is_more_is_what_brave_says(more: bool, said: bool) -> None:
    async with bench(answering(THING, more=more), ENVIRON) as web:
        assert ("More: page 2." in await web.text()) is said


@pytest.mark.parametrize(
    ("parameters", "question"),
    [
        pytest.param({}, {"q": "thing", "count": "10", "offset": "0", "safesearch": "moderate"}, id="plain"),
        pytest.param({"page": 3}, {"offset": "2"}, id="pages are counted from nought"),
        pytest.param({"max_results": 30}, {"count": "20"}, id="at most twenty"),
        pytest.param({"time_range": "year"}, {"freshness": "py"}, id="time range"),
        pytest.param({"region": "uk-en"}, {"country": "GB"}, id="region"),
        pytest.param({"safesearch": "off"}, {"safesearch": "off"}, id="unfiltered"),
    ],
)
async def test_arguments_become_parameters(parameters: dict[str, Any], question: dict[str, str]) -> None:
    async with bench(answering(THING), ENVIRON) as web:
        await web.text(**parameters)

        [asked] = web.wire.questions()
        assert {key: asked[key] for key in question} == question


async def test_all_regions_are_no_country() -> None:
    async with bench(answering(THING), ENVIRON) as web:
        await web.text(region="wt-wt")

        assert "country" not in web.wire.questions()[0]


@pytest.mark.parametrize("status", [401, 403, 422])
async def test_a_refused_key_is_named_by_its_setting(status: int) -> None:
    async with bench(in_turn(httpx2.Response(status, json={})), ENVIRON) as web:
        result = await web.search()

        assert told(result)[0] == "HTTP_ERROR"
        assert "BRAVE_API_KEY" in hint_of(result)
        assert len(web.wire.requests) == 1


async def test_too_many_requests_are_a_block_and_a_rest() -> None:
    async with bench(in_turn(httpx2.Response(429, json={})), ENVIRON) as web:
        assert told(await web.search())[0] == "SEARCH_BLOCKED"
        again = await web.search()

        assert told(again)[0] == "SEARCH_BLOCKED"
        assert "search again in 30 seconds" in hint_of(again)
        assert len(web.wire.requests) == 1


async def test_a_page_that_brave_does_not_have_is_refused_before_asking() -> None:
    async with bench(answering(THING), ENVIRON) as web:
        assert told(await web.search(page=11))[0] == "VALIDATION_ERROR"
        assert web.wire.requests == []


async def test_a_search_without_web_results_found_nothing() -> None:
    async with bench(in_turn(httpx2.Response(200, json={"query": {"original": "thing"}})), ENVIRON) as web:
        result = await web.search()

        assert (result.is_error, result.content[0]["text"]) == (False, "No results found.")


@pytest.mark.parametrize("body", [b"{}", b"[]", b"null", b"<html>", b"", b'{"error": "no"}'])
async def test_an_answer_that_we_do_not_know_is_a_parse_error(body: bytes) -> None:
    async with bench(in_turn(httpx2.Response(200, content=body)), ENVIRON) as web:
        assert told(await web.search())[0] == "JSON_PARSE_ERROR"
