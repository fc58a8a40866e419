"""Answers of search engines that are made to be slow: the event loop goes on, and a parse is not repeated."""

from typing import Any, Final

import httpx2
import msgspec
import pytest

from dogubako.app import build
from dogubako.packs.web.pack import WEB
from dogubako.settings import Sources
from dogubako.tools import ExecutionOptions
from tests.attack.hostile_pages import attributes
from tests.heartbeat import Heartbeat, best_of_three, check_stall
from tests.packs.through import Through

from .wired import QUICK, Wire, in_turn, page, told
from .written import result_page

# Measured alone: two busy processes on one core take twice as long, and so does a measured coverage.
pytestmark = pytest.mark.stall

LONG: Final = 7_000_000
RESULT: Final = {"url": "https://example.com/", "title": "Tools", "content": "hammer"}
ENGINES: Final = {
    "WEB_PROVIDERS": "searxng,brave",
    "SEARXNG_URL": "https://searx.example.com",
    "BRAVE_API_KEY": "some-key-of-brave",
}


def searx(value: Any) -> bytes:
    return msgspec.json.encode({"results": value})


def brave(text: str) -> bytes:
    return msgspec.json.encode({"web": {"results": [{**RESULT, "description": text}] * 10}, "query": {}})


@pytest.mark.parametrize(
    ("tool", "arguments", "body"),
    [
        pytest.param("web_search", {"provider": "searxng"}, searx([RESULT] * 12_000), id="many results"),
        pytest.param(
            "web_search", {"provider": "searxng"}, searx([{**RESULT, "content": "a " * (LONG // 2)}]), id="long words"
        ),
        pytest.param(
            "web_search", {"provider": "searxng"}, b'{"results":[' + b"[]," * 340_000 + b"1]}", id="empty lists"
        ),
        pytest.param("web_search", {"provider": "brave"}, brave("&amp;" * (LONG // 50)), id="entities"),
        pytest.param("web_search", {"provider": "brave"}, brave("<a" * (LONG // 20)), id="open tags"),
        pytest.param("web_search", {"provider": "searxng"}, b"[" * LONG, id="nesting"),
        pytest.param(
            "instant_answer",
            {},
            msgspec.json.encode({"RelatedTopics": [{"Text": "a", "FirstURL": "b"}] * 15_000}),
            id="many topics",
        ),
        pytest.param("instant_answer", {}, msgspec.json.encode({"AbstractText": "a " * (LONG // 2)}), id="one topic"),
        pytest.param(
            "instant_answer",
            {},
            msgspec.json.encode({"Infobox": {"content": [{"label": "a", "value": "b"}] * 15_000}}),
            id="many facts",
        ),
    ],
)
@best_of_three
async def test_no_answer_of_an_engine_keeps_the_event_loop(tool: str, arguments: dict[str, str], body: bytes) -> None:
    box = build(Sources(environ={**QUICK, **ENGINES}, env_file=None), packs=[WEB])
    wire = Wire(in_turn(httpx2.Response(200, content=body)))
    box.packs["web"].sandbox = Through(settings={}, app=lambda: None, wire=wire)
    async with box.running():
        await box.call(tool, {"query": "first"})
        with Heartbeat() as heart:
            result = await box.call(tool, {"query": "thing", **arguments})

    assert result.code in ("OK", "JSON_PARSE_ERROR")
    check_stall(heart.worst)


@best_of_three
async def test_a_result_page_that_takes_too_long_is_not_asked_for_again() -> None:
    wire = Wire(in_turn(page(result_page([1], last=True)), page(attributes(200_000).decode())))
    box = build(Sources(environ=QUICK, env_file=None), packs=[WEB])
    box.packs["web"].sandbox = Through(settings={}, app=lambda: None, wire=wire)
    async with box.running():
        assert (await box.call("web_search", {"query": "thing"})).code == "OK"
        with Heartbeat() as heart:
            result = await box.call("web_search", {"query": "thing"}, ExecutionOptions(timeout=6_000, retry_delay=1))

    assert told(result) == ("TIMEOUT", "Execution timeout after 6000ms")
    assert len(wire.requests) == 2
    check_stall(heart.worst)
