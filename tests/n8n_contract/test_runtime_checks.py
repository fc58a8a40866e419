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
    return {
        "noResponse": ([hook("H", path, "responseNode"), then], links("H>N")),
        "noResponse behind it": ([hook("H", path, "responseNode"), then, respond], links("H>N")),
        "unusedResponse": ([hook("H", path), then, respond], links("H>N", "N>R")),
        "sameWebhook": ([hook("H", path), hook("H2", path), then], links("H>N", "H2>N")),
        "brokenCode": ([hook("H", path, "lastNode"), code], links("H>C")),
        "missingModel": ([hook("H", path), node("A", AGENT, 2, promptType="define", text="hi")], links("H>A")),
        "": ([hook("H", path, "responseNode"), then, respond], links("H>N", "N>R")),
    }


FAILING: Final = ("noResponse", "noResponse behind it", "unusedResponse", "brokenCode")


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


@only_where_there_is("any-trigger")
async def test_n8n_refuses_to_publish_two_webhooks_of_one_path(place: Place) -> None:
    nodes, connections = workflows(uuid4().hex)["sameWebhook"]
    made = await place.call("create_workflow", name="Runtime", nodes=nodes, connections=connections)

    status, _ = await place.n8n.ask("POST", f"workflows/{made['id']}/publish", {})

    assert status == 409
