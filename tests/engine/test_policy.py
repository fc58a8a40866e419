"""Disabled is disabled, read-only is read-only, and destruction wants a word."""

from typing import Any, ClassVar

import pytest

from dogubako import Effect, tool
from dogubako.contract.call import TRUSTED, Caller
from dogubako.contract.errors import AuthorizationError
from dogubako.engine.pipeline import Pipeline
from dogubako.engine.policy import Place, Policy
from dogubako.engine.registration import ToolRegistryEntry
from dogubako.engine.registry import ToolRegistry
from dogubako.tools import BaseTool, NoArgs, ToolArgs, ToolCall

from .boxes import box_of


@tool(effect=Effect.READ)
async def look() -> str:
    """Look."""
    return "seen"


@tool(effect=Effect.WRITE, idempotent=True)
async def write() -> str:
    """Write."""
    return "written"


class DropArgs(ToolArgs):
    name: str


class Drop(BaseTool[DropArgs]):
    """Drop a table."""

    name = "drop_table"
    effect = Effect.DESTROY
    dropped: ClassVar[list[str]] = []

    def consequence(self, args: DropArgs) -> str:
        return f"Table {args.name} and its 7 rows would be gone."

    async def execute(self, args: DropArgs) -> Any:
        self.dropped.append(args.name)
        return f"dropped {args.name}"


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        pytest.param("look", {}, "OK", id="a read runs"),
        pytest.param("write", {}, "READ_ONLY", id="a write does not, repeatable or not"),
        pytest.param("drop_table", {"name": "t", "confirm": True}, "READ_ONLY", id="a deletion least of all"),
    ],
)
async def test_a_read_only_server_only_reads(name: str, arguments: dict[str, Any], code: str) -> None:
    box = box_of(look, write, Drop, read_only=True)

    result = await box.call(name, arguments)

    assert result.code == code
    assert Drop.dropped == []
    if code == "READ_ONLY":
        assert result.content[0]["text"] == f"The server is read-only: {name} was not run."
        assert "DOGUBAKO_READ_ONLY=false" in result.content[1]["text"]


def test_a_read_only_server_lists_only_what_can_be_called() -> None:
    box = box_of(look, write, Drop, read_only=True)
    box.registry.disable("look")
    shown = [entry.name for entry in box.registry.list() if box.pipeline.policy.shows(entry, TRUSTED)]

    assert shown == []
    box.registry.enable("look")
    assert box.pipeline.policy.shows(box.registry.get("look"), TRUSTED)


async def test_a_disabled_tool_does_not_run() -> None:
    box = box_of(look)
    box.registry.disable("look")

    result = await box.call("look")

    assert [block["text"] for block in result.content] == [
        "Tool is disabled: look",
        "It was switched off; an administrator can enable it.",
    ]


async def test_a_destructive_call_says_what_it_would_do_before_it_does_it() -> None:
    Drop.dropped = []
    box = box_of(Drop)

    for arguments in ({"name": "users"}, {"name": "users", "confirm": False}):
        result = await box.call("drop_table", arguments)
        assert [block["text"] for block in result.content] == [
            "Table users and its 7 rows would be gone.",
            "Call again with confirm: true to go on.",
        ]
        assert (result.code, Drop.dropped) == ("CONFIRMATION_REQUIRED", [])

    assert (await box.call("drop_table", {"name": "users", "confirm": True})).value == "dropped users"


def test_the_word_that_confirms_is_in_the_schema() -> None:
    schema = Drop().to_definition()["inputSchema"]

    assert schema["properties"]["confirm"] == {
        "type": "boolean",
        "default": False,
        "description": "Set true to confirm; this cannot be undone.",
    }
    assert schema["required"] == ["name"]


async def test_a_word_of_the_wrong_type_confirms_nothing() -> None:
    result = await box_of(Drop).call("drop_table", {"name": "users", "confirm": "yes"})

    assert result.content[0]["text"] == "Invalid type for parameter confirm: expected boolean"


async def test_arguments_are_checked_before_anything_is_confirmed() -> None:
    result = await box_of(Drop).call("drop_table", {})

    assert result.content[0]["text"] == "Required parameter missing: name"


async def test_a_tool_that_destroys_nothing_knows_no_such_word() -> None:
    result = await box_of(write).call("write", {"confirm": True})

    assert result.content[0]["text"] == "Unknown parameter: confirm"


async def test_a_tool_that_has_the_word_among_its_own_arguments_hears_it_as_well() -> None:
    class Ship(BaseTool[NoArgs]):
        """Ship it."""

        name = "ship"
        effect = Effect.DESTROY

        class Args(ToolArgs):
            confirm: bool = False

        args_model = Args

        async def execute(self, args: Any) -> Any:
            return f"shipped, {args.confirm}"

    assert (await box_of(Ship).call("ship")).code == "CONFIRMATION_REQUIRED"
    assert (await box_of(Ship).call("ship", {"confirm": True})).value == "shipped, True"


async def test_another_policy_can_take_its_place() -> None:
    class OnlyHanako(Policy):
        async def check(self, entry: ToolRegistryEntry, call: ToolCall) -> Place:
            if call.caller.name != "Hanako":
                raise AuthorizationError(f"{call.caller.name} may not run {entry.name}.")
            return await super().check(entry, call)

    registry = ToolRegistry()
    registry.register(look)
    pipeline = Pipeline(registry, policy=OnlyHanako())

    assert (await pipeline.handle(ToolCall(name="look", caller=Caller(name="Hanako")))).value == "seen"
    assert (await pipeline.handle(ToolCall(name="look"))).content[0]["text"] == "anonymous may not run look."
