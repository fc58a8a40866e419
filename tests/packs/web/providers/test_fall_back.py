"""Who stands in for whom, and how an answer says so."""

from collections.abc import Mapping

import httpx2
import pytest

from .wired import Answers, bench, page, told
from .written import SHELL, challenge, empty_2026, html_page, result_page

DDG, SEARX, BRAVE = "html.duckduckgo.com", "searx.test", "api.search.brave.com"
ORDER = {
    "WEB_PROVIDERS": "duckduckgo,searxng,brave",
    "SEARXNG_URL": "http://searx.test",
    "BRAVE_API_KEY": "brave-key",
}
HIT = {"url": "https://found.test/", "title": "Found", "content": "Here."}
GOOD: Mapping[str, httpx2.Response] = {
    DDG: page(result_page(range(1, 3), last=True)),
    SEARX: httpx2.Response(200, json={"results": [HIT]}),
    BRAVE: httpx2.Response(200, json={"query": {}, "web": {"results": [HIT]}}),
}
BLOCKED = page(challenge(), 202)
DOWN = httpx2.Response(500)


def world(**changed: httpx2.Response | Exception) -> Answers:
    """Engines that all answer, but for those that a test has changed."""
    hosts = {"ddg": DDG, "searx": SEARX, "brave": BRAVE}
    answers = {**GOOD, **{hosts[name]: answer for name, answer in changed.items()}}

    def answer(request: httpx2.Request) -> httpx2.Response:
        given = answers[request.url.host]
        if isinstance(given, Exception):
            raise given
        return httpx2.Response(given.status_code, headers=given.headers, content=given.content)

    return answer


async def test_the_first_engine_that_answers_is_the_only_one_asked() -> None:
    async with bench(world(), ORDER) as web:
        text = await web.text()

        assert web.wire.hosts == [DDG]
        assert "Source: DuckDuckGo." in text
        assert "instead" not in text


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        pytest.param(BLOCKED, "it blocked the search", id="blocked"),
        pytest.param(DOWN, "it could not be reached or refused", id="down"),
        pytest.param(httpx2.ReadTimeout("slow"), "it took too long", id="slow"),
        pytest.param(page(SHELL), "its answer could not be read", id="unreadable"),
    ],
)
async def test_an_answer_from_a_fall_back_says_so_and_why(trouble: httpx2.Response | Exception, reason: str) -> None:
    async with bench(world(ddg=trouble), ORDER) as web:
        text = await web.text()

        assert web.wire.hosts == [DDG, SEARX]
        assert f"duckduckgo did not answer ({reason}); SearXNG was asked instead." in text
        assert "Source: SearXNG." in text


async def test_the_order_is_the_operators() -> None:
    async with bench(world(searx=DOWN, brave=DOWN), ORDER | {"WEB_PROVIDERS": "brave,searxng,duckduckgo"}) as web:
        text = await web.text()

        assert web.wire.hosts == [BRAVE, SEARX, DDG]
        assert "brave did not answer" in text


async def test_without_an_order_nobody_stands_in() -> None:
    without = {name: value for name, value in ORDER.items() if name != "WEB_PROVIDERS"}
    async with bench(world(ddg=BLOCKED), without) as web:
        assert told(await web.search())[0] == "SEARCH_BLOCKED"
        assert web.wire.hosts == [DDG]


async def test_when_nobody_answers_the_first_failure_is_told() -> None:
    async with bench(world(ddg=BLOCKED, searx=httpx2.Response(403), brave=DOWN), ORDER) as web:
        assert told(await web.search())[0] == "SEARCH_BLOCKED"
        assert web.wire.hosts == [DDG, SEARX, BRAVE]


async def test_finding_nothing_is_an_answer_and_asks_nobody_else() -> None:
    async with bench(world(ddg=page(html_page(empty_2026()))), ORDER) as web:
        result = await web.search()

        assert (result.is_error, result.content[0]["text"]) == (False, "No results found.")
        assert web.wire.hosts == [DDG]


async def test_a_fall_back_that_finds_nothing_says_who_did_not_answer() -> None:
    async with bench(world(ddg=BLOCKED, searx=httpx2.Response(200, json={"results": []})), ORDER) as web:
        result = await web.search()

        assert result.content[0]["text"] == "No results found."
        assert "duckduckgo did not answer (it blocked the search)" in result.content[1]["text"]


async def test_a_named_provider_is_asked_alone() -> None:
    async with bench(world(searx=DOWN), ORDER) as web:
        assert "Source: Brave." in await web.text(provider="brave")
        assert told(await web.search(provider="searxng"))[0] == "HTTP_ERROR"
        assert web.wire.hosts == [BRAVE, SEARX]


async def test_a_provider_that_this_server_does_not_have_is_named_with_those_it_has() -> None:
    async with bench(world(), {}) as web:
        result = await web.search(provider="brave")

        assert told(result) == ("VALIDATION_ERROR", "Invalid value for parameter provider: this server has duckduckgo")
        assert web.wire.requests == []


async def test_a_blocked_engine_rests_while_the_next_one_works() -> None:
    async with bench(world(ddg=BLOCKED), ORDER) as web:
        await web.text()
        text = await web.text()

        assert web.wire.hosts == [DDG, SEARX, SEARX]
        assert "duckduckgo did not answer (it blocked the search)" in text


@pytest.mark.parametrize("query", ["", "   ", "\n"])
async def test_an_empty_query_asks_nobody(query: str) -> None:
    async with bench(world(), ORDER) as web:
        assert told(await web.search(query=query)) == ("EMPTY_QUERY", "Query must not be empty.")
        assert web.wire.requests == []


async def test_the_health_of_each_engine_is_told_with_its_reason() -> None:
    async with bench(world(ddg=BLOCKED), ORDER) as web:
        result = await web.box.call("search_health", {})

        states = result.value["data"]["providers"]
        assert [(one["provider"], one["ok"], one.get("code")) for one in states] == [
            ("duckduckgo", False, "SEARCH_BLOCKED"),
            ("searxng", True, None),
            ("brave", True, None),
        ]


async def test_a_challenge_in_place_of_an_instant_answer_is_a_block() -> None:
    async with bench(lambda _: page(challenge(), 202)) as web:
        result = await web.box.call("instant_answer", {"query": "thing"})
        again = await web.box.call("instant_answer", {"query": "thing"})

    assert result.code == again.code == "SEARCH_BLOCKED"
    assert len(web.wire.requests) == 1, "after a block we keep quiet for a while"
