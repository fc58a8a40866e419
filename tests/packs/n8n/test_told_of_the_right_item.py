"""Facts are told of the item that was really read: of the right output, round, workflow, field and name."""

import pytest

from dogubako.packs.n8n.diagnosis.report import Diagnosis

from .branches import FILTER, FORK, HTTP, LOOP, fields, from_output, links, told
from .made import JsonObject, as_read, cause_told, failed_run, item, items, made, node, run

NO_ITEM = "Cannot read properties of undefined (reading 'json') [line 1]"


@pytest.mark.parametrize("read", ["first()", "all()[0]", "last()"])
def test_what_a_filter_dropped_is_not_told_as_its_item(read: str) -> None:
    runs = {
        "Rooms": [run(items({"door": "D1"}, {"door": "D2"}))],
        "Open": [run([], items({"door": "D1"}, {"door": "D2"}), after="Rooms")],
        "Guests": [run(items({"who": "Ito"}), after="Rooms")],
        "Give key": [failed_run(NO_ITEM, after="Guests", description="TypeError", lineNumber=1)],
    }
    code = f"return [{{ json: {{ key: $('Open').{read}.json.door }} }}];"
    ways = {"Rooms": [["Open", "Guests"]], "Open": [["Shown"]], "Guests": [["Give key"]]}
    report = told(runs, node("Open", type=FILTER), node("Give key", code), connections=links(**ways))

    assert "D1" not in str(report.get("values", ""))
    assert "'Open'" in report["explanation"]
    assert "gave out none" in report["explanation"]


@pytest.mark.parametrize(
    ("read", "value"), [("first()", True), ("first(1)", True), ("first(0)", False), ("all(0)[0]", False)]
)
def test_the_output_is_the_one_that_leads_to_the_reader_unless_it_is_named(read: str, value: bool) -> None:
    runs = {
        "Rooms": [run(items({"door": {"n": "D1"}}))],
        "Open?": [run([], items({"door": {"n": "D1"}}), after="Rooms")],
        "Sign": [failed_run("Something broke [line 1]", after=from_output("Open?", 1), lineNumber=1)],
    }
    code = f"return [{{ json: {{ key: $('Open?').{read}.json.door.n }} }}];"
    ways = {"Rooms": [["Open?"]], "Open?": [["Other"], ["Sign"]]}
    report = told(runs, node("Open?", type=FORK), node("Sign", code), connections=links(**ways))

    assert ("D1" in str(report.get("values", ""))) is value


def refused_item() -> list[JsonObject]:
    error = {"message": "409 - locked", "name": "AxiosError", "code": "ERR_BAD_REQUEST", "status": 409}
    return [item({"sku": "X", "error": error})]


def test_who_misreads_a_handled_error_comes_before_the_error() -> None:
    runs = {
        "Rows": [run(items({"sku": "X"}))],
        "Post": [run([], refused_item(), after="Rows")],
        "Explain": [
            failed_run(
                "Cannot read properties of undefined (reading 'trim') [line 1]",
                after=from_output("Post", 1),
                description="TypeError",
                lineNumber=1,
            )
        ],
    }
    post = node("Post", type=HTTP, parameters={}, onError="continueErrorOutput")
    explain = node("Explain", "return [{ json: { m: $input.first().json.message.trim() } }];")
    ways = {"Rows": [["Post"]], "Post": [["Fine"], ["Explain"]]}
    report = told(runs, post, explain, connections=links(**ways))

    assert cause_told(report)["nodeName"] == "Explain"
    assert "error.message" in report["explanation"]


def test_who_writes_a_handled_error_under_a_wrong_name_comes_before_the_error() -> None:
    runs = {
        "Rows": [run(items({"sku": "X"}))],
        "Post": [run([], refused_item(), after="Rows")],
        "Reason": [run([item({**refused_item()[0]["json"], "reason": None})], after=from_output("Post", 1))],
        "Ticket": [
            failed_run(
                "Cannot read properties of null (reading 'trim') [line 1]",
                after="Reason",
                description="TypeError",
                lineNumber=1,
            )
        ],
    }
    post = node("Post", type=HTTP, parameters={}, onError="continueErrorOutput")
    ticket = node("Ticket", "return $input.all().map(i => ({ json: { t: i.json.reason.trim() } }));")
    ways = {"Rows": [["Post"]], "Post": [["Fine"], ["Reason"]], "Reason": [["Ticket"]]}
    report = told(
        runs, post, fields("Reason", {"reason": "={{ $json.err.message }}"}), ticket, connections=links(**ways)
    )

    assert cause_told(report)["nodeName"] == "Reason"
    assert "was told to go on" not in report["explanation"]


def looped(rounds: list[JsonObject], filled: list[JsonObject], use: JsonObject) -> JsonObject:
    """A loop over these items that all go through one node."""
    runs = {
        "Rows": [run(items(*rounds))],
        "Loop": [
            *(run([], [item(one)], after="Rows", executionIndex=2 * at + 1) for at, one in enumerate(rounds)),
            run(items(*filled), [], after="Rows", executionIndex=50),
        ],
        "Use": [
            run([item(one)], after=from_output("Loop", 1, at), executionIndex=2 * at + 2)
            for at, one in enumerate(filled)
        ],
    }
    ways = {"Rows": [["Loop"]], "Loop": [[], ["Use"]], "Use": [["Loop"]]}
    return told(runs, node("Loop", type=LOOP), use, connections=links(**ways), status="success")


@pytest.mark.parametrize("written", ["=x{{ $json.opt }}", "={{ $json.opt ? 'a' : null }}"])
def test_that_no_item_has_a_field_is_said_of_all_rounds(written: str) -> None:
    rounds: list[JsonObject] = [{"r": 1}, {"r": 2, "opt": "b"}, {"r": 3}]
    report = looped(rounds, [{**one, "u": "x"} for one in rounds], fields("Use", {"u": written}))

    assert "no item has" not in str(report)


def test_an_empty_item_of_another_node_is_told_of_that_node() -> None:
    runs = {
        "Rows": [run(items({"shops": []}))],
        "Some": [run([item({})], items({"shops": []}), after="Rows")],
        "Note": [run([item({"note": None})], after="Some")],
    }
    some = node("Some", type=FILTER, parameters={}, alwaysOutputData=True)
    note = fields("Note", {"note": "={{ $json.shops ? 'some' : null }}"})
    ways = {"Rows": [["Some"]], "Some": [["Note"]]}
    report = told(runs, some, note, connections=links(**ways), status="success")

    assert "of 'Some' is known: it passed on nothing" in report["explanation"]


def test_a_caller_that_fills_an_input_from_a_wrong_name_is_told() -> None:
    call = node(
        "Call",
        type="n8n-nodes-base.executeWorkflow",
        parameters={"workflowInputs": {"value": {"bill_no": "={{ $json.bill_number }}"}}},
    )
    broken = "Cannot read properties of undefined (reading 'trim') [line 1]"
    above = made(
        {"Bills": [run(items({"number": "b-7"}))], "Call": [failed_run(broken, after="Bills", executionId="2")]}, call
    )
    runs = {
        "Inputs": [run([item({}, None)])],
        "Render": [failed_run(broken, after="Inputs", description="TypeError", lineNumber=1)],
    }
    trigger = node("Inputs", type="n8n-nodes-base.executeWorkflowTrigger", parameters={})
    below = made(runs, trigger, node("Render", "return { json: { f: $json.bill_no.trim() } };"), id="2")
    report = Diagnosis(as_read(above), [Diagnosis(as_read(below))]).report()

    assert cause_told(report)["nodeName"] == "Call"
    assert "bill_number" in report["explanation"]
    assert "executionId" not in cause_told(report)
    assert "'Inputs'" not in report["explanation"]


def test_a_value_that_the_service_quotes_comes_before_a_field_that_it_names() -> None:
    answer = '{"message": "Duplicate reference \'A-17\'", "field": "ref2"}'
    sent = {"ref": "A-17", "ref2": None}
    failed = failed_run(
        "Your request is invalid",
        after="Entries",
        httpCode="409",
        description="Duplicate reference 'A-17'",
        messages=[f"409 - {answer}"],
        context={
            "itemIndex": 0,
            "data": {"message": "Duplicate reference 'A-17'", "field": "ref2"},
            "request": {"body": sent},
        },
    )
    book = node("Book", type=HTTP, parameters={"jsonBody": "={{ JSON.stringify($json) }}"})
    runs = {"Entries": [run(items(sent))], "Book": [failed]}
    report = told(runs, book, connections=links(Entries=[["Book"]]))

    assert "complains about ref2" not in report["explanation"]
    assert "ref as \"A-17\" (string), from 'Entries'" in report["explanation"]


def test_names_that_are_declared_together_are_not_mixed_up() -> None:
    runs = {
        "Cust": [run(items({"id": 1, "address": {"city": "Oulu"}}))],
        "Ship": [run(items({"id": 7, "address": None}), after="Cust")],
        "Label": [
            failed_run(
                "Cannot read properties of undefined (reading 'name') [line 3]",
                after="Ship",
                description="TypeError",
                lineNumber=3,
            )
        ],
    }
    names = "const c = $('Cust').first().json, s = $input.first().json;"
    code = f"{names}\nconst a = c.address.city;\nconst b = s.carrier.name;"
    report = told(runs, node("Label", code), connections=links(Cust=[["Ship"]], Ship=[["Label"]]))

    assert cause_told(report)["nodeName"] == "Label"
    assert "the item comes from 'Ship'" in report["explanation"]
    assert report["values"] == ["carrier.name is not there; the item comes from 'Ship' and has id, address"]
