"""Nulls that count as 0 or decide a branch, and texts that are no JSON for the node that answers with them."""

from typing import Any

import pytest

from dogubako.packs.n8n.diagnosis.report import Diagnosis

from .branches import FORK, fields, from_output, links
from .branches import told as told_of_branches
from .made import JsonObject, as_read, failed_run, item, items, made, node, run


def told(runs: dict[str, Any], *nodes: JsonObject, status: str = "success") -> JsonObject:
    return Diagnosis(as_read(made(runs, *nodes, status=status))).report()


@pytest.mark.parametrize(
    ("sum_of", "noticed"),
    [
        ("Math.round(json.euro * rate)", True),
        ("rate / json.euro", True),
        ("json.euro * (rate ?? 1)", False),
        ("json.euro - rate", False),
        ("json.zero * rate", False),
    ],
)
def test_a_null_that_is_multiplied_counts_as_0(sum_of: str, noticed: bool) -> None:
    made_of = f"$input.all().map(({{ json }}) => ({{ json: {{ x: {sum_of} }} }}))"
    code = f"const rate = $('Rate').first().json.kurs;\nreturn {made_of};"
    runs = {
        "Rate": [run(items({"kurs": None, "info": "quota exceeded"}))],
        "Rents": [run([item({"euro": 850, "zero": 0})], after="Rate")],
        "Dong": [run([item({"x": 0})], after="Rents")],
    }
    report = told(runs, node("Rate", type="n8n-nodes-base.httpRequest"), node("Dong", code))
    explanation = report["explanation"]

    assert ("kurs is null, and 'Dong' multiplies or divides it: null counts as 0 there" in explanation) is noticed
    assert ((report.get("noticed") or {}).get("nodeName") == "Rate") is noticed


def test_a_null_in_the_product_of_an_expression_counts_as_0() -> None:
    rows = [{"name": "sum", "type": "number", "value": "={{ $json.数量 * $json.単価 }}"}]
    line = node("Line", type="n8n-nodes-base.set", parameters={"assignments": {"assignments": rows}})
    runs = {"Rows": [run(items({"数量": 3, "単価": None}))], "Line": [run([item({"sum": 0})], after="Rows")]}

    assert "単価 is null, and 'Line' multiplies or divides it" in told(runs, line)["explanation"]


def test_the_node_is_found_that_made_the_null_which_decided_a_branch() -> None:
    code = "const b = $json.body;\nreturn [{ json: { name: b.name, pesel: b.pesel ?? null } }];"
    condition = {"leftValue": "={{ $json.pesel }}", "operator": {"type": "string", "operation": "notEmpty"}}
    stop = {"errorMessage": "={{ $json.name }} has no number"}
    row = {"name": "Anna", "pesel": None}
    runs = {
        "Form": [run(items({"body": {"name": "Anna", "pacjent": {"pesel": "85"}}}))],
        "Data": [run([item(row)], after="Form")],
        "Known?": [run([], [item(row)], after="Data")],
        "Refuse": [failed_run("Anna has no number", after=from_output("Known?", 1))],
    }
    report = told_of_branches(
        runs,
        node("Data", code),
        node("Known?", type=FORK, parameters={"conditions": {"conditions": [condition]}}),
        node("Refuse", type="n8n-nodes-base.stopAndError", parameters=stop),
        connections=links(Form=[["Data"]], Data=[["Known?"]], **{"Known?": [["Save"], ["Refuse"]]}),
    )

    assert any(one.startswith("pesel is null (null), made in 'Data'") for one in report["values"])


def test_a_text_that_is_no_json_is_traced_from_the_node_that_answers_with_it() -> None:
    failed = failed_run("Invalid JSON in 'Response Body' field", after="Note", context={"itemIndex": 0})
    answer = node("Answer", type="n8n-nodes-base.respondToWebhook", parameters={"responseBody": "={{ $json.reponse }}"})
    runs = {
        "Build": [run([item({"reponse": '{lot: "A"}'})])],
        "Note": [run([item({"reponse": '{lot: "A"}', "seen": "yes"})], after="Build")],
        "Answer": [failed],
    }
    report = told(runs, fields("Note", {"seen": "yes"}), answer, status="error")

    assert report["noticed"]["nodeName"] == "Build"
    assert "which is not valid JSON" in report["explanation"]


ROUND = "let last;\nfor (const one of $input.all()) last = one.json;\nreturn [{ json: last }];"


@pytest.mark.parametrize("each", [1, 2])
def test_code_that_gives_out_one_item_for_each_round_is_told_where_a_number_of_items_is_wrong(each: int) -> None:
    counted = "const got = $input.all();\nconst all = $('Rows').first().json.rows.length;"
    check = f"{counted}\nif (got.length !== all) throw new Error(`${{got.length}} of ${{all}}`);\nreturn [];"
    rows = [{"id": number} for number in range(4)]
    rounds = [run(items(*rows[2 * turn : 2 * turn + each]), after=from_output("Loop", 1, turn)) for turn in range(2)]
    left = [one for turn in range(2) for one in rows[2 * turn : 2 * turn + each]]
    runs = {
        "Rows": [run(items({"rows": rows}))],
        "Split": [run(items(*rows), after="Rows")],
        "Loop": [run([], items(*rows[:2]), after="Split"), run([], items(*rows[2:]), after="Split")],
        "Round": rounds,
        "Check": [failed_run("2 of 4 [line 3]", after=from_output("Loop", 0), lineNumber=3)],
    }
    runs["Loop"].append(run(items(*left), [], after="Round"))
    report = told_of_branches(
        runs,
        node("Rows", type="n8n-nodes-base.httpRequest"),
        node("Loop", type="n8n-nodes-base.splitInBatches"),
        node("Round", ROUND),
        node("Check", check),
        connections=links(Rows=[["Split"]], Split=[["Loop"]], Loop=[["Check"], ["Round"]], Round=[["Loop"]]),
    )

    told = "'Round': it was given 2 and 2 items in its 2 rounds, and gives out one item for each round"
    assert (told in report["explanation"]) is (each == 1)


def test_a_list_by_whose_length_code_decides_is_told_by_its_length() -> None:
    check = "const { rows } = $input.first().json;\nif (rows.length !== 3) throw new Error('not 3');\nreturn [];"
    failed = failed_run("not 3 [line 2]", after="Rows", lineNumber=2)
    runs = {"Rows": [run(items({"rows": [{"id": number} for number in range(4)]}))], "Check": [failed]}

    report = told(runs, node("Rows", type="n8n-nodes-base.httpRequest"), node("Check", check), status="error")

    assert "because rows is a list of 4, from 'Rows'" in report["explanation"]
