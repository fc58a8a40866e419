"""Mistakes that n8n saves without a word and that break the workflow when somebody publishes or calls it."""

from typing import Any, Final
from uuid import uuid4

import pytest

from dogubako_sandbox.n8n.workflow_parts import JsonObject
from tests.n8n_contract.one_sided import only_where_there_is
from tests.n8n_contract.place import Place, eventually

AGENT: Final = "@n8n/n8n-nodes-langchain.agent"


def node(name: str, kind: str, version: float = 1, **parameters: Any) -> JsonObject:
    kind = kind if "." in kind else f"n8n-nodes-base.{kind}"
    return {"name": name, "type": kind, "typeVersion": version, "position": [0, 0], "parameters": parameters}


def hook(name: str, path: str, mode: str = "onReceived") -> JsonObject:
    made = node(name, "webhook", 2, path=path, httpMethod="POST", responseMode=mode, options={})
    return {**made, "webhookId": str(uuid4())}


def links(*pairs: str) -> JsonObject:
    """`A>B` leads from A to B."""
    made: JsonObject = {}
    for source, target in (pair.split(">") for pair in pairs):
        made[source] = {"main": [[{"node": target, "type": "main", "index": 0}]]}
    return made


def workflows(path: str) -> dict[str, tuple[list[JsonObject], JsonObject]]:
    respond, code = node("R", "respondToWebhook", 1.1), node("C", "code", 2, jsCode="const a = [1, 2;\nreturn a;")
    then = node("N", "noOp")
    early = node("C", "code", 2, jsCode="return $('N').all();")
    return {
        "noResponse": ([hook("H", path, "responseNode"), then], links("H>N")),
        "noResponse behind it": ([hook("H", path, "responseNode"), then, respond], links("H>N")),
        "unusedResponse": ([hook("H", path), then, respond], links("H>N", "N>R")),
        "sameWebhook": ([hook("H", path), hook("H2", path), then], links("H>N", "H2>N")),
        "brokenCode": ([hook("H", path, "lastNode"), code], links("H>C")),
        "laterNode": ([hook("H", path, "lastNode"), early, then], links("H>C", "C>N")),
        "missingModel": ([hook("H", path), node("A", AGENT, 2, promptType="define", text="hi")], links("H>A")),
        "": ([hook("H", path, "responseNode"), then, respond], links("H>N", "N>R")),
    }


FAILING: Final = ("noResponse", "noResponse behind it", "unusedResponse", "brokenCode", "laterNode")


@pytest.mark.parametrize("kind", workflows(""))
async def test_it_is_told_before_it_is_saved(place: Place, kind: str) -> None:
    nodes, connections = workflows("told")[kind]

    found = await place.call("validate_workflow", nodes=nodes, connections=connections)

    told = {one["problem"] for one in found["warnings"]} - {"unconnectedNode"}
    assert told == ({kind.split(" ", maxsplit=1)[0]} if kind else set())


@only_where_there_is("any-trigger")
@pytest.mark.parametrize("kind", [*FAILING, ""])
async def test_n8n_publishes_it_and_fails_at_the_call(place: Place, kind: str) -> None:
    path = uuid4().hex
    nodes, connections = workflows(path)[kind]
    made = await place.call("create_workflow", name="Runtime", nodes=nodes, connections=connections, allowInvalid=True)
    await place.n8n.told("POST", f"workflows/{made['id']}/publish", {})

    status, _ = await eventually(lambda: place.n8n.ask("POST", f"/webhook/{path}", {}), lambda answer: answer[0] != 404)

    assert status == (500 if kind else 200)


# Whether an expression is one value. Of each the real n8n was asked, which says "invalid syntax" to what is none.
EXPRESSIONS: Final = {
    "={{ $json.body.a $json.body.b }}": False,
    "={{ 'a'.trim() 'b' }}": False,
    "={{ $json.body.a and $json.body.b }}": False,
    "={{ not $json.body.a }}": False,
    "={{ return $json.body.a }}": False,
    "={{ const x = 1; x }}": False,
    "={{ if (true) { 1 } else { 2 } }}": False,
    "={{ $json.a ? 1 }}": False,
    "={{ [$json.a ? 1, 2] }}": False,
    "={{ $json.body.x ?? , 'a' }}": False,
    "={{ $max(1,,2) }}": False,
    "={{ $json;.items }}": False,
    "={{ @json.a }}": False,
    "={{ #json }}": False,
    "={{ new }}": False,
    "={{ [1, 2].map(x => x;) }}": False,
    "={{ [1; 2] }}": False,
    "={{ ({ a: }) }}": False,
    "={{ (() => { try { } atch (e) { } })() }}": False,
    "={{ [1,,2].length ? { a: 1 ? 2 : 3 } : [,] }}": True,
    "={{ (() => { for (let i = 0; i < 2; i++) { } switch (1) { case 1 ? 1 : 2: } return 1 })() }}": True,
    "={{ [new Date, typeof 1, x => x].length }}": True,
    "={{ (() => { try { } finally { } try { } catch { } return 1 })() }}": True,
    "={{ 1\n2 }}": True,
    "={{ 1; 2 }}": True,
    "={{ [1].map(x => { if (x) return 'a'; return 'b' })[0] }}": True,
    "={{ (function f() { return 1 })() }}": True,
    "={{ String.raw`a` + typeof 1 + ('a' in {a: 1}) }}": True,
}


@only_where_there_is("any-trigger")
async def test_expressions_that_n8n_cannot_read_are_errors(place: Place) -> None:
    path, names = uuid4().hex, [f"N{number}" for number in range(len(EXPRESSIONS))]
    rows = [[{"id": "v", "name": "v", "value": one, "type": "string"}] for one in EXPRESSIONS]
    sets = [
        node(name, "set", 3.4, assignments={"assignments": row}, options={}) | {"onError": "continueRegularOutput"}
        for name, row in zip(names, rows, strict=True)
    ]
    nodes = [hook("H", path, "lastNode"), *sets]
    connections = {"H": {"main": [[{"node": name, "type": "main", "index": 0} for name in names]]}}
    made = await place.call("create_workflow", name="Texts", nodes=nodes, connections=connections, allowInvalid=True)

    found = await place.call("validate_workflow", id=made["id"])
    await place.call("activate_workflow", id=made["id"])
    ran = await place.call("run_workflow", id=made["id"])
    execution = await place.n8n.told("GET", f"executions/{ran['execution']['id']}?includeData=true")

    data = execution["data"]["resultData"]["runData"]
    readable = {name: "error" not in data[name][0]["data"]["main"][0][0]["json"] for name in names}
    assert readable == dict(zip(names, EXPRESSIONS.values(), strict=True))
    assert {one["node"] for one in found["errors"]} == {name for name in names if not readable[name]}


@only_where_there_is("any-trigger")
async def test_n8n_refuses_to_publish_two_webhooks_of_one_path(place: Place) -> None:
    nodes, connections = workflows(uuid4().hex)["sameWebhook"]
    made = await place.call("create_workflow", name="Runtime", nodes=nodes, connections=connections)

    status, _ = await place.n8n.ask("POST", f"workflows/{made['id']}/publish", {})

    assert status == 409
