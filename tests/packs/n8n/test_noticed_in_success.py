"""What is noticed in an execution that counts as a success: items that left without a word, and wrong results."""

from typing import Any

import pytest

from dogubako.packs.n8n.diagnosis.report import Diagnosis

from .made import JsonObject, as_read, item, items, made, node, run, wires

HTTP = "n8n-nodes-base.httpRequest"


def told(runs: JsonObject, *nodes: JsonObject, **options: Any) -> JsonObject:
    return Diagnosis(as_read(made(runs, *nodes, **options))).report()


def wired(runs: JsonObject, *nodes: JsonObject, **options: Any) -> JsonObject:
    """The diagnosis of nodes that are connected in a row."""
    execution = made(runs, *nodes, **options)
    execution["workflowData"]["connections"] = wires(*runs)
    return Diagnosis(as_read(execution)).report()


def test_an_error_that_an_error_output_takes_is_told_with_how_many_items_took_it() -> None:
    error = {"error": {"message": "404 - no such id"}}
    ask = node("Look up", type=HTTP, parameters={"url": "http://a.test"}, onError="continueErrorOutput")
    runs = {
        "Ids": [run(items({"id": 1}, {"id": 2}))],
        "Look up": [run([], [item(error, 0), item(error, 1)], after="Ids")],
        "Create": [run(items({}), after=[{"previousNode": "Look up", "previousNodeOutput": 1}])],
    }
    execution = made(runs, ask, node("Update"), status="success")
    ways = [[{"node": name, "type": "main", "index": 0}] for name in ("Update", "Create")]
    execution["workflowData"]["connections"] = {**wires("Ids", "Look up"), "Look up": {"main": ways}}
    report = Diagnosis(as_read(execution)).report()

    assert "origin" not in report
    assert (
        "2 of its 2 items went to its error output, which leads to 'Create'; 'Update' never ran"
        in (report["explanation"])
    )


@pytest.mark.parametrize(
    ("kind", "parameters", "rows", "outputs", "problem"),
    [
        pytest.param(
            "switch",
            {
                "rules": {
                    "values": [
                        {
                            "conditions": {
                                "conditions": [
                                    {"leftValue": "={{ $json.level }}", "rightValue": "high", "operator": {}}
                                ]
                            }
                        }
                    ]
                }
            },
            [{"level": "high"}, {"level": "urgent"}],
            [item({"level": "high"}, 0)],
            '1 of its 2 items meet none of its rules and go nowhere: level is "urgent" (string)',
            id="no rule of a switch",
        ),
        pytest.param(
            "removeDuplicates",
            {"compare": "selectedFields", "fieldsToCompare": "firm"},
            [{"firm": ""}, {"firm": ""}],
            [item({"firm": ""}, 0)],
            "firm, by which it compares, is empty in all 2 items, so 1 is left over",
            id="duplicates of nothing",
        ),
        pytest.param(
            "httpRequest",
            {"url": "http://a.test"},
            [{}],
            [item({"rows": [1], "meta": {"hasMore": True}}, 0)],
            "its answer says that there is more (hasMore: true), and it does not ask for more",
            id="further pages",
        ),
    ],
)
def test_items_that_leave_without_a_word_are_noticed(
    kind: str, parameters: JsonObject, rows: list[JsonObject], outputs: list[JsonObject], problem: str
) -> None:
    step = node("Step", type=f"n8n-nodes-base.{kind}", parameters=parameters)
    runs = {"Rows": [run(items(*rows))], "Step": [run(outputs, after="Rows")], "End": [run(outputs, after="Step")]}
    report = wired(runs, step, status="success")

    assert problem in report["explanation"]


def test_a_comparison_without_any_partner_is_noticed_with_its_keys() -> None:
    keys = {"mergeByFields": {"values": [{"field1": "sku", "field2": "sku"}]}}
    shop, stock = items({"sku": "A-1"}), items({"sku": ""})
    runs = {
        "Shop": [run(shop)],
        "Stock": [run(stock)],
        "Both": [run(shop, [], [], stock, after=["Shop", "Stock"])],
    }
    both = node("Both", type="n8n-nodes-base.compareDatasets", parameters=keys)
    report = told(runs, both, status="success")

    assert report["noticed"]["nodeName"] == "Both"
    assert "not one of them has a partner; no keys match: sku from 'Shop': \"A-1\" (string)" in report["explanation"]


def test_the_condition_that_is_not_met_is_told() -> None:
    conditions = [
        {"leftValue": "={{ $json.mail }}", "rightValue": "@", "operator": {"type": "string", "operation": "contains"}},
        {"leftValue": "={{ $json.text }}", "rightValue": "", "operator": {"type": "string", "operation": "notEmpty"}},
    ]
    test = node("Valid?", type="n8n-nodes-base.if", parameters={"conditions": {"conditions": conditions}})
    row = items({"mail": "a@b.c", "text": None})
    runs = {"Form": [run(row)], "Valid?": [run([], row, after="Form")], "Refuse": [run(row, after="Valid?")]}
    execution = made(runs, test, node("Save"), status="success")
    ways = [[{"node": name, "type": "main", "index": 0}] for name in ("Save", "Refuse")]
    execution["workflowData"]["connections"] = {**wires("Form", "Valid?"), "Valid?": {"main": ways}}

    assert (
        "text is null (null), made in 'Form', tested by 'notEmpty'"
        in Diagnosis(as_read(execution)).report()["explanation"]
    )


@pytest.mark.parametrize(
    ("code", "noticed"),
    [
        ("return $input.all().filter(i => i.json.active);", True),
        ("return $input.all().filter(i => !i.json.active);", True),
        ("return $input.all().filter(i => i.json.active === 'true');", False),
    ],
)
def test_a_text_that_says_no_and_counts_as_true_is_noticed(code: str, noticed: bool) -> None:
    rows = items({"active": "false"}, {"active": "true"})
    runs = {"Rows": [run(rows)], "Only": [run(rows, after="Rows")], "Send": [run(rows, after="Only")]}
    report = wired(runs, node("Only", code), status="success")

    assert ("a text counts as true" in report["explanation"]) is noticed


def test_items_that_became_all_the_same_are_noticed() -> None:
    same = items({"a": 2}, {"a": 2})
    runs = {"Rows": [run(items({"a": 1}, {"a": 2}))], "Copy": [run(same, after="Rows")]}
    report = wired(runs, node("Copy", "return $input.all();"), status="success")

    assert "all its 2 items are the same, and those that it received differ" in report["explanation"]


def test_json_that_is_written_by_hand_and_that_a_value_breaks_is_wrong() -> None:
    raw = {"mode": "raw", "jsonOutput": '={"note": "{{ $json.note }}"}'}
    rows = items({"note": 'he said "no"'})
    runs = {"Rows": [run(rows)], "Card": [run(items({"note": "he said "}), after="Rows")]}
    report = wired(runs, node("Card", type="n8n-nodes-base.set", parameters=raw), status="success")

    assert report["noticed"]["nodeName"] == "Card"
    assert "something is wrong" in report["explanation"]


def test_an_item_that_a_merge_dropped_for_its_case_is_told() -> None:
    keys = {"mode": "combine", "fieldsToMatchString": "sku"}
    lines, prices = items({"sku": "A1"}, {"sku": "a3"}), items({"sku": "A1", "p": 1}, {"sku": "A3", "p": 2})
    runs = {
        "Lines": [run(lines)],
        "Prices": [run(prices)],
        "Join": [run(items({"sku": "A1", "p": 1}), after=["Lines", "Prices"])],
    }
    report = told(runs, node("Join", type="n8n-nodes-base.merge", parameters=keys), status="success")

    assert "1 of 2 items from 'Lines' found no partner and are dropped" in report["explanation"]
    assert 'there is "A3" (string): they differ only in case' in report["explanation"]


def test_a_node_that_ran_once_for_each_branch_is_noticed() -> None:
    runs = {
        "Shop": [run(items({"n": 1}))],
        "Web": [run(items({"n": 2}))],
        "Report": [run(items({"t": 1}), after="Shop"), run(items({"t": 2}), after="Web")],
    }
    execution = made(runs, status="success")
    execution["workflowData"]["connections"] = wires("Shop", "Report") | wires("Web", "Report")
    report = Diagnosis(as_read(execution)).report()

    assert "it ran 2 times, once for the items of each of 'Shop' and 'Web'" in report["explanation"]
