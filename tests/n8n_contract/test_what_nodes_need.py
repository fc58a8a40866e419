"""Nodes that n8n saves and publishes without what they need, and what looks wrong and is taken."""

from typing import Any, Final
from uuid import uuid4

import pytest

from dogubako_sandbox.n8n.workflow_parts import JsonObject
from tests.n8n_contract.one_sided import only_where_there_is
from tests.n8n_contract.place import Place, eventually
from tests.n8n_contract.test_beginners_mistakes import condition, field, node, outcome, told, workflow

NOBODY: Final = "http://127.0.0.1:9/"


def raw(text: str) -> JsonObject:
    return node("It", "set", 3.4, mode="raw", jsonOutput=text, options={})


def without_type(value: Any) -> JsonObject:
    made = field("string", value)
    del made["parameters"]["assignments"]["assignments"][0]["type"]
    return made


def request(**parameters: Any) -> JsonObject:
    return node("It", "httpRequest", 4.2, url=NOBODY, **parameters, options={})


def code(text: str, **parameters: Any) -> JsonObject:
    return node("It", "code", 2, jsCode=text, **parameters)


def combined(value: str) -> JsonObject:
    made = condition("string", "equals", "={{ 'a' }}", "a")
    made["parameters"]["conditions"]["combinator"] = value
    return made


def text_of(expression: str) -> JsonObject:
    return field("string", expression)


WRONG: Final[dict[str, tuple[JsonObject, str]]] = {
    "assignment without a type": (without_type("a"), "type"),
    "list as the JSON of a set": (raw("[1]"), "jsonOutput"),
    "text as the JSON of a set": (raw("a=1"), "jsonOutput"),
    "two objects": (raw('{"a": 1}{"b": 2}'), "jsonOutput"),
    "object that is not closed": (raw("{a: 1"), "jsonOutput"),
    "field without a value": (raw('{"a": }'), "jsonOutput"),
    "body with NaN": (
        request(method="POST", sendBody=True, specifyBody="json", jsonBody='{"a": NaN}'),
        "jsonBody",
    ),
    "body of JavaScript": (request(method="POST", sendBody=True, specifyBody="json", jsonBody="{a: 1}"), "jsonBody"),
    "headers that are no JSON": (request(sendHeaders=True, specifyHeaders="json", jsonHeaders="{X: 1}"), "jsonHeaders"),
    "query that is no JSON": (request(sendQuery=True, specifyQuery="json", jsonQuery="a=1"), "jsonQuery"),
    "sorted by nothing": (node("It", "sort", 1), "sortField"),
    "summary of nothing": (
        node("It", "summarize", 1.1, fieldsToSummarize={"values": [{"aggregation": "sum", "field": ""}]}),
        "values",
    ),
    "merged by nothing": (node("It", "merge", 3, mode="combine"), "fieldsToMatchString"),
    "merged by no pair": (node("It", "merge", 2.1, mode="combine"), "values"),
    "compared by nothing": (node("It", "compareDatasets", 2.3), "values"),
    "duplicates by nothing": (node("It", "removeDuplicates", 2, compare="selectedFields"), "fieldsToCompare"),
    "code without return": (code("const a = 1;"), "jsCode"),
    "empty code": (code(" "), "jsCode"),
    "empty code for each item": (code("", mode="runOnceForEachItem"), "jsCode"),
    "braces in code": (code("return [{json: {a: {{ $json.a }} }}];"), "jsCode"),
    "import in code": (code("import fs from 'fs';\nreturn [];"), "jsCode"),
    "two operators": (text_of("={{ 1 +* 2 }}"), "value"),
    "two comparisons": (text_of("={{ 1 == = 2 }}"), "value"),
    "an argument left out": (text_of("={{ Math.max(, 1) }}"), "value"),
    "conditional of Python": (text_of("={{ 'a' if True else 'b' }}"), "value"),
    "called workflow as a text": (node("It", "executeWorkflow", 1.2, workflowId="nobody", options={}), "workflowId"),
}
GOOD: Final[dict[str, JsonObject]] = {
    "names without quotation marks": raw("{a: 1}"),
    "other quotation marks and a comma at the end": raw("{'a': 1,}"),
    "comment": raw('/* a */ {"a": 1 /* b */}'),
    "words of Python and JavaScript": raw('{"a": True, "b": undefined}'),
    "number that begins with zero": raw('{"a": 01}'),
    "assignment without a type and a value": without_type(None),
    "sorted randomly": node("It", "sort", 1, type="random"),
    "aggregate of nothing": node("It", "aggregate", 1),
    "braces of blocks": code("function f() {{ return []; }} switch (1) { case 1: {{ return [{json: {}}]; }} }"),
    "braces in a text": code("return [{json: {a: '{{ $json.a }}', b: `{{x}}`}}];"),
    "import in a comment": code("/*\nimport x from y\n*/ return [{json: {}}];"),
    "signs before a value": text_of(
        "={{ 1 + + 2 - -2 * +3 }} {{ 2 ** -1 }} {{ !!1 && !0 }} {{ [1,,2] }} {{ 1 ? -.5 : /a/ }}"
    ),
    "generator": text_of("={{ typeof (function* () {}) }} {{ [...[1], ...[]] }}"),
}
# n8n reads these when it publishes.
NOT_PUBLISHED: Final = (
    "list as the JSON of a set",
    "text as the JSON of a set",
    "two objects",
    "object that is not closed",
    "field without a value",
    "called workflow as a text",
)
CRONS: Final = {
    "jeden Tag": False,
    "99 99 * * *": False,
    "": False,
    "0 6 * *": False,
    "0 6 * * monday": False,
    "0 6 L * *": False,
    "5-1 * * * *": False,
    "*/0 * * * *": False,
    "0 6 * * *": True,
    "@Daily": True,
    "*/5 8-18/2 1,15 JAN-mar 0-7": True,
    "30 0 6 * * MON": True,
}


@pytest.mark.parametrize("kind", WRONG)
async def test_what_n8n_fails_on_is_told(place: Place, kind: str) -> None:
    it, path = WRONG[kind]

    assert path in await told(place, it)
    # What cannot be an expression is told of every node.
    assert path == "value" or path not in await told(place, {**it, "disabled": True})


@pytest.mark.parametrize("kind", GOOD)
async def test_what_n8n_takes_is_not(place: Place, kind: str) -> None:
    assert await told(place, GOOD[kind]) == []


async def test_what_may_be_meant_to_give_no_items_is_not(place: Place) -> None:
    assert await told(place, code("const a = 1;", mode="runOnceForEachItem")) == []


HALF_MERGED: Final = {
    "by fields": node("It", "merge", 3, mode="combine", fieldsToMatchString="id"),
    "by position": node("It", "merge", 3, mode="combine", combineBy="combineByPosition"),
    "each with each": node("It", "merge", 3, mode="combine", combineBy="combineAll"),
}


@pytest.mark.parametrize("kind", HALF_MERGED)
async def test_a_merge_that_combines_one_input_is_told(place: Place, kind: str) -> None:
    assert await told(place, HALF_MERGED[kind]) == ["input 1"]


@only_where_there_is("any-trigger")
@pytest.mark.parametrize("kind", HALF_MERGED)
async def test_n8n_gives_no_items_of_it(place: Place, kind: str) -> None:
    nodes, connections = workflow(HALF_MERGED[kind])
    made = await place.call("create_workflow", name="Half", nodes=nodes, connections=connections)
    await place.call("activate_workflow", id=made["id"])

    ran = await place.call("run_workflow", id=made["id"])

    execution = await place.n8n.told("GET", f"executions/{ran['execution']['id']}?includeData=true")
    (run,) = execution["data"]["resultData"]["runData"]["It"]
    assert execution["status"] == "success"
    assert not any(run["data"]["main"])


@only_where_there_is("any-trigger")
@pytest.mark.parametrize("kind", [one for one in WRONG if one not in NOT_PUBLISHED])
async def test_n8n_fails_on_it(place: Place, kind: str) -> None:
    assert await outcome(place, WRONG[kind][0]) == 500


@only_where_there_is("any-trigger")
@pytest.mark.parametrize("kind", NOT_PUBLISHED)
async def test_n8n_does_not_publish_it(place: Place, kind: str) -> None:
    with pytest.raises(AssertionError, match="Cannot publish workflow"):
        await outcome(place, WRONG[kind][0])


@only_where_there_is("any-trigger")
@pytest.mark.parametrize("kind", GOOD)
async def test_n8n_takes_it(place: Place, kind: str) -> None:
    assert await outcome(place, GOOD[kind]) == 200


@pytest.mark.parametrize("text", CRONS)
async def test_a_cron_text_that_n8n_cannot_read_is_told(place: Place, text: str) -> None:
    assert ("expression" in await told(place, scheduled(text))) is not CRONS[text]


@only_where_there_is("any-trigger")
async def test_n8n_publishes_a_cron_text_that_it_cannot_read_and_never_runs_it(place: Place) -> None:
    broken = [await published(place, text) for text in ("jeden Tag", "99 * * * * *", "")]
    works = await published(place, "* * * * * *")

    async def runs(workflow_id: str) -> int:
        return len((await place.n8n.told("GET", f"executions?workflowId={workflow_id}"))["data"])

    assert await eventually(lambda: runs(works), bool)
    assert [await runs(one) for one in broken] == [0, 0, 0]
    for one in (*broken, works):
        await place.n8n.told("POST", f"workflows/{one}/unpublish", {})


async def published(place: Place, text: str) -> str:
    step = node("Then", "noOp", 1)
    connections = {"It": {"main": [[{"node": "Then", "type": "main", "index": 0}]]}}
    body: JsonObject = {"name": "Cron", "nodes": [scheduled(text), step], "connections": connections, "settings": {}}
    made = await place.n8n.told("POST", "workflows", body)
    await place.n8n.told("POST", f"workflows/{made['id']}/publish", {})
    return str(made["id"])


@pytest.mark.parametrize("code", ["201", 201])
async def test_a_status_code_as_a_text_is_told(place: Place, code: Any) -> None:
    found = await place.call("validate_workflow", nodes=[answering(code)])

    assert ("n8n answers 500" in str(found["warnings"])) is isinstance(code, str)


@only_where_there_is("any-trigger")
@pytest.mark.parametrize("code", ["201", 201])
async def test_n8n_answers_500_for_a_status_code_as_a_text(place: Place, code: Any) -> None:
    connections = {"Hook": {"main": [[{"node": "Then", "type": "main", "index": 0}]]}}
    hook = answering(code)
    body: JsonObject = {"name": "Status", "nodes": [hook, node("Then", "noOp", 1)], "connections": connections}
    made = await place.n8n.told("POST", "workflows", {**body, "settings": {}})
    await place.n8n.told("POST", f"workflows/{made['id']}/publish", {})

    path = f"/webhook/{hook['parameters']['path']}"
    status, _ = await eventually(lambda: place.n8n.ask("POST", path, {}), lambda answer: answer[0] != 404)

    assert status == (500 if isinstance(code, str) else 201)


def answering(code: Any) -> JsonObject:
    options = {"responseCode": {"values": {"responseCode": code}}}
    made = node("Hook", "webhook", 2, path=uuid4().hex, httpMethod="POST", options=options)
    return {**made, "webhookId": str(uuid4())}


def scheduled(text: str) -> JsonObject:
    rule = {"interval": [{"field": "cronExpression", "expression": text}]}
    return {**node("It", "scheduleTrigger", 1.2, rule=rule), "id": str(uuid4())}


@pytest.mark.parametrize("value", ["AND", "OR", "xor", ""])
async def test_n8n_takes_another_combinator_for_false(place: Place, value: str) -> None:
    nodes = [combined(value)]
    found = await place.call("validate_workflow", nodes=nodes)

    assert [one["path"] for one in found["errors"]] == ["conditions.combinator"]


async def test_two_nodes_with_one_id_are_refused(place: Place) -> None:
    twins = [{**node(name, "noOp", 1), "id": "twin"} for name in ("A", "B")]

    found = await place.call("validate_workflow", nodes=twins)
    refused = await place.refused("create_workflow", name="Twins", nodes=twins)

    assert [(one["node"], one["problem"], one["path"]) for one in found["errors"]] == [("B", "notSaved", "id")]
    assert refused is not None


@only_where_there_is("any-trigger")
async def test_n8n_saves_no_two_nodes_with_one_id(place: Place) -> None:
    twins = [{**node(name, "noOp", 1), "id": "twin"} for name in ("A", "B")]

    status, answer = await place.n8n.ask(
        "POST", "workflows", {"name": "Twins", "nodes": twins, "connections": {}, "settings": {}}
    )

    assert status == 400
    assert "duplicate_node_id" in str(answer)


async def test_an_empty_leftover_does_not_refuse_a_write(place: Place) -> None:
    left = node("Left", "noOp", 1, options={}, rules=[])
    made = await place.call("create_workflow", name="Leftovers", nodes=[left])
    refused = await place.refused("create_workflow", name="Lost", nodes=[node("Lost", "noOp", 1, options={"a": 1})])

    assert {one.get("path") for one in made["warnings"]} >= {"options", "rules"}
    assert "no parameter 'options'" in str(refused)


@pytest.mark.parametrize(
    ("change", "told_of"),
    [
        ({"name": ""}, "nodes[0] has no name"),
        ({"colour": 1}, "'colour'"),
        ({"parameters": []}, "'parameters' has to be an object"),
        ({"onError": "continue"}, "n8n does not know this 'onError'"),
    ],
)
async def test_a_node_that_is_not_saved_is_told_before(place: Place, change: JsonObject, told_of: str) -> None:
    nodes = [{**node("It", "noOp", 1), **change}]

    found = await place.call("validate_workflow", nodes=nodes)
    refused = await place.refused("create_workflow", name="Refused", nodes=nodes)

    assert told_of in str(found["errors"])
    assert refused is not None
