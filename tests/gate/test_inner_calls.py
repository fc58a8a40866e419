"""A tool does no more than it says, not even through other tools; and what it calls belongs to the call around it."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from dogubako import Effect, Pack
from dogubako.app import Toolbox, build
from dogubako.contract.call import TRUSTED, Caller, ToolCall
from dogubako.packs.core.pack import CORE
from dogubako.settings import Sources
from dogubako.tools import BaseTool, ToolArgs, ToolResult

from .sheds import recorded_in

EFFECTS = (Effect.READ, Effect.WRITE, Effect.DESTROY)
DONE: list[str] = []


class ErrandArgs(ToolArgs):
    then: list[str] = Field(default_factory=list)
    # Who passes this on says it as well.
    through: str = ""


class Errand(BaseTool[ErrandArgs]):
    """Does its own work, or has the rest of a chain done by the next tool."""

    async def execute(self, args: ErrandArgs) -> Any:
        if not args.then:
            DONE.append(self.name)
            return "done"
        name, arguments = _step(args)
        result: ToolResult = await self.context.tools.call(name, arguments)
        if result.error is not None:
            raise result.error
        return result.value


def _step(args: ErrandArgs) -> tuple[str, dict[str, Any]]:
    tool, *rest = args.then
    arguments: dict[str, Any] = {"then": rest} | ({"confirm": True} if tool == "destroy_it" else {})
    if args.through == "call_tool":
        return "call_tool", {"name": tool, "arguments": arguments}
    if args.through == "read_more":
        return "read_more", {"tool": tool, "arguments": arguments}
    return tool, arguments


class Look(Errand):
    """Look."""

    name = "read_it"
    effect = Effect.READ


class Write(Errand):
    """Write."""

    name = "write_it"
    effect = Effect.WRITE


class Destroy(Errand):
    """Destroy."""

    name = "destroy_it"
    effect = Effect.DESTROY


class ErrandPack(Pack):
    name = "errands"
    tools = (Look, Write, Destroy)


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    DONE.clear()


def box_in(folder: Path, **settings: Any) -> Toolbox:
    chosen = {"data_dir": folder, "audit": True, **settings}
    return build(Sources(overrides=chosen, environ={}, env_file=None), packs=[CORE, ErrandPack()])


async def run(box: Toolbox, *chain: str, through: str = "", caller: Caller = TRUSTED) -> ToolResult:
    first, *then = chain
    parameters: dict[str, Any] = {"then": then, "through": through}
    if first == "destroy_it":
        parameters["confirm"] = True
    return await box.pipeline.handle(ToolCall(name=first, parameters=parameters, caller=caller))


def _name(effect: Effect) -> str:
    return f"{effect.value}_it"


@pytest.mark.parametrize("inner", EFFECTS)
@pytest.mark.parametrize("outer", EFFECTS)
async def test_a_tool_may_call_what_does_no_more_than_itself(tmp_path: Path, outer: Effect, inner: Effect) -> None:
    box, allowed = box_in(tmp_path), EFFECTS.index(inner) <= EFFECTS.index(outer)
    result = await run(box, _name(outer), _name(inner))

    if allowed:
        assert (result.value, DONE) == ("done", [_name(inner)])
    else:
        assert (result.code, DONE) == ("AUTHORIZATION_ERROR", [])
        assert [block["text"] for block in result.content] == [
            f"{_name(outer)} is a tool that can {outer.value}; it must not call {_name(inner)}.",
            f"Its author has to declare the effect {inner.name}.",
        ]


@pytest.mark.parametrize(
    ("chain", "allowed"),
    [
        pytest.param(("write_it", "read_it", "write_it"), False, id="the one in the middle only reads"),
        pytest.param(("read_it", "read_it", "write_it"), False, id="both only read"),
        pytest.param(("destroy_it", "write_it", "destroy_it"), False, id="the one in the middle destroys nothing"),
        pytest.param(("destroy_it", "destroy_it", "write_it", "read_it"), True, id="less and less"),
    ],
)
async def test_each_tool_of_a_chain_answers_for_the_next(tmp_path: Path, chain: tuple[str, ...], allowed: bool) -> None:
    result = await run(box_in(tmp_path), *chain)

    assert (result.code == "OK", DONE) == (allowed, [chain[-1]] if allowed else [])


@pytest.mark.parametrize("through", ["call_tool", "read_more"])
@pytest.mark.parametrize("inner", ["write_it", "destroy_it"])
async def test_passing_a_call_on_is_no_way_round(tmp_path: Path, through: str, inner: str) -> None:
    result = await run(box_in(tmp_path), "read_it", inner, through=through)

    assert result.code in ("AUTHORIZATION_ERROR", "VALIDATION_ERROR")
    assert DONE == []


async def test_a_tool_can_read_on_in_the_answer_of_another(tmp_path: Path) -> None:
    result = await run(box_in(tmp_path), "read_it", "read_it", through="read_more")

    assert (result.code, DONE) == ("OK", ["read_it"])


async def test_an_inner_call_is_recorded_also_when_it_is_refused(tmp_path: Path) -> None:
    async with box_in(tmp_path).running() as box:
        await run(box, "read_it", "write_it")

    lines = recorded_in(tmp_path)
    assert [(line["tool"], line["code"], line.get("via")) for line in lines] == [
        ("write_it", "AUTHORIZATION_ERROR", "read_it"),
        ("read_it", "AUTHORIZATION_ERROR", None),
    ]


async def test_an_inner_call_needs_the_scope_of_its_caller(tmp_path: Path) -> None:
    caller = Caller(name="ann", scopes=frozenset({"tool:destroy_it"}))
    result = await run(box_in(tmp_path), "destroy_it", "write_it", caller=caller)

    assert (result.code, DONE) == ("AUTHORIZATION_ERROR", [])
    assert result.content[0]["text"] == "write_it needs the scope errands:write."


async def test_a_chain_takes_one_place_however_long_it_is(tmp_path: Path) -> None:
    caller = Caller(name="ann", scopes=frozenset({"admin"}))
    box = box_in(tmp_path, auth="keys", caller_concurrency=1)
    results = [await run(box, *["write_it"] * 6, caller=caller) for _ in range(3)]

    assert [result.code for result in results] == ["OK"] * 3
