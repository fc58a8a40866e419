"""Two names in Python that are one in JSON: refused if a tool returns them, told apart if a mask makes them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from dogubako.contract.redaction import Redactor
from dogubako.output import Blocks, Json
from dogubako.response.builder import ToolResponseBuilder

ID = UUID("12345678-1234-5678-1234-567812345678")
SECRETS = ("hunter22-secret", "hunter33-secret")


@dataclass
class Record:
    fields: Mapping[Any, Any]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param({1: "a", "1": "b"}, id="a number and its text"),
        pytest.param({"rows": [{"x": {1: "a", "1": "b"}}]}, id="deep inside"),
        pytest.param(Record({1: "a", "1": "b"}), id="in a dataclass"),
        pytest.param({None: 1, "None": 2}, id="None"),
        pytest.param({1.5: 1, "1.5": 2}, id="a decimal"),
        pytest.param({ID: 1, str(ID): 2}, id="an id"),
        pytest.param(dict.fromkeys(range(30_000), "a") | {"29999": "b"}, id="among very many"),
    ],
)
@pytest.mark.parametrize("in_pieces", [False, True])
def test_two_keys_that_json_writes_alike_are_refused(data: Any, in_pieces: bool) -> None:
    with pytest.raises(ValueError, match="two keys that JSON writes alike"):
        ToolResponseBuilder().success(Json(data=data), in_pieces=in_pieces)


def test_structured_data_of_others_with_such_keys_is_left_out() -> None:
    answer = ToolResponseBuilder().success(Blocks(content=[], structured={1: "a", "1": "b"}))

    assert answer.text == "[The structured data was left out: not JSON.]"


def test_keys_that_are_no_texts_are_written_as_texts() -> None:
    assert ToolResponseBuilder().success({1: "a", "2": "b", None: "c"}).data == {"1": "a", "2": "b", "None": "c"}


@pytest.mark.parametrize("more", [pytest.param({}, id="small"), pytest.param({"x": ["y"] * 20_000}, id="large")])
@pytest.mark.parametrize("in_pieces", [False, True])
def test_two_secrets_as_names_stay_two_fields(more: dict[str, Any], in_pieces: bool) -> None:
    builder = ToolResponseBuilder(redactor=Redactor(SECRETS), max_tokens=200_000)
    written = builder.success(Json(data={SECRETS[0]: 1, SECRETS[1]: 2, **more}), in_pieces=in_pieces).text

    pairs: list[tuple[str, Any]] = []
    json.loads(written, object_pairs_hook=pairs.extend)
    names = [name for name, _ in pairs]
    assert len(names) == len(set(names)) == 5 + len(more)
    assert [value for _, value in pairs if value in (1, 2) and value is not True] == [1, 2]
    assert not any(secret in written for secret in SECRETS)
