"""`diagnose_execution` names the first place where data went wrong, and claims no more than the data shows."""

from typing import Any

import pytest

from dogubako.packs.n8n.diagnosis.report import NO_FAULT_FOUND, Diagnosis

from .made import JsonObject, as_read, cause_told, failed_run, item, items, made, node, run, wires
from .recorded import Told

READS_EMAIL = "return $json.email.trim();"


def reading(name: str, value: str = "undefined") -> str:
    """What JavaScript says when a property of nothing is read."""
    return f"Cannot read properties of {value} (reading '{name}')"


def diagnosed(runs: dict[str, list[JsonObject]], *nodes: JsonObject, **more: Any) -> dict[str, Any]:
    return Diagnosis(as_read(made(runs, *nodes, **more))).report()


@pytest.mark.parametrize(
    ("key", "origin", "problem", "shown", "path"),
    [
        pytest.param(
            "null-upstream",
            "Look up customer",
            'email is null; it looks for "c2" (string), among keys such as "c1" (string)',
            {"order": 2, "customerId": "c2", "paid": True, "email": None},
            ["Look up customer", "Add greeting", "Keep paid", "Normalise email"],
            id="a null made three nodes before",
        ),
        pytest.param(
            "renamed-field",
            "Map fields",
            "there is no customer, but a field called custmer, first written here",
            {
                "order": 7,
                "buyer": {"name": "Aiko Sato", "city": "Kobe"},
                "custmer": {"name": "Aiko Sato", "city": "Kobe"},
            },
            ["Map fields", "Add subject", "Write letter"],
            id="a misspelt field",
        ),
        pytest.param(
            "swallowed",
            "Parse price",
            "it failed for this item and was told to go on: Not a price: n/a [line 2]",
            {"error": "Not a price: n/a [line 2]"},
            ["Parse price", "Add shop", "Print label"],
            id="an error that was swallowed",
        ),
        pytest.param(
            "bad-iteration",
            "Read orders",
            "lines is null",
            {"order": 6, "lines": None},
            ["Read orders", "Loop Over Items", "Mark batch", "Count articles"],
            id="an item of the third round of a loop",
        ),
    ],
)
def test_the_origin_of_a_failure_is_named_with_the_item(
    told: Told, key: str, origin: str, problem: str, shown: Any, path: list[str]
) -> None:
    data = told.diagnosis(key)

    assert (cause_told(data)["nodeName"], cause_told(data)["problem"]) == (origin, problem)
    assert cause_told(data)["item"] == shown
    assert data["path"] == path
    assert data["explanation"].startswith(f"'{path[-1]}' failed (")
    assert data["_guidance"]["example"].endswith(f"nodeName: '{origin}')")


def test_a_success_that_handed_on_nothing_is_told_with_what_went_in(told: Told) -> None:
    data = told.diagnosis("empty-branch")

    assert data["noticed"]["nodeName"] == "Only paid"
    assert data["noticed"]["problem"] == (
        "it was given 3 items and handed on none, so 'Write receipt', 'Send receipt' never ran; "
        'status is "Paid" (string), tested by \'equals\' with "paid" (string): they differ only in case or spaces'
    )
    assert data["noticed"]["madeFrom"]["item"]["status"] == "Paid"
    assert data["explanation"].endswith("It may be intended.")
    assert "update_workflow" not in data["_guidance"]["message"]
    assert "failure" not in data


def test_the_round_of_the_loop_that_failed_is_told(told: Told) -> None:
    data = told.diagnosis("bad-iteration")

    assert data["failure"]["runIndex"] == 2
    assert data["origin"]["itemIndex"] == 5


@pytest.mark.parametrize("key", ["a-success-100", "c-if-branch", "d-loop", "e-merge", "null-upstream-fixed"])
def test_where_nothing_went_wrong_nothing_is_blamed(told: Told, key: str) -> None:
    data = told.diagnosis(key)

    assert "origin" not in data
    assert data["explanation"] == NO_FAULT_FOUND


@pytest.mark.parametrize(
    ("key", "explanation"),
    [
        pytest.param("g-10000-oversized", "holds the data of this execution back", id="too large"),
        pytest.param("l-slow-running", "is running; n8n does not tell which of its nodes ran", id="running"),
        pytest.param("l-slow-canceled", "is canceled; n8n does not tell which of its nodes ran", id="cut short"),
        pytest.param("h-wait-canceled", "is canceled; no node of it has failed", id="canceled"),
    ],
)
def test_where_no_origin_can_be_known_none_is_told(told: Told, key: str, explanation: str) -> None:
    data = told.diagnosis(key)

    assert "origin" not in data
    assert explanation in data["explanation"]


@pytest.mark.parametrize(
    ("key", "node", "problem"),
    [
        pytest.param("b1-http-econnrefused", "Call closed port", "refused the connection", id="refused"),
        pytest.param("n-stop-error", "Stop", "stops the workflow on purpose", id="stopped on purpose"),
    ],
)
def test_a_failure_that_is_known_to_start_in_its_node_is_told_so(told: Told, key: str, node: str, problem: str) -> None:
    data = told.diagnosis(key)

    assert cause_told(data)["nodeName"] == node
    assert problem in cause_told(data)["problem"]
    assert data["explanation"].count("No earlier cause was found in the data") == 1


def test_a_field_that_is_lost_on_the_way_is_told_where_it_is_lost() -> None:
    runs = {
        "Start": [run(items({"id": 1, "email": "a@b"}))],
        "Map": [run(items({"id": 1}), after="Start")],
        "Pass": [run(items({"id": 1}), after="Map")],
        "Use": [failed_run(reading("trim"), after="Pass")],
    }
    origin = diagnosed(runs, node("Use", READS_EMAIL))["origin"]

    assert (origin["nodeName"], origin["problem"]) == ("Map", "email is lost here")
    assert origin["madeFrom"] == {"nodeName": "Start", "item": {"id": 1, "email": "a@b"}}


def test_a_null_that_came_in_with_the_trigger_is_the_triggers() -> None:
    runs = {
        "Webhook": [run(items({"email": None}))],
        "Pass": [run(items({"email": None}), after="Webhook")],
        "Use": [failed_run(reading("trim", "null"), after="Pass")],
    }
    data = diagnosed(runs, node("Use", READS_EMAIL))

    assert (cause_told(data)["nodeName"], cause_told(data)["problem"]) == ("Webhook", "email is null")
    assert "madeFrom" not in cause_told(data)
    assert data["path"] == ["Webhook", "Pass", "Use"]


def test_a_field_that_nobody_ever_sets_is_told_so() -> None:
    runs = {"Start": [run(items({"id": 1}))], "Use": [failed_run(reading("trim"), after="Start")]}

    origin = cause_told(diagnosed(runs, node("Use", READS_EMAIL)))

    assert origin["nodeName"] == "Use"
    assert (
        origin["problem"]
        == "it reads email, which is in no item of the execution; the item comes from 'Start' and has id"
    )


@pytest.mark.parametrize(
    ("code", "data", "step", "problem"),
    [
        pytest.param("$json['a b'].c", {"a b": None}, "c", "a b is null", id="quoted name"),
        pytest.param('$json["a b"]["c"].d', {"a b": {"c": None}}, "d", "a b.c is null", id="quoted names"),
        pytest.param("item.json.a.b.c", {"a": {"b": None}}, "c", "a.b is null", id="item"),
        pytest.param("$input.first().json.a.b", {"a": None}, "b", "a is null", id="input"),
        pytest.param("$json.x?.y; $json.a.b", {"a": None}, "b", "a is null", id="what is optional is not blamed"),
        pytest.param("$json.a?.b.c", {"a": {"b": None}}, "c", "a.b is null", id="behind what is optional"),
        pytest.param("$json.x; $json.a.b", {"a": None}, "b", "a is null", id="what the error speaks of comes first"),
    ],
)
def test_what_a_node_reads_is_understood(code: str, data: Any, step: str, problem: str) -> None:
    runs = {"Start": [run(items(data))], "Use": [failed_run(reading(step, "null"), after="Start")]}

    assert cause_told(diagnosed(runs, node("Use", code)))["problem"] == problem


@pytest.mark.parametrize(
    ("code", "data"),
    [
        pytest.param("return 1;", {"a": None}, id="it reads nothing"),
        pytest.param("$json.a?.b; $json.a?.['c']", {}, id="only what may be missing"),
        pytest.param("$('Other').item.json.a.b", {}, id="only what another node gave out"),
        pytest.param("$('Other').first().json.a.b()", {}, id="only what another node gave out first"),
        pytest.param("$json.a.trim()", {"a": "text"}, id="only what is there"),
    ],
)
def test_without_evidence_no_cause_is_claimed(code: str, data: Any) -> None:
    runs = {"Start": [run(items(data))], "Use": [failed_run("Something else", after="Start")]}
    told = diagnosed(runs, node("Use", code))

    assert "origin" not in told
    known = " is proved: values tells what it read and where that was made"
    unknown = " is proved, and what it read is not known: values tells what its item has"
    read = unknown if all(one.startswith("its item ") for one in told.get("values", ())) else known
    beside = read if "values" in told else " was found in the data"
    assert told["explanation"] == f"'Use' failed (Something else). No earlier cause{beside}."


def test_a_gap_that_the_error_does_not_speak_of_is_no_evidence() -> None:
    start = [run(items({"url": None}))]
    use = node("Use", "$json.url.x")
    other = diagnosed({"Start": start, "Use": [failed_run("Something else", after="Start")]}, use)
    named = diagnosed({"Start": start, "Use": [failed_run(reading("x"), after="Start")]}, use)

    assert "origin" not in other
    assert other["failure"]["item"] == {"url": None}
    assert cause_told(named)["problem"] == "url is null"


@pytest.mark.parametrize(
    "sources", [pytest.param(["Left", "Right"], id="both"), pytest.param([None, "Right"], id="the first is missing")]
)
def test_of_several_inputs_the_bad_one_is_followed_through_a_merge(sources: list[str | None]) -> None:
    merged = [item({"email": "a"}, {"item": 0}), item({"email": None}, {"item": 0, "input": 1})]
    runs = {
        "Left": [run(items({"email": "a"}))],
        "Right": [run(items({"email": None}))],
        "Merge": [run(merged, after=sources)],
        "Use": [failed_run(reading("trim", "null"), after="Merge")],
    }

    assert diagnosed(runs, node("Use", READS_EMAIL))["path"] == ["Right", "Merge", "Use"]


def test_a_failing_node_with_several_inputs_is_asked_for_each_of_them() -> None:
    runs = {
        "Left": [run(items({"email": "a"}))],
        "Right": [run(items({"email": "b"}, {"email": None}))],
        "Use": [failed_run(reading("trim", "null"), after=["Left", "Right"])],
    }
    origin = cause_told(diagnosed(runs, node("Use", READS_EMAIL)))

    assert (origin["nodeName"], origin["itemIndex"]) == ("Right", 1)


def test_the_item_that_the_error_names_is_the_one_that_is_looked_at() -> None:
    start = run(items({"email": None, "n": 0}, {"email": None, "n": 1}))
    broken = failed_run(reading("trim", "null"), after="Start", context={"itemIndex": 1})

    assert cause_told(diagnosed({"Start": [start], "Use": [broken]}, node("Use", READS_EMAIL)))["itemIndex"] == 1


@pytest.mark.parametrize(
    ("goes_on", "blamed", "problem"),
    [
        pytest.param({"onError": "continueRegularOutput"}, "Soft", "was told to go on: no such id", id="it went on"),
        pytest.param({"continueOnFail": True}, "Soft", "was told to go on: no such id", id="it went on, in old words"),
        pytest.param({}, "Use", "comes from 'Pass' and has error", id="a field that happens to be called error"),
    ],
)
def test_an_error_that_travels_on_as_an_item_is_traced_to_who_swallowed_it(
    goes_on: JsonObject, blamed: str, problem: str
) -> None:
    failure = {"error": "no such id"}
    runs = {
        "Soft": [run(items(failure))],
        "Pass": [run(items(failure), after="Soft")],
        "Use": [failed_run(reading("trim"), after="Pass")],
    }
    origin = cause_told(diagnosed(runs, node("Soft", **goes_on), node("Use", READS_EMAIL)))

    assert origin["problem"].endswith(problem)
    assert origin["nodeName"] == blamed


def test_a_circle_of_pairs_is_left() -> None:
    def pair(name: str) -> JsonObject:
        return {"item": 0, "sourceOverwrite": {"previousNode": name}}

    runs = {
        "One": [run([item({"email": None}, pair("Two"))])],
        "Two": [run([item({"email": None}, pair("One"))])],
        "Use": [failed_run(reading("trim", "null"), after="Two")],
    }
    data = diagnosed(runs, node("Use", READS_EMAIL))

    assert data["path"] == ["One", "Two", "Use"]


@pytest.mark.parametrize("paired", [None, 7, -1, {"item": 3}, {"item": 0, "input": 5}, {"input": 0}, [], "0"])
def test_without_a_good_pair_all_items_of_the_input_are_looked_at(paired: Any) -> None:
    runs = {
        "Start": [run(items({"email": "a"}))],
        "Code": [run([item({"id": 1}, paired)], after="Start")],
        "Use": [failed_run(reading("trim"), after="Code")],
    }
    origin = diagnosed(runs, node("Use", READS_EMAIL))["origin"]

    assert origin["nodeName"] == "Code"
    assert origin["problem"] == "email is lost here"


def test_a_success_with_a_swallowed_error_is_not_called_clean() -> None:
    runs = {"Soft": [run(items({"id": 1}, {"error": {"message": "no such id"}}))]}
    data = diagnosed(runs, node("Soft", onError="continueRegularOutput"), status="success")

    assert cause_told(data)["itemIndex"] == 1
    assert data["explanation"].startswith("The execution counts as a success, but 'Soft' failed")


def test_a_node_that_leads_nowhere_may_hand_on_nothing() -> None:
    runs = {"Start": [run(items({"id": 1}))], "Last": [run([], after="Start")]}
    execution = made(runs, status="success")
    execution["workflowData"]["connections"] = wires("Start", "Last")

    assert "origin" not in Diagnosis(as_read(execution)).report()
