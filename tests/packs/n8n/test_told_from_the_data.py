"""What the data say beside the message: misspelt words, dropped items, refused values, rounds that were left out."""

import pytest

from .branches import FORK, HTTP, LOOP, fields, from_output, links, told
from .made import JsonObject, failed_run, item, items, node, run


def compared(field: str, literal: str) -> JsonObject:
    operator = {"type": "string", "operation": "equals"}
    one = {"leftValue": f"={{{{ $json.{field} }}}}", "rightValue": literal, "operator": operator}
    return {"conditions": {"conditions": [one], "combinator": "and"}}


@pytest.mark.parametrize(
    ("literal", "named"),
    [
        pytest.param("aproved", "Approved?", id="a letter is missing"),
        pytest.param("rejected", "Letter", id="another word"),
        pytest.param("approved2", "Letter", id="a number may be another thing"),
    ],
)
def test_a_branch_that_compares_with_a_misspelt_word_is_told(literal: str, named: str) -> None:
    rows = items({"case": 1, "state": "approved"}, {"case": 2, "state": "approved"})
    runs = {
        "Cases": [run(rows)],
        "Approved?": [run([], rows, after="Cases")],
        "Both": [run(rows, after=from_output("Approved?", 1))],
        "Letter": [failed_run("Node 'Fee' hasn't been executed", after="Both")],
    }
    fork = node("Approved?", type=FORK, parameters=compared("state", literal))
    letter = node("Letter", "return [{ json: { fee: $('Fee').first().json.fee } }];")
    ways = {"Cases": [["Approved?"]], "Approved?": [["Fee"], ["Both"]], "Fee": [["Both"]], "Both": [["Letter"]]}
    report = told(runs, fork, letter, node("Fee"), connections=links(**ways))

    assert "origin" not in report
    assert report["noticed"]["nodeName"] == named
    assert ("differ in one letter" in report["explanation"]) is (named == "Approved?")


@pytest.mark.parametrize(("other", "noticed"), [("b@x.y", True), ("a@x.y", False)])
def test_items_that_are_dropped_as_duplicates_and_differ_are_told(other: str, noticed: bool) -> None:
    rows: list[JsonObject] = [
        {"mail": "a@x.y", "city": "Lund"},
        {"mail": other, "city": "Lund"},
        {"mail": "c", "city": "Y"},
    ]
    runs = {
        "People": [run(items(*rows))],
        "Once": [run([item(rows[0], 0), item(rows[2], 2)], after="People")],
        "Send": [run(items({"sent": 1}, {"sent": 2}), after="Once")],
    }
    once = node("Once", type="n8n-nodes-base.removeDuplicates", parameters={"fieldsToCompare": "city"})
    ways = {"People": [["Once"]], "Once": [["Send"]]}
    report = told(runs, once, connections=links(**ways), status="success")

    assert ("noticed" in report) is noticed
    if noticed:
        assert "it dropped 1 of 3 items as duplicates by city, which differs in mail" in report["explanation"]


def test_a_value_that_a_service_refuses_is_told_with_the_node_that_made_it() -> None:
    sent = {"to": "nobody", "text": "Hello"}
    failed = failed_run(
        "Bad request",
        after="Fill",
        httpCode="400",
        description="recipient 'nobody' is not valid",
        context={"itemIndex": 0, "request": {"body": sent}},
    )
    body = "={{ JSON.stringify({ to: $json.address, text: $json.words }) }}"
    runs = {
        "People": [run(items({"mail": "", "words": "Hello"}))],
        "Fill": [run(items({"mail": "", "words": "Hello", "address": "nobody"}), after="People")],
        "Send": [failed],
    }
    send = node("Send", type=HTTP, parameters={"jsonBody": body})
    fill = fields("Fill", {"address": "={{ $json.mail || 'nobody' }}"})
    report = told(runs, fill, send, connections=links(People=[["Fill"]], Fill=[["Send"]]))

    assert "it sends to as \"nobody\" (string), made from address, from 'Fill'" in report["explanation"]
    assert "No earlier cause" not in report["explanation"]


@pytest.mark.parametrize(("mode", "claimed"), [("once", True), ("each", False)])
def test_a_workflow_that_does_not_exist_is_told_by_its_id(mode: str, claimed: bool) -> None:
    called = {"__rl": True, "mode": "id", "value": "gone123"}
    call = node("Call", type="n8n-nodes-base.executeWorkflow", parameters={"workflowId": called, "mode": mode})
    runs = {"Jobs": [run(items({"j": 1}))], "Call": [failed_run("Workflow does not exist.", after="Jobs")]}
    report = told(runs, call, connections=links(Jobs=[["Call"]]))

    assert ("origin" in report) is claimed
    assert "gone123" in report["explanation"]


def test_code_that_n8n_could_not_read_is_told_without_its_wrapper() -> None:
    line = "const seats = $input.all().map(i => ({ json: { ...i.json, seat: 1 });"
    wrapped = "{} }; Object.getPrototypeOf = () => ({}); module.exports = async function VmCodeWrapper() {"
    runs = {
        "Rows": [run(items({"s": 1}))],
        "Seats": [failed_run(f"{wrapped}{line}", after="Rows", description="globalThis.global = globalThis")],
    }
    report = told(runs, node("Seats", f"{line}\nreturn seats;"), connections=links(Rows=[["Seats"]]))

    assert report["origin"]["nodeName"] == "Seats"
    assert report["origin"]["problem"].startswith("its code cannot be read: const seats = ")


def test_an_element_of_a_list_that_a_service_names_is_told_with_who_made_it() -> None:
    lines = [{"sku": "a", "qty": 2}, {"sku": "b", "qty": 0}]
    failed = failed_run(
        "Your request is invalid",
        after="Bundle",
        httpCode="422",
        description="lines[1].qty must be at least 1",
        context={"itemIndex": 0, "request": {"body": {"lines": lines}}},
    )
    gathers = {"aggregate": "aggregateAllItemData", "destinationFieldName": "lines"}
    bundle = node("Bundle", type="n8n-nodes-base.aggregate", parameters=gathers)
    order = node("Order", type=HTTP, parameters={"jsonBody": "={{ JSON.stringify({ lines: $json.lines }) }}"})
    boxes = node("Boxes", "return $input.all().map(i => ({ json: { sku: i.json.sku, qty: Math.floor(i.json.n) } }));")
    runs = {
        "Rows": [run(items({"sku": "a", "n": 2.5}, {"sku": "b", "n": 0.5}))],
        "Boxes": [run(items(*lines), after="Rows")],
        "Bundle": [run([item({"lines": lines}, [{"item": 0}, {"item": 1}])], after="Boxes")],
        "Order": [failed],
    }
    ways = {"Rows": [["Boxes"]], "Boxes": [["Bundle"]], "Bundle": [["Order"]]}
    report = told(runs, bundle, order, boxes, connections=links(**ways))

    assert report["values"][0].startswith(
        "lines.1.qty is 0 (number), made in 'Boxes' as qty by qty: Math.floor(i.json.n)"
    )


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "const slots = $input.first().json;\nreturn slots.filter(s => s.free);",
            "slots.filter is not a function [line 2]",
        ),
        (
            "const slots = $input.first().json;\nfor (const one of slots) { one.a = 1; }",
            "slots is not iterable [line 2]",
        ),
    ],
)
def test_an_item_that_is_taken_for_a_list_is_told(code: str, message: str) -> None:
    runs = {
        "Ask": [run(items({"data": [{"free": True}], "next": None}))],
        "Pick": [failed_run(message, after="Ask", description="TypeError", lineNumber=2)],
    }
    report = told(runs, node("Pick", code), connections=links(Ask=[["Pick"]]))

    assert report["origin"]["nodeName"] == "Pick"
    assert "the json of an item itself, which is an object; a list lies in its data" in report["explanation"]


@pytest.mark.parametrize(("later", "noticed"), [("r2", True), ("r1", False)])
def test_who_reads_only_the_last_round_of_a_loop_is_told(later: str, noticed: bool) -> None:
    pages = [{"rows": ["r1"]}, {"rows": [later]}]
    runs = {
        "Pages": [run(items({"p": 1}, {"p": 2}))],
        "Loop": [
            run([], [item({"p": 1})], after="Pages", executionIndex=1),
            run([], [item({"p": 2})], after="Ask", executionIndex=3),
            run(items(*pages), [], after=from_output("Ask", 0, 1), executionIndex=5),
        ],
        "Ask": [
            run([item(pages[0])], after=from_output("Loop", 1, 0), executionIndex=2),
            run([item(pages[1])], after=from_output("Loop", 1, 1), executionIndex=4),
        ],
        "Collect": [run([item({"all": [later]})], after=from_output("Loop", 0, 2), executionIndex=6)],
    }
    ways = {"Pages": [["Loop"]], "Loop": [["Collect"], ["Ask"]], "Ask": [["Loop"]]}
    collect = node("Collect", "return [{ json: { all: $('Ask').all().flatMap(i => i.json.rows) } }];")
    report = told(runs, node("Loop", type=LOOP), collect, connections=links(**ways), status="success")

    assert ("of the last of its 2 rounds" in str(report.get("noticed"))) is noticed
