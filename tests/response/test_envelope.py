"""The envelope of JSON tools: its exact form, its guidance, its languages, and what a promise of data adds."""

import dataclasses
from collections import UserDict
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import jsonschema_rs
import pytest
from pydantic import BaseModel, Field

from dogubako.contract.errors import AnswerTooLargeError
from dogubako.contract.redaction import Redactor
from dogubako.output import Guidance, Json, Markdown, Message, Mixed, NextPage, Xml, XmlElement, example_call
from dogubako.response.builder import ToolResponseBuilder
from dogubako.response.jsonable import encode, to_plain
from dogubako.response.tokens import count_tokens
from dogubako.testing import parse_call

SECRET = "S3CRET" * 12


def text_of(builder: ToolResponseBuilder, answer: Any) -> str:
    text: str = builder.success(answer).content[0]["text"]
    return text


def test_the_envelope_is_compact_and_in_this_order() -> None:
    output = Json(data={"id": "17", "name": "道具"}, message="Found")

    assert (
        text_of(ToolResponseBuilder(), output) == '{"success":true,"message":"Found","data":{"id":"17","name":"道具"}}'
    )


def test_guidance_stands_in_the_data() -> None:
    call = example_call("get_execution_by_node", id="17", nodeName="HTTP Request")
    output = Json(data={"id": "17"}, guidance=Guidance(message="One node in full.", example=call))

    assert text_of(ToolResponseBuilder(), output) == (
        '{"success":true,"message":"Done","data":{"id":"17","_guidance":{"message":"One node in full.",'
        "\"example\":\"get_execution_by_node(id: '17', nodeName: 'HTTP Request')\"}}}"
    )
    assert parse_call(call) == ("get_execution_by_node", {"id": "17", "nodeName": "HTTP Request"})


def test_guidance_needs_a_place_to_stand() -> None:
    output = Json(data=[1, 2], guidance=Guidance(message="x", example="y()"))

    with pytest.raises(TypeError, match="guidance needs data with named fields"):
        ToolResponseBuilder().success(output)


@pytest.mark.parametrize(
    ("language", "message"),
    [pytest.param("en", "Items made", id="English"), pytest.param("ja", "項目を作成しました", id="Japanese")],
)
def test_success_messages_speak_the_language_of_the_server(language: Any, message: str) -> None:
    output = Json(data=[], message=Message(en="Items made", ja="項目を作成しました"))

    assert f'"message":"{message}"' in text_of(ToolResponseBuilder(language=language), output)


def test_without_a_message_it_says_done() -> None:
    assert text_of(ToolResponseBuilder(), {"a": 1}) == '{"success":true,"message":"Done","data":{"a":1}}'
    assert '"message":"完了しました"' in text_of(ToolResponseBuilder(language="ja"), None)


class Colour(Enum):
    RED = "red"


class Model(BaseModel):
    when: datetime
    name: str = Field(serialization_alias="fullName")


@dataclasses.dataclass
class Record:
    number: int
    text: str


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param({"a": float("nan"), "b": float("inf")}, '{"a":null,"b":null}', id="numbers that are none"),
        pytest.param(2**80, str(2**80), id="a very large number"),
        pytest.param(b"\x00\xff", '"AP8="', id="bytes"),
        pytest.param({1: "a"}, '{"1":"a"}', id="numbers as keys"),
        pytest.param(Decimal("1.50"), '"1.50"', id="decimal"),
        pytest.param(UUID(int=1), '"00000000-0000-0000-0000-000000000001"', id="UUID"),
        pytest.param(Colour.RED, '"red"', id="enum"),
        pytest.param(
            Model(when=datetime(2026, 1, 2, tzinfo=UTC), name="Hana"),
            '{"when":"2026-01-02T00:00:00Z","fullName":"Hana"}',
            id="model",
        ),
        pytest.param([Record(1, "a"), (2, None, True)], '[{"number":1,"text":"a"},[2,null,true]]', id="dataclass"),
        pytest.param(UserDict({"a": 1}), '{"a":1}', id="mapping"),
        pytest.param("\x00\x1f", '"\\u0000\\u001f"', id="control characters"),
    ],
)
def test_data_of_many_kinds_becomes_json(data: Any, expected: str) -> None:
    assert text_of(ToolResponseBuilder(), Json(data=data)) == f'{{"success":true,"message":"Done","data":{expected}}}'
    assert encode(to_plain(data)) == expected
    # Half a character somewhere sends all of it down the slower path, which must agree with the quick one.
    assert encode(["\ud800", data]) == f'["\ufffd",{expected}]'


def circular() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


def deep(levels: int) -> list[Any]:
    nested: list[Any] = []
    for _ in range(levels):
        nested = [nested]
    return nested


@pytest.mark.parametrize(
    "rubbish",
    [
        pytest.param(object(), id="an object"),
        pytest.param((number for number in range(3)), id="a generator"),
        pytest.param({"f": len}, id="a function"),
        pytest.param(circular(), id="a circle"),
        pytest.param(["\ud800", circular()], id="a circle beside half a character"),
        pytest.param(["\ud800", deep(200)], id="too deep"),
        pytest.param(10**5_000, id="a number of five thousand digits"),
    ],
)
def test_what_json_cannot_say_is_the_authors_to_mend(rubbish: Any) -> None:
    with pytest.raises((TypeError, ValueError, RecursionError)):
        ToolResponseBuilder().success(rubbish)


def test_secrets_are_masked_in_every_kind_of_answer() -> None:
    builder = ToolResponseBuilder(redactor=Redactor(["pa55&word"]))

    for answer in ("say pa55&word", {"key": "pa55&word"}, {"pa55&word": ["pa55&word"]}):
        assert "pa55" not in text_of(builder, answer)
        assert "***" in text_of(builder, answer)


@pytest.mark.parametrize(
    "answer_of",
    [
        pytest.param(lambda text: text, id="text"),
        pytest.param(lambda text: Markdown(blocks=[text, text]), id="Markdown"),
        pytest.param(lambda text: {"field": text}, id="JSON"),
        pytest.param(lambda text: Json(data={"items": [text]}, page=NextPage("items", str)), id="a page"),
        pytest.param(lambda text: Json(data=1, message=text), id="a message"),
        pytest.param(lambda text: Xml(root=XmlElement("log", {"a": SECRET}, text)), id="XML"),
        pytest.param(lambda text: Mixed(parts=[text, text]), id="parts"),
    ],
)
def test_a_cut_never_leaves_half_a_secret(answer_of: Callable[[str], Any]) -> None:
    """The text is made of nothing but the secret: wherever a cut falls, it falls into one."""
    builder = ToolResponseBuilder(max_tokens=900, redactor=Redactor([SECRET]))

    result = builder.success(answer_of(f"{SECRET} " * 900))

    assert result.trimmed
    assert "S3C" not in str(result.content)
    assert "***" in str(result.content)


_VALIDATE = jsonschema_rs.validator_for(
    {
        "type": "object",
        "properties": {"text": {"type": "string", "maxLength": 20_000}, "n": {"type": "integer"}},
        "required": ["text"],
    }
).validate


def CHECK(data: Any) -> Any:
    _VALIDATE(data)
    return data


def test_a_promised_output_travels_as_text_and_as_data() -> None:
    builder = ToolResponseBuilder().for_call(None, CHECK)

    result = builder.success(Json(data={"text": "hello", "n": 1}))

    assert result.structured == result.value["data"] == {"text": "hello", "n": 1}
    assert result.to_mcp()["structuredContent"] == {"text": "hello", "n": 1}


def test_both_copies_together_fit_the_budget() -> None:
    builder = ToolResponseBuilder(max_tokens=1_000).for_call(None, CHECK)

    result = builder.success(Json(data={"text": "word " * 2_000}))

    assert result.trimmed
    assert count_tokens(result.content[0]["text"]) + count_tokens(encode(result.structured)) <= 1_000
    assert result.tokens <= 1_000


def test_data_that_breaks_the_promise_does_not_leave() -> None:
    with pytest.raises(ValueError, match="integer"):
        ToolResponseBuilder().for_call(None, CHECK).success(Json(data={"text": "a", "n": "one"}))


def test_data_that_would_break_the_promise_when_cut_is_too_large() -> None:
    check = jsonschema_rs.validator_for({"properties": {"code": {"pattern": "^[a-z]+$"}}}).validate

    with pytest.raises(AnswerTooLargeError):
        ToolResponseBuilder(max_tokens=500).for_call(None, check).success(Json(data={"code": "a" * 9_000}))


def test_a_promise_cannot_be_kept_with_words() -> None:
    with pytest.raises(TypeError, match="must return data"):
        ToolResponseBuilder().for_call(None, CHECK).success("just words")


def test_a_promise_can_be_kept_among_other_parts() -> None:
    result = ToolResponseBuilder().for_call(None, CHECK).success(Mixed(parts=["words", Json(data={"text": "a"})]))

    assert result.structured == {"text": "a"}


def test_a_callers_budget_is_smaller_never_larger() -> None:
    builder = ToolResponseBuilder(max_tokens=1_000)

    assert builder.for_call(500).max_tokens == 500
    assert builder.for_call(5_000).max_tokens == 1_000
    assert builder.for_call(None).max_tokens == 1_000


@pytest.mark.parametrize("budget", [pytest.param(number, id=str(number)) for number in (100, 120, 150, 200, 300)])
def test_even_the_smallest_budget_is_kept_or_refused(budget: int) -> None:
    builder = ToolResponseBuilder(max_tokens=budget)
    for answer in ("word " * 900, {"text": "word " * 900}, Mixed(parts=["word " * 90] * 9)):
        try:
            assert builder.success(answer).tokens <= budget
        except AnswerTooLargeError as error:
            assert builder.failure(error).tokens <= budget
