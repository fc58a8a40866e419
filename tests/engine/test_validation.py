"""Wrong arguments: every wrong field is named at once, in the words of the contract."""

from datetime import date
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, HttpUrl

from dogubako import Effect, tool
from dogubako.contract.errors import ValidationError
from dogubako.engine.validation import ModelValidator, SchemaValidator
from dogubako.tools import ExecutionOptions, SchemaTool, ToolArgs, ToolCall

from .boxes import box_of


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


class Inner(BaseModel):
    size: int
    tags: list[str] = []


class Many(ToolArgs):
    text: str
    count: int = Field(5, ge=1, le=9)
    ratio: float = 0.5
    flag: bool = False
    items: list[int] = Field(default_factory=list)
    inner: Inner | None = None
    table: dict[str, Inner] = Field(default_factory=dict)
    either: int | str = 1
    pet: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None
    anyone: Cat | Dog | None = None
    pair: tuple[int, str] | None = None
    day: date | None = None
    url: HttpUrl | None = None
    way: Literal["up", "down"] = "up"
    code: str = Field("abc", pattern="^[a-z]+$", max_length=5)


@tool(effect=Effect.READ)
async def take(many: Many) -> str:
    """Take one argument with many fields."""
    return "taken"


CHECK = ModelValidator(Many)


def complaints(**arguments: Any) -> list[str]:
    with pytest.raises(ValidationError) as caught:
        CHECK.check({"text": "fine", **arguments})
    assert [detail["field"] for detail in caught.value.details] == [error.field for error in caught.value.errors]
    return [error.message for error in caught.value.errors]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param({"text": 5}, ["Invalid type for parameter text: expected string"], id="string"),
        pytest.param({"text": None}, ["Invalid type for parameter text: expected string"], id="null"),
        pytest.param({"count": "5"}, ["Invalid type for parameter count: expected integer"], id="text is no number"),
        pytest.param({"count": 5.5}, ["Invalid type for parameter count: expected integer"], id="half a number"),
        pytest.param({"count": True}, ["Invalid type for parameter count: expected integer"], id="true is no number"),
        pytest.param({"ratio": "x"}, ["Invalid type for parameter ratio: expected number"], id="number"),
        pytest.param({"flag": "yes"}, ["Invalid type for parameter flag: expected boolean"], id="boolean"),
        pytest.param({"items": "1,2"}, ["Invalid type for parameter items: expected array"], id="array"),
        pytest.param({"items": [1, "x"]}, ["Invalid type for parameter items.1: expected integer"], id="an item"),
        pytest.param({"inner": 5}, ["Invalid type for parameter inner: expected object"], id="object"),
        pytest.param({"inner": {}}, ["Required parameter missing: inner.size"], id="a field of a field"),
        pytest.param(
            {"inner": {"size": 1, "tags": ["a", 2]}},
            ["Invalid type for parameter inner.tags.1: expected string"],
            id="deep inside",
        ),
        pytest.param(
            {"table": {"first": {"size": "x"}}},
            ["Invalid type for parameter table.first.size: expected integer"],
            id="in a table",
        ),
        pytest.param({"either": {}}, ["Invalid type for parameter either: expected integer or string"], id="union"),
        pytest.param(
            {"either": []}, ["Invalid type for parameter either: expected integer or string"], id="union, list"
        ),
        pytest.param({"pet": {"kind": "cat"}}, ["Required parameter missing: pet.lives"], id="a chosen model"),
        pytest.param(
            {"pet": {"kind": "cat", "lives": "nine"}},
            ["Invalid type for parameter pet.lives: expected integer"],
            id="a field of a chosen model",
        ),
        pytest.param({"pair": [1]}, ["Required parameter missing: pair.1"], id="half a pair"),
        pytest.param({"pair": [1, 2]}, ["Invalid type for parameter pair.1: expected string"], id="a wrong half"),
        pytest.param(
            {"day": "tomorrow"}, ["Invalid value for parameter day: must be a string of format date"], id="no date"
        ),
        pytest.param({"day": 5}, ["Invalid type for parameter day: expected string"], id="a date is text"),
        pytest.param(
            {"url": "ftp://x"},
            ["Invalid value for parameter url: URL scheme should be 'http' or 'https'"],
            id="scheme",
        ),
        pytest.param(
            {"count": 10}, ["Invalid value for parameter count: input should be less than or equal to 9"], id="too much"
        ),
        pytest.param(
            {"code": "A"}, ["Invalid value for parameter code: string should match pattern '^[a-z]+$'"], id="pattern"
        ),
        pytest.param(
            {"way": "left"}, ["Invalid value for parameter way: input should be 'up' or 'down'"], id="not a choice"
        ),
        pytest.param({"cuont": 1}, ["Unknown parameter: cuont (did you mean count?)"], id="misspelt"),
        pytest.param({"zzz": 1}, ["Unknown parameter: zzz"], id="unknown"),
    ],
)
def test_each_mistake_has_its_sentence(arguments: dict[str, Any], expected: list[str]) -> None:
    assert complaints(**arguments) == expected


def test_all_wrong_fields_are_named_at_once() -> None:
    with pytest.raises(ValidationError) as caught:
        CHECK.check({"count": "x", "flag": 1, "zzz": 2, "inner": {"tags": 5}})

    assert caught.value.message == (
        "Required parameter missing: text; Invalid type for parameter count: expected integer; "
        "Invalid type for parameter flag: expected boolean; Required parameter missing: inner.size; "
        "Invalid type for parameter inner.tags: expected array; Unknown parameter: zzz"
    )
    assert [error.field for error in caught.value.errors] == [
        "text",
        "count",
        "flag",
        "inner.size",
        "inner.tags",
        "zzz",
    ]


def test_types_are_kept_for_the_log() -> None:
    with pytest.raises(ValidationError) as caught:
        CHECK.check({"text": None, "items": {}, "ratio": [], "flag": 5, "count": 1.5, "inner": "x", "either": True})

    received = {error.field: error.received_type for error in caught.value.errors}
    assert received == {
        "text": "null",
        "items": "object",
        "ratio": "array",
        "flag": "integer",
        "count": "number",
        "inner": "string",
        "either": "boolean",
    }


def test_a_flood_of_mistakes_is_cut_short() -> None:
    with pytest.raises(ValidationError) as caught:
        CHECK.check({"text": "x", "items": ["wrong"] * 5_000})

    assert len(caught.value.errors) == 20
    assert caught.value.hint == "4980 more fields are wrong too."


@pytest.mark.parametrize("arguments", [{"items": ["wrong"] * 9_000}, {f"name_{number}": 1 for number in range(9_000)}])
def test_a_flood_that_is_not_counted_to_its_end_shows_its_beginning(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as few:
        CHECK.check({"text": "x", **{key: arguments[key] for key in list(arguments)[:30]}})
    with pytest.raises(ValidationError) as many:
        CHECK.check({"text": "x", **arguments})

    assert [one.message for one in many.value.errors] == [one.message for one in few.value.errors]
    assert [one.received_type for one in many.value.errors] == [one.received_type for one in few.value.errors]
    assert many.value.hint == "Many more fields are wrong too."


def test_in_a_flood_no_tag_is_repeated() -> None:
    class Zoo(ToolArgs):
        pets: list[Annotated[Cat | Dog, Field(discriminator="kind")]]

    with pytest.raises(ValidationError) as caught:
        ModelValidator(Zoo).check({"pets": [{"kind": "secret word"}] * 6_000})

    assert caught.value.errors[0].message == "Invalid value for parameter pets.0: the value is not allowed"
    assert "secret" not in caught.value.message


def test_a_flood_of_names_is_cut_short_for_a_plain_schema_too() -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "additionalProperties": False}
    with pytest.raises(ValidationError) as caught:
        SchemaValidator(schema).check({f"name_{number}": 1 for number in range(3_000)})

    assert len(caught.value.errors) == 20
    assert caught.value.hint == "2980 more fields are wrong too."


def test_a_place_deep_inside_is_named_as_far_as_a_reader_can_follow() -> None:
    arguments: dict[str, Any] = {"last": 1}
    for _ in range(60):
        arguments = {"inner": arguments}
    with pytest.raises(ValidationError) as caught:
        SchemaValidator({"type": "object", "additionalProperties": {"$ref": "#"}}).check(arguments)

    (error,) = caught.value.errors
    assert error.field.startswith("inner.inner.inner.") and error.field.endswith("…")
    assert len(error.field) <= 301


def test_a_very_long_name_is_cut_in_message_and_details() -> None:
    (message,) = complaints(**{"k" * 10_000: 1})

    assert message == f"Unknown parameter: {'k' * 64}"
    assert len(complaints(table={"k" * 10_000: 5})[0]) < 150


def nested(depth: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param(float("nan"), "Invalid parameters: only JSON values are allowed (no NaN, no Infinity)", id="NaN"),
        pytest.param(float("inf"), "Invalid parameters: only JSON values are allowed (no NaN, no Infinity)", id="inf"),
        pytest.param(object(), "Invalid parameters: only JSON values are allowed (no NaN, no Infinity)", id="object"),
        pytest.param("\ud800", "Invalid parameters: text contains half a Unicode character", id="lone surrogate"),
        pytest.param({"\udfff": 1}, "Invalid parameters: text contains half a Unicode character", id="in a name"),
        pytest.param(nested(50_000), "Invalid parameters: nested too deeply", id="deep"),
    ],
)
@pytest.mark.parametrize("name", ["take", "foreign"])
async def test_what_json_cannot_say_does_not_reach_a_tool(name: str, value: Any, message: str) -> None:
    async def act(arguments: Any, context: Any) -> str:
        raise AssertionError("it was run")

    foreign = SchemaTool("foreign", "Takes anything.", {"type": "object"}, act)
    box = box_of(take, foreign)

    result = await box.call(name, {"many": value})

    assert (result.code, result.content[0]["text"]) == ("VALIDATION_ERROR", message)
    assert (await box.call("take", {"many": {"text": "x"}})).value == "taken", "the next call is served"


async def test_a_model_reads_no_deeper_than_its_parser() -> None:
    result = await box_of(take).call("take", {"many": nested(300)})

    assert result.content[0]["text"] == "Invalid parameters: nested too deeply"


async def test_parameters_that_are_no_object_are_refused() -> None:
    call = ToolCall(name="take", parameters=[1])  # type: ignore[arg-type]

    result = await box_of(take).pipeline.handle(call)

    assert result.content[0]["text"] == "Invalid type for parameter parameters: expected object"


def test_options_are_complained_about_by_their_own_names() -> None:
    with pytest.raises(ValidationError) as caught:
        ModelValidator(ExecutionOptions, prefix="options").check({"timeout": "x", "maxTokens": 1, "retires": 1})

    assert [error.field for error in caught.value.errors] == ["options.timeout", "options.maxTokens", "options.retires"]
