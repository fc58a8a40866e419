"""No complaint repeats a received value, whoever wrote the check."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field, HttpUrl, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from dogubako import Context
from dogubako.contract.errors import ValidationError
from dogubako.engine.validation import ArgumentValidator, ModelValidator
from dogubako.engine.validation_messages import quotes
from dogubako.tools import SchemaTool, ToolArgs
from tests.hypothesis_profiles import examples

SECRET = "hunter2-s3cr3t"


def quoting(value: str) -> str:
    raise ValueError(f"{value!r} is not a colour")


def shouting(value: str) -> str:
    raise ValueError(f"{value.upper()} IS WRONG")


def picking(value: str) -> str:
    raise AssertionError(f"it ends in {value.rsplit('-', maxsplit=1)[-1]}")


def custom(value: str) -> str:
    raise PydanticCustomError("colour", "no colour {colour}", {"colour": value})


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Quoting(ToolArgs):
    plain: Annotated[str, AfterValidator(quoting)] = ""
    loud: Annotated[str, AfterValidator(shouting)] = ""
    part: Annotated[str, AfterValidator(picking)] = ""
    own: Annotated[str, AfterValidator(custom)] = ""
    listed: list[Annotated[str, AfterValidator(quoting)]] = Field(default_factory=list)
    number: int = Field(0, le=10)
    pet: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None
    way: Literal["up", "down"] = "up"
    address: HttpUrl | None = None
    code: str = Field("a", max_length=3, pattern="^[a-z]+$")
    password: str = ""
    again: str = ""

    @field_validator("again")
    @classmethod
    def _same(cls, value: str, info: ValidationInfo) -> str:
        if value != info.data.get("password"):
            raise ValueError(f"must be {info.data['password']}")
        return value

    @model_validator(mode="after")
    def _strong(self) -> "Quoting":
        if self.password:
            raise ValueError(f"{self.password} is weak")
        return self


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({"plain": SECRET}, "Invalid value for parameter plain: the value is not allowed", id="quoted"),
        pytest.param({"loud": SECRET}, "Invalid value for parameter loud: the value is not allowed", id="in capitals"),
        pytest.param({"part": SECRET}, "Invalid value for parameter part: the value is not allowed", id="a part"),
        pytest.param({"own": SECRET}, "Invalid value for parameter own: the value is not allowed", id="own error"),
        pytest.param({"listed": [SECRET]}, "Invalid value for parameter listed.0: the value is not allowed", id="item"),
        pytest.param({"plain": "red"}, "Invalid value for parameter plain: the value is not allowed", id="a word"),
        pytest.param({"plain": "7"}, "Invalid value for parameter plain: the value is not allowed", id="a digit"),
        pytest.param(
            {"password": SECRET}, "Invalid value for parameter parameters: the value is not allowed", id="of a model"
        ),
        pytest.param(
            {"password": SECRET, "again": "x"},
            "Invalid value for parameter again: the value is not allowed",
            id="of another field",
        ),
        pytest.param(
            {"pet": {"kind": SECRET}},
            "Invalid value for parameter pet: 'kind' should be one of 'cat', 'dog'",
            id="a tag",
        ),
        pytest.param(
            {"way": SECRET}, "Invalid value for parameter way: input should be 'up' or 'down'", id="not a choice"
        ),
        pytest.param(
            {"address": SECRET}, "Invalid value for parameter address: must be a string of format uri", id="no address"
        ),
        pytest.param(
            {"code": SECRET},
            "Invalid value for parameter code: string should have at most 3 characters",
            id="too long",
        ),
        pytest.param({"number": SECRET}, "Invalid type for parameter number: expected integer", id="mistyped"),
    ],
)
def test_a_model_does_not_repeat_what_it_got(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        ModelValidator(Quoting).check(arguments)

    assert caught.value.message == message
    assert SECRET not in repr((caught.value.errors, caught.value.log_fields, caught.value.hint))


def test_a_sentence_of_the_author_that_quotes_nothing_is_kept() -> None:
    class Between(ToolArgs):
        first: int
        last: int

        @model_validator(mode="after")
        def _order(self) -> "Between":
            if self.first > self.last:
                raise ValueError("last must not come before first")
            return self

    with pytest.raises(ValidationError, match="parameters: last must not come before first"):
        ModelValidator(Between).check({"first": 5, "last": 3})


SCHEMA = {
    "type": "object",
    "properties": {
        "number": {"type": "integer", "maximum": 10},
        "choice": {"enum": ["up", "down"]},
        "fixed": {"const": 5},
        "text": {"type": "string", "pattern": "^x$", "maxLength": 3},
        "either": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "unique": {"type": "array", "uniqueItems": True, "maxItems": 1},
        "names": {"type": "object", "propertyNames": {"pattern": "^[a-z]$"}},
        "closed": {"properties": {"a": {}, "b": {}}, "additionalProperties": False, "required": ["a", "b"]},
        "empty": {"type": "object", "additionalProperties": False},
        "needed": {},
        "not": {"not": {"type": "string"}},
    },
    "required": ["needed"],
    "additionalProperties": False,
}


async def act(arguments: Mapping[str, Any], context: Context[Any]) -> Any:
    return None


FOREIGN = ArgumentValidator(SchemaTool("foreign", "From elsewhere.", SCHEMA, act))


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        pytest.param({}, ["Required parameter missing: needed"], id="missing"),
        pytest.param(
            {"bad1": 1, "bad2": 2, "numbr": 3},
            [
                "Unknown parameter: bad1",
                "Unknown parameter: bad2",
                "Unknown parameter: numbr (did you mean number?)",
                "Required parameter missing: needed",
            ],
            id="every unknown one",
        ),
        pytest.param(
            {"number": SECRET, "needed": 1},
            ["Invalid type for parameter number: expected integer"],
            id="mistyped",
        ),
        pytest.param(
            {"closed": {"c": SECRET}},
            [
                "Unknown parameter: closed.c",
                "Required parameter missing: closed.a",
                "Required parameter missing: closed.b",
                "Required parameter missing: needed",
            ],
            id="nested",
        ),
        pytest.param(
            {"names": {SECRET: 1}},
            [
                "Invalid value for parameter names: a name in it is not allowed",
                "Required parameter missing: needed",
            ],
            id="a name that is a value",
        ),
        pytest.param(
            {"empty": {"x": SECRET}, "needed": 1},
            ["Invalid value for parameter empty: nothing is allowed here"],
            id="an object that takes nothing",
        ),
        pytest.param(
            {"number": 11},
            [
                "Invalid value for parameter number: the value is greater than the maximum of 10",
                "Required parameter missing: needed",
            ],
            id="too much",
        ),
    ],
)
def test_a_schema_does_not_repeat_what_it_got(arguments: dict[str, Any], messages: list[str]) -> None:
    with pytest.raises(ValidationError) as caught:
        FOREIGN.check(arguments)

    assert sorted(error.message for error in caught.value.errors) == sorted(messages)


async def test_a_foreign_tool_without_arguments_names_every_one_it_gets() -> None:
    closed = SchemaTool("closed", "Takes nothing.", {"type": "object", "additionalProperties": False}, act)

    with pytest.raises(ValidationError, match="Unknown parameter: a; Unknown parameter: b"):
        ArgumentValidator(closed).check({"a": 1, "b": 2})


@given(
    st.dictionaries(
        st.sampled_from(["number", "choice", "fixed", "text", "either", "unique", "not"]),
        st.one_of(st.just(SECRET), st.just([SECRET, SECRET]), st.just({"a": SECRET}), st.just({"a": {"b": [SECRET]}})),
        min_size=1,
    )
)
@settings(max_examples=examples(60))
def test_no_schema_keyword_repeats_a_value(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as caught:
        FOREIGN.check(arguments)

    assert SECRET not in repr((caught.value.message, caught.value.errors))


@pytest.mark.parametrize(
    ("sentence", "received", "expected"),
    [
        pytest.param("hunter2 is weak", {"a": ["hunter2"]}, True, id="deep inside"),
        pytest.param("42 is too much", [42], True, id="a number"),
        pytest.param("1.5 is too much", 1.5, True, id="a fraction"),
        pytest.param("it is true that none fits", [True, None], False, id="true and nothing are no secrets"),
        pytest.param("the end must come after the start", {"note": "we meet after lunch"}, False, id="a common word"),
        pytest.param("user Sazanami-Hanako is unknown", "mail to sazanami.hanako", True, id="a telling word"),
        pytest.param("must not be empty", "", False, id="nothing"),
        pytest.param("must not be empty", "!!!", False, id="no words"),
    ],
)
def test_what_counts_as_repeating(sentence: str, received: Any, expected: bool) -> None:
    assert quotes(sentence, received) is expected


@pytest.mark.parametrize(
    ("sentence", "received"),
    [
        pytest.param("a sentence " * 1_000, {"a": "b"}, id="a sentence without an end"),
        pytest.param("a sentence", {"a": "x" * 1_000_000}, id="a long text"),
        pytest.param("a sentence", {"a": [f"{number}-" for number in range(6_000)]}, id="many values"),
    ],
)
def test_what_is_too_much_to_be_looked_through_counts_as_quoted(sentence: str, received: Any) -> None:
    assert quotes(sentence, received)


def test_a_long_text_beside_it_does_not_take_the_author_s_sentence_away() -> None:
    assert not quotes("must be later than the beginning", {"due": 5, "text": "some words " * 10_000})
