"""SearXNG over a wire: what it is asked, and what its answers mean."""

from typing import Any

import httpx2
import pytest

from .wired import Answers, Bench, bench, hint_of, in_turn, told

ENVIRON = {"WEB_PROVIDERS": "searxng", "SEARXNG_URL": "http://searx.test/sub/"}
SILENT = [["bing", "timeout"], ["qwant", "access denied"]]


def results(count: int) -> list[dict[str, Any]]:
    return [
        {"url": f"https://site{n}.test/", "title": f"Thing {n}", "content": f"About {n}.", "engine": "local"}
        for n in range(1, count + 1)
    ]


def answering(**fields: Any) -> Answers:
    return in_turn(httpx2.Response(200, json={"query": "thing", **fields}))


def asked(web: Bench) -> dict[str, str]:
    [question] = web.wire.questions()
    return question


async def test_results_are_numbered_and_name_their_source() -> None:
    async with bench(answering(results=results(2), number_of_results=2, unresponsive_engines=[]), ENVIRON) as web:
        text = await web.text()

        assert "1. [Thing 1](<https://site1.test/>)\n   About 1." in text
        assert "Source: SearXNG." in text
        assert web.wire.requests[0].url.path == "/sub/search"
        assert asked(web) == {"q": "thing", "format": "json", "pageno": "1", "safesearch": "1"}


@pytest.mark.parametrize(
    ("parameters", "question"),
    [
        pytest.param({"page": 3}, {"pageno": "3"}, id="page"),
        pytest.param({"region": "us-en"}, {"language": "en-US"}, id="language"),
        pytest.param({"region": "wt-wt"}, {"language": "all"}, id="all languages"),
        pytest.param({"time_range": "month"}, {"time_range": "month"}, id="time range"),
        pytest.param({"safesearch": "strict"}, {"safesearch": "2"}, id="strict"),
        pytest.param({"safesearch": "off"}, {"safesearch": "0"}, id="unfiltered"),
        pytest.param({"site": "a.test"}, {"q": "thing site:a.test"}, id="site"),
    ],
)
async def test_arguments_become_parameters(parameters: dict[str, Any], question: dict[str, str]) -> None:
    async with bench(answering(results=results(1)), ENVIRON) as web:
        await web.text(**parameters)

        assert {key: asked(web)[key] for key in question} == question


async def test_a_refusal_says_that_json_has_to_be_enabled() -> None:
    async with bench(in_turn(httpx2.Response(403, text="Forbidden")), ENVIRON) as web:
        result = await web.search()

        assert told(result)[0] == "HTTP_ERROR"
        assert "Enable JSON in SearXNG's settings.yml" in hint_of(result)


async def test_silent_engines_beside_results_are_a_note() -> None:
    async with bench(answering(results=results(1), unresponsive_engines=SILENT), ENVIRON) as web:
        assert "These engines did not answer: bing: timeout, qwant: access denied." in await web.text()


async def test_silent_engines_without_results_are_not_no_results() -> None:
    async with bench(answering(results=[], unresponsive_engines=SILENT), ENVIRON) as web:
        result = await web.search()

        assert told(result)[0] == "HTTP_ERROR"
        assert "engines of your SearXNG" in hint_of(result)


@pytest.mark.parametrize("fields", [{"number_of_results": 0, "unresponsive_engines": []}, {}])
async def test_nothing_found_by_engines_that_answered_is_no_results(fields: dict[str, Any]) -> None:
    async with bench(answering(results=[], **fields), ENVIRON) as web:
        result = await web.search()

        assert (result.is_error, result.content[0]["text"]) == (False, "No results found.")


async def test_what_does_not_fit_the_page_is_named() -> None:
    async with bench(answering(results=results(12)), ENVIRON) as web:
        text = await web.text(max_results=5)

        assert text.count("(<https://") == 5
        assert "7 more results of this page are shown with a larger max_results." in text


async def test_results_without_an_address_or_a_title_are_bearable() -> None:
    odd = [{"title": "No address"}, "odd", {"url": "https://a.test/", "title": None, "content": 7}]
    async with bench(answering(results=odd), ENVIRON) as web:
        assert "1. [https://a.test/](<https://a.test/>)" in await web.text()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"<html></html>", id="a page"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b"{}", id="no results"),
        pytest.param(b'{"results": {}}', id="results of another kind"),
        pytest.param(b"", id="nothing"),
        pytest.param(b'{"results": [' + b"[]," * 1_000_000 + b"[]]}", id="a million values"),
    ],
)
async def test_an_answer_that_we_do_not_know_is_a_parse_error(body: bytes) -> None:
    async with bench(in_turn(httpx2.Response(200, content=body)), ENVIRON) as web:
        assert told(await web.search()) == ("JSON_PARSE_ERROR", "Failed to parse API response.")
