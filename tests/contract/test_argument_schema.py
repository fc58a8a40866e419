"""From a model to the JSON Schema that agents read: no `$ref`, nothing lost, nothing said twice."""

import json
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal

import jsonschema_rs
import pytest
from pydantic import BaseModel, Field

from dogubako.contract.schema import parameters_of, schema_of, type_name, with_confirmation
from dogubako.tools import ToolArgs


class Size(Enum):
    SMALL = "s"
    LARGE = "l"


class Inner(BaseModel):
    """One inner thing."""

    size: Size
    title: str = Field("none", description="A field of this name is not the keyword.")


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Everything(ToolArgs):
    """Not repeated in the schema: the tool has its own description."""

    code: str = Field(pattern="^[A-Z]{3}$", min_length=3, max_length=3, examples=["ABC"], description="A code.")
    count: int = Field(5, ge=1, le=10)
    ratio: float = Field(0.5, gt=0, lt=1)
    size: Size = Size.SMALL
    way: Literal["up", "down"] = "up"
    inner: Inner
    many: list[Inner] = Field(default_factory=list, max_length=3)
    named: dict[str, Inner] = Field(default_factory=dict)
    pet: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None
    maybe: str | None = None
    either: int | str | None = None
    nothing: str | None = Field(description="May be null, but must be said.")
    day: date | None = None
    book: dict[str, str] = Field({"title": "Momo"}, examples=[{"title": "Kokoro"}])


SCHEMA = schema_of(Everything)


def every_key(node: Any) -> set[str]:
    if isinstance(node, list):
        return set().union(*map(every_key, node)) if node else set()
    return set(node).union(*map(every_key, node.values())) if isinstance(node, dict) else set()


def test_there_is_no_reference_and_no_definition_in_it() -> None:
    assert not every_key(SCHEMA) & {"$ref", "$defs", "discriminator"}
    assert "description" not in SCHEMA


def test_it_is_a_valid_schema_of_2020_12() -> None:
    jsonschema_rs.Draft202012Validator(SCHEMA)
    assert jsonschema_rs.meta.is_valid({**SCHEMA, "$schema": "https://json-schema.org/draft/2020-12/schema"})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param(
            "code",
            {
                "type": "string",
                "pattern": "^[A-Z]{3}$",
                "minLength": 3,
                "maxLength": 3,
                "examples": ["ABC"],
                "description": "A code.",
            },
            id="pattern, lengths, examples",
        ),
        pytest.param("count", {"type": "integer", "minimum": 1, "maximum": 10, "default": 5}, id="bounds"),
        pytest.param(
            "ratio",
            {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "default": 0.5},
            id="open bounds",
        ),
        pytest.param("size", {"type": "string", "enum": ["s", "l"], "default": "s"}, id="enum class"),
        pytest.param("way", {"type": "string", "enum": ["up", "down"], "default": "up"}, id="literal"),
        pytest.param("maybe", {"type": "string"}, id="an optional string is a string"),
        pytest.param("either", {"anyOf": [{"type": "integer"}, {"type": "string"}]}, id="an optional union"),
        pytest.param(
            "nothing",
            {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "May be null, but must be said."},
            id="null without a default stays",
        ),
        pytest.param("day", {"type": "string", "format": "date"}, id="date"),
        pytest.param(
            "book",
            {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "default": {"title": "Momo"},
                "examples": [{"title": "Kokoro"}],
            },
            id="a title in data is data",
        ),
    ],
)
def test_what_the_model_says_is_in_the_schema(name: str, expected: dict[str, Any]) -> None:
    assert SCHEMA["properties"][name] == expected


def test_nested_models_stand_where_they_are_used() -> None:
    inner = {
        "type": "object",
        "description": "One inner thing.",
        "properties": {
            "size": {"type": "string", "enum": ["s", "l"]},
            "title": {
                "type": "string",
                "default": "none",
                "description": "A field of this name is not the keyword.",
            },
        },
        "required": ["size"],
    }

    assert SCHEMA["properties"]["inner"] == inner
    assert SCHEMA["properties"]["many"]["items"] == inner
    assert SCHEMA["properties"]["named"]["additionalProperties"] == inner


def test_a_choice_of_models_is_spelled_out() -> None:
    kinds = [member["properties"]["kind"]["const"] for member in SCHEMA["properties"]["pet"]["oneOf"]]

    assert kinds == ["cat", "dog"]


class Tree(BaseModel):
    branches: list["Tree"] = []


class Forest(ToolArgs):
    first: Tree


@pytest.mark.parametrize("model", [pytest.param(Tree, id="itself"), pytest.param(Forest, id="one of its fields")])
def test_a_model_that_contains_itself_is_refused(model: type[BaseModel]) -> None:
    with pytest.raises(ValueError, match="Tree contains itself"):
        schema_of(model)


def test_parameters_are_derived_from_the_schema() -> None:
    parameters = {parameter.name: parameter for parameter in parameters_of(SCHEMA)}

    code, count, size = parameters["code"], parameters["count"], parameters["size"]
    assert (code.type, code.required, code.pattern, code.examples) == ("string", True, "^[A-Z]{3}$", ("ABC",))
    assert (count.required, count.default, count.minimum, count.maximum) == (False, 5, 1, 10)
    assert (size.enum, size.default) == (("s", "l"), "s")
    assert parameters["either"].type == "integer or string"
    assert parameters["nothing"].type == "string or null"


@pytest.mark.parametrize(
    ("prop", "expected"),
    [
        pytest.param({}, "any", id="nothing said"),
        pytest.param({"type": ["string", "null"]}, "string or null", id="list of types"),
        pytest.param({"oneOf": [{"type": "object"}, {"type": "object"}]}, "object", id="alike members"),
        pytest.param({"anyOf": [True, {"type": "string"}]}, "string", id="a member that is no object"),
    ],
)
def test_a_type_is_named_in_words(prop: dict[str, Any], expected: str) -> None:
    assert type_name(prop) == expected


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"type": "object", "properties": []}, id="properties is a list"),
        pytest.param({"type": "object", "properties": {"a": 5}, "required": 7}, id="numbers everywhere"),
        pytest.param({"type": "object", "properties": {"a": {"enum": 1, "examples": "x"}}}, id="enum is a number"),
        pytest.param({"type": "object", "properties": {"a": {"type": [1]}}}, id="type is a number"),
    ],
)
def test_rubbish_from_elsewhere_can_be_looked_at(schema: dict[str, Any]) -> None:
    assert all(parameter.enum is None for parameter in parameters_of(schema))


def test_confirmation_is_added_to_a_copy() -> None:
    before = json.dumps(SCHEMA)

    confirmed = with_confirmation(SCHEMA)

    assert confirmed["properties"]["confirm"]["type"] == "boolean"
    assert confirmed["required"] == SCHEMA["required"]
    assert json.dumps(SCHEMA) == before
