"""What a success hides, what sent an item to a stop, and what code looked for in the wrong place."""

from typing import Any

import pytest

from dogubako.packs.n8n.diagnosis.report import Diagnosis

from .made import JsonObject, as_read, box_with, failed_run, item, items, made, node, run, wires
from .test_searches_in_code import OF_NULL, OF_UNDEFINED, diagnosed


def posted(answer: JsonObject) -> JsonObject:
    """The diagnosis of a success in which a service gave this answer to a request."""
    post = node("Post", type="n8n-nodes-base.httpRequest", parameters={"jsonBody": "={{ { to: $json.channel } }}"})
    runs = {"Alert": [run(items({"kanal": "#ops"}))], "Post": [run(items(answer), after="Alert")]}
    return Diagnosis(as_read(made(runs, post, status="success"))).report()


@pytest.mark.parametrize(
    "answer",
    [
        {"ok": False, "error": "not_found"},
        {"success": False, "message": "not_found"},
        {"success": False, "error_message": "not_found"},
        {"status": "ERROR", "errorMessage": "not_found"},
    ],
)
def test_an_answer_that_says_that_it_is_a_refusal_is_told(answer: JsonObject) -> None:
    report = posted(answer)

    assert report["noticed"]["nodeName"] == "Post"
    assert "not_found" in report["explanation"]
    assert "; the request reads channel, which is not there" in report["explanation"]


@pytest.mark.parametrize("answer", [{"ok": True, "error": "x"}, {"ok": False}, {"error": "x"}, {"ok": 0, "error": "x"}])
def test_an_answer_that_only_may_be_a_refusal_is_not(answer: JsonObject) -> None:
    assert "its answer says" not in posted(answer)["explanation"]


def test_the_error_that_a_service_answers_with_a_200_is_told_to_who_reads_its_data() -> None:
    answer = {"status": "ERROR", "code": "K-1", "errorMessage": "Konto gesperrt"}
    ask = node("Ask", type="n8n-nodes-base.httpRequest")
    use = node("Use", "const { rows } = $input.first().json;\nreturn rows.map((r) => ({ json: r }));")
    failed = failed_run(
        "Cannot read properties of undefined (reading 'map')", after="Ask", lineNumber=2, description="TypeError"
    )
    runs = {"Hook": [run(items({"id": 1}))], "Ask": [run(items(answer), after="Hook")], "Use": [failed]}
    report = Diagnosis(as_read(made(runs, ask, use))).report()

    assert report["noticed"]["nodeName"] == "Ask"
    assert "its answer has no rows, but says: Konto gesperrt" in report["explanation"]


def test_a_stop_tells_the_branch_and_what_it_compared() -> None:
    condition = {"leftValue": "={{ $json.sum === $json.paid }}", "rightValue": "", "operator": {"operation": "true"}}
    same = node("Same?", type="n8n-nodes-base.if", parameters={"conditions": {"conditions": [condition]}})
    stop = node("Stop", type="n8n-nodes-base.stopAndError", parameters={"errorMessage": "not paid"})
    bill = {"sum": 100, "paid": "100"}
    sent = {"previousNode": "Same?", "previousNodeOutput": 1}
    runs = {
        "Bill": [run(items(bill))],
        "Same?": [run([], items(bill), after="Bill")],
        "Stop": [failed_run("not paid", after=[sent])],
    }
    report = Diagnosis(as_read(made(runs, same, stop))).report()

    told = "'Same?' sent the item here by false: sum is 100 (number), paid is \"100\" (string)"
    assert told in report["explanation"]


def test_a_field_that_is_read_of_the_item_and_not_of_its_json_is_told() -> None:
    code = "return $input.all().map(i => ({ json: { n: i.name.trim() } }));"
    report = diagnosed(code, OF_UNDEFINED.format("trim", 1), {"name": "a"})

    assert report["origin"]["nodeName"] == "Use"
    assert "the item has it in json: .json.name" in report["explanation"]


@pytest.mark.parametrize(("flags", "known"), [("", True), ("i", True), ("g", False)])
def test_a_pattern_that_finds_nothing_is_told_with_the_text(flags: str, known: bool) -> None:
    code = (
        "return $input.all().map(i => {\n"
        f"  const m = /^user=(?<u>\\w+)/{flags}.exec(i.json.line);\n  return {{ json: {{ u: m.groups.u }} }};\n}});"
    )
    report = diagnosed(code, OF_NULL.format("groups", 3), {"line": "user=ada"}, {"line": "id=2"})

    assert ('line is "id=2"' in report["explanation"]) is known


async def test_a_sub_workflow_that_gives_back_nothing_is_looked_into() -> None:
    condition = {"leftValue": "={{ $json.b }}", "rightValue": "", "operator": {"operation": "exists"}}
    only = node("Only b", type="n8n-nodes-base.filter", parameters={"conditions": {"conditions": [condition]}})
    left: Any = [item({"a": 1}, 0)]
    child = made(
        {"Called": [run(items({"a": 1}))], "Only b": [run([], left, after="Called", executionIndex=1)]},
        only,
        id="2",
        status="success",
    )
    call = node("Call", type="n8n-nodes-base.executeWorkflow")
    called = run([], left, after="Start", metadata={"subExecution": {"executionId": "2"}})
    main = made({"Start": [run(items({"a": 1}))], "Call": [called]}, call, node("Next"), status="success")
    main["workflowData"]["connections"] = wires("Start", "Call", "Next")

    async with box_with(main, child).running() as box:
        told = (await box.call("diagnose_execution", {"id": "1"})).value["data"]

    assert told["noticed"] | {"executionId": "2"} == told["noticed"]
    assert told["noticed"]["nodeName"] == "Only b"
    assert "it tests b, which the items do not have" in told["explanation"]


@pytest.mark.parametrize("load", ["async function load(id) { return { id }; }", "const load = async id => ({ id });"])
def test_an_own_function_that_is_not_awaited_is_told(load: str) -> None:
    code = f"{load}\nconst c = load($input.first().json.id);\nreturn [{{ json: {{ city: c.address.city }} }}];"
    report = diagnosed(code, OF_UNDEFINED.format("city", 3), {"id": 1})

    assert "it reads c.address of load(…) without waiting for it: await is missing" in report["explanation"]


@pytest.mark.parametrize(("mode", "told"), [(None, True), ("runOnceForEachItem", False)])
def test_code_for_all_items_that_reads_only_the_first_is_remarked(mode: str | None, told: bool) -> None:
    code = "const p = $json.p;\nif (p !== 6) throw new Error('not 6');\nreturn [];"
    report = diagnosed(code, "not 6 [line 2]", {"p": 1}, {"p": 2}, mode=mode)

    assert ("$json is only the first of its 2 items" in report["explanation"]) is told


def test_a_stop_whose_message_has_a_hole_tells_it() -> None:
    stop = node("Stop", type="n8n-nodes-base.stopAndError", parameters={"errorMessage": "=No {{ $json.client }}!"})
    runs = {"Bill": [run(items({"sum": 1}))], "Stop": [failed_run("No !", after="Bill")]}
    report = Diagnosis(as_read(made(runs, stop))).report()

    assert "its message reads client, which is not there" in report["explanation"]


@pytest.mark.parametrize(("body", "early"), [("={{ { a: { b: $json.c}} }}", True), ("={{ $json.a + }}", False)])
def test_an_expression_that_ends_too_early_is_told(body: str, early: bool) -> None:
    post = node("Post", type="n8n-nodes-base.httpRequest", parameters={"jsonBody": body})
    runs = {"Bill": [run(items({"c": 1}))], "Post": [failed_run("invalid syntax", after="Bill")]}
    report = Diagnosis(as_read(made(runs, post))).report()

    assert "one of its expressions cannot be read" in report["explanation"]
    assert ("ends at the first }}" in report["explanation"]) is early


def test_an_address_that_is_made_by_a_method_tells_its_field() -> None:
    get = node("Get", type="n8n-nodes-base.httpRequest", parameters={"url": "=http://a.test/{{ $json.id.toString() }}"})
    runs = {"Ids": [run(items({"id": 7}))], "Get": [failed_run("not found", after="Ids", httpCode="404")]}
    report = Diagnosis(as_read(made(runs, get))).report()

    assert "the address is made from id, which is 7 (number), made in 'Ids'" in report["explanation"]
