"""Claims of a diagnosis that the rest of the execution contradicts, or that leave out what lies on the way."""

from typing import Any

import pytest

from dogubako.packs.n8n.diagnosis.report import Diagnosis
from dogubako.packs.n8n.diagnosis.spelling import near_names

from .made import as_read, cause_told, failed_run, item, items, made, node, run, wires

NULL = "Cannot read properties of null (reading 'trim') [line 1]"
READS_MAIL = "return $input.all().map(i => ({ json: { m: i.json.mail.trim() } }));"
HTTP = "n8n-nodes-base.httpRequest"


def told(runs: dict[str, Any], *nodes: dict[str, Any], **options: Any) -> dict[str, Any]:
    return Diagnosis(as_read(made(runs, *nodes, **options))).report()


def asked(path: str) -> dict[str, Any]:
    return node("Get", type=HTTP, parameters={"url": f"=http://a.test{path}"})


@pytest.mark.parametrize(("before", "guilty"), [("", "Rows"), (None, "Get")])
def test_a_hole_that_the_item_before_had_too_is_not_blamed(before: Any, guilty: str) -> None:
    rows = items({"team": before}, {"team": None})
    failed = failed_run("not found", after="Rows", httpCode="404", context={"itemIndex": 1})
    report = told({"Rows": [run(rows)], "Get": [failed]}, asked("/{{ $json.team }}"))

    assert cause_told(report)["nodeName"] == guilty


@pytest.mark.parametrize(("path", "guilty"), [("/{{ $json.team }}", "Rows"), ("/x?team={{ $json.team }}", "Get")])
def test_an_empty_part_of_the_query_does_not_explain_that_nothing_is_there(path: str, guilty: str) -> None:
    failed = failed_run("not found", after="Rows", httpCode="404", context={"itemIndex": 0})
    report = told({"Rows": [run(items({"team": None}))], "Get": [failed]}, asked(path))

    assert cause_told(report)["nodeName"] == guilty


@pytest.mark.parametrize(("disabled", "guilty"), [(True, "Clean"), (False, "Rows")])
def test_a_disabled_node_that_would_make_the_field_is_blamed(disabled: bool, guilty: str) -> None:
    fields = {"assignments": [{"name": "mail", "value": "={{ $json.mail ?? '' }}", "type": "string"}]}
    clean = node("Clean", type="n8n-nodes-base.set", parameters={"assignments": fields}, disabled=disabled)
    runs = {
        "Rows": [run(items({"mail": None}))],
        "Clean": [run(items({"mail": None}), after="Rows")],
        "Use": [failed_run(NULL, after="Clean", description="TypeError")],
    }
    report = told(runs, clean, node("Use", READS_MAIL))

    assert cause_told(report)["nodeName"] == guilty
    assert ("disabled" in report["explanation"]) is disabled


@pytest.mark.parametrize(("other", "guilty"), [("a@b.c", "New?"), (None, "Rows")])
def test_a_branch_that_sends_every_item_with_the_field_elsewhere_is_named(other: Any, guilty: str) -> None:
    here, there = {"id": 1, "mail": None}, {"id": 2, "mail": other}
    runs = {
        "Rows": [run(items(here, there))],
        "New?": [run([item(here, 0)], [item(there, 1)], after="Rows")],
        "Use": [failed_run(NULL, after="New?", description="TypeError")],
    }
    report = told(runs, node("New?", type="n8n-nodes-base.if"), node("Use", READS_MAIL))

    assert cause_told(report)["nodeName"] == guilty
    assert ("swapped" in report["explanation"]) is (guilty == "New?")


def test_what_is_only_unusual_in_a_success_is_noticed_and_no_origin() -> None:
    condition = {"leftValue": "={{ $json.up }}", "rightValue": False, "operator": {"operation": "equals"}}
    only = node("Down", type="n8n-nodes-base.filter", parameters={"conditions": {"conditions": [condition]}})
    runs = {"Rows": [run(items({"up": True}))], "Down": [run([], items({"up": True}), after="Rows")]}
    execution = made(runs, only, node("Alert"), status="success")
    execution["workflowData"]["connections"] = wires("Rows", "Down", "Alert")
    report = Diagnosis(as_read(execution)).report()

    assert "origin" not in report
    assert report["noticed"]["nodeName"] == "Down"
    assert "nothing is known to be wrong" in report["explanation"]


@pytest.mark.parametrize(
    "words",
    ["Invalid date of Ann", "Ann is not authorized", "Ann timed out", "rate of Ann is not defined", "500 for Ann"],
)
def test_words_that_the_code_throws_itself_are_not_taken_for_those_of_others(words: str) -> None:
    code = f"const n = $input.first().json.name;\nif (n === 'Ann') throw new Error('{words}');\nreturn [];"
    failed = failed_run(f"{words} [line 2]", after="Rows", lineNumber=2, description=None)
    report = told({"Rows": [run(items({"name": "Ann", "day": None}))], "Use": [failed]}, node("Use", code))

    assert cause_told(report)["nodeName"] == "Use"
    assert "its code throws this itself in line 2" in report["explanation"]


def test_a_value_that_breaks_a_json_body_is_found_beside_one_that_is_null() -> None:
    body = '={ "a": "{{ $json.a }}", "b": "{{ $json.b }}" }'
    send = node("Send", type=HTTP, parameters={"jsonBody": body})
    failed = failed_run("The value in the JSON Body field is not valid JSON", after="Rows")
    report = told({"Rows": [run(items({"a": None, "b": 'say "hi"'}))], "Send": [failed]}, send)

    assert 'b is "say "hi""' in report["explanation"]


def test_pinned_items_are_told() -> None:
    runs = {"Api": [run(items({"mail2": "x"}))], "Use": [failed_run(NULL.replace("null", "undefined"), after="Api")]}
    execution = made(runs, node("Api", type=HTTP), node("Use", READS_MAIL))
    execution["data"]["resultData"]["pinData"] = {"Api": [{"json": {"mail2": "x"}}]}
    report = Diagnosis(as_read(execution)).report()

    assert "pinned by hand" in report["explanation"]


@pytest.mark.parametrize(
    ("wanted", "there", "near"),
    [
        ("lastName", "firstName", False),
        ("line2", "line1", False),
        ("shipping_address", "billing_address", False),
        ("orderNo", "orderNr", True),
        ("custmer", "customer", True),
        ("user_name", "userName", True),
    ],
)
def test_fields_with_sibling_names_are_not_misspelt(wanted: str, there: str, near: bool) -> None:
    assert (near_names([there], wanted) == [there]) is near
