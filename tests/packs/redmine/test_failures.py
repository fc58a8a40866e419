"""When Redmine stumbles or refuses: one clear sentence, a code, advice, and nothing private."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from dogubako.tools import ExecutionOptions, ToolResult
from tests.packs.n8n.sockets import Serve, Visitor, break_off, head, serving

from .made import answered
from .wired import KEYS, Answers, bench, box_on

AGAIN: Final = ExecutionOptions(retry=2, retry_delay=1)
JSON: Final = {"content-type": "application/json"}
TRACE: Final = "app/models/issue.rb:17:in `save'"
PAGE: Final = f"<html><body>NoMethodError {TRACE}</body></html>"
LATER: Final = "Try again later. If it stays so, Redmine's own log tells more."
LOOK_FIRST: Final = "Redmine may have done it all the same: look before you try again."
Trouble = httpx2.Response | Exception


def at(path: str, trouble: Callable[[], Trouble], method: str = "GET", times: int = 99) -> Answers:
    """This trouble at one place, so many times; the sandbox answers everything else."""
    left = [times]

    def answer(request: httpx2.Request) -> httpx2.Response | None:
        if (request.method, request.url.path.removesuffix(".json")) != (method, path) or left[0] == 0:
            return None
        left[0] -= 1
        odd = trouble()
        if isinstance(odd, Exception):
            raise odd
        return odd

    return answer


def told(result: ToolResult) -> tuple[str, str, bool]:
    """Message, hint and whether a retry makes sense, of a failure that gives nothing private away."""
    assert result.is_error and result.error is not None, result.content
    everything = json.dumps(result.to_mcp())
    assert not [one for one in (KEYS["admin"], "issue.rb", "Traceback", "httpx", "errorId") if one in everything]
    texts = [str(block["text"]) for block in result.content]
    assert result.code in ("API_ERROR", "NOT_FOUND")
    return texts[0], texts[1] if len(texts) > 1 else "", result.error.retryable


@pytest.mark.parametrize(
    ("trouble", "reason", "retryable"),
    [
        pytest.param(lambda: httpx2.ConnectError("refused"), "Redmine could not be reached", True, id="refused"),
        pytest.param(lambda: httpx2.ReadError("reset"), "Redmine broke off the connection", True, id="reset"),
        pytest.param(lambda: httpx2.RemoteProtocolError("eof"), "Redmine broke off the connection", True, id="eof"),
        pytest.param(lambda: httpx2.ConnectTimeout("slow"), "Redmine did not answer in time", True, id="no connection"),
        pytest.param(lambda: httpx2.ReadTimeout("slow"), "Redmine did not answer in time", True, id="no answer"),
        pytest.param(
            lambda: httpx2.Response(302, headers={"location": "https://login.example.test"}),
            "Redmine sent us to another page",
            False,
            id="a redirect",
        ),
    ],
)
@pytest.mark.parametrize("place", ["/users/current", "/issues"])
async def test_trouble_on_the_way_is_a_network_error(
    tmp_path: Path, trouble: Callable[[], Trouble], reason: str, retryable: bool, place: str
) -> None:
    async with bench(tmp_path, answers=at(place, trouble)) as redmine:
        message, hint, again = told(await redmine.call("list_issues"))

    assert (message, again) == (f"Network error: {reason}", retryable)
    assert hint


@pytest.mark.parametrize(
    ("trouble", "reason", "retryable"),
    [
        pytest.param(
            lambda: httpx2.Response(200, headers=JSON), "Redmine's answer was empty or incomplete", True, id="empty"
        ),
        pytest.param(
            lambda: httpx2.Response(200, headers=JSON, content=b'{"issues":[{"id":1'),
            "Redmine's answer was empty or incomplete",
            True,
            id="half of it",
        ),
        pytest.param(
            lambda: httpx2.Response(200, headers=JSON, content=b"[" * 100_000),
            "Redmine's answer was empty or incomplete",
            True,
            id="nested without end",
        ),
        pytest.param(
            lambda: answered(200, [1]), "Redmine's answer was empty or incomplete", True, id="a list of its own"
        ),
        pytest.param(
            lambda: httpx2.Response(200, html=PAGE), "Redmine answered with a page instead of data", False, id="a page"
        ),
        pytest.param(
            lambda: answered(200, {"message": "hello"}),
            "the answer is not one of Redmine's: it has no 'issues'",
            False,
            id="another service",
        ),
        pytest.param(
            lambda: answered(200, {"issues": None}),
            "the answer is not one of Redmine's: it has no 'issues'",
            False,
            id="nothing where a list should be",
        ),
        pytest.param(lambda: answered(400), "Redmine answered with status 400", False, id="400"),
        pytest.param(lambda: answered(406), "Redmine does not accept this kind of content", False, id="406"),
        pytest.param(lambda: answered(409), "somebody else has changed it in the meantime", False, id="409"),
        pytest.param(lambda: answered(412), "Redmine does not know the user to act for", False, id="412"),
        pytest.param(lambda: answered(413), "Redmine does not take requests of this size", False, id="413"),
        pytest.param(
            lambda: answered(422, {"errors": ["Subject cannot be blank", "Due date is invalid"]}),
            "Subject cannot be blank; Due date is invalid",
            False,
            id="422 with reasons",
        ),
        pytest.param(
            lambda: answered(422, {"errors": []}), "Redmine rejected it without a reason", False, id="422 with none"
        ),
        pytest.param(lambda: answered(422), "Redmine rejected it without a reason", False, id="422 empty"),
        pytest.param(
            lambda: answered(422, {"errors": {"subject": ["x"]}}),
            "Redmine rejected it without a reason",
            False,
            id="odd",
        ),
        pytest.param(lambda: answered(429), "Redmine answered with status 429", True, id="429"),
        pytest.param(
            lambda: httpx2.Response(500, html=PAGE), "Redmine answered with status 500", False, id="500 with its trace"
        ),
        pytest.param(lambda: httpx2.Response(502, html=PAGE), "Redmine answered with status 502", True, id="502"),
        pytest.param(lambda: answered(503, retry_after="7"), "Redmine answered with status 503", True, id="503"),
    ],
)
async def test_a_refusal_is_told_with_its_reason(
    tmp_path: Path, trouble: Callable[[], Trouble], reason: str, retryable: bool
) -> None:
    async with bench(tmp_path, answers=at("/issues", trouble)) as redmine:
        message, _, again = told(await redmine.call("list_issues"))

    assert (message, again) == (f"Failed to list issues: {reason}", retryable)


@pytest.mark.parametrize(
    ("status", "hint"),
    [
        pytest.param(401, "Check REDMINE_API_KEY", id="401"),
        pytest.param(403, "its project archived", id="403"),
        pytest.param(429, LATER, id="429"),
        pytest.param(500, LATER, id="500"),
        pytest.param(502, LATER, id="502"),
    ],
)
async def test_a_refusal_comes_with_advice(tmp_path: Path, status: int, hint: str) -> None:
    async with bench(tmp_path, answers=at("/issues/1", lambda: answered(status))) as redmine:
        assert hint in told(await redmine.call("show_issue", id=1))[1]


async def test_each_reason_is_a_detail_too(tmp_path: Path) -> None:
    refusal = answered(422, {"errors": ["Subject cannot be blank", "Due date is invalid", "", 7]})
    async with bench(tmp_path, answers=at("/issues/1", lambda: refusal, "PUT")) as redmine:
        result = await redmine.call("update_issue", id=1, notes="x")

    assert result.error is not None
    assert [one["message"] for one in result.error.details] == ["Subject cannot be blank", "Due date is invalid"]


async def test_a_reason_may_be_long_but_not_endless(tmp_path: Path) -> None:
    async with bench(tmp_path, answers=at("/issues", lambda: answered(422, {"errors": ["x" * 100_000]}))) as redmine:
        assert len(told(await redmine.call("list_issues"))[0]) < 1_000


async def test_what_is_not_there_is_named_with_the_way_to_find_it(tmp_path: Path) -> None:
    async with bench(tmp_path) as redmine:
        message, hint, again = told(await redmine.call("show_issue", id=99_999))

    assert (message, again) == ("Issue '99999' not found", False)
    assert "list_issues" in hint


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(lambda: answered(502), id="bad gateway"),
        pytest.param(lambda: answered(429, retry_after="0"), id="asked to wait"),
        pytest.param(lambda: httpx2.ConnectError("refused"), id="nobody listens"),
        pytest.param(lambda: httpx2.Response(200, headers=JSON), id="an empty answer"),
    ],
)
async def test_passing_trouble_is_waited_out_when_reading(tmp_path: Path, trouble: Callable[[], Trouble]) -> None:
    async with bench(tmp_path, answers=at("/issues/1", trouble, times=2)) as redmine:
        result = await redmine.box.call("show_issue", {"id": 1}, AGAIN)

        assert result.code == "OK", result.content
        assert redmine.wire.asked().count("GET /issues/1") == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422, 429, 500])
async def test_a_refusal_is_not_asked_again(tmp_path: Path, status: int) -> None:
    async with bench(tmp_path, answers=at("/issues/1", lambda: answered(status))) as redmine:
        told(await redmine.box.call("show_issue", {"id": 1}, AGAIN))

        assert redmine.wire.asked().count("GET /issues/1") == 1


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(lambda: answered(502), id="bad gateway"),
        pytest.param(lambda: httpx2.RemoteProtocolError("eof"), id="broken off"),
        pytest.param(lambda: httpx2.ReadTimeout("slow"), id="too slow"),
        pytest.param(lambda: httpx2.Response(201, headers=JSON, content=b'{"issue":{'), id="half an answer"),
    ],
)
@pytest.mark.parametrize(
    ("tool", "arguments", "method", "place"),
    [
        pytest.param("create_issue", {"project_id": "webshop", "subject": "New"}, "POST", "/issues", id="create"),
        pytest.param("update_issue", {"id": 1, "notes": "New"}, "PUT", "/issues/1", id="update"),
        pytest.param("delete_issue", {"id": 1, "confirm": True}, "DELETE", "/issues/1", id="delete"),
        pytest.param(
            "create_time_entry", {"issue_id": 1, "hours": 1, "activity_id": 9}, "POST", "/time_entries", id="log time"
        ),
    ],
)
async def test_a_write_is_sent_once_and_its_fate_is_not_guessed(
    tmp_path: Path, tool: str, arguments: dict[str, Any], method: str, place: str, trouble: Callable[[], Trouble]
) -> None:
    async with bench(tmp_path, answers=at(place, trouble, method)) as redmine:
        _, hint, again = told(await redmine.box.call(tool, arguments, AGAIN))

        assert redmine.wire.writes() == [f"{method} {place}"]
        assert (hint, again) == (LOOK_FIRST, False)


async def stop_in_the_middle(visitor: Visitor) -> None:
    """A chunk that never ends."""
    await visitor.say(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
    await visitor.say(b'40\r\n{"user":{"id":1')


async def say_nothing(visitor: Visitor) -> None:
    """Hangs up without a word."""


async def speak_another_language(visitor: Visitor) -> None:
    await visitor.say(b"SSH-2.0-OpenSSH_9.2\r\n")


async def answer_with_half(visitor: Visitor) -> None:
    body = b'{"user":{"id":1,"login":"ad'
    await visitor.say(head(len(body)) + body)


async def garble(visitor: Visitor) -> None:
    packed = head(5).replace(b"connection: close", b"content-encoding: gzip")
    await visitor.say(packed + b"\x1f\x8bxyz")


@pytest.mark.parametrize(
    ("serve", "message"),
    [
        pytest.param(break_off, "Network error: Redmine broke off the connection", id="less than promised"),
        pytest.param(stop_in_the_middle, "Network error: Redmine broke off the connection", id="half a chunk"),
        pytest.param(say_nothing, "Network error: Redmine broke off the connection", id="nothing"),
        pytest.param(garble, "Network error: the answer of Redmine was garbled", id="badly packed"),
        pytest.param(speak_another_language, "Network error: Redmine broke off the connection", id="no HTTP"),
        pytest.param(
            answer_with_half, "Failed to check the API key: Redmine's answer was empty or incomplete", id="half a text"
        ),
    ],
)
async def test_what_only_a_socket_can_do_is_told_too(tmp_path: Path, serve: Serve, message: str) -> None:
    async with serving(serve) as server:
        box = box_on(httpx2.AsyncHTTPTransport(), tmp_path, REDMINE_URL=f"http://127.0.0.1:{server.port}")
        async with box.running():
            assert told(await box.call("list_issues", {}))[0] == message


async def test_nobody_listening_is_told_as_such(tmp_path: Path) -> None:
    async with serving(say_nothing) as server:
        url = f"http://127.0.0.1:{server.port}"
    async with box_on(httpx2.AsyncHTTPTransport(), tmp_path, REDMINE_URL=url).running() as box:
        message, hint, again = told(await box.call("show_current_user", {}))

    assert (message, again) == ("Network error: Redmine could not be reached", True)
    assert hint == "Is Redmine running, and is REDMINE_URL its address?"
