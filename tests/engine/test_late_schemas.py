"""Schemas are derived when somebody looks at them, and a bad one is found before it can break the list."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field

from dogubako import Effect, tool
from dogubako.app import build
from dogubako.engine.pipeline import Pipeline
from dogubako.engine.registration import RegisterOptions, RegistrationError
from dogubako.engine.registry import ToolRegistry
from dogubako.output import Json
from dogubako.settings import Sources
from dogubako.tools import BaseTool, RawTool, ToolArgs

PROVEN = RegisterOptions(proven=True)


class GreetArgs(ToolArgs):
    name: str = Field(description="Whom to greet.")


class Greet(BaseTool[GreetArgs]):
    """Greet somebody."""

    name = "greet"
    effect = Effect.READ
    derived = 0

    def input_schema(self) -> dict[str, Any]:
        self.derived += 1
        return super().input_schema()

    async def execute(self, args: GreetArgs) -> str:
        return f"Hello, {args.name}!"


async def test_a_proven_tool_joins_before_its_schema_is_derived_and_shows_it_once_it_is_asked_for() -> None:
    registry, greet = ToolRegistry(), Greet()
    entry = registry.register(greet, PROVEN)
    registry.list()
    assert (entry.name, entry.metadata.effect, entry.enabled, greet.derived) == ("greet", Effect.READ, True, 0)

    Pipeline(registry)
    answer = await registry.execute("greet", {"name": "Hanako"})

    assert answer.value == "Hello, Hanako!"
    assert entry.definition["inputSchema"]["required"] == ["name"]
    assert [parameter.name for parameter in entry.metadata.parameters] == ["name"]
    assert greet.derived == 1


def test_a_tool_from_elsewhere_is_derived_at_once() -> None:
    greet = Greet()
    ToolRegistry().register(greet)

    assert greet.derived == 1


async def test_an_argument_model_is_built_for_the_first_call() -> None:
    class LookArgs(ToolArgs):
        id: str

    class Look(RawTool[LookArgs, str, None]):
        """Look at something."""

        name = "look"

        async def execute_core(self, args: LookArgs) -> str:
            return args.id

        def format_response(self, data: str, args: LookArgs, raw: bool) -> Json:
            return Json(data={"id": data, "raw": raw})

    registry = ToolRegistry()
    registry.register(Look(), PROVEN)
    Pipeline(registry)
    assert not LookArgs.__pydantic_complete__

    answer = await registry.execute("look", {"id": "17", "raw": True})

    assert answer.value["data"] == {"id": "17", "raw": True}
    assert Look.args_model is not None
    assert Look.args_model.__pydantic_complete__


class Endless(BaseModel):
    again: list["Endless"] = []


class Unheard:
    """A type that no schema describes."""


async def _endless(what: Endless) -> str:
    """Contain itself."""
    return ""


async def _unheard(what: Unheard) -> str:
    """Take anything."""
    return ""


async def _act(what: Callable[[], int]) -> str:
    """Take an act."""
    return ""


async def _half_a_pattern(what: str = Field(pattern="(")) -> str:
    """Look for half a pattern."""
    return ""


HOPELESS = [
    pytest.param(_endless, "Endless contains itself", id="no end"),
    pytest.param(_unheard, "Unable to generate pydantic-core schema", id="no model"),
    pytest.param(_act, "Cannot generate a JsonSchema", id="no JSON"),
    pytest.param(_half_a_pattern, "unclosed group", id="half a pattern"),
]


@pytest.mark.parametrize(("function", "reason"), HOPELESS)
def test_a_schema_that_cannot_be_derived_is_refused_in_one_line_and_the_others_are_listed(
    function: Callable[..., Any], reason: str
) -> None:
    registry = ToolRegistry()
    registry.register(Greet())

    with pytest.raises(RegistrationError, match=f'Tool "bad" has no schema: .*{reason}') as caught:
        registry.register(tool(name="bad")(function))

    assert "\n" not in str(caught.value)
    assert [entry.definition["name"] for entry in registry.list()] == ["greet"]


def made(**facts: Any) -> Greet:
    greet = Greet()
    for name, value in facts.items():
        setattr(greet, name, value)
    return greet


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        pytest.param(made(name=""), "Tool name is required", id="no name"),
        pytest.param(made(name="-bad"), "must start with a lowercase letter", id="a bad name"),
        pytest.param(made(name="bad", description=" "), "Tool description is required", id="no description"),
        pytest.param(made(name="bad", version="new"), "which is not like 1.0.0", id="a bad version"),
        pytest.param(made(), "is already registered", id="twice"),
        pytest.param(made(name="bad", dependencies=("bad",)), "Dependency cycle", id="a cycle"),
    ],
)
def test_a_proven_tool_must_still_be_what_every_tool_is(bad: Greet, reason: str) -> None:
    registry = ToolRegistry()
    registry.register(Greet(), PROVEN)

    with pytest.raises(RegistrationError, match=reason):
        registry.register(bad, PROVEN)


def derives_nothing(model: type[BaseModel]) -> dict[str, Any]:
    raise ValueError(f"nobody should look at {model.__name__} yet")


def test_the_toolbox_opens_without_deriving_a_schema_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dogubako.contract.tool.schema_of", derives_nothing)

    box = build(Sources(environ={}, env_file=None))

    assert {"n8n", "web", "core"} <= {entry.category for entry in box.registry.list()}


def test_a_hopeless_tool_of_ones_own_stops_the_start(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from dogubako import tool\n\nclass Odd: ...\n\n"
        "@tool\nasync def bad(what: Odd) -> str:\n    'Take anything.'\n    return ''\n"
    )

    with pytest.raises(RegistrationError, match='Tool "bad" has no schema: '):
        build(Sources(overrides={"tools": (mine,)}, environ={}, env_file=None))
