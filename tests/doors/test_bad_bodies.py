"""Bad input over HTTP at /mcp, in both eras: a clear refusal, the right status, and the next call is served."""

import json

import pytest

from . import messages
from .asgi import Client, Visit

ERAS = pytest.mark.parametrize("modern", [False, True], ids=["2025", "2026"])


async def post(web: Client, body: bytes, *, modern: bool, **changes: str) -> Visit:
    """Send any bytes as a call of `echo`, in a session where the era has them."""
    headers = (
        messages.modern_headers("tools/call", "echo") if modern else messages.legacy_headers(await web.open_session())
    )
    return await web.request("POST", "/mcp", body=body, headers={**headers, **changes})


async def serves_on(web: Client, modern: bool) -> bool:
    answer = await post(web, call('{"text": "next"}', modern=modern), modern=modern)
    return bool(answer.response["result"]["content"][0]["text"] == "next")


def call(arguments: str, *, modern: bool, request_id: str = "5") -> bytes:
    meta = f', "_meta": {json.dumps(messages.envelope())}' if modern else ""
    params = f'{{"name": "echo", "arguments": {arguments}{meta}}}'
    return f'{{"jsonrpc": "2.0", "id": {request_id}, "method": "tools/call", "params": {params}}}'.encode()


NOT_JSON = [
    pytest.param(b"", id="nothing"),
    pytest.param(b"words", id="words"),
    pytest.param(b'{"jsonrpc":', id="half an object"),
    pytest.param(b"[" * 10_000 + b"]" * 10_000, id="bottomless"),
    pytest.param(b'{"jsonrpc": "2.0", "id": 1, "method": "\xff"}', id="not UTF-8"),
    pytest.param(b'{"jsonrpc": "2.0", "id": 1, "method": "\x01"}', id="control character"),
    pytest.param(b'{"jsonrpc": "2.0", "id": 1, "x": ' + b"9" * 5000 + b"}", id="endless number"),
]


@ERAS
@pytest.mark.parametrize("body", NOT_JSON)
async def test_a_body_that_is_no_json_is_a_parse_error(web: Client, body: bytes, modern: bool) -> None:
    visit = await post(web, body, modern=modern)

    assert (visit.status, visit.json["error"]["code"], visit.json["id"]) == (400, -32700, None)
    assert await serves_on(web, modern)


NOT_A_MESSAGE = [
    pytest.param(b'"words"', id="a string"),
    pytest.param(b"null", id="null"),
    pytest.param(b"[]", id="an empty batch"),
    pytest.param(b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', id="a batch"),
    pytest.param(b'{"jsonrpc": "2.0", "id": 1}', id="no method"),
    pytest.param(b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', id="JSON-RPC 1.0"),
    pytest.param(b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}', id="params as a list"),
    pytest.param(b'{"jsonrpc": "2.0", "id": 1, "error": {"code": "words", "message": "words"}}', id="a code of words"),
    pytest.param(b'{"jsonrpc": "2.0", "id": 1, "error": {"code": 1e400, "message": "words"}}', id="an endless code"),
    pytest.param(
        b'{"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": ["words"]}}', id="no message of an error"
    ),
    pytest.param(b'{"jsonrpc": "2.0", "error": {"code": 1, "message": "words"}}', id="an error for nobody"),
    pytest.param(b'{"jsonrpc": "2.0", "result": {"text": "words"}}', id="a result for nobody"),
]


@ERAS
@pytest.mark.parametrize("body", NOT_A_MESSAGE)
async def test_json_that_is_no_message_is_refused(web: Client, body: bytes, modern: bool) -> None:
    visit = await post(web, body, modern=modern)

    assert (visit.status, visit.json["id"]) == (400, None)
    assert visit.json["error"]["code"] == -32600
    assert b"words" not in visit.body
    assert await serves_on(web, modern)


@ERAS
@pytest.mark.parametrize("request_id", ["null", "true", "1.5", "{}", "[1]"])
async def test_a_request_with_an_odd_id_is_not_run(web: Client, request_id: str, modern: bool) -> None:
    visit = await post(web, call('{"text": "a"}', modern=modern, request_id=request_id), modern=modern)

    assert (visit.status, visit.json["error"]["code"]) == (400, -32600)
    assert b"content" not in visit.body


ODD_ARGUMENTS = [
    pytest.param('{"text": NaN}', "only JSON values are allowed", id="NaN"),
    pytest.param('{"text": Infinity}', "only JSON values are allowed", id="Infinity"),
    pytest.param('{"text": 1e999}', "only JSON values are allowed", id="beyond all numbers"),
    pytest.param('{"text": ' + "[" * 500 + "]" * 500 + "}", "nested too deeply", id="deep"),
    pytest.param('{"text": ' + "9" * 400 + "}", "expected string", id="huge number"),
    pytest.param('{"text": "a", "text": 1}', "expected string", id="the last of two keys counts"),
]


@ERAS
@pytest.mark.parametrize(("arguments", "sentence"), ODD_ARGUMENTS)
async def test_odd_arguments_get_a_validation_error(web: Client, arguments: str, sentence: str, modern: bool) -> None:
    visit = await post(web, call(arguments, modern=modern), modern=modern)
    result = visit.response["result"]

    assert visit.status == 200 and result["isError"] is True
    assert result["_meta"]["code"] == "VALIDATION_ERROR" and sentence in result["content"][0]["text"]
    assert await serves_on(web, modern)


@ERAS
async def test_half_a_character_is_refused(web: Client, modern: bool) -> None:
    visit = await post(web, call('{"text": "\\ud800"}', modern=modern), modern=modern)

    assert visit.response["result"]["_meta"]["code"] == "VALIDATION_ERROR"
    assert "text contains half a Unicode character" in visit.body.decode()
    assert await serves_on(web, modern)


@ERAS
async def test_five_megabytes_are_too_much(web: Client, modern: bool) -> None:
    visit = await post(web, call(json.dumps({"text": "x" * 5_000_000}), modern=modern), modern=modern)

    assert (visit.status, visit.json["code"]) == (413, "PAYLOAD_TOO_LARGE")
    assert await serves_on(web, modern)


@ERAS
@pytest.mark.parametrize("kind", ["text/plain", "", "application/x-www-form-urlencoded", "text/json", "application"])
async def test_another_content_type_is_refused(web: Client, kind: str, modern: bool) -> None:
    visit = await post(web, call('{"text": "a"}', modern=modern), modern=modern, **{"content-type": kind})

    assert (visit.status, visit.json["code"]) == (415, "UNSUPPORTED_MEDIA_TYPE")


@ERAS
@pytest.mark.parametrize("accept", ["application/json", "text/event-stream", "text/html", ""])
async def test_a_client_must_accept_json_and_streams(web: Client, accept: str, modern: bool) -> None:
    visit = await post(web, call('{"text": "a"}', modern=modern), modern=modern, accept=accept)

    assert visit.status == 406


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "TRACE", "BREW"])
async def test_another_method_is_refused_with_those_that_work(web: Client, method: str) -> None:
    visit = await web.request(method, "/mcp")

    assert (visit.status, visit.json["code"]) == (405, "METHOD_NOT_ALLOWED")
    assert visit.headers["allow"] == "DELETE, GET, POST"


async def test_a_session_that_nobody_opened_is_not_found(web: Client) -> None:
    body = messages.request("tools/call", messages.call("echo", {"text": "a"}, modern=False))
    unknown = await web.post("/mcp", body, messages.legacy_headers("nobody"))
    without = await web.post("/mcp", body, messages.legacy_headers())

    assert (unknown.status, unknown.json["error"]["message"]) == (404, "Session not found")
    assert without.status == 400 and "Missing session ID" in without.json["error"]["message"]


async def test_a_session_that_was_closed_is_gone(web: Client) -> None:
    session = await web.open_session()
    closed = await web.request("DELETE", "/mcp", headers=messages.legacy_headers(session))
    body = messages.request("tools/call", messages.call("echo", {"text": "a"}, modern=False))
    after = await web.post("/mcp", body, messages.legacy_headers(session))

    assert (closed.status, after.status) == (200, 404)


MISFITS = [
    pytest.param({"mcp-name": "big"}, id="another name"),
    pytest.param({"mcp-method": "tools/list"}, id="another method"),
    pytest.param({"mcp-protocol-version": "2099-01-01"}, id="a version to come"),
]


@pytest.mark.parametrize("changes", MISFITS)
async def test_modern_headers_must_fit_the_body(web: Client, changes: dict[str, str]) -> None:
    visit = await post(web, call('{"text": "a"}', modern=True), modern=True, **changes)

    assert (visit.status, visit.json["error"]["code"]) == (400, -32020)


async def test_an_unknown_method_has_the_status_of_its_era(web: Client) -> None:
    modern = await web.post(
        "/mcp", messages.request("no/such", {"_meta": messages.envelope()}), messages.modern_headers("no/such")
    )
    legacy = await web.post("/mcp", messages.request("no/such", {}), messages.legacy_headers(await web.open_session()))

    assert (modern.status, modern.response["error"]["code"]) == (404, -32601)
    assert (legacy.status, legacy.response["error"]["code"]) == (200, -32601)


async def test_the_name_of_an_unknown_method_is_cut(web: Client) -> None:
    body = messages.request("m" * 3_000_000, {})
    visit = await web.post("/mcp", body, messages.legacy_headers(await web.open_session()))

    assert (visit.status, visit.response["error"]["code"]) == (200, -32601)
    assert len(visit.body) < 500
