"""That something is absent is said only where it is proved: in all items, in all workflows of a family, by a replay."""

from typing import Any

import pytest

from dogubako.packs.n8n.diagnosis.report import NO_FAULT_FOUND, Diagnosis

from .made import JsonObject, as_read, cause_told, failed_run, item, items, made, node, run

OF_UNDEFINED = "Cannot read properties of undefined (reading '{}') [line 1]"
CALL = "n8n-nodes-base.executeWorkflow"
CALLED = node("Called", type="n8n-nodes-base.executeWorkflowTrigger", parameters={})


def told(runs: JsonObject, *nodes: JsonObject, **options: Any) -> JsonObject:
    return Diagnosis(as_read(made(runs, *nodes, **options))).report()


def set_node(name: str, field: str, value: str, **more: Any) -> JsonObject:
    row = {"name": field, "type": "string", "value": value}
    parameters = {"assignments": {"assignments": [row]}, "includeOtherFields": True}
    return node(name, type="n8n-nodes-base.set", parameters=parameters, **more)


@pytest.mark.parametrize(
    ("elsewhere", "words"),
    [
        ("return $input.all();", "which is in no item of the execution"),
        ("// the owner", "which the item does not have"),
    ],
)
def test_a_name_that_another_node_mentions_is_not_said_to_be_set_by_none(elsewhere: str, words: str) -> None:
    runs = {
        "Rows": [run(items({"id": 1}))],
        "Pass": [run(items({"id": 1}), after="Rows")],
        "Use": [failed_run(OF_UNDEFINED.format("mail"), after="Pass", lineNumber=1, description="TypeError")],
    }
    report = told(runs, node("Pass", elsewhere), node("Use", "return [{ json: { m: $json.owner.mail } }];"))

    assert f"it reads owner, {words}" in report["explanation"]


def test_code_that_sets_a_field_to_undefined_is_named() -> None:
    owners = "const m = new Map([['a', { mail: 'x' }]]);"
    look = f"{owners}\nreturn $input.all().map(i => ({{ json: {{ r: i.json.r, owner: m.get(i.json.r) }} }}));"
    runs = {
        "Rows": [run(items({"r": "b"}))],
        "Look up": [run(items({"r": "b"}), after="Rows")],
        "Use": [failed_run(OF_UNDEFINED.format("mail"), after="Look up", lineNumber=1, description="TypeError")],
    }
    report = told(runs, node("Look up", look), node("Use", "return [{ json: { m: $json.owner.mail } }];"))

    assert report["noticed"]["nodeName"] == "Look up"
    assert "its code sets owner to undefined by owner: m.get(i.json.r), so the item has none" in report["explanation"]
    assert "r is \"b\" (string), from 'Rows'" in report["explanation"]


def test_a_field_is_followed_through_two_sub_workflows_to_who_lost_it() -> None:
    def calls(number: str) -> JsonObject:
        return {"executionId": number, "workflowId": "w"}

    lowest = made(
        {
            "Called": [run(items({"name": "A"}))],
            "Use": [failed_run(OF_UNDEFINED.format("trim"), after="Called", lineNumber=1, description="TypeError")],
        },
        CALLED,
        node("Use", "return [{ json: { z: $json.zip.trim() } }];"),
        id="3",
    )
    middle = made(
        {
            "Called": [run(items({"name": "A"}))],
            "Call": [failed_run("child failed", after="Called", **calls("3"))],
        },
        CALLED,
        node("Call", type=CALL, parameters={}),
        id="2",
    )
    keep = {"assignments": {"assignments": [{"name": "name", "type": "string", "value": "={{ $json.name }}"}]}}
    top = made(
        {
            "Rows": [run(items({"name": "A", "zip": "1"}))],
            "Keep": [run(items({"name": "A"}), after="Rows")],
            "Call": [failed_run("child failed", after="Keep", **calls("2"))],
        },
        node("Keep", type="n8n-nodes-base.set", parameters=keep),
        node("Call", type=CALL, parameters={}),
    )
    report = Diagnosis(as_read(top), [Diagnosis(as_read(middle), [Diagnosis(as_read(lowest))])]).report()

    assert cause_told(report)["nodeName"] == "Keep"
    assert "zip is lost here" in report["explanation"]
    assert "in no item" not in str(report)


@pytest.mark.parametrize(
    ("body", "row"),
    [
        ("$json.rows.length", {"rows": [1, 2]}),
        ("$json[$json.lang]", {"lang": "en", "en": "Hi"}),
        ("$json.rows.first()", {"rows": ["a"]}),
    ],
    ids=["length", "computed key", "method of n8n"],
)
def test_parts_of_texts_that_are_no_fields_are_not_missing(body: str, row: JsonObject) -> None:
    runs = {
        "Rows": [run(items(row))],
        "Text": [run(items({**row, "text": "There is: 2"}), after="Rows")],
    }
    report = told(runs, set_node("Text", "text", f"=There is: {{{{ {body} }}}}"), status="success")

    assert report["explanation"] == NO_FAULT_FOUND


def test_a_hole_in_the_text_of_one_item_is_told_of_that_item() -> None:
    rows: list[JsonObject] = [{"sum": 2}, {"sum": "3"}]
    texts = ["Sum: 2.00 €", "Sum:  €"]
    out = [item({**row, "text": text}, at) for at, (row, text) in enumerate(zip(rows, texts, strict=True))]
    runs = {"Rows": [run(items(*rows))], "Text": [run(out, after="Rows")]}
    report = told(runs, set_node("Text", "text", "=Sum: {{ $json.sum.toFixed(2) }} €"), status="success")

    assert report["noticed"]["itemIndex"] == 1
    assert "sum is \"3\" (string), which has no toFixed(), from 'Rows'" in report["explanation"]


def test_a_disabled_node_is_not_explained_by_its_expressions() -> None:
    rows = items({"price": 5})
    runs = {
        "Rows": [run(rows)],
        "Discount": [run(rows, after="Rows")],
        "Text": [run(items({"price": 5, "text": "Off: "}), after="Discount")],
    }
    discount = set_node("Discount", "off", "={{ $json.price * 0.2 }}", disabled=True)
    report = told(runs, discount, set_node("Text", "text", "=Off: {{ $json.off }}"), status="success")

    assert report["noticed"]["problem"] == "it is disabled, so it does not make off, so 'Text' writes a text without it"


def test_an_empty_object_is_told_of_the_code_that_made_it() -> None:
    index = "return [{ json: { rates: new Map([['EUR', 2]]) } }];"
    runs = {
        "Start": [run(items({}))],
        "Index": [run(items({"rates": {}}), after="Start")],
        "Use": [
            failed_run("rates.get is not a function [line 1]", after="Index", lineNumber=1, description="TypeError")
        ],
    }
    use = "const { rates } = $input.first().json; return [{ json: { r: rates.get('EUR') } }];"
    report = told(runs, node("Index", index), node("Use", use))

    assert report["noticed"]["nodeName"] == "Index"
    assert "its code makes rates a Map, which is an empty object behind this node" in report["explanation"]


def test_duplicates_are_counted_as_they_were_dropped() -> None:
    rows = [{"n": "A", "m": 1}, {"n": "A", "m": 2}, {"n": "B", "m": 3}, {"n": "B", "m": 3}]
    once = node("Once", type="n8n-nodes-base.removeDuplicates", parameters={"fieldsToCompare": "n"})
    runs = {"Rows": [run(items(*rows))], "Once": [run([item(rows[0], 0), item(rows[2], 2)], after="Rows")]}
    report = told(runs, once, status="success")

    dropped = "it dropped 2 of 4 items as duplicates by n, 1 of which differs in m from the one that is left"
    assert report["noticed"]["problem"] == dropped


def test_a_login_is_shown_in_no_line() -> None:
    header = {"parameters": [{"name": "X-Api-Key", "value": "={{ $json.k }}"}]}
    ask = node(
        "Ask", type="n8n-nodes-base.httpRequest", parameters={"url": "http://a.test", "headerParameters": header}
    )
    runs = {
        "Config": [run(items({"k": "live-2025", "apiKey": "other-2025"}))],
        "Ask": [
            failed_run("Authorization failed", after="Config", httpCode="401", description="live-2025 has expired")
        ],
    }
    report = told(runs, ask)

    assert "live-2025" not in str(report)
    assert "other-2025" not in str(report)
    assert "k is a text of 9 characters" in str(report["values"])


def test_a_method_in_the_condition_before_a_stop_is_no_missing_field() -> None:
    condition = {"leftValue": "={{ $json.rows.filter(o => o.id).length }}", "rightValue": 0}
    operator = {"type": "number", "operation": "gt"}
    parameters = {"conditions": {"conditions": [{**condition, "operator": operator}]}}
    rows = items({"rows": [{}]})
    runs = {
        "List": [run(rows)],
        "Any": [run([], rows, after="List")],
        "Stop": [failed_run("No rows", after=[{"previousNode": "Any", "previousNodeOutput": 1}])],
    }
    stop = node("Stop", type="n8n-nodes-base.stopAndError", parameters={"errorMessage": "No rows"})
    report = told(runs, node("Any", type="n8n-nodes-base.if", parameters=parameters), stop)

    assert "'Any' sent the item here by false" in report["explanation"]
    assert "missing" not in str(report)
