"""A call that a tool makes is a call of its own: with its own id and version, and only what its tool may do and see."""

from pathlib import Path
from typing import Any

import pytest

from dogubako import Effect, tool
from dogubako.contract.call import Caller, ToolCall
from dogubako.tools import BaseTool, ToolArgs

from .guarded import guarded_box
from .sheds import recorded_in, shed_in


class GoBetween(BaseTool[ToolArgs]):
    """Says that it only passes on, and has something put into the shed."""

    name = "go_between"
    effect = Effect.DELEGATE

    async def execute(self, args: ToolArgs) -> Any:
        result = await self.context.tools.call("put", {"text": "a"})
        if result.error is not None:
            raise result.error
        return "put"


@tool(effect=Effect.READ, version="2.0.0")
async def newer() -> str:
    """Be of another version than the others."""
    return "newer"


async def test_a_call_within_a_call_has_an_id_of_its_own(tmp_path: Path) -> None:
    async with shed_in(tmp_path).running() as box:
        await box.call("send_handyman")

    ids = {line["tool"]: line["callId"] for line in recorded_in(tmp_path)}
    assert ids.keys() == {"look", "send_handyman"} and len(set(ids.values())) == 2


async def test_who_only_passes_on_does_nothing_but_read_by_itself(tmp_path: Path) -> None:
    async with shed_in(tmp_path, GoBetween()).running() as box:
        result = await box.call("go_between")

    assert result.code == "AUTHORIZATION_ERROR"
    assert {line["tool"]: line["code"] for line in recorded_in(tmp_path)}["put"] == "AUTHORIZATION_ERROR"


async def test_the_version_of_the_tool_that_passes_on_is_not_that_of_the_other(tmp_path: Path) -> None:
    async with shed_in(tmp_path, newer).running() as box:
        call = ToolCall(name="call_tool", version="1.0.0", parameters={"name": "newer", "arguments": {}})
        result = await box.pipeline.handle(call)

    assert (result.code, result.content[0]["text"]) == ("OK", "newer")


@pytest.mark.parametrize(("scope", "seen"), [("tool:echo", 9), ("redmine:read", 9), ("read", 11), ("admin", 16)])
async def test_a_search_in_vain_counts_only_what_the_caller_may_call(tmp_path: Path, scope: str, seen: int) -> None:
    caller = Caller(name="somebody", scopes=frozenset({scope}))
    async with guarded_box(tmp_path).running() as box:
        call = ToolCall(name="search_tools", parameters={"query": "zzzzqqqq"}, caller=caller)
        result = await box.pipeline.handle(call)

    named = {entry.name for entry in box.registry.list() if f"\n{entry.name}(" in result.content[0]["text"]}
    allowed = {entry.name for entry in box.registry.list() if box.pipeline.policy.forbidden(entry, caller) is None}
    assert result.content[0]["text"].startswith("Nothing here does that") and len(allowed) == seen
    assert named <= allowed
