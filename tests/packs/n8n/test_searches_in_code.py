"""Code that looked something up and found nothing: the diagnosis says what was searched, and in what."""

from typing import Any

import pytest

from dogubako.packs.n8n.diagnosis.report import Diagnosis

from .made import JsonObject, as_read, cause_told, failed_run, item, items, made, node, run

OF_NULL = "Cannot read properties of null (reading '{}') [line {}]"
OF_UNDEFINED = "Cannot read properties of undefined (reading '{}') [line {}]"


def diagnosed(code: str, message: str, *data: Any, mode: str | None = None, **error: Any) -> JsonObject:
    """The diagnosis of a node 'Use' with this code, after a node 'Make' that gave out these items."""
    runs = {"Make": [run(items(*data))], "Use": [failed_run(message, after="Make", description="TypeError", **error)]}
    use = node("Use", code)
    use["parameters"] |= {"mode": mode} if mode else {}
    return Diagnosis(as_read(made(runs, use))).report()


@pytest.mark.parametrize(
    ("code", "message", "data", "says"),
    [
        pytest.param(
            "const m = $input.first().json.text.match(/No\\. (\\d+)/);\nreturn [{ json: { n: m[1] } }];",
            OF_NULL.format("1", 2),
            {"text": "Order 77"},
            ["match(", "finds nothing", 'text is "Order 77"', "from 'Make'"],
            id="a pattern that does not match",
        ),
        pytest.param(
            "const { rows, code } = $input.first().json;\nconst row = rows.find(x => x.code === code);\n"
            "return [{ json: { p: row.price } }];",
            OF_UNDEFINED.format("price", 3),
            {"rows": [{"code": "A", "price": 3}], "code": "B"},
            ["rows.find(", "finds nothing", 'code is "B"'],
            id="an element that is not there",
        ),
        pytest.param(
            "const rate = { low: { f: 1 }, 'high': { f: 2 } };\n"
            "return items.map(({ json }) => ({ json: { f: rate[json.level].f } }));",
            OF_UNDEFINED.format("f", 2),
            {"level": "top"},
            ["rate[json.level]", 'level is "top"', "low, high"],
            id="a key that the table does not have",
        ),
        pytest.param(
            "const free = $jmespath($input.first().json, 'rooms[?free].no');\nreturn [{ json: { n: free.length } }];",
            OF_NULL.format("length", 2),
            {"Rooms": [{"no": 1, "free": True}]},
            ["$jmespath(", "no rooms", "Rooms"],
            id="a query for a name that is spelt otherwise",
        ),
        pytest.param(
            "const store = $getWorkflowStaticData('global');\n"
            "const last = store.last.id;\nreturn [{ json: { last } }];",
            OF_UNDEFINED.format("id", 2),
            {"a": 1},
            ["store.last", "static data"],
            id="static data that is not there yet",
        ),
    ],
)
def test_a_search_that_found_nothing_is_named_with_what_it_searched(
    code: str, message: str, data: JsonObject, says: list[str]
) -> None:
    report = diagnosed(code, message, data)

    assert cause_told(report)["nodeName"] == "Use"
    assert [one for one in says if one not in report["explanation"]] == []


def test_the_item_whose_search_failed_is_shown_and_no_other() -> None:
    code = "const rate = { low: { f: 1 } };\nreturn items.map(({ json }) => ({ json: { f: rate[json.level].f } }));"
    report = diagnosed(code, OF_UNDEFINED.format("f", 2), {"level": "low"}, {"level": "top"})

    assert 'level is "top"' in report["explanation"]


def test_the_value_in_which_a_search_failed_is_told_apart_from_the_others() -> None:
    code = "return items.map(({ json }) => ({ json: { n: json.text.match(/No\\. (\\d+)/)[1] } }));"
    report = diagnosed(code, OF_NULL.format("1", 1), {"text": "No. 1"}, {"text": "none"})

    assert 'text is "none" (string)' in report["explanation"]
    assert 'the other item has "No. 1" (string) there' in report["explanation"]


def test_a_table_that_is_filled_later_is_not_judged_by_its_declaration() -> None:
    code = "const rate = { low: 1 };\nrate[$json.extra] = { f: 2 };\nreturn [{ json: { f: rate[$json.level].f } }];"
    report = diagnosed(code, OF_UNDEFINED.format("f", 3), {"level": "top", "extra": "x"})

    assert "there is low" not in report["explanation"]
    assert 'level is "top"' in report["explanation"]


@pytest.mark.parametrize("written", ["$items('Make')[5]", "$('Make').all()[5]", "$input.all()[5]"])
def test_an_item_that_there_is_not_is_told_by_its_number(written: str) -> None:
    report = diagnosed(
        f"const one = {written};\nreturn [{{ json: {{ n: one.json.n }} }}];", OF_UNDEFINED.format("json", 2), {"n": 1}
    )

    assert "index 5, counted from 0" in report["explanation"]


def test_a_numbered_item_of_another_node_is_not_taken_for_its_first() -> None:
    code = "return [{ json: { n: $('Make').all()[1].json.name.trim() } }];"
    report = diagnosed(code, OF_NULL.format("trim", 1), {"name": "a"}, {"name": None})

    assert cause_told(report)["nodeName"] == "Make"
    assert cause_told(report)["itemIndex"] == 1


def test_an_empty_list_that_was_reduced_is_traced_to_its_maker() -> None:
    code = "const best = $json.hits.reduce((a, b) => a.price < b.price ? a : b);\nreturn [{ json: best }];"
    report = diagnosed(code, "Reduce of empty array with no initial value", {"hits": []})

    assert cause_told(report)["nodeName"] == "Make"
    assert "hits is []" in report["explanation"]


def test_a_list_that_is_read_like_an_object_is_traced_to_its_maker() -> None:
    code = "return [{ json: { n: $input.first().json.patient.name.trim() } }];"
    report = diagnosed(code, OF_UNDEFINED.format("trim", 1), {"patient": [{"name": "Sato"}]})

    assert cause_told(report)["nodeName"] == "Make"
    assert "a list, whose elements have name" in report["explanation"]


def test_a_file_under_another_name_is_named() -> None:
    file = {"attachment": {"data": "", "mimeType": "text/csv"}}
    runs = {
        "Make": [run([item({}, None, binary=file)])],
        "Read": [failed_run("The item has no binary field 'data' [item 0]", after="Make")],
    }
    reader = {"name": "Read", "type": "n8n-nodes-base.extractFromFile", "parameters": {"binaryPropertyName": "data"}}
    report = Diagnosis(as_read(made(runs, reader))).report()

    assert report["origin"]["nodeName"] == "Read"
    assert "the item has attachment, from 'Make'" in report["explanation"]


def test_a_value_that_code_computed_and_a_later_check_refused_is_noticed() -> None:
    check = "const s = $json.sum;\nif (Number(s) > 100) throw new Error(`Sum ${s}`);\nreturn $input.all();"
    add = "let s = 0;\nfor (const one of $input.all()) s += one.json.count;\nreturn [{ json: { sum: s } }];"
    runs = {
        "Stock": [run(items({"count": "10"}, {"count": "5"}))],
        "Add": [run([item({"sum": "0105"}, [{"item": 0}, {"item": 1}])], after="Stock")],
        "Check": [failed_run("Sum 0105 [line 2]", after="Add", description="Error")],
    }
    report = Diagnosis(as_read(made(runs, node("Add", add), node("Check", check)))).report()

    assert report["noticed"]["nodeName"] == "Add"
    assert report["values"] == ["sum is \"0105\" (string), made in 'Add' by sum: s with s += one.json.count"]


def test_code_that_writes_a_field_from_nothing_is_told_what_it_read() -> None:
    pick = "const c = $input.first().json.customer;\nreturn [{ json: { name: c?.name, zip: c?.address?.zip } }];"
    use = "const { zip } = $input.first().json;\nreturn [{ json: { z: zip.padStart(5) } }];"
    runs = {
        "Make": [run(items({"customer": {"name": "A", "home": {"zip": "1"}}}))],
        "Pick": [run(items({"name": "A"}), after="Make")],
        "Use": [failed_run(OF_UNDEFINED.format("padStart", 2), after="Pick")],
    }
    report = Diagnosis(as_read(made(runs, node("Pick", pick), node("Use", use)))).report()

    assert cause_told(report)["nodeName"] == "Pick"
    assert "'Make' gave no customer.address" in report["explanation"]


def test_characters_that_do_not_show_are_written_out() -> None:
    report = diagnosed(
        "return items.map(i => ({ json: { n: i.json.name.trim() } }));",
        OF_UNDEFINED.format("trim", 1),
        {"\ufeffname": "A"},
    )

    assert "\\ufeffname" in report["explanation"]
