"""One line per call, whatever became of it; arguments by name and by hash, never by value."""

import re
from pathlib import Path
from typing import Any

import anyio
import pytest

from dogubako.contract.call import Caller, ToolCall
from dogubako.tools import ExecutionOptions
from tests.doors.processes import PATIENCE
from tests.doors.waiting import says

from .sheds import ALWAYS, recorded_in, shed_in


async def one_line(folder: Path, name: str, parameters: dict[str, Any], **settings: Any) -> dict[str, Any]:
    async with shed_in(folder, **settings).running() as box:
        await box.pipeline.handle(ToolCall(name=name, parameters=parameters, caller=Caller(name="ann", scopes=_ALL)))
    [line] = recorded_in(folder)
    return line


_ALL = frozenset({"admin"})


async def test_a_line_says_who_did_what_when_and_how_it_went(tmp_path: Path) -> None:
    line = await one_line(tmp_path, "look", {"text": "a"})

    assert line.keys() == ALWAYS
    assert (line["caller"], line["door"], line["tool"], line["code"]) == ("ann", "python", "look", "OK")
    assert line["arguments"] == ["text"]
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])
    assert re.fullmatch(r"[0-9a-f]{16}", line["hash"]) and re.fullmatch(r"[0-9a-f]{16}", line["callId"])
    assert 0 <= line["ms"] < 10_000


@pytest.mark.parametrize(
    ("name", "parameters", "settings", "code"),
    [
        pytest.param("nothing", {}, {}, "TOOL_NOT_FOUND", id="unknown tool"),
        pytest.param("look", {"text": 5}, {}, "VALIDATION_ERROR", id="wrong arguments"),
        pytest.param("put", {"text": "a"}, {"read_only": True}, "READ_ONLY", id="read-only"),
        pytest.param("wipe", {"marker": "m"}, {}, "CONFIRMATION_REQUIRED", id="not confirmed"),
        pytest.param("wipe", {"marker": "m", "confirm": True}, {"confirm": "deny"}, "READ_ONLY", id="denied"),
        pytest.param("stumble", {"foreseen": True}, {}, "NOT_FOUND", id="failed in its own words"),
        pytest.param("stumble", {"foreseen": False}, {}, "TOOL_EXECUTION_ERROR", id="failed without words"),
    ],
)
async def test_refused_and_failed_calls_are_recorded_with_their_code(
    tmp_path: Path, name: str, parameters: dict[str, Any], settings: dict[str, Any], code: str
) -> None:
    line = await one_line(tmp_path, name, parameters, **settings)

    assert (line["tool"], line["code"], line["arguments"]) == (name, code, sorted(parameters))


async def test_a_call_without_the_scope_is_recorded(tmp_path: Path) -> None:
    async with shed_in(tmp_path).running() as box:
        reader = Caller(name="bob", scopes=frozenset({"read"}))
        await box.pipeline.handle(ToolCall(name="put", parameters={"text": "a"}, caller=reader))

    assert [(one["caller"], one["code"]) for one in recorded_in(tmp_path)] == [("bob", "AUTHORIZATION_ERROR")]


async def test_a_call_that_takes_too_long_is_recorded(tmp_path: Path) -> None:
    async with shed_in(tmp_path).running() as box:
        await box.call("linger", {"marker": str(tmp_path / "marker")}, ExecutionOptions(timeout=50))

    [line] = recorded_in(tmp_path)
    assert line["code"] == "TIMEOUT" and line["ms"] >= 50


@pytest.mark.parametrize("name", ["linger", "call_tool"])
async def test_a_call_that_is_cancelled_is_recorded_once(tmp_path: Path, name: str) -> None:
    marker = tmp_path / "marker"
    arguments: dict[str, Any] = {"marker": str(marker)}
    if name == "call_tool":
        arguments = {"name": "linger", "arguments": arguments}
    async with shed_in(tmp_path).running() as box:
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(box.call, name, arguments)
                await says(marker, "started")
                tasks.cancel_scope.cancel()

    assert marker.read_text() == "cancelled"
    assert [(one["tool"], one["code"]) for one in recorded_in(tmp_path)] == [("linger", "CANCELLED")]


async def test_a_call_that_was_passed_on_is_recorded_as_the_other_one(tmp_path: Path) -> None:
    line = await one_line(tmp_path, "call_tool", {"name": "look", "arguments": {"text": "a"}})

    assert line.keys() == ALWAYS | {"via"}
    assert (line["tool"], line["via"], line["arguments"], line["code"]) == ("look", "call_tool", ["text"], "OK")


async def test_a_call_that_cannot_be_passed_on_is_recorded_too(tmp_path: Path) -> None:
    line = await one_line(tmp_path, "call_tool", {"name": "nothing", "arguments": {"text": "a"}})

    assert (line["tool"], line["via"], line["code"]) == ("nothing", "call_tool", "TOOL_NOT_FOUND")


async def test_what_a_tool_calls_by_itself_is_recorded_beside_it(tmp_path: Path) -> None:
    async with shed_in(tmp_path).running() as box:
        await box.call("send_handyman")

    lines = recorded_in(tmp_path)
    assert [(one["tool"], one.get("via")) for one in lines] == [("look", "send_handyman"), ("send_handyman", None)]


@pytest.mark.parametrize(
    "parameters",
    [
        pytest.param({"text": "c4nary"}, id="a value"),
        pytest.param({"text": 5, "depth": {"c4nary": ["c4nary"]}}, id="names and values inside"),
        pytest.param({"marker": "c4nary", "confirm": "c4nary"}, id="wrong types"),
    ],
)
async def test_no_value_of_an_argument_is_in_it(tmp_path: Path, parameters: dict[str, Any]) -> None:
    for name in ("look", "wipe", "nothing"):
        async with shed_in(tmp_path).running() as box:
            await box.call(name, parameters)

    assert len(recorded_in(tmp_path)) == 3
    assert "c4nary" not in (tmp_path / "audit.jsonl").read_text()


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        pytest.param({"text": "a"}, {"text": "a"}, True, id="the same"),
        pytest.param({"text": "a"}, {"text": "b"}, False, id="another value"),
        pytest.param(
            {"text": "a", "depth": {"x": 1, "y": 2}}, {"depth": {"y": 2, "x": 1}, "text": "a"}, True, id="another order"
        ),
        pytest.param({"text": "\ud800"}, {"text": "\ud801"}, False, id="half characters"),
        pytest.param({"text": float("nan")}, {"text": 1.0}, False, id="not a number"),
        pytest.param({"text": 2**200}, {"text": 2**200 + 1}, False, id="huge numbers"),
    ],
)
async def test_equal_arguments_have_equal_hashes(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any], equal: bool
) -> None:
    async with shed_in(tmp_path).running() as box:
        await box.call("look", first)
        await box.call("put", second)

    one, other = recorded_in(tmp_path)
    assert (one["hash"] == other["hash"]) is equal


async def test_another_folder_has_another_salt(tmp_path: Path) -> None:
    hashes = {(await one_line(tmp_path / name, "look", {"text": "a"}))["hash"] for name in ("one", "two")}

    assert len(hashes) == 2
    assert (tmp_path / "one" / "audit.salt").read_bytes() != (tmp_path / "two" / "audit.salt").read_bytes()


async def test_the_first_line_of_a_process_has_the_salt_of_the_folder(tmp_path: Path) -> None:
    for _ in range(2):
        async with shed_in(tmp_path).running() as box:
            await box.call("look", {"text": "a"})

    assert len({one["hash"] for one in recorded_in(tmp_path)}) == 1


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        pytest.param("look", {"half \ud800": 1}, id="half a character in an argument's name"),
        pytest.param("no \ud800 tool", {}, id="half a character in a tool's name"),
        pytest.param("n" * 1_000_000, {"p" * 1_000_000: 1}, id="endless names"),
        pytest.param("look", {f"name {number}": 1 for number in range(10_000)}, id="thousands of names"),
        pytest.param("new\nline", {'quote"\n': 1}, id="line breaks and quotes"),
    ],
)
async def test_odd_names_make_one_short_line(tmp_path: Path, name: str, parameters: dict[str, Any]) -> None:
    line = await one_line(tmp_path, name, parameters)

    assert line["code"] in ("TOOL_NOT_FOUND", "VALIDATION_ERROR")
    assert len(line["arguments"]) <= 50
    assert len((tmp_path / "audit.jsonl").read_bytes()) < 5_000


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        pytest.param({"audit": None, "auth": "off"}, False, id="everybody is anonymous"),
        pytest.param({"audit": None, "auth": "keys"}, True, id="callers have keys"),
        pytest.param({"audit": False, "auth": "keys"}, False, id="switched off"),
        pytest.param({"audit": True, "auth": "off"}, True, id="switched on"),
    ],
)
async def test_calls_are_recorded_as_soon_as_there_are_callers(
    tmp_path: Path, settings: dict[str, Any], kept: bool
) -> None:
    async with shed_in(tmp_path, **settings).running() as box:
        await box.call("look")

    assert (tmp_path / "audit.jsonl").exists() is kept


async def test_resources_and_prompts_are_recorded_with_their_pack(tmp_path: Path) -> None:
    async with shed_in(tmp_path).running() as box:
        await box.read("shed://stock")
        await box.render("tidy", {"how": "well"})
        for uri in ("shed://nothing", "else://where"):
            with pytest.raises(Exception, match="Resource not found"):
                await box.read(uri)

    lines = recorded_in(tmp_path)
    assert [(one["tool"], one.get("pack"), one["code"], one["arguments"]) for one in lines] == [
        ("resources/read", "shed", "OK", ["uri"]),
        ("prompts/get", "shed", "OK", ["how", "name"]),
        ("resources/read", None, "NOT_FOUND", ["uri"]),
        ("resources/read", None, "NOT_FOUND", ["uri"]),
    ]
