"""What sounds like a cause and is none: look-ups, fields of the same name, empty answers, caught errors, successes."""

from typing import Any

import pytest

from dogubako.packs.n8n.diagnosis.report import Diagnosis

from .made import JsonObject, as_read, cause_told, failed_run, items, made, node, run, wires

OF_UNDEFINED = "Cannot read properties of undefined (reading '{}') [line 1]"


def told(runs: dict[str, Any], *nodes: JsonObject, status: str = "error") -> JsonObject:
    return Diagnosis(as_read(made(runs, *nodes, status=status))).report()


def set_node(name: str, /, **fields: str) -> JsonObject:
    rows = [{"name": field, "type": "string", "value": value} for field, value in fields.items()]
    parameters = {"assignments": {"assignments": rows}, "includeOtherFields": True}
    return node(name, type="n8n-nodes-base.set", parameters=parameters)


def ask(**parameters: Any) -> JsonObject:
    return node("Ask", type="n8n-nodes-base.httpRequest", parameters={"url": "http://a.test", **parameters})


@pytest.mark.parametrize(
    ("code", "row"),
    [
        ("const t = new Map([['EUR', 25]]);\nreturn [{ json: { w: 4 * t.get($json.kind) } }];", {"kind": "eur"}),
        ("const p = $json.rows.find((r) => r.k === 'b');\nreturn [{ json: { w: p?.n * 2 } }];", {"rows": [{"k": "B"}]}),
    ],
    ids=["key of a map", "list that is searched"],
)
def test_what_is_looked_up_is_not_said_to_be_calculated_with(code: str, row: JsonObject) -> None:
    runs = {"Make": [run(items(row))], "Use": [run(items({"w": None}), after="Make")]}
    report = told(runs, node("Use", code), status="success")

    assert cause_told(report)["nodeName"] == "Use"
    assert "cannot calculate with" not in report["explanation"]
    assert "is undefined, so w is no number" in report["explanation"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"company": {"name": "A"}}, "which the item does not have; it has body.company.name"),
        ({"data": {"name": "A"}}, "but the item has it as body.data.name"),
    ],
)
def test_a_field_of_another_object_is_not_the_missing_one(body: JsonObject, words: str) -> None:
    runs = {
        "Hook": [run(items({"body": body}))],
        "Person": [run(items({"name": None}), after="Hook")],
        "Use": [failed_run("Cannot read properties of null (reading 'trim') [line 1]", after="Person", lineNumber=1)],
    }
    report = told(runs, set_node("Person", name="={{ $json.body.name }}"), node("Use", "return $json.name.trim();"))

    assert f"it reads body.name, {words}" in report["explanation"]


def test_an_empty_answer_before_is_told_instead_of_a_missing_field() -> None:
    runs = {
        "Hook": [run(items({"id": 1}))],
        "Ask": [run(items({}), after="Hook")],
        "Add": [run(items({"price": 2}), after="Ask")],
        "Use": [failed_run(OF_UNDEFINED.format("toFixed"), after="Add", lineNumber=1, description="TypeError")],
    }
    report = told(
        runs, ask(), set_node("Add", price="2"), node("Use", "return [{ json: { k: $json.kg.toFixed(1) } }];")
    )

    assert cause_told(report)["nodeName"] == "Ask"
    assert "it gave out an empty item, and nothing that was made from it has kg" in report["explanation"]


def test_a_text_whose_parsing_failed_unseen_is_told() -> None:
    parse = "let m = {};\ntry { m = JSON.parse($json.meta); } catch (e) { m = {}; }\nreturn [{ json: { m } }];"
    runs = {
        "Hook": [run(items({"meta": "{'plan': 'pro'}"}))],
        "Parse": [run(items({"m": {}}), after="Hook")],
        "Use": [failed_run(OF_UNDEFINED.format("trim"), after="Parse", lineNumber=1, description="TypeError")],
    }
    report = told(runs, node("Parse", parse), node("Use", "return [{ json: { p: $json.m.plan.trim() } }];"))

    assert cause_told(report)["nodeName"] == "Parse"
    assert "its code catches the errors of JSON.parse, and meta is not valid JSON" in report["explanation"]


@pytest.mark.parametrize(("sent", "says"), [("7.5", True), (7.5, False)])
def test_a_number_that_was_sent_as_a_text_is_told_of_the_request(sent: Any, says: bool) -> None:
    refused = {"httpCode": "422", "messages": ['422 - {"field": "kg", "message": "must be a number"}']}
    context = {"itemIndex": 0, "request": {"body": {"kg": sent}, "method": "POST"}}
    runs = {"Rows": [run(items({"kg": 7.5}))], "Ask": [failed_run("Invalid", after="Rows", context=context, **refused)]}
    body = {"sendBody": True, "specifyBody": "json", "jsonBody": '={ "kg": "{{ $json.kg }}" }'}
    report = told(runs, ask(**body))

    assert ('it sends kg as "7.5" (string), a text, made from kg' in report["explanation"]) is says


@pytest.mark.parametrize(("price", "number", "noticed"), [("5.00 EUR", 5, False), ("1.234,56", 1.234, True)])
def test_a_unit_behind_a_number_is_not_cut_off(price: str, number: float, noticed: bool) -> None:
    runs = {"Rows": [run(items({"price": price}))], "Parse": [run(items({"price": number}), after="Rows")]}
    code = "return { json: { price: parseFloat($json.price) } };"
    report = told(runs, node("Parse", code), status="success")

    assert ("it reads only the beginning" in report["explanation"]) is noticed
    assert "origin" not in report


def test_the_branch_of_a_refused_item_is_told() -> None:
    condition = {"leftValue": "={{ $json.land }}", "rightValue": "GB", "operator": {"operation": "equals"}}
    fork = node("EU?", type="n8n-nodes-base.if", parameters={"conditions": {"conditions": [condition]}})
    runs = {
        "Rows": [run(items({"land": "GB"}))],
        "EU?": [run(items({"land": "GB"}), after="Rows")],
        "Plain": [run(items({"land": "GB", "eori": ""}), after="EU?")],
        "Ask": [failed_run("Refused", after="Plain", httpCode="422", messages=['422 - "eori is required"'])],
    }
    report = told(runs, fork, set_node("Plain", eori=""), ask())

    assert "'EU?' sent the item this way by true: land is \"GB\" (string), tested by 'equals'" in report["values"][-1]


@pytest.mark.parametrize(
    ("pages", "words"),
    [
        (
            ({"items": [1], "page": 1, "pages": 5}, {"items": [2], "page": 2, "pages": 5}),
            "its last answer is page 2 of 5",
        ),
        (({"items": [1], "next": "x"}, {"items": [1], "next": "x"}), "and all answers are the same"),
        (({"items": [1], "next": "x"}, {"items": [2], "next": None}), "No rule found a fault"),
        (({"items": [1], "page": 1, "pages": 2}, {"items": [2], "page": 2, "pages": 2}), "No rule found a fault"),
    ],
)
def test_paging_that_ends_too_early_is_noticed(pages: tuple[JsonObject, ...], words: str) -> None:
    runs = {"Hook": [run(items({"id": 1}))], "Ask": [run(items(*pages), after="Hook")]}
    report = told(runs, ask(options={"pagination": {"pagination": {"maxRequests": 2}}}), status="success")

    assert words in report["explanation"]


def merged(*rows: JsonObject) -> JsonObject:
    """A merge by SQL, which says of each item that it was made from all."""
    paired = [{"item": number, "input": side} for side in (0, 1) for number in (0, 1)]
    joined = [{"json": row, "pairedItem": paired} for row in rows]
    runs = {
        "Lines": [run(items({"sku": "A"}, {"sku": "B"}))],
        "Prices": [run(items({"sku": "A", "price": 2}, {"sku": "b", "price": 3}))],
        "Join": [run(joined, after=["Lines", "Prices"])],
        "Use": [failed_run(OF_UNDEFINED.format("toFixed"), after="Join", lineNumber=1, description="TypeError")],
    }
    join = node("Join", type="n8n-nodes-base.merge", parameters={"mode": "combineBySql", "query": "SELECT *"})
    return told(runs, join, node("Use", "return items.map((i) => ({ json: { p: i.json.price.toFixed(2) } }));"))


def test_an_item_of_a_vague_merge_is_not_said_to_be_made_from_one_item() -> None:
    report = merged({"sku": "A", "price": 2}, {"sku": "B"})

    assert "item 1 of it has no price; item 0 has one" in report["explanation"]
    assert "madeFrom" not in cause_told(report)
    assert "lost" not in report["explanation"]


def test_a_field_that_an_aggregate_gathers_is_not_lost() -> None:
    runs = {
        "Rows": [run(items({"mail": "a"}))],
        "All": [run(items({"data": [{"mail": "a"}]}), after="Rows")],
        "Use": [failed_run(OF_UNDEFINED.format("trim"), after="All", lineNumber=1, description="TypeError")],
    }
    gather = node("All", type="n8n-nodes-base.aggregate", parameters={"aggregate": "aggregateAllItemData"})
    report = told(runs, gather, node("Use", "return [{ json: { m: $json.mail.trim() } }];"))

    assert "it gathers items in a list, whose elements have mail" in report["explanation"]


@pytest.mark.parametrize(("text", "wrong"), [('Valve "B" open', False), ("Valve ", True)])
def test_json_that_was_repaired_as_it_was_meant_is_no_fault(text: str, wrong: bool) -> None:
    card = {"mode": "raw", "jsonOutput": '={ "text": "{{ $json.msg }}" }'}
    runs = {"Hook": [run(items({"msg": 'Valve "B" open'}))], "Card": [run(items({"text": text}), after="Hook")]}
    report = told(runs, node("Card", type="n8n-nodes-base.set", parameters=card), status="success")

    assert ("something is wrong" in report["explanation"]) is wrong


def test_what_was_noticed_before_is_not_denied() -> None:
    refused = {"httpCode": "422", "messages": ['422 - "合計は数値"'], "context": {"itemIndex": 0}}
    runs = {
        "Make": [run(items({"n": "1,200"}))],
        "Sum": [run(items({"合計": None}), after="Make")],
        "Ask": [failed_run("Invalid", after="Sum", **refused)],
    }
    execution = made(runs, node("Sum", "return items.map((i) => ({ json: { 合計: i.json.n * 2 } }));"), ask())
    execution["workflowData"]["connections"] = wires("Make", "Sum", "Ask")
    report = Diagnosis(as_read(execution)).report()

    assert "Look at 'Sum': it cannot calculate with n" in report["explanation"]
    assert "No earlier cause" not in report["explanation"]


def test_an_item_that_was_sent_before_is_told_of_a_conflict() -> None:
    conflict = {"httpCode": "409", "messages": ['409 - "guid n2 already exists"'], "context": {"itemIndex": 2}}
    rows = items({"guid": "n1"}, {"guid": "n2"}, {"guid": "n2"})
    runs = {"Rows": [run(rows)], "Ask": [failed_run("Conflict", after="Rows", **conflict)]}

    assert 'item 1 before it has the same guid: "n2" (string)' in told(runs, ask())["values"]


def test_the_id_of_a_workflow_that_is_not_run_is_told() -> None:
    extra = {"workflowId": "7Hq2"}
    runs = {
        "Rows": [run(items({"id": 1}))],
        "Call": [failed_run("Workflow is not active and cannot be executed.", after="Rows", extra=extra)],
    }
    report = told(runs, node("Call", type="n8n-nodes-base.executeWorkflow", parameters={}))

    assert 'it calls the workflow with the id "7Hq2"' in report["explanation"]


@pytest.mark.parametrize(
    ("code", "told_beside"),
    [("429", False), ("503", False), ("ECONNREFUSED", False), ("422", True)],
)
def test_an_empty_field_is_not_told_beside_a_service_that_is_busy_or_away(code: str, told_beside: bool) -> None:
    body = {"specifyBody": "json", "jsonBody": "={{ JSON.stringify({ no: $json.no, mail: $json.mail }) }}"}
    context = {"itemIndex": 1}
    runs = {
        "Hook": [run(items({"no": "A-1", "mail": "a@b.test"}, {"no": "A-2", "mail": None}))],
        "Ask": [failed_run("The service refused", after="Hook", httpCode=code, context=context)],
    }
    values = told(runs, ask(sendBody=True, **body))["values"]

    assert any(one.startswith('no is "A-2"') for one in values)
    assert any("mail" in one for one in values) is told_beside
