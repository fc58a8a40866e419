"""A client at stdio sends anything: ids twice, storms of cancellations, half lines, and hangs up in the middle."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from dogubako.transports.mcp.protocol import MAX_BODY_BYTES
from tests.doors import messages
from tests.doors.pipe import Pipe
from tests.doors.processes import ROOT, WORKBENCH, Command, running, tool_words

from .conftest import Tally

pytestmark = pytest.mark.attack

_IDS: Final = 500
_CANCELLATIONS: Final = 1_000
ERAS = pytest.mark.parametrize("modern", [False, True], ids=["2025", "2026"])

# No line may end the server, and each but the notifications is answered with exactly one line.
_LINES: Final[dict[str, bytes]] = {
    "nothing but blanks": b" " * 100_000,
    "a megabyte of zeros": b"\x00" * 1_000_000,
    "half a character": b'{"jsonrpc":"2.0","id":1,"method":"\xe3\x81',
    "overlong UTF-8": b'{"jsonrpc":"2.0","id":1,"method":"\xc0\xaf"}',
    "surrogates in UTF-8": b'{"jsonrpc":"2.0","id":1,"method":"\xed\xa0\x80"}',
    "a lone surrogate as id": b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}',
    "UTF-16": '{"jsonrpc":"2.0","id":1,"method":"ping"}'.encode("utf-16"),
    "a byte order mark": b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}',
    "a batch of 5,000": b"[" + b",".join([b'{"jsonrpc":"2.0","id":1,"method":"ping"}'] * 5_000) + b"]",
    "deep parameters": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":'
    + b"[" * 50_000
    + b"]" * 50_000
    + b"}}",
    "an id of a megabyte": b'{"jsonrpc":"2.0","id":"' + b"i" * 1_000_000 + b'","method":"ping"}',
    "an id of 4,000 digits": b'{"jsonrpc":"2.0","id":' + b"9" * 4_000 + b',"method":"ping"}',
    "a method of a megabyte": b'{"jsonrpc":"2.0","id":1,"method":"' + b"m" * 1_000_000 + b'"}',
    "two of each field": b'{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"id":2,"method":"ping","method":"tools/call"}',
    "a response that nobody asked for": b'{"jsonrpc":"2.0","id":99,"result":{}}',
    "an error that nobody asked for": b'{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"x"}}',
    "a line beyond the limit": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"'
    + b"x" * (MAX_BODY_BYTES + 10)
    + b'"}}',
}


def _opened(command: Command, *, modern: bool) -> Pipe:
    pipe = Pipe(command, modern=modern)
    if modern:
        pipe.call("echo", {"text": "the first request decides the era"})
    else:
        pipe.open()
    return pipe


def _words(*more: str) -> list[str]:
    return ["stdio", *tool_words(WORKBENCH), "--sandbox", *more]


def _serves_on(pipe: Pipe) -> bool:
    answer = pipe.call("echo", {"text": "still here"})
    return bool(answer.get("result", {}).get("content") == [{"type": "text", "text": "still here"}])


def _check_output(command: Command, tally: Tally) -> None:
    """Stdout belongs to MCP: each line is one message."""
    for line in command.stdout.text().splitlines():
        message = json.loads(line)
        tally.check(isinstance(message, dict) and message.get("jsonrpc") == "2.0", f"a line on stdout: {line:.200}")


@ERAS
def test_hostile_lines(tmp_path: Path, tally: Tally, modern: bool) -> None:
    with running(*_words(), folder=tmp_path, settings={"PYTHONPATH": str(ROOT)}) as command:
        pipe = _opened(command, modern=modern)
        for what, line in _LINES.items():
            pipe.send(line + b"\n")
            tally.check(_serves_on(pipe), f"{what}: the next call was not answered")
            # The same line in two halves, and with the line end of another system.
            pipe.send(line[: len(line) // 2])
            pipe.send(line[len(line) // 2 :] + b"\r\n")
            tally.check(_serves_on(pipe), f"{what} in two halves: the next call was not answered")
        _check_output(command, tally)
        command.stdin.close()
        tally.check(command.wait() == 0, "the server did not end well")


@ERAS
def test_many_ids_and_cancellations(tmp_path: Path, tally: Tally, modern: bool) -> None:
    with running(*_words(), folder=tmp_path, settings={"PYTHONPATH": str(ROOT)}) as command:
        pipe = _opened(command, modern=modern)
        for number in range(_CANCELLATIONS):
            pipe.send(_cancellation(f"nobody {number}"))
        tally.check(_serves_on(pipe), "cancellations of unknown ids")
        called = [pipe.start_call("echo", {"text": str(number)}) for number in range(_IDS)]
        for number in called[::2]:
            pipe.send(_cancellation(number))
        tally.check(_serves_on(pipe), "calls and cancellations in turn")
        texts = _texts_by_id(command)
        for number, request_id in enumerate(called):
            answers = texts.get(request_id, [])
            cancelled = request_id in called[::2]
            tally.check(len(answers) == 1 or (cancelled and not answers), f"id {request_id}: {len(answers)} answers")
            tally.check(all(text in (str(number), None) for text in answers), f"id {request_id}: another's answer")
        _check_output(command, tally)


@ERAS
def test_one_id_for_many_calls(tmp_path: Path, tally: Tally, modern: bool) -> None:
    """An id that is under way is refused or answered: nothing is mixed up, and the server goes on."""
    with running(*_words(), folder=tmp_path, settings={"PYTHONPATH": str(ROOT)}) as command:
        pipe = _opened(command, modern=modern)
        start = command.stdout.count()
        for number in range(50):
            params = messages.call("echo", {"text": f"twin {number}"}, modern=modern)
            pipe.send(messages.request("tools/call", params, request_id="twin"))
        tally.check(_serves_on(pipe), "fifty calls of one id")
        answers = _texts_by_id(command, start).get("twin", [])
        tally.check(0 < len(answers) <= 50, f"fifty calls of one id: {len(answers)} answers")
        told = [text for text in answers if text is not None and text.startswith("twin ")]
        tally.check(len(told) == len(set(told)), "a call of a twin id was answered twice")


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(b"\n", id="between lines"),
        pytest.param(b'{"jsonrpc":"2.0","id":"last","meth', id="in a line"),
        pytest.param(b"\xe3\x81", id="in a character"),
        pytest.param(b'{"jsonrpc":"2.0","id":"last","method":"ping"}', id="before the end of a line"),
    ],
)
def test_a_client_that_hangs_up_in_the_middle(tmp_path: Path, tally: Tally, end: bytes) -> None:
    with running(*_words(), folder=tmp_path, settings={"PYTHONPATH": str(ROOT)}) as command:
        pipe = _opened(command, modern=False)
        called = [pipe.start_call("echo", {"text": str(number)}) for number in range(100)]
        pipe.send(end)
        command.stdin.close()
        tally.check(command.wait() == 0, f"{end!r}: the server did not end well")
        texts = _texts_by_id(command)
        for number, request_id in enumerate(called):
            tally.check(texts.get(request_id) == [str(number)], f"{end!r}: call {number} was not answered")
        tally.check("Traceback" not in command.log_file, f"{end!r}: a stack in the log")
        _check_output(command, tally)


def _cancellation(request_id: int | str) -> dict[str, Any]:
    return messages.notification("notifications/cancelled", {"requestId": request_id, "reason": "storm"})


def _texts_by_id(command: Command, start: int = 0) -> dict[Any, list[str | None]]:
    """The texts of all answers by their ids; None for an error."""
    found: dict[Any, list[str | None]] = {}
    for line in command.stdout.text().splitlines()[start:]:
        message = json.loads(line)
        if "method" not in message:
            content = message.get("result", {}).get("content") or [{}]
            found.setdefault(message.get("id"), []).append(content[0].get("text"))
    return found
