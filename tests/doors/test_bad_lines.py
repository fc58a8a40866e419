"""Bad input over stdio: whatever a line holds, it is answered, and so is the next one."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from . import messages
from .pipe import Pipe, speaking
from .processes import WORKBENCH


@pytest.fixture(scope="module", params=[False, True], ids=["2025", "2026"])
def pipe(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipe]:
    with speaking(WORKBENCH, folder=tmp_path_factory.mktemp("stdio"), modern=request.param) as pipe:
        if request.param:
            pipe.call("echo", {"text": "the first request decides the era"})
        else:
            pipe.open()
        yield pipe


def serves_on(pipe: Pipe) -> bool:
    return bool(pipe.call("echo", {"text": "next"})["result"]["content"] == [{"type": "text", "text": "next"}])


def written(pipe: Pipe, arguments: str, *, request_id: str = '"odd"', name: str = "echo") -> bytes:
    """A call whose arguments are written by hand, so that they can be wrong."""
    meta = f', "_meta": {json.dumps(messages.envelope())}' if pipe.modern else ""
    params = f'{{"name": "{name}", "arguments": {arguments}{meta}}}'
    return f'{{"jsonrpc": "2.0", "id": {request_id}, "method": "tools/call", "params": {params}}}\n'.encode()


def refused(pipe: Pipe, line: bytes) -> dict[str, Any]:
    """The answer to a line that has the id "odd"."""
    start = pipe.command.stdout.count()
    pipe.send(line)
    return pipe.response("odd", start=start)


NOT_JSON = [
    pytest.param(b"hello\n", id="words"),
    pytest.param(b'{"jsonrpc": "2.0", "id": 1\n', id="half an object"),
    pytest.param(b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": "\x01"}}\n', id="control character"),
    pytest.param(b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": "\xff"}}\n', id="not UTF-8"),
    pytest.param(b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "x": ' + b"9" * 5000 + b"}\n", id="endless number"),
    pytest.param(b"[" * 10_000 + b"]" * 10_000 + b"\n", id="bottomless list"),
    pytest.param(b'{"a":' * 10_000 + b"1" + b"}" * 10_000 + b"\n", id="bottomless object"),
    pytest.param(b"\x00\x01\x02\xfe\xff\n", id="binary"),
]


@pytest.mark.parametrize("line", NOT_JSON)
def test_a_line_that_is_no_json_is_a_parse_error(pipe: Pipe, line: bytes) -> None:
    answer = pipe.oddity(line)

    assert answer["error"] == {"code": -32700, "message": "Parse error"}
    assert serves_on(pipe)


NOT_A_MESSAGE = [
    pytest.param(b'"words"\n', "must be a JSON object", id="a string"),
    pytest.param(b"17\n", "must be a JSON object", id="a number"),
    pytest.param(b"null\n", "must be a JSON object", id="null"),
    pytest.param(b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]\n', "Batches are not supported", id="a batch"),
    pytest.param(b"[]\n", "Batches are not supported", id="an empty batch"),
    pytest.param(b'{"jsonrpc": "2.0", "id": null, "method": "ping"}\n', "must be a string or an integer", id="id null"),
    pytest.param(b'{"jsonrpc": "2.0", "id": true, "method": "ping"}\n', "must be a string or an integer", id="id true"),
    pytest.param(b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}\n', "must be a string or an integer", id="id 1.5"),
    pytest.param(b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}\n', "must be a string or an integer", id="id {}"),
    pytest.param(b'{"jsonrpc": "2.0", "id": 1}\n', "not a JSON-RPC message", id="no method"),
    pytest.param(b'{"jsonrpc": "2.0", "id": 1, "method": 5}\n', "not a JSON-RPC message", id="method 5"),
    pytest.param(b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}\n', "not a JSON-RPC message", id="JSON-RPC 1.0"),
    pytest.param(b'{"id": 1, "method": "ping"}\n', "not a JSON-RPC message", id="no version"),
    pytest.param(
        b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}\n', "not a JSON-RPC", id="params a list"
    ),
    pytest.param(
        b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}\n', "half a Unicode character", id="half a character"
    ),
]


@pytest.mark.parametrize(("line", "sentence"), NOT_A_MESSAGE)
def test_json_that_is_no_message_is_an_invalid_request(pipe: Pipe, line: bytes, sentence: str) -> None:
    answer = pipe.oddity(line)

    assert answer["error"]["code"] == -32600
    assert sentence in answer["error"]["message"]
    assert serves_on(pipe)


@pytest.mark.parametrize("size", [4_300_000, 5_000_000, 20_000_000])
def test_a_line_that_is_too_long_is_refused_whole(pipe: Pipe, size: int) -> None:
    answer = refused(pipe, written(pipe, json.dumps({"text": "x" * size})))

    assert answer["error"] == {"code": -32600, "message": "The message is larger than 4,194,304 bytes."}
    assert serves_on(pipe)


def test_the_id_of_a_refused_line_may_stand_at_its_end(pipe: Pipe) -> None:
    params = json.dumps({"name": "echo", "arguments": {"text": "x" * 9_000_000}})
    line = f'{{"method": "tools/call", "params": {params}, "id": "odd", "jsonrpc": "2.0"}}\n'

    assert "larger than" in refused(pipe, line.encode())["error"]["message"]


def test_a_message_of_too_many_values_is_refused_with_its_id(pipe: Pipe) -> None:
    deep = written(pipe, '{"text": ' + "[" * 50_000 + "]" * 50_000 + "}")

    assert "more than 10,000 values" in refused(pipe, deep)["error"]["message"]


def test_a_byte_order_mark_before_a_message_does_not_matter(pipe: Pipe) -> None:
    assert refused(pipe, b"\xef\xbb\xbf" + written(pipe, '{"text": "a"}'))["result"]["content"][0]["text"] == "a"


def test_the_name_of_an_unknown_method_is_cut(pipe: Pipe) -> None:
    params = json.dumps({"_meta": messages.envelope()} if pipe.modern else {})
    line = f'{{"jsonrpc": "2.0", "id": "odd", "method": "{"m" * 3_000_000}", "params": {params}}}\n'
    answer = refused(pipe, line.encode())

    assert answer["error"]["code"] == -32601
    assert len(json.dumps(answer)) < 500


def test_half_a_character_outside_of_arguments_is_refused_with_the_id(pipe: Pipe) -> None:
    line = b'{"jsonrpc": "2.0", "id": "odd", "method": "ping", "params": {"a": "\\ud83d"}}\n'

    assert "half a Unicode character" in refused(pipe, line)["error"]["message"]


ODD_ARGUMENTS = [
    pytest.param('{"text": "\\ud83d"}', "text contains half a Unicode character", id="half a character"),
    pytest.param('{"text": NaN}', "only JSON values are allowed (no NaN, no Infinity)", id="NaN"),
    pytest.param('{"text": -Infinity}', "only JSON values are allowed (no NaN, no Infinity)", id="Infinity"),
    pytest.param('{"text": 1e999}', "only JSON values are allowed (no NaN, no Infinity)", id="beyond all numbers"),
    pytest.param('{"text": ' + "9" * 400 + "}", "Invalid type for parameter text: expected string", id="huge number"),
    pytest.param('{"text": ' + "[" * 500 + "]" * 500 + "}", "Invalid parameters: nested too deeply", id="deep"),
    pytest.param('{"text": ' + "[" * 150 + "]" * 150 + "}", "parameter text: expected string", id="less deep"),
    pytest.param("null", "Required parameter missing: text", id="null"),
    pytest.param('{"text": "a", "text": 1}', "Invalid type for parameter text", id="the last of two keys counts"),
]


@pytest.mark.parametrize(("arguments", "sentence"), ODD_ARGUMENTS)
def test_odd_arguments_get_a_validation_error_with_their_id(pipe: Pipe, arguments: str, sentence: str) -> None:
    start = pipe.command.stdout.count()
    pipe.send(written(pipe, arguments))
    result = pipe.response("odd", start=start)["result"]

    assert result["isError"] is True and result["_meta"]["code"] == "VALIDATION_ERROR"
    assert sentence in result["content"][0]["text"]
    assert serves_on(pipe)


REFUSED = [
    pytest.param("no/such", {}, -32601, id="unknown method"),
    pytest.param("tools/call", {"arguments": {}}, -32602, id="no tool named"),
    pytest.param("tools/call", {"name": "echo", "arguments": [1]}, -32602, id="arguments as a list"),
    pytest.param("tools/call", {"name": 5, "arguments": {}}, -32602, id="a number for a name"),
    pytest.param("tools/call", {"name": "", "arguments": {}}, -32602, id="an empty name"),
    pytest.param("tools/call", {"name": "x" * 10_000, "arguments": {}}, -32602, id="an endless name"),
    pytest.param("resources/read", {"uri": "nowhere://x"}, -32602, id="unknown resource"),
    pytest.param("prompts/get", {"name": "nothing"}, -32602, id="unknown prompt"),
]


@pytest.mark.parametrize(("method", "params", "code"), REFUSED)
def test_a_request_that_makes_no_sense_is_refused_with_its_id(
    pipe: Pipe, method: str, params: dict[str, Any], code: int
) -> None:
    meta = {"_meta": messages.envelope()} if pipe.modern else {}
    answer = pipe.request(method, {**params, **meta})

    assert answer["error"]["code"] == code
    assert len(answer["error"]["message"]) < 500
    assert serves_on(pipe)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"\n", id="empty line"),
        pytest.param(b"   \t \r\n", id="blanks"),
        pytest.param(b'{"jsonrpc": "2.0", "method": "no/such"}\n', id="unknown notification"),
        pytest.param(b'{"jsonrpc": "2.0", "id": 999, "result": {}}\n', id="answer to nothing"),
        pytest.param(b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}}\n', id="cancels nothing"),
        pytest.param(
            b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}}\n', id="odd cancel"
        ),
    ],
)
def test_what_needs_no_answer_gets_none(pipe: Pipe, line: bytes) -> None:
    start = pipe.command.stdout.count()
    pipe.send(line)

    assert serves_on(pipe)
    assert pipe.command.stdout.count() == start + 1


def test_carriage_returns_and_spaces_around_a_message_do_not_matter(pipe: Pipe) -> None:
    start = pipe.command.stdout.count()
    pipe.send(b"  " + written(pipe, '{"text": "a"}')[:-1] + b" \r\n")

    assert pipe.response("odd", start=start)["result"]["content"][0]["text"] == "a"
