"""Of equal values in a list, the one is told that the failing item was made from; never simply the first."""

from typing import Any

import pytest

from dogubako.packs.n8n.diagnosis.report import Diagnosis

from .made import JsonObject, as_read, failed_run, item, made, node, run

WEBHOOK = "n8n-nodes-base.webhook"
SPLIT = "n8n-nodes-base.splitOut"
NO_NAME = "Cannot read properties of null (reading 'trim') [line 1]"
ROWS = [
    {"番号": 1, "名前": None, "退会": True},
    {"番号": 2, "名前": "佐藤", "退会": False},
    {"番号": 3, "名前": None, "退会": False},
]


def told(rows: list[Any], left: list[int], split: JsonObject, *, paired: bool = True) -> JsonObject:
    """A list of a webhook, its rows as items, those that are left of them, and code that fails at the first."""
    parts = [item(row, 0 if paired else None) for row in rows]
    runs = {
        "Hook": [run([item({"body": {"rows": rows}}, None)])],
        "Split": [run(parts, after="Hook")],
        "Left": [run([item(rows[one], one) for one in left], after="Split")],
        "Use": [failed_run(NO_NAME, after="Left", lineNumber=1, description="TypeError", context={"itemIndex": 0})],
    }
    code = node("Use", "return { json: { n: $json.番号, name: $json.名前.trim() } };")
    code["parameters"]["mode"] = "runOnceForEachItem"
    nodes = (node("Hook", type=WEBHOOK), split, node("Left", type="n8n-nodes-base.filter"), code)
    return Diagnosis(as_read(made(runs, *nodes, status="error"))).report()


@pytest.mark.parametrize(("left", "number"), [([2], 2), ([0], 0), ([2, 0], 2)])
def test_the_element_is_the_one_that_was_split_out(left: list[int], number: int) -> None:
    report = told(ROWS, left, node("Split", type=SPLIT, parameters={"fieldToSplitOut": "body.rows"}))

    assert f"body.rows.{number}.名前 is null" in report["explanation"]
    assert f"as 'Hook' received it as body.rows.{number}.番号" in str(report["values"])


def test_equal_rows_are_told_apart_by_their_position() -> None:
    equal = [{"番号": 1, "名前": None}, {"番号": 1, "名前": None}]

    report = told(equal, [1], node("Split", type=SPLIT, parameters={"fieldToSplitOut": "body.rows"}))

    assert "body.rows.1.名前 is null" in report["explanation"]


def test_code_that_made_the_items_is_followed_by_the_fields_that_they_share() -> None:
    code = node("Split", "return $json.body.rows.map(row => ({ json: row }));")

    report = told(ROWS, [2], code, paired=False)

    assert "body.rows.0" not in str(report)
    assert "as 'Hook' received it as body.rows.2.名前" in str(report["values"])


def test_an_element_that_may_be_another_one_has_no_number() -> None:
    alike = [{"番号": 7, "名前": None}, {"番号": 7, "名前": None}, {"番号": 7, "名前": None}]
    code = node("Split", "return $json.body.rows.toSorted(() => 0).map(row => ({ json: row }));")

    report = told(alike, [2], code)

    assert "as 'Hook' received it as body.rows.名前" in str(report["values"])
