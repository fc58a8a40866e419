"""Tools that misbehave: whatever a tool does, its caller gets a clear answer and the next caller is served."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import httpx2
import pytest

from .answers import Answer
from .pipe import Pipe, speaking
from .processes import HERE, PATIENCE, serving
from .speakers import Kind, OverHttp, OverRest, OverStdio, Speaker

_ODD = HERE / "odd_tools.py"
_DOORS: tuple[Kind, ...] = ("rest", "http-2025", "http-2026", "stdio-2025")


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    with (
        serving(_ODD, folder=tmp_path_factory.mktemp("serve")) as server,
        httpx2.Client(base_url=server.url(), timeout=PATIENCE) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def pipe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipe]:
    with speaking(_ODD, folder=tmp_path_factory.mktemp("stdio")) as pipe:
        pipe.open()
        yield pipe


@pytest.fixture(scope="module", params=_DOORS)
def odd_door(request: pytest.FixtureRequest) -> Speaker:
    kind: Kind = request.param
    if kind == "stdio-2025":
        return OverStdio(kind, request.getfixturevalue("pipe"))
    client = request.getfixturevalue("web")
    return OverRest(client) if kind == "rest" else OverHttp(kind, client)


def serves_on(door: Speaker) -> bool:
    return bool(door.call("oddity", {"kind": "empty list"}).envelope["data"] == [])


EXPLOSIONS = ["SystemExit", "KeyboardInterrupt", "BaseException", "GeneratorExit", "CancelledError", "group"]
EXPLOSIONS += ["RecursionError", "MemoryError", "half a character", "no words"]
RUBBISH = ["object", "function", "lock", "circle", "depth", "mixed list", "complex"]


@pytest.mark.parametrize(("tool", "how"), [*product(["explode"], EXPLOSIONS), *product(["rubbish"], RUBBISH)])
def test_a_tool_that_breaks_the_rules_is_a_failed_call(odd_door: Speaker, tool: str, how: str) -> None:
    answer = odd_door.call(tool, {"how" if tool == "explode" else "kind": how})

    assert (answer.is_error, answer.code) == (True, "TOOL_EXECUTION_ERROR")
    assert answer.text == f"Tool execution failed: {tool}"
    assert answer.error_id and answer.facts["retryable"] is False
    assert serves_on(odd_door)


SAYABLE: list[Any] = [
    pytest.param("nothing", None, id="nothing"),
    pytest.param("nan", {"value": None, "much": None}, id="no number"),
    pytest.param("huge", {"value": 2**200}, id="a huge number"),
    pytest.param("surrogate key", {"\ufffd": "\ufffd"}, id="half a character in data"),
    pytest.param("bytes", {"value": "AP8="}, id="bytes"),
    pytest.param("set", {"value": [1]}, id="a set"),
    pytest.param("number keys", {"1": "one"}, id="numbers as keys"),
]


@pytest.mark.parametrize(("kind", "data"), SAYABLE)
def test_what_can_be_said_in_json_is_said(odd_door: Speaker, kind: str, data: Any) -> None:
    answer = odd_door.call("oddity", {"kind": kind})

    assert not answer.is_error
    assert answer.envelope["data"] == data


def test_half_a_character_in_a_text_is_replaced(odd_door: Speaker) -> None:
    assert odd_door.call("oddity", {"kind": "surrogate"}).text == "half \ufffd a character"


def _timed_out(answer: Answer) -> bool:
    assert answer.facts["retryable"] is True
    return (answer.code, answer.text) == ("TIMEOUT", "Execution timeout after 50ms")


def test_a_tool_that_blocks_its_thread_is_left_behind(odd_door: Speaker) -> None:
    assert _timed_out(odd_door.call("block", {"seconds": 300}, {"timeout": 50}))
    assert serves_on(odd_door)


@pytest.mark.parametrize("odd_door", ["rest", "stdio-2025"], indirect=True)
def test_a_tool_that_refuses_to_end_is_left_behind(odd_door: Speaker) -> None:
    assert _timed_out(odd_door.call("never_end", {}, {"timeout": 50}))
    assert serves_on(odd_door)


def test_what_a_tool_prints_does_not_disturb_the_protocol(pipe: Pipe) -> None:
    result = pipe.call("shout", {"words": "LOUD AND CLEAR"})["result"]

    assert result["content"][0]["text"] == "done"
    assert "LOUD AND CLEAR" not in pipe.command.stdout.text()
    assert pipe.command.stderr.first(lambda line: b"LOUD AND CLEAR" in line)
