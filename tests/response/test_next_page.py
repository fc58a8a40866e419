"""An answer that is whole names the next call of its list; a cut one names the call that continues after the cut."""

import json
from typing import Any
from xml.etree import ElementTree

import pytest

from dogubako.output import Json, NextPage, Xml, XmlElement, example_call
from dogubako.response.builder import ToolResponseBuilder

AFTER = example_call("list_rows", offset=100)
SMALL = 1_500


def page(path: str, after: str | None = AFTER) -> NextPage:
    return NextPage(path, lambda shown: example_call("list_rows", offset=shown), after)


def document(rows: int, after: str | None = AFTER, max_tokens: int = 25_000) -> ElementTree.Element:
    children = [XmlElement("row", {"id": number}, f"Row {number}") for number in range(rows)]
    root = XmlElement("rows", {"total_count": 500}, children)
    result = ToolResponseBuilder(max_tokens=max_tokens).success(Xml(root=root, page=page("rows", after)))
    assert result.tokens <= max_tokens
    return ElementTree.fromstring(result.content[0]["text"])


def envelope(data: Any, path: str, after: str | None = AFTER, max_tokens: int = 25_000) -> dict[str, Any]:
    result = ToolResponseBuilder(max_tokens=max_tokens).success(Json(data=data, page=page(path, after)))
    assert result.tokens <= max_tokens
    answer: dict[str, Any] = json.loads(result.content[0]["text"])
    return answer


def rows_of(number: int) -> list[dict[str, Any]]:
    return [{"id": one, "text": f"Row {one}"} for one in range(number)]


def test_a_whole_document_names_the_next_call() -> None:
    root = document(100)

    assert dict(root.attrib) == {"total_count": "500", "next": AFTER}
    assert root.find("truncated") is None


def test_the_last_document_names_none() -> None:
    assert "next" not in document(100, after=None).attrib


def test_a_cut_document_names_only_the_call_after_the_cut() -> None:
    root = document(1_000, max_tokens=SMALL)
    note = root.find("truncated")

    assert "next" not in root.attrib
    assert note is not None
    shown = len(root.findall("row"))
    assert 0 < shown < 1_000
    assert note.get("next") == example_call("list_rows", offset=shown)


def test_a_document_whose_next_call_is_what_makes_it_too_large_is_cut() -> None:
    long = example_call("list_rows", words="word " * 2_000)
    root = document(3, after=long, max_tokens=SMALL)

    assert len(ElementTree.tostring(root)) < len(long)
    assert root.get("next") is None


@pytest.mark.parametrize(
    ("data", "path"),
    [
        pytest.param({"total_count": 500, "rows": rows_of(100)}, "rows", id="a list"),
        pytest.param({"issue": {"id": 1, "rows": rows_of(100)}}, "issue.rows", id="a list deep inside"),
    ],
)
def test_whole_data_names_the_next_call(data: dict[str, Any], path: str) -> None:
    answer = envelope(data, path)

    assert answer["data"] == {**data, "next": AFTER}
    assert "_truncated" not in answer


def test_the_last_data_names_none() -> None:
    assert "next" not in envelope({"rows": rows_of(3)}, "rows", after=None)["data"]


@pytest.mark.parametrize("after", [pytest.param(AFTER, id="more behind"), pytest.param(None, id="nothing behind")])
def test_cut_data_names_only_the_call_after_the_cut(after: str | None) -> None:
    answer = envelope({"rows": rows_of(1_000)}, "rows", after, max_tokens=SMALL)

    shown = len(answer["data"]["rows"])
    assert "next" not in answer["data"]
    assert 0 < shown < 1_000
    assert answer["_truncated"]["next"] == example_call("list_rows", offset=shown)
