"""The short way leads past no user, forms go to those who see them, and the command line asks in its own way."""

from pathlib import Path
from typing import Any

import pytest

from dogubako.transports.http.app import HttpApp
from tests.doors.asgi import Client, Visit, opened
from tests.doors.processes import run, tool_words
from tests.doors.shell import at_a_terminal

from .sheds import SHED, shed_in
from .speaking import Speaker, outcome

FORESEEN = "Three rakes and a spade would be gone."
FORMS: dict[str, Any] = {"elicitation": {"form": {}}}


async def modern(web: Client, name: str, arguments: dict[str, Any], capabilities: Any, **more: Any) -> Visit:
    speaker = Speaker(web, {}, "2026", capabilities)
    return await speaker.ask("tools/call", {"name": name, "arguments": arguments, **more}, name)


def wipe(marker: Path, passed_on: bool) -> tuple[str, dict[str, Any]]:
    arguments = {"marker": str(marker), "confirm": True}
    return ("call_tool", {"name": "wipe", "arguments": arguments}) if passed_on else ("wipe", arguments)


@pytest.mark.parametrize("passed_on", [False, True], ids=["direct", "call_tool"])
@pytest.mark.parametrize(
    ("policy", "effect", "short"),
    [
        pytest.param("ask", "destroy", False, id="a user may have to be asked"),
        pytest.param("ask", "read", True, id="nothing to ask"),
        pytest.param("argument", "destroy", True, id="nobody is asked"),
    ],
)
async def test_a_call_takes_the_short_way_only_where_nobody_may_be_asked(
    tmp_path: Path, passed_on: bool, policy: str, effect: str, short: bool
) -> None:
    door = HttpApp(shed_in(tmp_path, confirm=policy))
    name, arguments = wipe(tmp_path / "marker", passed_on)
    if effect == "read":
        name, arguments = ("call_tool", {"name": "look", "arguments": {}}) if passed_on else ("look", {})
    async with opened(door) as web:
        await modern(web, name, arguments, FORMS)
        handshaking = await Speaker(web, {}, "2025", FORMS).open()
        await handshaking.call("look")

    assert door.mcp.fast_path.taken == 1 + short


@pytest.mark.parametrize("passed_on", [False, True], ids=["direct", "call_tool"])
async def test_a_modern_client_gets_the_question_and_comes_back_with_the_answer(
    tmp_path: Path, passed_on: bool
) -> None:
    marker = tmp_path / "marker"
    name, arguments = wipe(marker, passed_on)
    async with opened(HttpApp(shed_in(tmp_path))) as web:
        asked = (await modern(web, name, arguments, FORMS)).response["result"]
        assert not marker.exists()
        [(key, question)] = asked["inputRequests"].items()
        said = {key: {"action": "accept", "content": {"confirm": True}}}
        done = await modern(web, name, arguments, FORMS, inputResponses=said, requestState=asked["requestState"])

    assert asked["resultType"] == "input_required" and question["method"] == "elicitation/create"
    assert question["params"]["message"] == f"{FORESEEN} Go on?"
    assert question["params"]["requestedSchema"]["properties"]["confirm"]["default"] is False
    assert done.response["result"]["content"][0]["text"] == "empty" and marker.read_text() == "wiped"


@pytest.mark.parametrize("change", ["another marker", "another tool", "half a state"])
async def test_the_state_of_one_question_opens_nothing_else(tmp_path: Path, change: str) -> None:
    arguments: dict[str, Any] = {"marker": str(tmp_path / "marker")}
    async with opened(HttpApp(shed_in(tmp_path))) as web:
        asked = (await modern(web, "wipe", arguments, FORMS)).response["result"]
        state, name = asked["requestState"], "wipe"
        if change == "another marker":
            arguments = {"marker": str(tmp_path / "other")}
        elif change == "another tool":
            name, arguments = "call_tool", {"name": "wipe", "arguments": arguments}
        else:
            state = state[: len(state) // 2]
        answer = await modern(web, name, arguments, FORMS, requestState=state)

    assert "error" in answer.response and answer.response["error"]["code"] == -32602
    assert not (tmp_path / "marker").exists() and not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("capability", "asked"),
    [
        pytest.param({}, True, id="forms, as older clients say it"),
        pytest.param({"form": {}}, True, id="forms"),
        pytest.param({"form": {}, "url": {}}, True, id="forms and pages"),
        pytest.param({"url": {}}, False, id="pages only"),
    ],
)
async def test_a_client_that_shows_no_forms_is_not_asked(tmp_path: Path, capability: Any, asked: bool) -> None:
    marker = tmp_path / "marker"
    async with opened(HttpApp(shed_in(tmp_path))) as web:
        capabilities = {"elicitation": capability}
        first = (await modern(web, "wipe", {"marker": str(marker)}, capabilities)).response["result"]
        confirmed = await modern(web, "wipe", {"marker": str(marker), "confirm": True}, capabilities)

    assert (first["resultType"] == "input_required") is asked
    assert marker.exists() is not asked
    assert confirmed.status == 200


@pytest.mark.parametrize(
    ("name", "arguments", "settings", "code"),
    [
        pytest.param("destroy_nothing", {}, {}, "TOOL_NOT_FOUND", id="no such tool"),
        pytest.param("wipe", {"marker": 5}, {}, "VALIDATION_ERROR", id="wrong arguments"),
        pytest.param("wipe", {"marker": "m"}, {"read_only": True}, "READ_ONLY", id="read-only"),
    ],
)
async def test_nobody_is_asked_about_a_call_that_could_not_run(
    tmp_path: Path, name: str, arguments: dict[str, Any], settings: dict[str, Any], code: str
) -> None:
    async with opened(HttpApp(shed_in(tmp_path, **settings))) as web:
        answer = outcome((await modern(web, name, arguments, FORMS)).response)

    facts = answer["error"]["data"] if "error" in answer else answer["_meta"]
    assert facts["code"] == code
    assert "inputRequests" not in answer


TYPED = [
    pytest.param("y\n", True, id="y"),
    pytest.param("yes\n", True, id="yes"),
    pytest.param("n\n", False, id="n"),
    pytest.param("\n", False, id="return"),
    pytest.param("\x04", False, id="end of file"),
    pytest.param("perhaps\nn\n", False, id="perhaps, then n"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("typed", "runs"), TYPED)
def test_a_person_at_a_terminal_is_asked(tmp_path: Path, typed: str, runs: bool) -> None:
    marker = tmp_path / "marker"
    words = ["tools", "call", "wipe", f"marker={marker}", *tool_words(SHED)]
    screen = at_a_terminal(*words, folder=tmp_path, typed=typed)

    assert f"{FORESEEN} Go on?" in screen and "Traceback" not in screen
    assert marker.exists() is runs
    assert runs or "nothing was done" in screen


def test_a_person_who_confirmed_on_the_command_line_is_not_asked_again(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    words = ["tools", "call", "wipe", f"marker={marker}", "confirm=true", *tool_words(SHED)]
    screen = at_a_terminal(*words, folder=tmp_path)

    assert screen.strip() == "empty" and marker.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "policy", "code"),
    [
        pytest.param([], "ask", 1, id="asks nobody in a pipe"),
        pytest.param(["confirm=true"], "ask", 0, id="confirmed"),
        pytest.param(["confirm=true"], "argument", 0, id="confirmed where arguments decide"),
        pytest.param(["confirm=true"], "deny", 1, id="denied"),
    ],
)
def test_in_a_pipe_the_argument_decides(tmp_path: Path, words: list[str], policy: str, code: int) -> None:
    marker = tmp_path / "marker"
    called = run(
        *("tools", "call", "wipe", f"marker={marker}", *words, *tool_words(SHED)),
        folder=tmp_path,
        settings={"DOGUBAKO_CONFIRM": policy},
    )

    assert (called.returncode, marker.exists()) == (code, code == 0)
    assert code == 0 or policy == "deny" or FORESEEN in called.stderr
