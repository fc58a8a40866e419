"""n8n that does not answer as its API should: each time one clear error with a hint, and the next call works."""

import gzip
from pathlib import Path
from typing import Final

import httpx2
import pytest

from dogubako.outbound.bounds import Bound
from dogubako_sandbox.n8n.app import SANDBOX_KEY, starting_app
from tests.large_answers import execution
from tests.sandbox.n8n_client import workflow_id

from .wired import Bench, Pieces, bench, box_on, first, told

DRAFT: Final = workflow_id("r-manual")
JSON: Final = {"content-type": "application/json"}
PAGE: Final = f"<!DOCTYPE html><html><title>Sign in</title><!-- {SANDBOX_KEY} --></html>"


def packed(content: bytes, encoding: str = "gzip") -> httpx2.Response:
    """A compressed answer, made in one piece so that nobody unpacks it before it is sent."""
    headers = {**JSON, "content-encoding": encoding}
    return httpx2.Response(200, headers=headers, stream=Pieces(gzip.compress(content)))


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
            packed(b"{}", "br"), "the answer of n8n was garbled", "Try again", False, id="packed in an unknown way"
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


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(httpx2.Response(200, content=b" " * 6_001, headers=JSON), id="as it comes"),
        pytest.param(packed(b" " * 1_000_000), id="once it is unpacked"),
    ],
)
async def test_an_answer_beyond_the_bound_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: httpx2.Response
) -> None:
    monkeypatch.setattr("dogubako.packs.n8n.api.workflows.LARGEST_WORKFLOW", Bound(most_bytes=6_000))
    async with bench(tmp_path, first(answer)) as n8n:
        result = await n8n.call("get_workflow", id=DRAFT)

        assert told(result) == ("API_ERROR", "Failed to get workflow: n8n answered with more than 6,000 bytes")
        assert result.meta is not None
        assert result.meta["hint"]
        await works_again(n8n)


def workflow_with(value: bytes, name: bytes = b"n") -> httpx2.Response:
    node = b'{"name":"a","type":"t","parameters":{"x":' + value + b"}}"
    body = b'{"id":"1","name":"' + name + b'","active":false,"nodes":[' + node + b'],"connections":{},"settings":{}}'
    return httpx2.Response(200, content=body, headers=JSON)


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        pytest.param(workflow_with(b"1", rb"cut \ud83d"), "cut \ufffd", id="half a character"),
        pytest.param(workflow_with(b"1", rb"\udc00 \ud83d\ude00"), "\ufffd \U0001f600", id="half and whole ones"),
        pytest.param(
            httpx2.Response(200, content=b"\xef\xbb\xbf" + workflow_with(b"1").content, headers=JSON),
            "n",
            id="a byte order mark",
        ),
    ],
)
async def test_what_can_be_read_is_read(tmp_path: Path, answer: httpx2.Response, name: str) -> None:
    async with bench(tmp_path, first(answer)) as n8n:
        assert (await n8n.data("get_workflow", id=DRAFT))["name"] == name


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        pytest.param(b"1e400", "n8n's answer has a number that is too large to be read", id="infinite"),
        pytest.param(b"9" * 4_301, "n8n answered with more than 100 digits in one number", id="4,301 digits"),
        pytest.param(b"0." + b"1" * 200, "n8n answered with more than 100 digits in one number", id="a long fraction"),
        pytest.param(
            b"[" + b",".join([b"9" * 30] * 20_001) + b"]",
            "n8n answered with more than 20,000 numbers of 20 digits or more",
            id="many long numbers",
        ),
    ],
)
async def test_a_number_that_nobody_can_read_is_named_and_no_reason_to_try_again(
    tmp_path: Path, value: bytes, reason: str
) -> None:
    async with bench(tmp_path, first(workflow_with(value))) as n8n:
        result = await n8n.call("get_workflow", id=DRAFT)

    assert told(result) == ("API_ERROR", f"Failed to get workflow: {reason}")
    assert result.meta is not None
    assert not result.meta.get("retryable")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        pytest.param(rb'"cut \ud83d"', "cut \ufffd", id="half a character"),
        pytest.param(b"1e400", "a number that is too large", id="a number"),
        pytest.param(b'", ' + b"9" * 5_000 + b'"', "9" * 50, id="digits in a text"),
    ],
)
async def test_an_item_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path, written: bytes, shown: str) -> None:
    item = f'{{"json":{{"id":1,"odd":{written.decode()}}}}}'
    body = execution(items=2, item=item)
    async with bench(tmp_path, first(httpx2.Response(200, content=body, headers=JSON))) as n8n:
        result = await n8n.call("get_execution_by_node", id="1", nodeName="N0")

    assert result.code == "OK", result.content
    assert shown in str(result.content)


async def test_a_cursor_that_is_far_too_long_is_the_fault_of_the_service(tmp_path: Path) -> None:
    answer = httpx2.Response(200, json={"data": [], "nextCursor": "c" * 20_000})
    async with bench(tmp_path, first(answer)) as n8n:
        result = await n8n.call("list_tags")

    reason = "n8n answered with a nextCursor of more than 4,096 characters"
    assert told(result) == ("API_ERROR", f"Failed to list tags: {reason}")
