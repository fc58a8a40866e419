"""Failures of kinds that people who had not seen the rules came up with, and how they are told."""

from typing import Any

import pytest

from dogubako.packs.n8n.diagnosis.report import Diagnosis

from .made import JsonObject, as_read, failed_run, item, items, made, node, run, wires


def told(runs: dict[str, Any], *nodes: JsonObject, status: str = "success") -> JsonObject:
    return Diagnosis(as_read(made(runs, *nodes, status=status))).report()


def test_a_path_has_all_nodes_that_the_items_passed() -> None:
    message = "Paired item data for item from node 'Group' is unavailable"
    runs = {
        "Rows": [run(items({"n": 1}))],
        "Group": [run([{"json": {"n": 1}}], after="Rows")],
        "Sort": [run([item({"n": 1})], after="Group")],
        "Use": [failed_run(message, after="Sort", context={"itemIndex": 0})],
    }
    execution = made(runs, node("Group", "return [{ json: { n: 1 } }];"), node("Use", "return $('Rows').item.json.n;"))
    execution["workflowData"]["connections"] = wires("Rows", "Group", "Sort", "Use")
    report = Diagnosis(as_read(execution)).report()

    assert report["path"] == ["Group", "Sort", "Use"]


def test_an_item_that_a_node_read_is_told_apart_from_one_that_it_gave_out() -> None:
    failed = failed_run("Cannot read properties of undefined (reading 'trim') [line 1]", after="Rows", lineNumber=1)
    report = told(
        {"Rows": [run(items({"Name": "A"}))], "Use": [failed]}, node("Use", "$json.name.trim()"), status="error"
    )
    found = report.get("origin") or report["noticed"]

    assert found["nodeName"] == "Use"
    assert (found["itemRead"], found["itemFrom"]) == ({"Name": "A"}, "Rows")
    assert "item" not in found


def test_a_value_is_followed_through_nodes_that_rename_and_split() -> None:
    rename = node(
        "Rename",
        type="n8n-nodes-base.renameKeys",
        parameters={"keys": {"key": [{"currentKey": "ids", "newKey": "id"}]}},
    )
    split = node("Split", type="n8n-nodes-base.splitOut", parameters={"fieldToSplitOut": "body.ids"})
    hook = node("Hook", type="n8n-nodes-base.webhook")
    ask = node("Ask", type="n8n-nodes-base.httpRequest", parameters={"url": "=http://a.test/{{ $json.id }}"})
    refused = {"httpCode": "404", "messages": ['404 - "unknown"'], "context": {"itemIndex": 0}}
    runs = {
        "Hook": [run(items({"body": {"ids": ["a7", "b8"]}}))],
        "Split": [run([item({"ids": "a7"}), item({"ids": "b8"})], after="Hook")],
        "Rename": [run([item({"id": "a7"}), item({"id": "b8"}, 1)], after="Split")],
        "Ask": [failed_run("not found", after="Rename", **refused)],
    }
    report = told(runs, hook, split, rename, ask, status="error")

    assert "id is \"a7\" (string), as 'Hook' received it as body.ids.0" in report["values"]


def test_a_text_with_quotes_is_for_who_writes_it_into_json() -> None:
    send = node("Send", type="n8n-nodes-base.httpRequest", parameters={"jsonBody": '={ "b": "{{ $json.b }}" }'})
    failed = failed_run("The value in the JSON Body field is not valid JSON", after="Rows")
    report = told({"Rows": [run(items({"b": 'say "hi"'}))], "Send": [failed]}, send, status="error")

    assert report["noticed"]["nodeName"] == "Send"
    assert "JSON.stringify() would escape it" in report["noticed"]["problem"]


def test_an_object_that_a_node_replaced_by_its_part_is_told_there() -> None:
    rows = [{"name": "port", "type": "string", "value": "={{ $json.port.name }}"}]
    flat = node("Flat", type="n8n-nodes-base.set", parameters={"assignments": {"assignments": rows}})
    failed = failed_run("Cannot read properties of undefined (reading 'trim') [line 1]", after="Flat", lineNumber=1)
    runs = {
        "Rows": [run(items({"port": {"code": "TYO", "name": "Tokyo"}}))],
        "Flat": [run([item({"port": "Tokyo"})], after="Rows")],
        "Use": [failed],
    }
    report = told(runs, flat, node("Use", "return $json.port.code.trim();"), status="error")

    assert report["noticed"]["nodeName"] == "Flat"
    assert "so there is no code in it; it is made from port.name" in report["explanation"]


def test_names_in_scripts_with_vowel_signs_are_read_whole() -> None:
    rows = [{"name": "स्थान", "type": "string", "value": "={{ $json.श्रेणी.शहर }}"}]
    take = node("चुनें", type="n8n-nodes-base.set", parameters={"assignments": {"assignments": rows}})
    failed = failed_run("Cannot read properties of null (reading 'trim') [line 1]", after="चुनें", lineNumber=1)
    runs = {
        "Rows": [run(items({"श्रेणी": {"शहर": None}}))],
        "चुनें": [run([item({"स्थान": None})], after="Rows")],
        "Use": [failed],
    }
    report = told(runs, take, node("Use", "const { स्थान } = $json; return स्थान.trim();"), status="error")

    assert "श्रेणी.शहर is null" in report["explanation"]
    assert "is not there" not in str(report)


@pytest.mark.parametrize(("seen", "reason"), [("nurse", True), ("cook", False)])
def test_a_filter_that_gives_out_an_empty_item_is_told_with_what_it_compared(seen: str, reason: bool) -> None:
    condition = {"leftValue": "={{ $json.role }}", "rightValue": "Nurse", "operator": {"operation": "equals"}}
    only = {
        **node("Only", type="n8n-nodes-base.filter", parameters={"conditions": {"conditions": [condition]}}),
        "alwaysOutputData": True,
    }
    every = [{"item": 0}, {"item": 1}]
    failed = failed_run("Cannot read properties of undefined (reading 'trim') [line 1]", after="Only", lineNumber=1)
    runs = {
        "Rows": [run(items({"role": "donor", "name": "A"}, {"role": seen, "name": "B"}))],
        "Only": [run([item({}, every)], items({"role": "donor"}, {"role": seen}), after="Rows")],
        "Use": [failed],
    }
    execution = made(runs, only, node("Use", "return $json.name.trim();"))
    execution["workflowData"]["connections"] = wires("Rows", "Only", "Use")
    report = Diagnosis(as_read(execution)).report()

    assert ("they differ only in case or spaces" in report["explanation"]) is reason
    assert "sent the item this way" not in str(report)
    assert "madeFrom" not in report["noticed"]


def test_a_method_that_lost_its_object_is_told() -> None:
    code = "class P {\n  go(x) { return this.cache.get(x); }\n}\nreturn $input.all().map(new P().go);"
    failed = failed_run("Cannot read properties of undefined (reading 'cache') [line 2]", after="Rows", lineNumber=2)
    report = told({"Rows": [run(items({"a": 1}))], "Use": [failed]}, node("Use", code), status="error")

    assert "its line 2 reads cache of this, which is undefined there" in report["explanation"]


def test_a_field_that_a_class_reads_is_traced_to_who_renamed_it() -> None:
    rows = [{"name": "tag_number", "type": "string", "value": "={{ $json.tagNo }}"}]
    shape = node("Shape", type="n8n-nodes-base.set", parameters={"assignments": {"assignments": rows}})
    code = (
        "class Tag {\n  constructor({ tagNo }) { this.tagNo = tagNo; }\n  get end() { return this.tagNo.slice(-6); }\n"
        "}\nreturn [{ json: { t: new Tag($json).end } }];"
    )
    failed = failed_run("Cannot read properties of undefined (reading 'slice') [line 3]", after="Shape", lineNumber=3)
    runs = {
        "Rows": [run(items({"tagNo": "1"}))],
        "Shape": [run([item({"tag_number": "1"})], after="Rows")],
        "Use": [failed],
    }
    report = told(runs, shape, node("Use", code), status="error")

    assert report["noticed"]["nodeName"] == "Shape"


@pytest.mark.parametrize(("key", "told_of"), [("10", ": they differ only in type"), ("77", "")])
def test_what_a_map_was_asked_for_in_vain_is_told_with_a_key(key: str, told_of: str) -> None:
    code = "const m = new Map([[10, { p: 1 }]]);\nreturn [{ json: { p: m.get($json.id).p } }];"
    failed = failed_run("Cannot read properties of undefined (reading 'p') [line 2]", after="Rows", lineNumber=2)
    report = told({"Rows": [run(items({"id": key}))], "Use": [failed]}, node("Use", code), status="error")

    assert f'it looks for "{key}" (string), among keys such as 10 (number){told_of}' in report["explanation"]


def test_a_list_that_was_split_on_purpose_is_not_told_as_lost() -> None:
    split = node("Split", type="n8n-nodes-base.splitOut", parameters={"fieldToSplitOut": "families"})
    gather = node("Gather", type="n8n-nodes-base.aggregate", parameters={"aggregate": "aggregateAllItemData"})
    failed = failed_run("Cannot read properties of undefined (reading 'map') [line 1]", after="Gather", lineNumber=1)
    runs = {
        "Rows": [run(items({"families": [{"kids": 2}]}))],
        "Split": [run([item({"kids": 2})], after="Rows")],
        "Gather": [run([item({"data": [{"kids": 2}]})], after="Split")],
        "Use": [failed],
    }
    report = told(runs, split, gather, node("Use", "return $json.families.map((f) => f);"), status="error")
    found = report.get("origin") or report["noticed"]

    assert found["nodeName"] == "Use"
    assert "the item comes from 'Gather' and has data" in found["problem"]


def test_a_null_that_a_getter_reads_is_found_in_its_item() -> None:
    code = "class M {\n  constructor(m) { this.m = m; }\n  get due() { return this.m.rate.value; }\n}\nreturn [];"
    failed = failed_run("Cannot read properties of null (reading 'value') [line 3]", after="Rows", lineNumber=3)
    rows = items({"rate": {"value": 1}}, {"rate": None}, {"rate": {"value": 2}})
    report = told({"Rows": [run(rows)], "Use": [failed]}, node("Use", code), status="error")

    assert (report["noticed"]["nodeName"], report["noticed"]["itemIndex"]) == ("Rows", 1)
    assert "rate is null" in report["explanation"]


def test_in_how_many_items_two_values_differ_only_in_form_is_told() -> None:
    condition = {"leftValue": "={{ $json.state }}", "rightValue": "Open", "operator": {"operation": "equals"}}
    check = node("Check", type="n8n-nodes-base.if", parameters={"conditions": {"conditions": [condition]}})
    rows = items({"state": "OPEN"}, {"state": "done"})
    runs = {"Rows": [run(rows)], "Check": [run([], rows, after="Rows")]}
    execution = made(runs, check, node("Go"), status="success")
    execution["workflowData"]["connections"] = wires("Rows", "Check", "Go")

    assert (
        "they differ only in case or spaces (in 1 of 2 items)" in Diagnosis(as_read(execution)).report()["explanation"]
    )


def test_a_name_with_a_mark_that_does_not_show_is_told_where_it_was_made() -> None:
    read = node("Read", type="n8n-nodes-base.extractFromFile", parameters={"operation": "csv"})
    make = node("Make", type="n8n-nodes-base.convertToFile", parameters={"operation": "csv"})
    failed = failed_run("Cannot read properties of undefined (reading 'trim') [line 1]", after="Read", lineNumber=1)
    runs = {
        "Rows": [run(items({"shop": "Old Town"}))],
        "Make": [run([item({})], after="Rows")],
        "Read": [run([item({"\ufeffshop": "Old Town"})], after="Make")],
        "Use": [failed],
    }
    report = told(runs, make, read, node("Use", "return $json.shop.trim();"), status="error")
    found = report.get("origin") or report["noticed"]

    assert found["nodeName"] == "Read"
    assert 'the name of its field shop has a character that does not show: "\\ufeffshop"' in found["problem"]


def test_a_function_of_n8n_on_a_field_that_was_renamed_is_traced() -> None:
    def set_node(name: str, field: str, value: str) -> JsonObject:
        rows = [{"name": field, "type": "string", "value": value}]
        return node(name, type="n8n-nodes-base.set", parameters={"assignments": {"assignments": rows}})

    failed = failed_run("toDateTime can't be used on undefined value", after="Shape", context={"itemIndex": 0})
    runs = {
        "Rows": [run(items({"eta": "2026-01-01"}))],
        "Shape": [run([item({"ankomst": "2026-01-01"})], after="Rows")],
        "Use": [failed],
    }
    use = set_node("Use", "day", "={{ $json.eta.toDateTime().toFormat('dd') }}")
    report = told(runs, set_node("Shape", "ankomst", "={{ $json.eta }}"), use, status="error")

    assert report["noticed"]["nodeName"] == "Shape"


def test_a_nested_field_of_the_same_name_is_not_told_as_the_one_that_was_made() -> None:
    code = "return [{ json: { name, team: { lead: { name: 'Lead ' + name } } } }];"
    failed = failed_run("Cannot read properties of null (reading 'x') [line 1]", after="Make", lineNumber=1)
    runs = {
        "Start": [run(items({"n": 1}))],
        "Make": [run([item({"name": "Iva", "team": None})], after="Start")],
        "Use": [failed],
    }
    use = node("Use", "return [{ json: { a: $json.name, b: $json.team.x } }];")

    assert "'Lead ' + name" not in str(told(runs, node("Make", code), use, status="error"))


def test_a_field_that_an_html_node_names_is_traced_to_who_lost_it() -> None:
    rows = [{"name": "source", "type": "string", "value": "website"}]
    keep = node("Keep", type="n8n-nodes-base.set", parameters={"assignments": {"assignments": rows}})
    failed = failed_run('No property named "data" exists!', after="Keep", context={"itemIndex": 0})
    runs = {
        "Get": [run(items({"data": "<html></html>"}))],
        "Keep": [run([item({"source": "website"})], after="Get")],
        "Read": [failed],
    }
    report = told(runs, keep, node("Read", type="n8n-nodes-base.html"), status="error")

    assert (report.get("origin") or report["noticed"])["nodeName"] == "Keep"


@pytest.mark.parametrize(("made_by", "kind"), [("new Set()", "Set"), ("new Map()", "Map"), ("[]", None)])
def test_a_set_that_is_used_like_a_list_is_told(made_by: str, kind: str | None) -> None:
    code = f"const 種 = {made_by};\nreturn 種.map((one) => ({{ json: {{ one }} }}));"
    failed = failed_run("種.map is not a function [line 2]", after="Rows", lineNumber=2)
    report = told({"Rows": [run(items({"a": 1}))], "Use": [failed]}, node("Use", code), status="error")

    assert (f"it calls map() on 種, a {kind}, which has no such method" in report["explanation"]) is (kind is not None)
