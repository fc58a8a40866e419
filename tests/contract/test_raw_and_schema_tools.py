"""`RawTool` fetches once and shows two ways; `SchemaTool` takes its arguments as a plain schema says."""

from collections.abc import Mapping
from typing import Any

import pytest

from dogubako import Context, Effect
from dogubako.engine.pipeline import Pipeline
from dogubako.engine.registry import ToolRegistry
from dogubako.output import Json
from dogubako.tools import BaseTool, RawTool, SchemaTool, ToolArgs, ToolResult

SERVICE_SAID = {"id": "17", "status": "error", "data": {"everything": ["else"]}}


class GetRunArgs(ToolArgs):
    id: str


class GetRun(RawTool[GetRunArgs, dict[str, Any], None]):
    """Show one run."""

    name = "get_run"
    effect = Effect.READ
    fetched = 0

    async def execute_core(self, args: GetRunArgs) -> dict[str, Any]:
        type(self).fetched += 1
        return {**SERVICE_SAID, "id": args.id}

    def format_response(self, data: dict[str, Any], args: GetRunArgs, raw: bool) -> Json:
        return Json(data=data if raw else {"id": data["id"], "status": data["status"]})


class RawFlagArgs(ToolArgs):
    raw: bool = True


class AlwaysRaw(RawTool[RawFlagArgs, str, None]):
    """Its author has written the argument already."""

    name = "always_raw"

    async def execute_core(self, args: RawFlagArgs) -> str:
        return "data"

    def format_response(self, data: str, args: RawFlagArgs, raw: bool) -> Any:
        return {"raw": raw}


async def call(made: BaseTool[Any, Any], **arguments: Any) -> ToolResult:
    registry = ToolRegistry()
    registry.register(made)
    Pipeline(registry)
    return await registry.execute(made.name, arguments)


async def test_without_raw_the_view_is_small() -> None:
    assert (await call(GetRun(), id="17")).value["data"] == {"id": "17", "status": "error"}


async def test_with_raw_everything_is_shown_and_fetched_once() -> None:
    before = GetRun.fetched

    assert (await call(GetRun(), id="17", raw=True)).value["data"] == SERVICE_SAID
    assert GetRun.fetched == before + 1


def test_the_argument_raw_is_added_and_described() -> None:
    raw = GetRun().metadata.input_schema["properties"]["raw"]

    assert (raw["type"], raw["default"]) == ("boolean", False)
    assert raw["description"]
    assert list(GetRunArgs.model_fields) == ["id"], "the author's own model stays as it was"


async def test_an_argument_raw_of_the_author_is_kept() -> None:
    assert (await call(AlwaysRaw())).value["data"] == {"raw": True}


def test_a_raw_tool_of_a_raw_tool_has_the_argument_too() -> None:
    class GetRunAgain(GetRun):
        """Show it again."""

        name = "get_run_again"

    assert list(GetRunAgain().metadata.input_schema["properties"]) == ["id", "raw"]


SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


async def weather(arguments: Mapping[str, Any], context: Context[Any]) -> Any:
    return {"city": arguments["city"], "door": context.door}


async def test_a_schema_tool_acts_on_the_arguments_as_they_came() -> None:
    made = SchemaTool("get_weather", "Tell the weather.", SCHEMA, weather, title="Weather", tags=("sky",))

    result = await call(made, city="Kyoto")

    assert result.value["data"] == {"city": "Kyoto", "door": "python"}
    assert made.metadata.title == "Weather"
    assert made.metadata.tags == ("sky",)
    assert [parameter.name for parameter in made.metadata.parameters] == ["city"]


async def test_a_schema_tool_may_promise_its_output() -> None:
    output = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    made = SchemaTool("get_weather", "Tell the weather.", SCHEMA, weather, output_schema=output)

    assert made.to_definition()["outputSchema"] == output
    assert (await call(made, city="Kyoto")).structured == {"city": "Kyoto", "door": "python"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({}, "Required parameter missing: city", id="missing"),
        pytest.param({"city": 5}, "Invalid type for parameter city: expected string", id="mistyped"),
    ],
)
async def test_a_schema_tool_checks_its_arguments(arguments: dict[str, Any], message: str) -> None:
    result = await call(SchemaTool("get_weather", "Tell the weather.", SCHEMA, weather), **arguments)

    assert result.content[0]["text"] == message


async def test_a_destructive_schema_tool_wants_a_word_too_and_does_not_see_it() -> None:
    async def act(arguments: Mapping[str, Any], context: Context[Any]) -> Any:
        return dict(arguments)

    closed = {**SCHEMA, "additionalProperties": False}
    made = SchemaTool("delete_city", "Delete a city.", closed, act, effect=Effect.DESTROY)

    assert (await call(made, city="Atlantis")).code == "CONFIRMATION_REQUIRED"
    assert (await call(made, city="Atlantis", confirm=True)).value["data"] == {"city": "Atlantis"}
