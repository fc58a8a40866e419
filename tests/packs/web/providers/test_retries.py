"""What is asked again when an engine stumbles, and what never is."""

from collections.abc import Callable
from typing import Final

import httpx2
import pytest

from dogubako.tools import ExecutionOptions

from .wired import bench, in_turn, page, told
from .written import SHELL, challenge, empty_2026, html_page, result_page

SOON: Final = ExecutionOptions(retry_delay=1)
Trouble = Callable[[], httpx2.Response | Exception]
PASSING = [
    pytest.param(lambda: httpx2.ConnectError("refused"), id="nobody listens"),
    pytest.param(lambda: httpx2.ReadError("reset"), id="reset"),
    pytest.param(lambda: httpx2.RemoteProtocolError("gone"), id="hung up"),
    pytest.param(lambda: httpx2.ConnectTimeout("slow"), id="slow to connect"),
    pytest.param(lambda: httpx2.ReadTimeout("slow"), id="slow to answer"),
    pytest.param(lambda: httpx2.Response(502), id="502"),
    pytest.param(lambda: httpx2.Response(503), id="503"),
    pytest.param(lambda: httpx2.Response(504), id="504"),
]


@pytest.mark.parametrize("trouble", PASSING)
async def test_passing_trouble_is_tried_twice_more(trouble: Trouble) -> None:
    async with bench(in_turn(trouble(), trouble(), page(result_page([1], last=True)))) as web:
        result = await web.search(SOON)

        assert result.code == "OK"
        assert len(web.wire.requests) == 3


@pytest.mark.parametrize("trouble", PASSING)
async def test_lasting_trouble_is_told_after_the_third_time(trouble: Trouble) -> None:
    async with bench(in_turn(trouble())) as web:
        code, message = told(await web.search(SOON))

        assert (code, message) in {
            ("HTTP_ERROR", "Failed to fetch search results. Please try again later."),
            ("TIMEOUT", "Request timed out. Please try again."),
        }
        assert len(web.wire.requests) == 3


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        *(pytest.param(httpx2.Response(status), "HTTP_ERROR", id=str(status)) for status in (301, 400, 401, 404, 410)),
        pytest.param(httpx2.Response(500), "HTTP_ERROR", id="500"),
        pytest.param(httpx2.Response(403), "SEARCH_BLOCKED", id="403"),
        pytest.param(httpx2.Response(429, headers={"retry-after": "0"}), "SEARCH_BLOCKED", id="429"),
        pytest.param(page(challenge(), 202), "SEARCH_BLOCKED", id="challenge"),
        pytest.param(page(SHELL), "HTML_PARSE_ERROR", id="unknown page"),
    ],
)
async def test_a_refusal_is_never_asked_again(answer: httpx2.Response, code: str) -> None:
    async with bench(in_turn(answer)) as web:
        assert told(await web.search(SOON))[0] == code
        assert len(web.wire.requests) == 1


async def test_finding_nothing_is_not_asked_again() -> None:
    async with bench(in_turn(page(html_page(empty_2026())))) as web:
        assert not (await web.search(SOON)).is_error
        assert len(web.wire.requests) == 1


async def test_the_caller_may_do_without() -> None:
    async with bench(in_turn(httpx2.Response(502))) as web:
        await web.search(ExecutionOptions(retry=0))

        assert len(web.wire.requests) == 1


@pytest.mark.parametrize(
    ("answer", "code", "requests"),
    [
        pytest.param(httpx2.Response(503), "HTTP_ERROR", 3, id="passing"),
        pytest.param(httpx2.Response(404), "HTTP_ERROR", 1, id="refused"),
        pytest.param(httpx2.Response(200, text="<html>"), "JSON_PARSE_ERROR", 1, id="unreadable"),
    ],
)
async def test_instant_answers_follow_the_same_rules(answer: httpx2.Response, code: str, requests: int) -> None:
    async with bench(in_turn(answer)) as web:
        result = await web.box.call("instant_answer", {"query": "thing"}, SOON)

        assert told(result)[0] == code
        assert len(web.wire.requests) == requests


async def test_an_instant_answer_is_read_whatever_its_content_type() -> None:
    answer = httpx2.Response(
        200, text='{"AbstractText": "A thing."}', headers={"content-type": "application/x-javascript"}
    )
    async with bench(in_turn(answer)) as web:
        result = await web.box.call("instant_answer", {"query": " thing "})

        assert "A thing." in result.content[0]["text"]
        assert web.wire.questions() == [
            {"q": "thing", "format": "json", "no_html": "1", "skip_disambig": "1", "no_redirect": "1"}
        ]


async def test_no_instant_answer_is_not_an_error() -> None:
    async with bench(in_turn(httpx2.Response(200, json={"Heading": "", "meta": {"id": "just_another_test"}}))) as web:
        result = await web.box.call("instant_answer", {"query": "thing"})

        assert (result.is_error, result.content[0]["text"]) == (False, "No instant answer available for this query.")
