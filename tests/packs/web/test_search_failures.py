"""What an agent hears when a search fails, and what the log keeps of it: blocked, empty and broken are three things."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
import structlog.testing

from dogubako.app import Toolbox
from dogubako.contract.call import ExecutionOptions
from tests.doors.answers import from_response
from tests.packs.n8n.agent import speaking, speaking_in_both_eras

from .boxes import sandbox, text_of, urls_in

LEVELS: Final = ["debug", "info", "warning", "error", "critical"]
ONCE: Final = {"dogubako/options": {"retry": 0}}
BLOCKED: Final = "Search was blocked by the provider. The query may have results; they could not be fetched."
NOTE: Final = "The provider blocked us before all results were fetched"


def loudest(entries: list[Any]) -> str:
    return LEVELS[max(LEVELS.index(entry["log_level"]) for entry in entries)]


@pytest.mark.parametrize(
    ("tool", "query", "message", "is_error", "level", "code"),
    [
        pytest.param(
            "web_search",
            "server error",
            "Failed to fetch search results. Please try again later.",
            True,
            "error",
            "HTTP_ERROR",
            id="HttpError",
        ),
        pytest.param(
            "web_search",
            "broken page",
            "Failed to parse search results. The page structure may have changed.",
            True,
            "error",
            "HTML_PARSE_ERROR",
            id="HtmlParseError",
        ),
        pytest.param(
            "instant_answer",
            "broken page",
            "Failed to parse API response.",
            True,
            "error",
            "JSON_PARSE_ERROR",
            id="JsonParseError",
        ),
        pytest.param("web_search", " ", "Query must not be empty.", True, "warning", "EMPTY_QUERY", id="EmptyQuery"),
        pytest.param(
            "web_search", "slow", "Request timed out. Please try again.", True, "warning", "TIMEOUT", id="Timeout"
        ),
        pytest.param("web_search", "nothing at all", "No results found.", False, "info", "OK", id="NoResults of 2026"),
        pytest.param("web_search", "nothing in 2025", "No results found.", False, "info", "OK", id="NoResults of 2025"),
        pytest.param("web_search", "blocked", BLOCKED, True, "warning", "SEARCH_BLOCKED", id="Blocked"),
    ],
)
async def test_a_failure_has_its_sentence_over_mcp_and_its_level_in_the_log(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tool: str,
    query: str,
    message: str,
    is_error: bool,
    level: str,
    code: str,
) -> None:
    if code == "TIMEOUT":
        # Whoever is to answer gets all the time that there is, however busy this machine is.
        monkeypatch.setattr("dogubako.packs.web.search_http.TIMEOUT_SECONDS", 0.05)
    params = {"name": tool, "arguments": {"query": query}, "_meta": ONCE}
    with structlog.testing.capture_logs() as entries:
        async with speaking(sandbox(tmp_path), "handshake") as agent:
            entries.clear()
            answer = from_response(await agent.ask("tools/call", params, tool))
            told = list(entries)

    assert (answer.text, answer.is_error, answer.code) == (message, is_error, code)
    assert loudest(told) == level
    assert [entry["log_level"] for entry in told if entry["event"] == f"[{tool}] Error"] == [level]


@pytest.mark.parametrize("query", ["blocked", "broken page", "nothing at all", " "])
async def test_both_eras_of_the_protocol_hear_the_same(tmp_path: Path, query: str) -> None:
    with structlog.testing.capture_logs():
        async with speaking_in_both_eras(sandbox(tmp_path)) as (handshake, modern):
            said: Mapping[str, Any] = {"query": query}
            first, second = await handshake.call("web_search", said), await modern.call("web_search", said)

    assert (first.text, first.is_error, first.code) == (second.text, second.is_error, second.code)


async def test_a_block_says_what_to_do_and_the_next_search_how_long_to_wait(box: Toolbox) -> None:
    first = await box.call("web_search", {"query": "blocked"})
    second = await box.call("web_search", {"query": "toolbox"})

    assert first.content[1]["text"] == "Use another provider, or wait before searching again."
    assert (second.code, second.content[0]["text"]) == ("SEARCH_BLOCKED", BLOCKED)
    assert second.content[1]["text"].startswith("Use another provider, or search again in ")


async def test_a_captcha_at_the_second_page_keeps_the_first_ones_results_and_says_so(box: Toolbox) -> None:
    result = await box.call("web_search", {"query": "toolbox captcha at page 2", "max_results": 20})
    text = text_of(result)

    assert len(urls_in(text)) == 10
    assert NOTE in text
    # A second page of twenty would begin behind results that nobody has seen.
    assert "More: page 2" not in text


async def test_a_captcha_on_the_very_page_that_was_asked_for_is_a_block_and_not_emptiness(box: Toolbox) -> None:
    first = await box.call("web_search", {"query": "toolbox captcha at page 2"})
    second = await box.call("web_search", {"query": "toolbox captcha at page 2", "page": 2})

    assert NOTE not in text_of(first)
    assert "More: page 2." in text_of(first)
    assert (second.is_error, second.code) == (True, "SEARCH_BLOCKED")


async def test_a_fall_back_that_is_blocked_too_does_not_turn_a_block_into_emptiness(tmp_path: Path) -> None:
    with structlog.testing.capture_logs():
        async with sandbox(tmp_path, providers=("duckduckgo", "duckduckgo-lite")).running() as box:
            both = await box.call("web_search", {"query": "blocked"})

    assert (both.code, both.content[0]["text"]) == ("SEARCH_BLOCKED", BLOCKED)


async def test_health_says_which_provider_is_blocked(box: Toolbox) -> None:
    await box.call("web_search", {"query": "blocked"})
    result = await box.call("search_health")

    assert result.value["message"] == "0 of 1 search engines answer"
    assert result.value["data"]["providers"] == [
        {"provider": "duckduckgo", "ok": False, "code": "SEARCH_BLOCKED", "message": BLOCKED}
    ]


async def test_a_search_that_takes_an_hour_ends_when_its_caller_leaves(box: Toolbox) -> None:
    with anyio.move_on_after(0.2) as patience:
        await box.call("web_search", {"query": "slow"})

    assert patience.cancelled_caught
    assert urls_in(text_of(await box.call("web_search", {"query": "toolbox"})))


async def test_a_server_error_is_tried_again_and_a_block_is_not(box: Toolbox) -> None:
    quickly = ExecutionOptions(retry_delay=1)
    with structlog.testing.capture_logs() as entries:
        await box.call("web_search", {"query": "server error"}, quickly)
        tried = sum(entry["event"] == "Sending HTTP request" for entry in entries)
        await box.call("web_search", {"query": "blocked"}, quickly)
        blocked = sum(entry["event"] == "Sending HTTP request" for entry in entries) - tried

    assert (tried, blocked) == (3, 1)


@pytest.mark.parametrize("query", ["toolbox", "server error", "blocked", "nothing at all"])
async def test_what_was_searched_for_is_in_the_log_at_debug_only(box: Toolbox, query: str) -> None:
    with structlog.testing.capture_logs() as entries:
        await box.call("web_search", {"query": query}, ExecutionOptions(retry=0))

    shown = {entry["log_level"] for entry in entries if entry.get("query") == query}
    assert shown == {"debug"}
    assert not [entry for entry in entries if entry["log_level"] != "debug" and "query" in entry]
