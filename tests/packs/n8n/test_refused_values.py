"""Values that a function, a node or a check refused, and sides of a merge that gave none: who made them so."""

import pytest

from dogubako.packs.n8n.diagnosis.report import Diagnosis

from .made import JsonObject, as_read, cause_told, failed_run, item, items, made, node, run, wires
from .test_searches_in_code import OF_UNDEFINED, diagnosed


@pytest.mark.parametrize(
    ("code", "message", "data", "says"),
    [
        pytest.param(
            "const { p, c } = $input.first().json;\n"
            "return [{ json: { t: new Intl.NumberFormat('de', { currency: c }).format(p) } }];",
            "Invalid currency code : EURO [line 2]",
            {"p": 3, "c": "EURO"},
            'c is "EURO"',
            id="quoted in the message",
        ),
        pytest.param(
            "return [{ json: { k: new Array($input.first().json.rest).fill(0) } }];",
            "Invalid array length [line 1]",
            {"rest": -3},
            "rest is -3",
            id="a length",
        ),
        pytest.param(
            "return [{ json: { k: decodeURIComponent($input.first().json.u) } }];",
            "URI malformed [line 1]",
            {"u": "%E0%A4%A"},
            "%E0%A4%A",
            id="an address",
        ),
    ],
)
def test_a_value_that_a_function_of_the_language_refused_is_traced(
    code: str, message: str, data: JsonObject, says: str
) -> None:
    report = diagnosed(code, message, data)

    assert cause_told(report)["nodeName"] == "Make"
    assert says in report["explanation"]


def test_a_message_that_code_throws_itself_is_not_taken_for_one_of_the_language() -> None:
    code = "const s = $json.state;\nif (s !== 'open') throw new Error('Invalid state: ' + s);\nreturn $input.all();"
    report = diagnosed(code, "Invalid state: closed [line 2]", {"state": "closed"})

    assert cause_told(report)["nodeName"] == "Use"


@pytest.mark.parametrize("part", ["const [, lon] = $json.pos.split(',');", "const lon = $json.pos.split(',')[1];"])
def test_a_part_that_a_text_does_not_have_is_told_with_the_text(part: str) -> None:
    report = diagnosed(
        f"{part}\nreturn [{{ json: {{ lon: lon.trim() }} }}];", OF_UNDEFINED.format("trim", 2), {"pos": "48;11"}
    )

    assert 'pos is "48;11"' in report["explanation"]


@pytest.mark.parametrize(("waits", "told"), [("", True), ("await ", False)])
def test_a_promise_that_is_read_without_waiting_is_named(waits: str, told: bool) -> None:
    code = f"const r = {waits}this.helpers.httpRequest({{ url: 'https://example.com' }});\n"
    code += "return [{ json: { u: r.rates.usd } }];"
    report = diagnosed(code, OF_UNDEFINED.format("usd", 2), {})

    assert ("await is missing" in report["explanation"]) is told


def test_an_empty_item_of_a_node_that_always_gives_one_is_explained() -> None:
    only = node("Only", alwaysOutputData=True)
    only["type"] = "n8n-nodes-base.filter"
    runs = {
        "Make": [run(items({"no": "T1"}))],
        "Only": [run([item({})], after="Make")],
        "Use": [failed_run(OF_UNDEFINED.format("slice", 1), after="Only")],
    }
    use = node("Use", "return items.map(i => ({ json: { n: i.json.no.slice(1) } }));")
    report = Diagnosis(as_read(made(runs, only, use))).report()

    assert cause_told(report)["nodeName"] == "Only"
    assert "always output data" in report["explanation"]


def test_a_field_that_n8n_remarks_no_item_has_is_told_after_a_success() -> None:
    hints = [{"message": "The field 'amount' does not exist in any items", "location": "outputPane"}]
    runs = {"Make": [run(items({"amuont": 5}))], "Sum": [run(items({"sum_amount": 0}), after="Make", hints=hints)]}
    total = {"name": "Sum", "type": "n8n-nodes-base.summarize", "parameters": {}}
    report = Diagnosis(as_read(made(runs, total, status="success"))).report()

    assert report["noticed"]["nodeName"] == "Sum"
    assert "they have amuont" in report["explanation"]


@pytest.mark.parametrize(("code", "says"), [("404", 'path, which is "/lits"'), ("503", "")])
def test_an_address_that_was_not_found_is_told_with_what_it_is_made_from(code: str, says: str) -> None:
    ask = {"name": "Ask", "type": "n8n-nodes-base.httpRequest", "parameters": {"url": "=http://a.test{{ $json.path }}"}}
    runs = {"Make": [run(items({"path": "/lits"}))], "Ask": [failed_run("Not found", after="Make", httpCode=code)]}
    report = Diagnosis(as_read(made(runs, ask))).report()

    assert says in report["explanation"]
    assert ("/lits" in report["explanation"]) is bool(says)


def test_a_date_that_became_a_text_on_its_way_is_told() -> None:
    code = "return items.map(i => ({ json: { x: i.json.at.toISOString() } }));"
    report = diagnosed(code, "i.json.at.toISOString is not a function [line 1]", {"at": "2026-05-01T10:00:00.000Z"})

    assert cause_told(report)["nodeName"] == "Make"
    assert "a date becomes a text" in report["explanation"]
    assert "substring" not in report["explanation"]


def test_a_function_that_received_nothing_is_traced_if_only_one_field_is_missing() -> None:
    message = "The first argument must be of type string. Received undefined"
    one = diagnosed("return [{ json: { b: Buffer.from($json.body) } }];", message, {"content": "x"})
    two = diagnosed("return [{ json: { b: Buffer.from($json.body, $json.kind) } }];", message, {"content": "x"})

    assert (cause_told(one)["nodeName"], "origin" in two) == ("Use", False)


@pytest.mark.parametrize(
    ("body", "blamed"),
    [
        pytest.param('={ "rows": {{ $json.rows }} }', True, id="put into the text"),
        pytest.param('={ "rows": {{ JSON.stringify($json.rows) }} }', False, id="written as JSON"),
    ],
)
def test_a_list_that_is_put_into_a_json_text_is_traced(body: str, blamed: bool) -> None:
    send = {"name": "Send", "type": "n8n-nodes-base.httpRequest", "parameters": {"jsonBody": body}}
    message = 'The value in the "JSON Body" field is not valid JSON'
    runs = {"Make": [run(items({"rows": [{"a": 1}]}))], "Send": [failed_run(message, after="Make")]}
    report = Diagnosis(as_read(made(runs, send))).report()

    assert ("JSON.stringify()" in report["explanation"]) is blamed


@pytest.mark.parametrize(("text", "says"), [("<a><b>1</a>", "not well-formed XML"), ("<html><p></html>", "HTML")])
def test_a_text_that_is_no_xml_is_traced(text: str, says: str) -> None:
    read = {"name": "Read", "type": "n8n-nodes-base.xml", "parameters": {"options": {}}}
    runs = {"Make": [run(items({"data": text}))], "Read": [failed_run("Unexpected close tag\nLine: 0", after="Make")]}
    report = Diagnosis(as_read(made(runs, read))).report()

    assert cause_told(report)["nodeName"] == "Make"
    assert says in report["explanation"]


def added(**end: JsonObject) -> JsonObject:
    """The diagnosis of a Set node that adds two texts where a number is wanted, with this node behind it."""
    fields = [{"name": "sum", "value": "={{ $json.a + $json.b }}", "type": "number"}]
    add = {"name": "Add", "type": "n8n-nodes-base.set", "parameters": {"assignments": {"assignments": fields}}}
    runs = {"Make": [run(items({"a": "10", "b": "20"}))], "Add": [run(items({"sum": 1020}), after="Make")]}
    runs |= {name: [failed_run("Too much: 1020 [line 1]", after="Add")] for name in end}
    nodes = [{"name": name, **settings} for name, settings in end.items()]
    return Diagnosis(as_read(made(runs, add, *nodes, status="error" if end else "success"))).report()


@pytest.mark.parametrize(
    "end",
    [
        pytest.param({}, id="nothing failed"),
        pytest.param(
            {
                "End": {
                    "type": "n8n-nodes-base.stopAndError",
                    "parameters": {"errorMessage": "=Too much: {{ $json.sum }}"},
                }
            },
            id="a stop on purpose",
        ),
        pytest.param(
            {"End": node("End", "if ($json.sum > 100) throw new Error('Too much: ' + $json.sum);")}, id="a throw"
        ),
    ],
)
def test_numbers_that_are_joined_texts_are_blamed_on_who_added_them(end: dict[str, JsonObject]) -> None:
    report = added(**end)

    assert cause_told(report)["nodeName"] == "Add"
    assert "joins and does not add" in report["explanation"]


def test_a_stop_on_purpose_tells_the_values_in_its_message() -> None:
    settings = {"errorMessage": "=Too hot: {{ $json.degrees }}"}
    stop = {"name": "Stop", "type": "n8n-nodes-base.stopAndError", "parameters": settings}
    runs = {"Oven": [run(items({"degrees": 212}))], "Stop": [failed_run("Too hot: 212", after="Oven")]}
    report = Diagnosis(as_read(made(runs, stop))).report()

    assert cause_told(report)["nodeName"] == "Stop"
    assert "degrees is 212 (number), made in 'Oven'" in report["explanation"]


def test_no_item_is_named_that_the_node_did_not_have() -> None:
    report = diagnosed("return $('Make').itemMatching(5);", "Can't get data", {"n": 1}, context={"itemIndex": 5})

    assert "item 5" not in report["explanation"]


@pytest.mark.parametrize("dropped", [{"r": {"x": 1}}, {"other": 1}])
def test_a_side_that_gave_nothing_to_a_merge_is_noticed_and_not_the_other(dropped: JsonObject) -> None:
    merge = {"name": "Join", "type": "n8n-nodes-base.merge", "parameters": {}}
    runs = {
        "Left": [run(items({"l": 1}))],
        "Right": [run(items(dropped))],
        "Never": [run([], items(dropped), after="Right")],
        "Join": [run(items({"l": 1}), after=["Left", None])],
        "Use": [failed_run(OF_UNDEFINED.format("x", 1), after="Join")],
    }
    execution = made(runs, merge, node("Use", "return items.map(i => ({ json: { x: i.json.r.x } }));"))
    execution["workflowData"]["connections"] = wires("Right", "Never", "Join", "Use") | wires("Left", "Join")
    report = Diagnosis(as_read(execution)).report()

    assert report["noticed"]["nodeName"] == "Never"
    assert "is not known" in report["explanation"]


def test_an_item_that_is_read_like_the_list_it_was_in_is_the_fault_of_the_reader() -> None:
    code = "return [{ json: { town: $input.first().json[0].town } }];"
    report = diagnosed(code, OF_UNDEFINED.format("town", 1), {"town": "Nara"}, {"town": "Kobe"})

    assert report["origin"]["nodeName"] == "Use"
    assert "becomes items" in report["explanation"]


def test_a_misspelt_field_behind_a_merge_with_an_empty_side_is_still_misspelt() -> None:
    merge = {"name": "Join", "type": "n8n-nodes-base.merge", "parameters": {}}
    runs = {
        "Left": [run(items({"customer": {"x": 1}}))],
        "Right": [run(items({"other": 1}))],
        "Never": [run([], items({"other": 1}), after="Right")],
        "Join": [run(items({"customer": {"x": 1}}), after=["Left", None])],
        "Use": [failed_run(OF_UNDEFINED.format("x", 1), after="Join")],
    }
    execution = made(runs, merge, node("Use", "return items.map(i => ({ json: { x: i.json.custmer.x } }));"))
    execution["workflowData"]["connections"] = wires("Right", "Never", "Join", "Use") | wires("Left", "Join")

    assert Diagnosis(as_read(execution)).report()["origin"]["nodeName"] == "Use"
