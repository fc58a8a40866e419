"""What is too large to be cut is refused before anything works on it; what is large is cut in pieces."""

from collections import deque
from typing import Any

import msgspec
import pytest
from pydantic import BaseModel, Field

from dogubako.contract.errors import AnswerTooLargeError
from dogubako.contract.offload import MOST_BYTES, MOST_VALUES
from dogubako.contract.output import Embedded, Image, Json, Markdown, Text
from dogubako.contract.redaction import Redactor
from dogubako.response.builder import ToolResponseBuilder

SECRET = "Sup3rSecretKey-abcdef0123456789"
BUILDER = ToolResponseBuilder(max_tokens=2_000, redactor=Redactor([SECRET]))


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        pytest.param("x" * (MOST_BYTES + 1), "more than 32 MB of text", id="text"),
        pytest.param("あ" * (MOST_BYTES // 3 + 1), "more than 32 MB of text", id="Japanese"),
        pytest.param({"a": ["x" * 1_000_000] * 40}, "more than 32 MB of text", id="texts together"),
        pytest.param({"x" * (MOST_BYTES + 1): 1}, "more than 32 MB of text", id="name"),
        pytest.param({"a": bytes(MOST_BYTES + 1)}, "more than 32 MB of text", id="bytes"),
        pytest.param([1] * (MOST_VALUES + 1), "more than 3,000,000 values", id="values"),
        pytest.param(Json(data=[[1] * 1_000_000] * 4), "more than 3,000,000 values", id="values within values"),
    ],
)
def test_an_answer_beyond_all_bounds_is_refused_with_its_bound(answer: Any, what: str) -> None:
    with pytest.raises(AnswerTooLargeError, match=what):
        BUILDER.success(answer, in_pieces=True)


def test_a_picture_or_file_of_any_size_becomes_its_link() -> None:
    for file in (
        Image(data=bytes(MOST_BYTES + 1), mime_type="image/png", uri="x:y"),
        Embedded(uri="x:y", body=bytes(MOST_BYTES + 1)),
    ):
        assert BUILDER.success(file, in_pieces=True).content[0]["type"] == "resource_link"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param({"items": [{"id": number, "name": f"n{number}"} for number in range(2_000)]}, id="data"),
        pytest.param({"text": f"{SECRET} and words " * 5_000}, id="a text in data"),
        pytest.param({"short": 1, "bytes": b"\x00\xff" * 300_000}, id="bytes"),
        pytest.param({f"{SECRET}{number}": number for number in range(5_000)}, id="names"),
        pytest.param({"few": [1, 2], "word": SECRET}, id="small"),
    ],
)
def test_an_answer_built_in_pieces_is_the_same(answer: Any) -> None:
    in_pieces, whole = BUILDER.success(answer, in_pieces=True), BUILDER.success(answer)

    assert in_pieces == whole
    assert SECRET not in in_pieces.content[0]["text"]


def test_fields_that_a_model_leaves_out_do_not_count() -> None:
    class Slim(BaseModel):
        shown: int = 1
        hidden: str = Field(default="x" * 600_000, exclude=True)

    result = BUILDER.success(Slim(), in_pieces=True)

    assert result.data == {"shown": 1}
    assert not result.trimmed


@pytest.mark.parametrize(
    ("answer", "lines"),
    [
        pytest.param("\n" * 100_000, 100_001, id="empty lines"),
        pytest.param("word\n" * 100_000, 100_001, id="short lines"),
    ],
)
def test_lines_that_are_not_split_are_counted(answer: str, lines: int) -> None:
    text = BUILDER.success(Text(text=answer)).content[0]["text"]

    assert f" of {lines:,} lines" in text


def test_a_block_that_cannot_fit_is_not_counted() -> None:
    text = BUILDER.success(Markdown(blocks=["first", "word " * 2_000_000, "last"])).content[0]["text"]

    assert text.startswith("first")
    assert "2 of 3 blocks" in text


@pytest.mark.parametrize(
    ("value", "written"),
    [
        pytest.param({(1, 2): "a"}, {"(1, 2)": "a"}, id="tuple as name"),
        pytest.param({None: "a"}, {"None": "a"}, id="None as name"),
        pytest.param({"a": deque([1, 2])}, {"a": [1, 2]}, id="deque"),
        pytest.param({"a": type("Name", (str,), {})("x")}, {"a": "x"}, id="another class of text"),
    ],
)
def test_odd_names_and_values_are_written_as_text(value: Any, written: Any) -> None:
    assert msgspec.json.decode(BUILDER.success(value).content[0]["text"])["data"] == written
