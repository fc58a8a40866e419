"""`@tool`, `@resource`, `@prompt`, `lifespan` and `Depends`, through the client that authors use in their tests."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel

from dogubako import Context, Depends, Effect, tool
from dogubako.errors import NotFoundError
from dogubako.output import Text
from dogubako.testing import client

from . import weather as module
from .weather import Weather, average, cities, forecast, plan_a_trip, report, stations, weather

FILE = Path(__file__).with_name("weather.py")


async def test_a_decorated_function_is_still_a_function() -> None:
    assert await weather("Kyoto") == Weather(city="Kyoto", degrees=20.0)
    assert cities("dawn") == ["Kyoto at dawn", "小樽 at dawn"]
    assert await forecast("Kyoto", 2) == "Kyoto in 2 days: fine"
    assert stations()[0].city == "Kyoto"
    assert plan_a_trip("Nara") == "Plan 2 days in Nara; look at the weather first."
    assert getattr(weather, "__name__") == "weather"  # noqa: B009 - no type checker knows it
    assert weather.__doc__ == "The weather of a city."


def test_a_decorated_function_tells_what_it_is() -> None:
    assert repr(average) == "<tool average() -> float effect=read>"


def test_an_effect_may_be_written_as_a_word() -> None:
    assert weather.effect is Effect.READ
    with pytest.raises(ValueError, match="reed"):
        tool(effect="reed")(lambda: None)  # type: ignore[call-overload]


async def test_a_model_becomes_output_schema_and_structured_content() -> None:
    async with client(FILE) as box:
        result = await box.call("measured", city="小樽")

    assert module.measured.to_definition()["outputSchema"] == {
        "type": "object",
        "properties": {"city": {"type": "string"}, "degreesCelsius": {"type": "number"}},
        "required": ["city", "degreesCelsius"],
    }
    assert result.structured == result.data == {"city": "小樽", "degreesCelsius": -3.0}
    assert result.to_mcp()["content"][0]["text"].startswith('{"success":true')


@pytest.mark.parametrize(
    ("made", "schema", "structured"),
    [
        pytest.param(average, {"type": "number"}, {"result": 9.25}, id="a number"),
        pytest.param(
            cities,
            {"type": "array", "items": {"type": "string"}},
            {"result": ["Kyoto at noon", "小樽 at noon"]},
            id="a list",
        ),
    ],
)
async def test_what_is_no_object_stands_under_result(made: Any, schema: Any, structured: Any) -> None:
    async with client(FILE) as box:
        result = await box.call(made.name)

    expected = {"type": "object", "properties": {"result": schema}, "required": ["result"]}
    assert made.to_definition()["outputSchema"] == expected
    assert result.structured == structured


class Forecast(BaseModel):
    city: str
    warning: str | None = None
    winds: dict[str, float | None] = {}


async def test_a_field_without_a_value_is_null_in_the_schema_too() -> None:
    @tool(effect="read")
    async def forecast(city: str) -> Forecast:
        """Tell the weather of tomorrow."""
        return Forecast(city=city, winds={"noon": None})

    async with client(forecast) as box:
        result = await box.call("forecast", city="小樽")

    assert result.structured == {"city": "小樽", "warning": None, "winds": {"noon": None}}
    assert forecast.to_definition()["outputSchema"]["properties"]["warning"] == {
        "anyOf": [{"type": "string"}, {"type": "null"}]
    }


class Tree(BaseModel):
    branches: list["Tree"] = []


@tool
async def text() -> str:
    """Text."""
    return ""


@tool
async def nothing() -> None:
    """Nothing."""


@tool
async def anything() -> dict[str, Any]:
    """Data of no known shape."""
    return {}


@tool
async def either() -> str | Weather:
    """Text, or data."""
    return ""


@tool
async def shown() -> Text:
    """A text."""
    return Text(text="")


@tool
async def several() -> list[Text]:
    """Several texts."""
    return []


@tool
async def endless() -> Tree:
    """A type that contains itself."""
    return Tree()


@tool(structured=False)
async def unwanted() -> Weather:
    """Data, without a promise."""
    return Weather(city="", degrees=0)


@pytest.mark.parametrize("made", [text, nothing, anything, either, shown, several, endless, unwanted, report])
def test_what_has_no_shape_promises_none(made: Any) -> None:
    assert "outputSchema" not in made.to_definition()


async def test_a_lifespan_is_open_while_the_server_runs(tmp_path: Path) -> None:
    async with client(FILE) as box:
        shared = box.box.packs["weather"].client
        assert shared.open
        assert (await box.call("measured", city="Kyoto")).data["degreesCelsius"] == 21.5

    assert not shared.open


async def test_an_error_of_a_tool_has_its_code_and_hint() -> None:
    async with client(FILE) as box:
        result = await box.call("measured", city="Atlantis")

    assert isinstance(result.error, NotFoundError)
    assert result.text == "No weather of 'Atlantis'\ncities() has the names."


closed: list[str] = []


def opened() -> Iterator[str]:
    closed.clear()
    yield "here"
    closed.append("closed")


async def deeper(context: Context, inner: Annotated[str, Depends(opened)]) -> str:
    return f"{inner} for {context.caller.name}"


@tool(effect="read")
async def outer(word: str, value: Annotated[str, Depends(deeper)]) -> str:
    """Use a dependency of a dependency."""
    assert closed == []
    return f"{word} {value}"


async def test_a_dependency_is_closed_after_the_call() -> None:
    async with client(outer) as box:
        result = await box.call("outer", word="is")

    assert list(outer.metadata.input_schema["properties"]) == ["word"]
    assert result.text == "is here for anonymous"
    assert closed == ["closed"]


async def test_resources_and_prompts_of_a_file_are_served() -> None:
    async with client(FILE) as box:
        assert await box.read("weather://Kyoto/3") == "Kyoto in 3 days: fine"
        assert await box.read("weather://stations") == '[{"city":"Kyoto","degreesCelsius":21.5}]'
        assert await box.prompt("plan_a_trip", city="Nara") == ["Plan 2 days in Nara; look at the weather first."]
        with pytest.raises(NotFoundError, match="day"):
            await box.read("weather://Kyoto/soon")


@pytest.mark.parametrize("option", ["cacheable", "count", "page"])
def test_an_option_of_an_answer_is_refused_on_a_tool(option: str) -> None:
    with pytest.raises(TypeError, match=f"{option} belongs to an answer, not to a tool"):
        tool(**{option: True})  # type: ignore[call-overload]


async def test_a_question_is_answered_by_the_test() -> None:
    @tool(effect="destroy")
    async def drop(table: str, context: Context) -> str:
        """Drop a table."""
        answer = await context.ask("Why?")
        await context.progress(1, 1, "done")
        return f"{table}: {answer.content['answer']}"

    async with client(drop, reply=lambda question: {"answer": "old", "confirm": True}) as box:
        assert (await box.call("drop", table="notes")).text == "notes: old"
        assert box.progress == [(1, 1, "done")]
    async with client(drop, reply=lambda question: None) as box:
        assert (await box.call("drop", table="notes")).is_error
    async with client(drop) as box:
        assert (await box.call("drop", table="notes")).error.code == "CONFIRMATION_REQUIRED"  # type: ignore[union-attr]
