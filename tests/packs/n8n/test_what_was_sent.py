"""Requests that a service refused: what they sent, and who made it, in whatever language the service speaks."""

from typing import Any

import pytest

from dogubako.packs.n8n.diagnosis.report import Diagnosis

from .branches import fields
from .made import JsonObject, as_read, failed_run, items, made, node, run, wires


def refused(said: str, given: JsonObject, sent: JsonObject, *nodes: JsonObject, body: str = "={{ $json }}") -> Any:
    """The diagnosis of a request that was refused with these words. The node before it is called Made."""
    ask = node("Ask", type="n8n-nodes-base.httpRequest", parameters={"method": "POST", "jsonBody": body})
    failed = failed_run(
        "Bad request", after="Made", httpCode="400", messages=[f"400 - {said}"], context={"request": {"body": sent}}
    )
    runs = {"Hook": [run(items({"price": "4999", "post": "120"}))], "Made": [run(items(given), after="Hook")]}
    execution = made({**runs, "Ask": [failed]}, *nodes, ask)
    execution["workflowData"]["connections"] = wires("Hook", "Made", "Ask")
    return Diagnosis(as_read(execution)).report()


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ('{"error": "Falta el campo veterinario"}', "veterinario"),
        ('{"error": "担当医がありません"}', "担当医"),
        ('{"error": "brakuje pola lekarz"}', "lekarz"),
    ],
)
def test_a_field_without_a_value_that_a_service_names_is_traced_in_any_language(said: str, name: str) -> None:
    code = f"const vet = null;\nreturn [{{ json: {{ pet: 'Toby', {name}: vet ? vet.name : null }} }}];"
    item = {"pet": "Toby", name: None}
    report = refused(said, item, item, node("Made", code))

    assert report["noticed"]["nodeName"] == "Made"
    assert f"the service complains about {name}" in report["explanation"]


def test_a_service_that_names_several_fields_leaves_it_open_which_is_meant() -> None:
    item = {"lekarz": None, "zwierze": None}
    report = refused('{"error": "lekarz lub zwierze"}', item, item, node("Made", "return [];"))

    assert report["noticed"]["nodeName"] == "Ask"


@pytest.mark.parametrize(("total", "joined"), [("4999120", True), ("5119", False)])
def test_a_number_that_plus_made_of_texts_is_told_where_a_service_refuses_it(total: str, joined: bool) -> None:
    total_of = fields("Made", {"total": "={{ $json.price + $json.post }}"})
    report = refused(f'{{"blad": "limit", "total": {total}}}', {"total": total}, {"total": total}, total_of)

    assert ("+ joins and does not add; it is sent as total" in report["explanation"]) is joined
    assert (report["noticed"]["nodeName"] == "Made") is joined


def test_a_field_that_was_not_sent_is_not_told_as_undefined() -> None:
    body = "={{ JSON.stringify({ name: $json.name, phone: $json.phone }) }}"
    sent = {"name": "Piotr"}
    report = refused('{"blad": "brak: phone, name"}', sent, sent, node("Made", "return [];"), body=body)

    assert "and no phone, because the item from 'Made' has no phone" in report["explanation"]
    assert "undefined" not in report["explanation"]


def test_an_object_in_json_that_is_written_by_hand_is_told_of_the_node_that_writes_it() -> None:
    answer = node(
        "Answer",
        type="n8n-nodes-base.respondToWebhook",
        parameters={"respondWith": "json", "responseBody": '={ "first": {{ $json.first }} }'},
    )
    runs = {
        "Rows": [run(items({"all": [{"sku": "K1"}]}))],
        "First": [run(items({"first": {"sku": "K1"}}), after="Rows")],
        "Answer": [failed_run("Invalid JSON in 'Response Body' field", after="First")],
    }
    report = Diagnosis(as_read(made(runs, fields("First", {"first": "={{ $json.all[0] }}"}), answer))).report()

    assert report["noticed"]["nodeName"] == "Answer"
    assert 'takes first as it is; first is {"sku": "K1"} (object), from \'First\'' in report["explanation"]


def failed_alone(message: str, kind: str, parameters: JsonObject, item: JsonObject) -> Any:
    runs = {"Rows": [run(items(item))], "Last": [failed_run(message, after="Rows")]}
    return Diagnosis(as_read(made(runs, node("Last", type=f"n8n-nodes-base.{kind}", parameters=parameters)))).report()


def test_a_column_that_a_data_table_does_not_have_is_a_mistake_of_its_reader() -> None:
    filters = {"conditions": [{"keyName": "nr", "keyValue": "={{ $json.nr }}"}]}
    message = 'Filter validation failed: Column(s) "nr" do not exist in the selected table.'
    report = failed_alone(message, "dataTable", {"filters": filters}, {"nr": "U-1"})

    assert report["origin"]["nodeName"] == "Last"
    assert "its settings name the column nr, which the table does not have" in report["explanation"]


def test_a_list_where_a_set_node_wants_one_object_is_told() -> None:
    message = "The 'JSON Output' in item 0 does not contain a valid JSON object"
    parameters = {"mode": "raw", "jsonOutput": "={{ $json.rows }}"}
    report = failed_alone(message, "set", parameters, {"rows": [{"a": 1}]})

    assert report["noticed"]["nodeName"] == "Last"
    assert "its parameter jsonOutput gives rows, which is [{\"a\": 1}] (array), from 'Rows'" in report["explanation"]


def test_paging_that_gets_the_same_answer_again_and_again_is_told_with_what_it_changes() -> None:
    message = "The returned response was identical 5x, so requests got stopped"
    changed = {"parameters": [{"type": "qs", "name": "strona", "value": "={{ $pageCount + 1 }}"}]}
    paging = {"pagination": {"pagination": {"paginationMode": "updateAParameterInEachRequest", "parameters": changed}}}
    report = failed_alone(message, "httpRequest", {"url": "http://a.example", "options": paging}, {"a": 1})

    assert report["noticed"]["nodeName"] == "Last"
    assert "its paging changes strona in each request, and all answers are the same" in report["explanation"]


def test_a_branch_that_tested_the_refused_field_is_told() -> None:
    condition = {"leftValue": "={{ $json.permis }}", "rightValue": "refusé", "operator": {"operation": "equals"}}
    fork = node("Refused?", type="n8n-nodes-base.if", parameters={"conditions": {"conditions": [condition]}})
    ask = node("Order", type="n8n-nodes-base.httpRequest", parameters={"method": "POST", "jsonBody": "={{ $json }}"})
    sent = {"permis": "refusé"}
    failed = failed_run(
        "Conflict",
        after="Refused?",
        httpCode="409",
        messages=['409 - {"erreur": "permis non accordé"}'],
        context={"request": {"body": sent}},
    )
    runs = {"Permit": [run(items(sent))], "Refused?": [run(items(sent), [], after="Permit")], "Order": [failed]}
    report = Diagnosis(as_read(made(runs, fork, ask))).report()

    told = "'Refused?' sent the item this way by true: permis is \"refusé\" (string), tested by 'equals'"
    assert told in report["explanation"]


def test_a_value_that_several_elements_of_a_sent_list_have_is_told() -> None:
    rows = [{"reference": "BX-1"}, {"reference": "BX-2"}, {"reference": "BX-2"}]
    report = refused('{"erreur": "double", "references": ["BX-2"]}', {"articles": rows}, {"articles": rows})

    assert '2 of the 3 elements of articles have reference "BX-2" (string)' in report["explanation"]


def test_a_field_is_known_by_its_name_without_accents() -> None:
    item = {"echeances": [{"n": number} for number in range(11)], "total": 240000}
    report = refused('{"erreur": "la somme des échéances est fausse"}', item, item)

    assert "it sends echeances as a list of 11, from 'Made'" in report["explanation"]


def test_a_404_of_a_body_is_not_about_the_address() -> None:
    item = {"time": "17:30"}
    ask = node(
        "Ask", type="n8n-nodes-base.httpRequest", parameters={"url": "http://a.example", "jsonBody": "={{ $json }}"}
    )
    failed = failed_run(
        "Not found",
        after="Made",
        httpCode="404",
        messages=['404 - {"error": "no show", "time": "17:30"}'],
        context={"request": {"body": item}},
    )
    runs = {"Made": [run(items(item))], "Ask": [failed]}
    report = Diagnosis(as_read(made(runs, node("Made", "return [];"), ask))).report()

    assert "the service found nothing (HTTP 404)" in report["explanation"]
    assert "it sends time as \"17:30\" (string), from 'Made'" in report["explanation"]


def test_a_sum_is_followed_to_what_it_was_made_of() -> None:
    summed = {"fieldsToSummarize": {"values": [{"aggregation": "sum", "field": "ttc"}]}}
    sum_node = node("Sum", type="n8n-nodes-base.summarize", parameters=summed)
    ask = node("Ask", type="n8n-nodes-base.httpRequest", parameters={"jsonBody": "={{ { t: $json.sum_ttc } }}"})
    failed = failed_run(
        "No", after="Sum", httpCode="422", messages=["422 - no"], context={"request": {"body": {"t": 147}}}
    )
    runs = {
        "Tax": [run(items({"ttc": 77}, {"ttc": 70}))],
        "Sum": [run(items({"sum_ttc": 147}), after="Tax")],
        "Ask": [failed],
    }
    report = Diagnosis(as_read(made(runs, node("Tax", "return [];"), sum_node, ask))).report()

    assert "made in 'Sum' of ttc of 2 items: 77 (number), 70 (number), made in 'Tax'" in report["values"][0]


def test_a_way_out_of_a_switch_is_told_by_its_name() -> None:
    rule = {"leftValue": "={{ $json.kind }}", "rightValue": "group", "operator": {"operation": "notEquals"}}
    rules = {"values": [{"conditions": {"conditions": [rule]}, "renameOutput": True, "outputKey": "Gruppe"}]}
    fork = node("Kind", type="n8n-nodes-base.switch", parameters={"rules": rules})
    code = "return [{ json: { name: $input.first().json.members[0].name } }];"
    failed = failed_run("Cannot read properties of undefined (reading 'name')", after="Kind", description="TypeError")
    item: JsonObject = {"kind": "single", "members": []}
    runs = {"Rows": [run(items(item))], "Kind": [run(items(item), after="Rows")], "List": [failed]}
    report = Diagnosis(as_read(made(runs, fork, node("List", code)))).report()

    assert "'Kind' sent the item this way by output 0 ('Gruppe'): kind is" in report["explanation"]


def test_an_empty_answer_is_told_with_what_was_asked_for() -> None:
    query = {"parameters": [{"name": "day", "value": "={{ $json.day }}"}]}
    ask = node("Shows", type="n8n-nodes-base.httpRequest", parameters={"url": "x", "queryParameters": query})
    code = "return [{ json: { at: $input.first().json.results[0].start } }];"
    failed = failed_run("Cannot read properties of undefined (reading 'start')", after="Shows", description="TypeError")
    runs = {
        "Day": [run(items({"day": "2026-04-13"}))],
        "Shows": [run(items({"results": []}), after="Day")],
        "First": [failed],
    }
    report = Diagnosis(as_read(made(runs, ask, node("First", code)))).report()

    assert "'Shows' asked with this: day is \"2026-04-13\" (string), made in 'Day'." in report["explanation"]


@pytest.mark.parametrize(("campo", "told"), [("posti", True), ("spettacolo", False), ("altro", False)])
def test_a_field_that_the_item_has_and_the_body_lacks_is_told(campo: str, told: bool) -> None:
    body = "={{ { spettacolo: $json.spettacolo, posto: $json.posti } }}"
    said = f'{{"errori": [{{"campo": "{campo}", "messaggio": "campo obbligatorio"}}]}}'
    report = refused(said, {"spettacolo": 11, "posti": ["A1"]}, {"spettacolo": 11, "posto": ["A1"]}, body=body)

    assert ("it sends no posti, which the item from 'Made' has" in report["explanation"]) is told
