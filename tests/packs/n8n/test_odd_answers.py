"""n8n that does not answer as its API should: each time one clear error with a hint, and the next call works."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import httpx2
import pytest

from dogubako import ExecutionOptions
from dogubako.sandbox.n8n.app import SANDBOX_KEY, starting_app
from tests.sandbox.n8n_client import body_of, workflow_id

from .wired import Answers, Bench, bench, box_on, told

DRAFT: Final = workflow_id("r-manual")
JSON: Final = {"content-type": "application/json"}
PAGE: Final = f"<!DOCTYPE html><html><title>Sign in</title><!-- {SANDBOX_KEY} --></html>"
AGAIN: Final = ExecutionOptions(retry=2, retry_delay=1)


def first(answer: httpx2.Response | Exception, method: str = "GET") -> Answers:
    """This to the first request with this method, and the sandbox's own answers to all others."""
    waiting = [answer]

    def answers(request: httpx2.Request) -> httpx2.Response | None:
        if request.method != method or not waiting:
            return None
        odd = waiting.pop()
        if isinstance(odd, Exception):
            raise odd
        return odd

    return answers


def refused(status: int, **headers: str) -> httpx2.Response:
    return httpx2.Response(status, json={"message": "not now"}, headers=headers)


async def works_again(bench: Bench) -> None:
    assert (await bench.data("get_workflow", id=DRAFT))["name"] == "R manual"


@pytest.mark.parametrize(
    ("answer", "reason", "hint", "retryable"),
    [
        pytest.param(
            httpx2.Response(200, html=PAGE), "n8n answered with a page instead of data", "N8N_URL", False, id="a page"
        ),
        pytest.param(
            httpx2.Response(500, html=PAGE), "n8n answered with status 500", "log", False, id="a page for a failure"
        ),
        pytest.param(
            httpx2.Response(200, text="n8n is starting up. Please wait"),
            "n8n is still starting up",
            "Try again in some seconds",
            True,
            id="starting up",
        ),
        pytest.param(
            httpx2.Response(200), "n8n's answer was empty or incomplete", "Try again", True, id="nothing at all"
        ),
        pytest.param(
            httpx2.Response(200, headers=JSON),
            "n8n's answer was empty or incomplete",
            "Try again",
            True,
            id="an empty body",
        ),
        pytest.param(
            httpx2.Response(200, content=b'{"id":"x","nod', headers=JSON),
            "n8n's answer was empty or incomplete",
            "Try again",
            True,
            id="a cut body",
        ),
        pytest.param(
            httpx2.Response(200, content=b'{"id":"\xff"}', headers=JSON),
            "n8n's answer was empty or incomplete",
            "Try again",
            True,
            id="bytes that are no text",
        ),
        pytest.param(
            httpx2.Response(200, content=b"[" * 100_000, headers=JSON),
            "n8n's answer was empty or incomplete",
            "Try again",
            True,
            id="nested without end",
        ),
        pytest.param(
            httpx2.Response(302, headers={"location": "https://login.example.com/"}),
            "n8n sent us to another page",
            "login page",
            False,
            id="a login page",
        ),
        pytest.param(refused(401), "not now", "N8N_API_KEY", False, id="wrong key"),
        pytest.param(refused(403), "not now", "scope", False, id="missing scope"),
        pytest.param(refused(429), "not now", "later", True, id="too many requests"),
        pytest.param(refused(502), "not now", "later", True, id="bad gateway"),
        pytest.param(httpx2.ConnectError("refused"), "n8n could not be reached", "N8N_URL", True, id="nobody listens"),
        pytest.param(httpx2.ReadTimeout("silence"), "n8n did not answer in time", "Try again", True, id="silence"),
        pytest.param(
            httpx2.RemoteProtocolError("eof"), "n8n broke off the connection", "Try again", True, id="broken off"
        ),
    ],
)
async def test_an_odd_answer_is_one_clear_error_and_the_next_call_works(
    tmp_path: Path, answer: httpx2.Response | Exception, reason: str, hint: str, retryable: bool
) -> None:
    async with bench(tmp_path, first(answer)) as n8n:
        result = await n8n.call("get_workflow", id=DRAFT)

        assert told(result) == ("API_ERROR", f"Failed to get workflow: {reason}")
        assert result.meta is not None
        assert hint in result.meta["hint"]
        assert result.meta["retryable"] is retryable
        assert not [private for private in (SANDBOX_KEY, "<", "errorId") if private in str(result.to_mcp())]
        await works_again(n8n)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        pytest.param("list_workflows", {}, id="list workflows"),
        pytest.param("get_workflow", {"id": DRAFT}, id="get workflow"),
        pytest.param("create_workflow", {"name": "New", "nodes": []}, id="create workflow"),
        pytest.param("set_workflow_tags", {"id": DRAFT, "tags": ["a"]}, id="set tags"),
        pytest.param("list_executions", {}, id="list executions"),
        pytest.param("get_execution", {"id": "3"}, id="get execution"),
        pytest.param("retry_execution", {"id": "3"}, id="retry execution"),
        pytest.param("list_tags", {}, id="list tags"),
    ],
)
async def test_json_of_another_shape_is_no_answer(tmp_path: Path, tool: str, arguments: dict[str, object]) -> None:
    async with bench(tmp_path) as n8n:
        for body in ("null", "[]", "{}", "5", '"text"', '{"data":[1]}', '{"data":{}}', '{"nodes":7}'):
            answer = httpx2.Response(200, content=body.encode(), headers=JSON)
            n8n.wire.answers = lambda _, answer=answer: answer
            code, text = told(await n8n.call(tool, **arguments))
            assert (code, text.partition(": ")[2]) == ("API_ERROR", "n8n's answer was empty or incomplete"), body


async def test_while_n8n_starts_every_tool_says_so(tmp_path: Path) -> None:
    async with box_on(httpx2.ASGITransport(app=starting_app()), tmp_path).running() as box:
        for tool, arguments in {"list_workflows": {}, "get_execution": {"id": "3"}, "list_tags": {}}.items():
            result = await box.call(tool, arguments)
            assert told(result)[1].endswith(": n8n is still starting up")


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(lambda: refused(502), id="bad gateway"),
        pytest.param(lambda: refused(503), id="unavailable"),
        pytest.param(lambda: refused(429, **{"retry-after": "0"}), id="asked to wait"),
        pytest.param(lambda: httpx2.ConnectError("refused"), id="nobody listens"),
        pytest.param(lambda: httpx2.Response(200, text="n8n is starting up"), id="starting up"),
        pytest.param(lambda: httpx2.Response(200, headers=JSON), id="an empty body"),
    ],
)
async def test_passing_trouble_is_waited_out_when_reading(
    tmp_path: Path, trouble: Callable[[], httpx2.Response | Exception]
) -> None:
    async with bench(tmp_path, first(trouble())) as n8n:
        result = await n8n.call("get_workflow", AGAIN, id=DRAFT)

        assert result.code == "OK"
        assert len(n8n.wire.requests) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 409, 429, 500])
async def test_a_refusal_is_not_asked_again(tmp_path: Path, status: int) -> None:
    async with bench(tmp_path, first(refused(status))) as n8n:
        result = await n8n.call("get_workflow", AGAIN, id=DRAFT)

        assert told(result) == ("API_ERROR", "Failed to get workflow: not now")
        assert len(n8n.wire.requests) == 1


@pytest.mark.parametrize(
    ("tool", "arguments", "method"),
    [
        pytest.param("create_workflow", body_of("r-manual", name="New"), "POST", id="create"),
        pytest.param("delete_workflow", {"id": DRAFT, "confirm": True}, "DELETE", id="delete"),
        pytest.param("retry_execution", {"id": "3"}, "POST", id="retry"),
        pytest.param("delete_execution", {"id": "3", "confirm": True}, "DELETE", id="delete execution"),
        pytest.param("run_workflow", {"id": workflow_id("a-success-100")}, "POST", id="run"),
    ],
)
async def test_a_write_is_never_sent_twice(
    tmp_path: Path, tool: str, arguments: dict[str, object], method: str
) -> None:
    async with bench(tmp_path, first(httpx2.RemoteProtocolError("eof"), method)) as n8n:
        result = await n8n.call(tool, AGAIN, **arguments)

        assert told(result)[1].endswith("n8n broke off the connection")
        assert len(n8n.wire.sent(method)) == 1


async def test_how_long_to_wait_is_passed_on(tmp_path: Path) -> None:
    async with bench(tmp_path, first(refused(429, **{"retry-after": "7"}))) as n8n:
        result = await n8n.call("get_workflow", id=DRAFT)

    assert result.meta is not None
    assert (result.meta["retryAfter"], result.meta["retryable"]) == (7, True)


@pytest.mark.parametrize("said", ["Wed, 21 Oct 2026 07:28:00 GMT", "²", "-1", "soon", ""])
async def test_a_wait_that_is_no_number_of_seconds_is_left_out(tmp_path: Path, said: str) -> None:
    refusal = httpx2.Response(429, json={"message": "not now"}, headers=[(b"retry-after", said.encode("latin-1"))])
    async with bench(tmp_path, first(refusal)) as n8n:
        result = await n8n.call("get_workflow", id=DRAFT)

    assert told(result) == ("API_ERROR", "Failed to get workflow: not now")
    assert "retryAfter" not in (result.meta or {})


async def test_a_secret_in_the_reason_is_masked_and_a_long_reason_is_cut(tmp_path: Path) -> None:
    reason = f"{SANDBOX_KEY} is not allowed " + "x" * 10_000
    async with bench(tmp_path, first(httpx2.Response(403, json={"message": reason}))) as n8n:
        _, text = told(await n8n.call("get_workflow", id=DRAFT))

    assert text.startswith("Failed to get workflow: *** is not allowed xxx")
    assert len(text) < 600


async def test_an_answer_beyond_the_bound_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dogubako.outbound.http.MAX_ANSWER_BYTES", 6_000)
    async with bench(tmp_path, first(httpx2.Response(200, content=b" " * 6_001, headers=JSON))) as n8n:
        result = await n8n.call("get_workflow", id=DRAFT)

        assert told(result) == ("API_ERROR", "Failed to get workflow: n8n answered with more than 6,000 bytes")
        assert result.meta is not None
        assert result.meta["hint"]
        await works_again(n8n)
