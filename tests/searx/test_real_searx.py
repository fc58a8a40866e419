"""What our provider says of a real search server's answers."""

from typing import Any

import pytest

from dogubako.app import Toolbox
from dogubako.tools import ExecutionOptions, ToolResult

from .conftest import Index

pytestmark = pytest.mark.real_searx


async def search(box: Toolbox, query: str, **parameters: Any) -> ToolResult:
    return await box.call("web_search", {"query": query, **parameters}, ExecutionOptions(retry=0))


def text_of(result: ToolResult) -> str:
    return str(result.content[0]["text"])


async def test_results_come_with_title_address_and_text(box: Toolbox) -> None:
    result = await search(box, "thing")

    assert result.code == "OK"
    first = text_of(result).split("\n2. ")[0]
    assert first == "1. [Thing 1](<http://site1.invalid/?a=1&b=2>)\n   About thing 1 & 道具箱\n"
    assert "Source: SearXNG. More: page 2." in text_of(result)


async def test_pages_follow_each_other_up_to_the_end(box: Toolbox, index: Index) -> None:
    texts = [text_of(await search(box, "pages", page=number)) for number in (1, 2, 3, 4)]

    assert [f"{number * 10}. [Thing {number * 10}]" in texts[number - 1] for number in (1, 2, 3)] == [True] * 3
    assert texts[3] == "No results found."
    assert [page for query, page in index.asked if query == "pages"] == [1, 2, 3, 4]


async def test_a_search_that_finds_nothing_is_not_an_error(box: Toolbox) -> None:
    result = await search(box, "nothing")

    assert (result.is_error, text_of(result)) == (False, "No results found.")


async def test_an_engine_that_fails_is_not_called_empty(box: Toolbox) -> None:
    result = await search(box, "broken")

    assert result.code == "HTTP_ERROR"
    assert result.error is not None
    assert "engines of your SearXNG" in (result.error.hint or "")


async def test_the_sites_are_part_of_what_is_asked(box: Toolbox, index: Index) -> None:
    await search(box, "sites", site="a.invalid", exclude_sites=["b.invalid"])

    assert ("sites site:a.invalid -site:b.invalid", 1) in index.asked


@pytest.mark.parametrize("region", ["us-en", "jp-jp", "hk-tzh", "xa-ar", "wt-wt", "de-DE"])
@pytest.mark.parametrize("safesearch", ["strict", "moderate", "off"])
async def test_every_region_and_filter_is_accepted(box: Toolbox, region: str, safesearch: str) -> None:
    assert (await search(box, "thing", region=region, safesearch=safesearch, max_results=1)).code == "OK"


@pytest.mark.parametrize("time_range", ["day", "week", "month", "year"])
async def test_an_engine_that_knows_no_time_range_is_not_asked_and_the_answer_says_so(
    box: Toolbox, index: Index, time_range: str
) -> None:
    result = await search(box, f"range {time_range}", time_range=time_range)

    assert [block["text"] for block in result.content] == [
        "No results found.",
        "SearXNG leaves out engines that know no time range; there may be results without one.",
    ]
    assert not [query for query, _ in index.asked if query == f"range {time_range}"]


async def test_the_health_of_the_server_is_seen(box: Toolbox) -> None:
    result = await box.call("search_health", {})

    assert result.value["data"]["providers"] == [{"provider": "searxng", "ok": True}]
