"""Who only hands on is not to blame; what a service or a text itself says to be wrong is told, but no secret."""

import pytest

from dogubako.packs.n8n.diagnosis.report import Diagnosis
from dogubako.packs.n8n.diagnosis.xml_rules import fault_in, is_readable

from .branches import links
from .made import JsonObject, as_read, cause_told, failed_run, items, made, node, run

DATES = ("2026-11-20", "2026-11-21", "to be told")


def set_node(name: str, **fields: str) -> JsonObject:
    rows = [{"name": field, "value": value, "type": "string"} for field, value in fields.items()]
    return node(name, type="n8n-nodes-base.set", parameters={"assignments": {"assignments": rows}})


def dated(written: str, shown: str) -> JsonObject:
    """The diagnosis of a date that does not parse, which a Set node made by this expression."""
    use = node("Use", "return $input.all().map(i => ({ json: { d: new Date(i.json.day).toISOString() } }));")
    runs = {
        "Source": [run(items(*({"start": one} for one in DATES)))],
        "Clean": [run(items(*({"day": shown.format(one)} for one in DATES)), after="Source")],
        "Use": [failed_run("Invalid time value [line 1]", after="Clean", lineNumber=1)],
    }
    return Diagnosis(as_read(made(runs, set_node("Clean", day=written), use))).report()


@pytest.mark.parametrize(
    "written", ["={{ $json.start.trim() }}", "={{ String($json.start) }}", "={{ $json.start ?? 'none' }}"]
)
def test_a_value_is_followed_through_a_harmless_function(written: str) -> None:
    report = dated(written, "{}")

    assert report["noticed"]["nodeName"] == "Source"
    assert report["noticed"]["item"] == {"start": "to be told"}
    assert "is not known" in report["explanation"]


@pytest.mark.parametrize("written", ["={{ $json.start.toUpperCase() }}", "=Day {{ $json.start }}"])
def test_a_node_that_only_puts_text_around_a_value_is_not_blamed(written: str) -> None:
    report = dated(written, "Day {}" if "Day" in written else "TO BE TOLD")

    assert "origin" not in report


def looked_up(operation: str, *, connected: bool) -> JsonObject:
    """The diagnosis of a success in which a test meets the empty item that stands for nothing."""
    condition = {
        "leftValue": "={{ $json.no }}",
        "rightValue": "",
        "operator": {"type": "string", "operation": operation},
    }
    test = node("Any?", type="n8n-nodes-base.if", parameters={"conditions": {"conditions": [condition]}})
    runs = {
        "List": [run(items({"no": "A1"}))],
        "Due": [run(items({}), after="List")],
        "Any?": [run([], items({}), after="Due")],
        **({"Rest": [run(items({}), after=[{"previousNode": "Any?", "previousNodeOutput": 1}])]} if connected else {}),
    }
    ways = links(**{"List": [["Due"]], "Due": [["Any?"]], "Any?": [["Warn"], ["Rest"] if connected else []]})
    nodes = (node("Due", alwaysOutputData=True), test, node("Warn"))
    execution = made(runs, *nodes, status="success")
    execution["workflowData"]["connections"] = ways
    return Diagnosis(as_read(execution)).report()


@pytest.mark.parametrize(
    ("operation", "connected", "claims"), [("exists", True, False), ("notEmpty", True, False), ("exists", False, True)]
)
def test_an_empty_item_that_the_next_node_expects_is_not_told(operation: str, connected: bool, claims: bool) -> None:
    assert ("It may be intended" in looked_up(operation, connected=connected)["explanation"]) is claims


def asked(answer: JsonObject) -> JsonObject:
    ask = node("Ask", type="n8n-nodes-base.httpRequest", parameters={"url": "http://a.test"})
    fine = {"data": {"x": {"id": 1}}}
    runs = {"Rows": [run(items({"n": 1}, {"n": 2}))], "Ask": [run(items(fine, answer), after="Rows")]}
    return Diagnosis(as_read(made(runs, ask, status="success"))).report()


@pytest.mark.parametrize(
    "answer",
    [
        {"data": {"x": None}, "errors": [{"message": "not active"}]},
        {"data": {"x": {"id": 2}}, "errors": ["not active"]},
        {"data": None, "error": {"message": "not active"}},
    ],
)
def test_an_answer_that_reports_an_error_is_noticed_with_its_item(answer: JsonObject) -> None:
    told = asked(answer)["noticed"]

    assert (told["nodeName"], told["itemIndex"]) == ("Ask", 1)
    assert told["problem"].endswith("reports an error: not active")


@pytest.mark.parametrize(
    "answer",
    [{"data": {"x": None}, "errors": []}, {"errors": 0, "n": 1}, {"data": {"x": 1}, "error": {"message": "a"}}],
)
def test_an_answer_without_errors_is_not(answer: JsonObject) -> None:
    assert "noticed" not in asked(answer)


def test_the_item_whose_text_is_no_xml_is_found() -> None:
    read = node("Read", type="n8n-nodes-base.xml", parameters={"options": {}})
    texts = ("<a>Ito</a>", "<a>Ito & Abe</a>", "<a>Abe</a>")
    runs = {
        "Write": [run(items(*({"data": one} for one in texts)))],
        "Read": [failed_run("Invalid character in entity name\nLine: 0", after="Write")],
    }
    report = Diagnosis(as_read(made(runs, read))).report()

    assert (cause_told(report)["nodeName"], cause_told(report)["itemIndex"]) == ("Write", 1)
    assert 'the & in "<a>Ito & Abe</a>" is not written as &amp;' in report["explanation"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("<a><b>1</a>", "</a> stands where <b> is still open"),
        ("<a></b></a>", "</b> stands where <a> is still open"),
        ("<a><![CDATA[x & y]]><b></a>", "</a> stands where <b> is still open"),
        ("<a><b>", "<b> is not closed"),
        ("<a>ä &amp; AT&T</a>", 'the & in "<a>ä &amp; AT&T</a>" is not written as &amp;'),
    ],
)
def test_the_place_where_a_text_is_no_xml_is_named(text: str, told: str) -> None:
    fault = fault_in(text)

    assert fault is not None
    assert (fault.told, fault.plain) == (told, True)


def test_well_formed_and_empty_texts_have_no_fault_and_entities_are_not_read() -> None:
    fine = ("", " <a/> ", '<?xml version="1.0" encoding="ISO-8859-1"?><a>é</a>', "<a>&lt;<![CDATA[&]]></a>")

    assert [fault_in(one) for one in fine] == [None] * 4
    assert not is_readable(['<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'])


@pytest.mark.parametrize(
    "name",
    ["api_token", "apiToken", "access_token", "accessToken", "client_secret", "X-Api-Key", "userPassword", "token"],
)
def test_a_field_that_is_called_like_a_secret_is_masked_everywhere(name: str) -> None:
    use = node("Use", f"return [{{ json: {{ a: $json['{name}'].b.c }} }}];")
    runs = {
        "Keep": [run(items({name: "tok-9"}))],
        "Use": [failed_run("Cannot read properties of undefined (reading 'c') [line 1]", after="Keep", lineNumber=1)],
    }

    assert "tok-9" not in str(Diagnosis(as_read(made(runs, use))).report())


@pytest.mark.parametrize("name", ["nextPageToken", "tokens", "keyword", "passport"])
def test_other_names_are_shown(name: str) -> None:
    use = node("Use", f"return [{{ json: {{ a: $json['{name}'].b.c }} }}];")
    runs = {
        "Keep": [run(items({name: "tok-9"}))],
        "Use": [failed_run("Cannot read properties of undefined (reading 'c') [line 1]", after="Keep", lineNumber=1)],
    }

    assert "tok-9" in str(Diagnosis(as_read(made(runs, use))).report())


@pytest.mark.parametrize(
    "message", ['Response body is not valid JSON. Change "Response Format" to "Text"', "Invalid JSON in response body"]
)
def test_an_answer_that_is_no_json_is_not_blamed_on_what_was_sent(message: str) -> None:
    fetch = node("Fetch", type="n8n-nodes-base.httpRequest", parameters={"url": "=http://a.test/?day={{ $json.day }}"})
    runs = {
        "Source": [run(items({"day": "2026-11-17"}))],
        "Fetch": [failed_run(message, after="Source")],
    }
    report = Diagnosis(as_read(made(runs, fetch))).report()

    assert report["noticed"]["nodeName"] == "Fetch"
    assert "answer" in report["noticed"]["problem"]
    assert "which is not valid JSON" not in report["explanation"]
