"""A question that led to a call helps the same caller again, and nobody else; it can be seen and removed."""

from pathlib import Path

import pytest

from dogubako.app import Toolbox, build
from dogubako.contract.call import CallEnd, Caller, ToolCall
from dogubako.contract.function_tool import tool
from dogubako.contract.metadata import Effect
from dogubako.engine.search.learning import LEARNED_FILE, LearnedPhrases, forget, read_phrases
from dogubako.settings import Sources

QUESTION = "is the coffee ready"
ANNA, BOB = (Caller(name=name, id=f"key-{name}", scopes=frozenset({"admin"})) for name in ("anna", "bob"))


@tool(effect=Effect.READ)
async def poll_boiler() -> str:
    """Report the state of the boiler."""
    return "hot"


@tool(effect=Effect.READ)
async def read_meter() -> str:
    """Report the state of the ready lamp."""
    return "12"


@tool(effect=Effect.READ)
async def broken_pump() -> str:
    """Report the state of the pump."""
    raise ValueError


def a_box(folder: Path, *, learning: bool = True) -> Toolbox:
    overrides = {"packs": (), "data_dir": folder, "learn_from_use": learning, "discovery": "search"}
    sources = Sources(overrides=overrides, environ={}, env_file=None)
    return build(sources, extra=[poll_boiler, read_meter, broken_pump])


async def first_found(box: Toolbox, caller: Caller, question: str = QUESTION) -> str:
    call = ToolCall(name="search_tools", parameters={"query": question}, caller=caller, door="http")
    result = await box.pipeline.handle(call)
    lines = [line for line in str(result.content[0]["text"]).splitlines() if "(" in line]
    return lines[0].partition("(")[0]


async def use(box: Toolbox, name: str, caller: Caller) -> None:
    arguments = {"name": name, "arguments": {}}
    await box.pipeline.handle(ToolCall(name="call_tool", parameters=arguments, caller=caller, door="http"))


async def test_a_question_that_led_to_a_call_finds_its_tool_again(tmp_path: Path) -> None:
    async with a_box(tmp_path).running() as box:
        assert await first_found(box, ANNA, "state of the boiler: is the coffee ready") != "read_meter"
        await use(box, "read_meter", ANNA)
        again = await first_found(box, ANNA, "is the coffee ready, state of the boiler")

    assert again == "read_meter"
    async with a_box(tmp_path).running() as box:
        assert await first_found(box, ANNA, "is the coffee ready, state of the boiler") == "read_meter"


async def test_what_one_caller_asked_helps_no_other(tmp_path: Path) -> None:
    async with a_box(tmp_path).running() as box:
        before = await first_found(box, BOB, "state of the boiler: is the coffee ready")
        await first_found(box, ANNA, "state of the boiler: is the coffee ready")
        await use(box, "read_meter", ANNA)

        assert await first_found(box, BOB, "state of the boiler: is the coffee ready") == before != "read_meter"


@pytest.mark.parametrize("case", ["it is off", "the call failed", "another tool", "nobody knows who asked"])
async def test_nothing_is_learned_where(case: str, tmp_path: Path) -> None:
    caller = Caller(scopes=frozenset({"admin"})) if case == "nobody knows who asked" else ANNA
    async with a_box(tmp_path, learning=case != "it is off").running() as box:
        await first_found(box, caller, "state of the pump")
        await use(
            box, {"the call failed": "broken_pump", "another tool": "describe_tool"}.get(case, "poll_boiler"), caller
        )

    assert read_phrases(tmp_path / LEARNED_FILE) == []


async def test_values_and_secrets_of_a_question_are_not_kept(tmp_path: Path) -> None:
    async with a_box(tmp_path).running() as box:
        await first_found(box, ANNA, "state of the boiler of anna@example.com in room 4711")
        await use(box, "poll_boiler", ANNA)

    kept = (tmp_path / LEARNED_FILE).read_text(encoding="utf-8")
    assert "boiler" in kept and "anna@" not in kept and "4711" not in kept
    assert (tmp_path / LEARNED_FILE).stat().st_mode & 0o077 == 0


def test_a_call_long_after_a_search_is_not_learned_from(tmp_path: Path) -> None:
    now = 0.0
    learned = LearnedPhrases(tmp_path, lambda text: text, lambda: now)
    learned.searched(ANNA.identity, QUESTION, ["poll_boiler"])
    now = 3_600.0
    learned.ended(ToolCall(name="poll_boiler", caller=ANNA, door="http"), CallEnd(code="OK", milliseconds=1))

    assert learned.of(ANNA.identity) == []


async def test_what_was_forgotten_helps_no_longer(tmp_path: Path) -> None:
    async with a_box(tmp_path).running() as box:
        before = await first_found(box, ANNA, "state of the boiler: is the coffee ready")
        await use(box, "read_meter", ANNA)
        path = tmp_path / LEARNED_FILE

        assert forget(path, tools=["poll_boiler"]) == 0
        assert forget(path, callers=[ANNA.identity]) == 1
        assert read_phrases(path) == []
        assert await first_found(box, ANNA, "state of the boiler: is the coffee ready") == before


def test_a_file_that_was_tampered_with_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    (tmp_path / LEARNED_FILE).write_bytes(b'nonsense\n{"caller":"a","tool":"t","question":"q"}\n\xff\n')

    assert [one.tool for one in read_phrases(tmp_path / LEARNED_FILE)] == ["t"]
