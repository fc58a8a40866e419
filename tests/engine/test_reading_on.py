"""`read_more` is never run itself: the call that it names takes its place, in the answer and in the record."""

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from dogubako import Effect, tool
from dogubako.app import Toolbox
from dogubako.contract.tool import PassedOn, PassingTool
from dogubako.packs.core.pack import CORE
from dogubako.tools import NoArgs, ToolResult

from .boxes import box_of

TEXT = "one two three"


@tool(effect=Effect.READ)
async def recite(text: str = TEXT) -> str:
    """Say a text."""
    return text


@tool(effect=Effect.WRITE)
async def note(text: str = TEXT) -> str:
    """Write a text down."""
    return text


@tool(effect=Effect.DESTROY)
async def burn() -> str:
    """Burn a text."""
    return "gone"


def _box(folder: Path) -> Toolbox:
    return box_of(recite, note, burn, packs=[CORE], data_dir=folder, audit=True)


def _lines(folder: Path) -> list[tuple[str, str, str | None, list[str]]]:
    """The record: the tool, its outcome, what passed it on, and the names of its arguments."""
    text = (folder / "audit.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    return [(line["tool"], line["code"], line.get("via"), sorted(line["arguments"])) for line in lines]


def _read_on(name: str, offset: int = 0, /, **arguments: Any) -> dict[str, Any]:
    return {"tool": name, "arguments": arguments, "offset": offset}


async def _call(folder: Path, name: str, arguments: dict[str, Any]) -> ToolResult:
    async with _box(folder).running() as box:
        return await box.call(name, arguments)


@pytest.mark.parametrize("passed_on", [False, True], ids=["itself", "by call_tool"])
async def test_the_answer_and_the_record_are_those_of_the_tool_that_is_read_on(tmp_path: Path, passed_on: bool) -> None:
    arguments = _read_on("recite", 4, text=TEXT)
    call = ("call_tool", {"name": "read_more", "arguments": arguments}) if passed_on else ("read_more", arguments)
    result = await _call(tmp_path, *call)

    assert result.value == "two three"
    assert _lines(tmp_path) == [("recite", "OK", "read_more", ["text"])]


TOO_DEEP = [
    pytest.param("read_more", _read_on("read_more"), id="reading on in read_more"),
    pytest.param("read_more", _read_on("call_tool", name="recite"), id="reading on in call_tool"),
    pytest.param("call_tool", {"name": "call_tool", "arguments": {"name": "recite"}}, id="call_tool by itself"),
    pytest.param(
        "call_tool",
        {"name": "read_more", "arguments": _read_on("call_tool", name="recite")},
        id="call_tool, read_more, call_tool",
    ),
    pytest.param(
        "call_tool",
        {"name": "read_more", "arguments": _read_on("read_more", **_read_on("recite"))},
        id="call_tool, read_more, read_more",
    ),
    pytest.param(
        "call_tool",
        {"name": "call_tool", "arguments": {"name": "read_more", "arguments": _read_on("recite")}},
        id="call_tool, call_tool, read_more",
    ),
]


@pytest.mark.parametrize(("name", "arguments"), TOO_DEEP)
async def test_nothing_goes_round_in_circles(tmp_path: Path, name: str, arguments: dict[str, Any]) -> None:
    result = await _call(tmp_path, name, arguments)

    assert result.code == "VALIDATION_ERROR"
    assert result.content[0]["text"].startswith("Invalid value for parameter ")
    [(tool_, code, *_)] = _lines(tmp_path)
    assert (tool_ in ("read_more", "call_tool"), code) == (True, "VALIDATION_ERROR")


class Passing(PassingTool[NoArgs]):
    """Name another tool."""

    other: ClassVar[str]
    rounds: ClassVar[list[str]] = []

    def passed_on(self, args: NoArgs) -> PassedOn:
        self.rounds.append(self.name)
        assert len(self.rounds) < 10, "it goes round and round"
        return PassedOn(self.other, {})


class There(Passing):
    """Go there."""

    name = "there"
    other = "back"


class Back(Passing):
    """Go back."""

    name = "back"
    other = "there"


async def test_tools_of_others_that_pass_calls_on_cannot_pass_them_round_either() -> None:
    Passing.rounds.clear()
    result = await box_of(There, Back).call("there")

    expected = "Invalid value for parameter name: it passes calls on itself"
    assert (result.code, result.content[0]["text"]) == ("VALIDATION_ERROR", expected)


@pytest.mark.parametrize("name", ["note", "burn"])
@pytest.mark.parametrize("passed_on", [False, True], ids=["itself", "by call_tool"])
async def test_what_changes_something_is_not_run_again_to_read_on(tmp_path: Path, name: str, passed_on: bool) -> None:
    arguments = _read_on(name)
    call = ("call_tool", {"name": "read_more", "arguments": arguments}) if passed_on else ("read_more", arguments)
    result = await _call(tmp_path, *call)

    expected = "Invalid value for parameter tool: only a tool that reads can be read on"
    assert (result.code, result.content[0]["text"]) == ("VALIDATION_ERROR", expected)
    assert _lines(tmp_path) == [(name, "VALIDATION_ERROR", "read_more", [])]


@pytest.mark.parametrize("passed_on", [False, True], ids=["itself", "by call_tool"])
async def test_wrong_arguments_are_those_of_the_tool_that_is_read_on(tmp_path: Path, passed_on: bool) -> None:
    arguments = _read_on("recite", 4, text=5)
    call = ("call_tool", {"name": "read_more", "arguments": arguments}) if passed_on else ("read_more", arguments)
    result = await _call(tmp_path, *call)

    assert result.content[0]["text"] == "Invalid type for parameter text: expected string"
    assert "The arguments of recite:" in result.content[1]["text"]
    assert _lines(tmp_path) == [("recite", "VALIDATION_ERROR", "read_more", ["text"])]


async def test_a_tool_that_is_not_there_cannot_be_read_on(tmp_path: Path) -> None:
    result = await _call(tmp_path, "read_more", _read_on("recit"))

    assert (result.code, result.content[0]["text"]) == ("TOOL_NOT_FOUND", "Tool not found: recit")
    assert result.content[1]["text"] == "Did you mean recite?"
