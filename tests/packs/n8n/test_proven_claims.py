"""An origin is claimed only with proof. Everything else is noticed, with the values that were read and their makers."""

from base64 import b64encode
from typing import Any

import pytest

from dogubako.packs.n8n.diagnosis.report import Diagnosis

from .made import JsonObject, as_read, failed_run, item, items, made, node, run, wires

NULL = "Cannot read properties of null (reading 'trim') [line 1]"
READS_MAIL = "return $input.all().map(i => ({ json: { m: i.json.mail.trim() } }));"
HTTP = "n8n-nodes-base.httpRequest"
BODY = {"sendBody": True, "specifyBody": "json", "jsonBody": "={{ JSON.stringify($json) }}", "options": {}}


def told(runs: JsonObject, *nodes: JsonObject, **options: Any) -> JsonObject:
    return Diagnosis(as_read(made(runs, *nodes, **options))).report()


def wired(runs: JsonObject, *nodes: JsonObject, **options: Any) -> JsonObject:
    """The diagnosis of nodes that are connected in a row."""
    execution = made(runs, *nodes, **options)
    execution["workflowData"]["connections"] = wires(*runs)
    return Diagnosis(as_read(execution)).report()


def field(name: str, fields: JsonObject) -> JsonObject:
    rows = [{"name": key, "value": value, "type": "string"} for key, value in fields.items()]
    return node(name, type="n8n-nodes-base.set", parameters={"assignments": {"assignments": rows}})


@pytest.mark.parametrize(
    ("others", "id_before", "claimed"),
    [
        pytest.param([], True, False, id="the only item"),
        pytest.param([{"mail": "a@b.c"}], True, True, id="others got one"),
        pytest.param([{"mail": "a@b.c"}], False, False, id="it came in so, and may be optional"),
        pytest.param([{"mail": None}], True, False, id="all are so"),
    ],
)
def test_a_null_is_claimed_only_of_a_node_that_makes_the_field(
    others: list[JsonObject], id_before: bool, claimed: bool
) -> None:
    rows = [*others, {"mail": None}]
    runs = {
        "Ids": [run(items(*({"id": number} if id_before else row for number, row in enumerate(rows))))],
        "Look up": [run(items(*rows), after="Ids")],
        "Use": [failed_run(NULL, after="Look up", description="TypeError")],
    }
    report = told(runs, node("Use", READS_MAIL))

    assert ("origin" in report, "noticed" in report) == (claimed, not claimed)
    assert ("is not known" in report["explanation"]) is not claimed


def test_a_field_that_another_node_guards_is_optional() -> None:
    runs = {
        "Rows": [run(items({"mail": "a@b.c"}, {"mail": None}))],
        "Use": [failed_run(NULL, after="Rows", description="TypeError")],
    }
    report = told(runs, node("Use", READS_MAIL), node("Other", "return { json: { to: $json.mail ?? 'nobody' } };"))

    assert "origin" not in report
    assert report["noticed"]["nodeName"] == "Rows"


def test_a_node_that_made_nothing_of_a_value_is_claimed() -> None:
    runs = {
        "Rows": [run(items({"mail": "a@b.c"}))],
        "Clear": [run(items({"mail": None}), after="Rows")],
        "Use": [failed_run(NULL, after="Clear", description="TypeError")],
    }

    assert told(runs, node("Use", READS_MAIL))["origin"]["nodeName"] == "Clear"


def test_that_a_service_refuses_is_no_proof_against_the_node_that_asks() -> None:
    error = {"httpCode": "400", "description": "'from' must not be after 'to'", "context": {"itemIndex": 0}}
    runs = {
        "Day": [run(items({"day": "2026-11-17"}))],
        "Range": [run(items({"from": "2026-11-24", "to": "2026-11-17"}), after="Day")],
        "Ask": [failed_run("Bad request", after="Range", **error)],
    }
    ask = node("Ask", type=HTTP, parameters={"url": "=http://a.test/{{ $json.from }}/{{ $json.to }}"})
    report = told(runs, field("Range", {"from": "={{ $json.day.plus(7) }}", "to": "={{ $json.day }}"}), ask)

    assert report["noticed"]["nodeName"] == "Ask"
    assert report["values"] == [
        "from is \"2026-11-24\" (string), made in 'Range' by {{ $json.day.plus(7) }}"
        " (day is \"2026-11-17\" (string), made in 'Day')",
        "to is \"2026-11-17\" (string), made in 'Range' by {{ $json.day }}"
        " (day is \"2026-11-17\" (string), made in 'Day')",
    ]


def test_a_value_is_followed_through_lists_to_the_line_that_made_it() -> None:
    error = {"httpCode": "400", "description": "lines[1].price must be positive", "context": {"itemIndex": 0}}
    runs = {
        "Rows": [run(items({"list": 9, "off": 0}, {"list": 9, "off": 9}))],
        "Cut": [run(items({"price": 9}, {"price": -72}), after="Rows")],
        "Pack": [run([item({"lines": [{"price": 9}, {"price": -72}]}, [{"item": 0}, {"item": 1}])], after="Cut")],
        "Post": [failed_run("Bad request", after="Pack", **error)],
    }
    cut = node("Cut", "return $input.all().map(i => ({ json: {\n  price: i.json.list * (1 - i.json.off),\n} }));")
    report = told(runs, cut, node("Post", type=HTTP, parameters={"url": "http://a.test", **BODY}))

    assert report["values"][1] == (
        "lines.1.price is -72 (number), made in 'Cut' as price by price: i.json.list * (1 - i.json.off)"
        " (list is 9 (number), made in 'Rows'; off is 9 (number), made in 'Rows')"
    )


def test_a_login_is_told_without_its_value() -> None:
    header = {"parameters": [{"name": "Authorization", "value": "={{ $json.auth }}"}]}
    ask = node("Ask", type=HTTP, parameters={"url": "http://a.test", "sendHeaders": True, "headerParameters": header})
    error = {"httpCode": "401", "context": {"itemIndex": 0}}
    runs = {
        "Config": [run(items({"auth": "secret-token"}))],
        "Ask": [failed_run("Authorization failed", after="Config", **error)],
    }

    assert told(runs, ask)["values"] == ["auth is a text of 12 characters, made in 'Config'"]


def test_a_parameter_and_a_number_that_the_message_names_are_told() -> None:
    paging = {"nextURL": "={{ $response.body.next }}", "paginationCompleteWhen": "responseIsEmpty"}
    ask = node("Ask", type=HTTP, parameters={"url": "http://a.test", "options": {"pagination": {"pagination": paging}}})
    error = {"description": 'Make sure the "Next URL" parameter is valid.', "context": {"itemIndex": 0}}
    paged = wired({"Start": [run(items({}))], "Ask": [failed_run("'null' is no URL", after="Start", **error)]}, ask)
    loop = node("Loop", type="n8n-nodes-base.splitInBatches", parameters={"batchSize": 250})
    post = node("Post", type=HTTP, parameters={"url": "http://a.test", **BODY})
    refused = {"httpCode": "400", "description": "At most 200 rows, got 250", "context": {"itemIndex": 0}}
    sent = {"Loop": [run(items({"n": 1}))], "Post": [failed_run("Bad request", after="Loop", **refused)]}

    assert 'its paging is set so: {"nextURL": "={{ $response.body.next }}"' in paged["values"][0]
    assert "its parameter nextURL is {{ $response.body.next }}" in paged["values"][1]
    assert wired(sent, loop, post)["values"] == ["batchSize of 'Loop' is 250, a number that the service names"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(b64encode(b"Tag;Betrag\n1;2,5\n").decode(), "where the file has ';'", id="in the item"),
        pytest.param("filesystem-v2", "its first line has 1 column(s), and another has 2", id="kept elsewhere"),
    ],
)
def test_a_table_that_is_cut_at_the_wrong_sign_is_told(data: str, words: str) -> None:
    held = {"data": {"mimeType": "text/csv", "data": data}}
    read = node("Read", type="n8n-nodes-base.extractFromFile", parameters={"operation": "csv", "options": {}})
    message = "Invalid Record Length: columns length is 1, got 2 on line 2"
    runs = {"Get": [run([item({}, 0, binary=held)])], "Read": [failed_run(message, after="Get")]}
    report = told(runs, read)

    assert words in report["explanation"]
    assert "Get" in report["explanation"]


def test_a_child_that_reads_another_name_than_its_caller_gave_tells_both_sides() -> None:
    called = {"executionId": "2", "workflowId": "made0000made0000"}
    child = made(
        {
            "Called": [run(items({"invoiceNumbr": "7-1"}))],
            "Year": [
                failed_run(
                    "Cannot read properties of undefined (reading 'split') [line 1]",
                    after="Called",
                    description="TypeError",
                )
            ],
        },
        node("Called", type="n8n-nodes-base.executeWorkflowTrigger", parameters={}),
        node("Year", "return [{ json: { y: $input.first().json.invoiceNumber.split('-')[0] } }];"),
        id="2",
    )
    parent = made(
        {
            "Prepare": [run(items({"invoiceNumbr": "7-1"}))],
            "Call": [failed_run("child failed", after="Prepare", **called)],
        },
        node("Call", type="n8n-nodes-base.executeWorkflow", parameters={}),
    )
    report = Diagnosis(as_read(parent), [Diagnosis(as_read(child))]).report()

    assert report["noticed"]["nodeName"] == "Year"
    assert "In the calling workflow 'Prepare' gave it this item, so either side may be wrong." in report["explanation"]


def test_a_branch_that_differs_in_case_only_is_told_before_the_null_behind_it() -> None:
    condition = {
        "leftValue": "={{ $json.land }}",
        "rightValue": "kr",
        "operator": {"type": "string", "operation": "notEquals"},
    }
    test = node("Abroad?", type="n8n-nodes-base.if", parameters={"conditions": {"conditions": [condition]}})
    rows = items({"land": "KR", "mail": None})
    runs = {
        "Rows": [run(rows)],
        "Abroad?": [run(rows, [], after="Rows")],
        "Use": [failed_run(NULL, after="Abroad?", description="TypeError")],
    }
    execution = made(runs, test, node("Use", READS_MAIL), node("At home"))
    ways = [[{"node": name, "type": "main", "index": 0}] for name in ("Use", "At home")]
    execution["workflowData"]["connections"] = {**wires("Rows", "Abroad?"), "Abroad?": {"main": ways}}
    report = Diagnosis(as_read(execution)).report()

    assert report["noticed"]["nodeName"] == "Abroad?"
    assert "they differ only in case" in report["explanation"]
    assert "'Rows': mail is null" in report["explanation"]


def test_a_name_that_a_node_misspelt_and_its_items_had_right_is_claimed_of_that_node() -> None:
    shape = node("Shape", "return $input.all().map(i => ({ json: { adresse2: 1, addresse: i.json.adresse } }));")
    runs = {
        "Crm": [run(items({"adresse": {"plz": "1"}}))],
        "Shape": [run(items({"addresse": {"plz": "1"}, "n": 1}), after="Crm")],
        "Use": [
            failed_run(
                "Cannot read properties of undefined (reading 'plz') [line 1]", after="Shape", description="TypeError"
            )
        ],
    }
    report = told(runs, shape, node("Use", "return [{ json: { p: $input.first().json.adresse.plz } }];"))

    assert (report.get("origin") or report["noticed"])["nodeName"] == "Shape"


def test_what_a_request_was_asked_with_is_told_of_a_null_in_its_answer() -> None:
    ask = node("Ask", type=HTTP, parameters={"url": "=http://a.test/{{ $json.id }}"})
    runs = {
        "Order": [run(items({"nr": "Z-1"}))],
        "Pick": [run(items({"id": "Z-1"}), after="Order")],
        "Ask": [run(items({"mail": None}), after="Pick")],
        "Use": [failed_run(NULL, after="Ask", description="TypeError")],
    }
    report = told(runs, field("Pick", {"id": "={{ $json.nr }}"}), ask, node("Use", READS_MAIL))

    assert report["values"][-1] == (
        "'Ask' asked with this: id is \"Z-1\" (string), made in 'Pick' by {{ $json.nr }}"
        " (nr is \"Z-1\" (string), made in 'Order')"
    )


def test_a_name_in_brackets_is_read_as_what_it_is() -> None:
    code = "const { ['Size (cm)']: size } = $input.first().json;\nreturn [{ json: { s: size.toFixed(1) } }];"
    runs = {
        "Rows": [run(items({"Size (cm)": "75"}))],
        "Use": [failed_run("size.toFixed is not a function [line 2]", after="Rows", description="TypeError")],
    }
    report = told(runs, node("Use", code))

    assert "not there" not in str(report["values"])
    assert 'Size (cm) is "75" (string)' in report["explanation"]
