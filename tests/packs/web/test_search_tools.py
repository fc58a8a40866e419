"""Search, instant answers and health, as an agent gets them from the sandbox's web."""

from pathlib import Path
from typing import Any

import pytest
import structlog.testing

from dogubako.app import Toolbox, build
from dogubako.settings import Sources
from dogubako_sandbox.web.index import search

from .boxes import hits_in, sandbox, text_of, urls_in


async def found(box: Toolbox, **arguments: Any) -> str:
    return text_of(await box.call("web_search", arguments))


def expected(query: str) -> list[str]:
    return [document.url for document in search(query)]


async def test_results_are_numbered_with_title_address_and_snippet_and_the_source_at_the_end(box: Toolbox) -> None:
    result = await box.call("web_search", {"query": "toolbox"})
    text = text_of(result)

    assert [number for number, _ in hits_in(text)] == list(range(1, 11))
    assert text.startswith(
        "1. [Toolbox](<https://encyclopedia.sandbox.invalid/toolbox>)\n   A toolbox is a box with a handle"
    )
    assert text.endswith("Source: DuckDuckGo. More: page 2.")
    assert result.count == 10


async def test_ads_are_never_among_the_results(box: Toolbox) -> None:
    text = await found(box, query="toolbox", max_results=30)

    assert "Buy it here" not in text
    assert "duckduckgo.com" not in text


@pytest.mark.parametrize("size", [7, 10, 13, 30])
async def test_pages_follow_each_other_without_gap_or_overlap_to_the_end(box: Toolbox, size: int) -> None:
    numbers, urls = [], []
    for page in range(1, 20):
        text = await found(box, query="toolbox", max_results=size, page=page)
        numbers += [number for number, _ in hits_in(text)]
        urls += urls_in(text)
        if f"More: page {page + 1}." not in text:
            break

    assert urls == expected("toolbox")
    assert numbers == list(range(1, len(urls) + 1))
    assert len(urls) > 20


async def test_a_page_past_the_end_is_not_a_failure(box: Toolbox) -> None:
    result = await box.call("web_search", {"query": "toolbox", "page": 9})

    assert (text_of(result), result.count) == ("No results found.", 0)


async def test_lite_finds_the_same(tmp_path: Path) -> None:
    with structlog.testing.capture_logs():
        async with sandbox(tmp_path, providers=("duckduckgo-lite",)).running() as box:
            text = await found(box, query="toolbox", max_results=30)
            nothing = await box.call("web_search", {"query": "nothing at all"})

    assert urls_in(text) == expected("toolbox")
    assert "Buy it here" not in text
    assert text_of(nothing) == "No results found."


@pytest.mark.parametrize(
    ("arguments", "query"),
    [
        pytest.param({"site": "shop.sandbox.invalid"}, "toolbox site:shop.sandbox.invalid", id="one site"),
        pytest.param(
            {"exclude_sites": ["shop.sandbox.invalid", "news.sandbox.invalid"]},
            "toolbox -site:shop.sandbox.invalid -site:news.sandbox.invalid",
            id="not these sites",
        ),
    ],
)
async def test_sites_are_chosen_and_left_out(box: Toolbox, arguments: dict[str, Any], query: str) -> None:
    urls = urls_in(await found(box, query="toolbox", max_results=30, **arguments))

    assert urls == expected(query)
    assert 0 < len(urls) < len(expected("toolbox"))
    assert all(("shop." in url) == ("site" in arguments) for url in urls)


@pytest.mark.parametrize(
    ("time_range", "paths"),
    [
        pytest.param("day", {"/bridge"}, id="day"),
        pytest.param("week", {"/bridge", "/library", "/market"}, id="week"),
        pytest.param("month", {"/bridge", "/library", "/market", "/school"}, id="month"),
    ],
)
async def test_only_young_pages_are_found_when_asked(box: Toolbox, time_range: str, paths: set[str]) -> None:
    urls = urls_in(await found(box, query="toolbox", time_range=time_range, max_results=30))

    assert set(urls) == {f"https://news.sandbox.invalid{path}" for path in paths}


async def test_words_that_would_jump_to_another_site_are_quoted(box: Toolbox) -> None:
    assert urls_in(await found(box, query="bangs !w")) == ["https://docs.sandbox.invalid/search-shortcuts"]


async def test_japanese_is_found(box: Toolbox) -> None:
    assert urls_in(await found(box, query="かんな 砥石")) == ["https://ja.sandbox.invalid/kanna"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        pytest.param({"query": ""}, "EMPTY_QUERY", "Query must not be empty.", id="empty"),
        pytest.param({"query": " \t\n"}, "EMPTY_QUERY", "Query must not be empty.", id="blank"),
        pytest.param(
            {"query": "ab" * 250},
            "VALIDATION_ERROR",
            "Invalid value for parameter query: DuckDuckGo takes at most 499 characters",
            id="too long",
        ),
        pytest.param(
            {"query": "x", "provider": "brave"},
            "VALIDATION_ERROR",
            "Invalid value for parameter provider: this server has duckduckgo",
            id="a provider that is not set up",
        ),
    ],
)
async def test_odd_queries_are_answered_before_anybody_is_asked(
    box: Toolbox, arguments: dict[str, Any], code: str, message: str
) -> None:
    result = await box.call("web_search", arguments)

    assert (result.code, result.content[0]["text"]) == (code, message)


async def test_an_instant_answer_has_its_source_facts_and_topics(box: Toolbox) -> None:
    text = text_of(await box.call("instant_answer", {"query": "Toolbox"}))

    assert text.startswith("# Toolbox\n\nA toolbox is a box with a handle")
    assert "([Encyclopedia of the Sandbox](<https://encyclopedia.sandbox.invalid/toolbox>))" in text
    assert "- Japanese: 道具箱\n- Handles: 1\n- First described: in the year 12" in text
    assert "**Related**\n- [Workbench - A strong table for work by hand.]" in text
    assert "**Tools**\n- [Plane - It makes wood smooth.]" in text
    assert "Empty group" not in text


@pytest.mark.parametrize(
    ("query", "line"),
    [
        pytest.param("2 + 2", "**Answer:** 4", id="an object as answer"),
        pytest.param("define plane", "**Definition:** plane: a tool with a blade", id="a definition"),
    ],
)
async def test_answers_and_definitions_are_shown(box: Toolbox, query: str, line: str) -> None:
    assert line in text_of(await box.call("instant_answer", {"query": query}))


async def test_no_instant_answer_is_an_answer(box: Toolbox) -> None:
    result = await box.call("instant_answer", {"query": "the weather on Mars"})

    assert (text_of(result), result.count) == ("No instant answer available for this query.", 0)


async def test_an_instant_answer_needs_a_query(box: Toolbox) -> None:
    assert (await box.call("instant_answer", {"query": " "})).code == "EMPTY_QUERY"


async def test_health_names_every_provider(tmp_path: Path) -> None:
    with structlog.testing.capture_logs():
        async with sandbox(tmp_path, providers=("duckduckgo", "duckduckgo-lite")).running() as box:
            result = await box.call("search_health")

    assert result.value["message"] == "2 of 2 search engines answer"
    assert result.value["data"]["providers"] == [
        {"provider": "duckduckgo", "ok": True},
        {"provider": "duckduckgo-lite", "ok": True},
    ]


@pytest.mark.parametrize(
    ("environ", "sandboxed"),
    [
        pytest.param({}, True, id="nothing set"),
        pytest.param({"WEB_SEARCH_RATE": "2"}, False, id="a setting of one's own"),
        pytest.param({"WEB_PROVIDERS": "brave"}, True, id="a provider without its key"),
    ],
)
def test_the_sandbox_stands_in_only_for_a_web_that_nobody_set_up(environ: dict[str, str], sandboxed: bool) -> None:
    box = build(Sources(environ={"DOGUBAKO_SANDBOX": "true", **environ}, env_file=None))

    assert (box.packs["web"].sandbox is not None) is sandboxed


def test_without_the_sandbox_the_web_is_the_real_one() -> None:
    assert build(Sources(environ={}, env_file=None)).packs["web"].sandbox is None
