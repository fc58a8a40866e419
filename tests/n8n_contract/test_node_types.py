"""What is known about nodes, and mistakes that are found before a workflow is saved."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from dogubako.contract.errors import ValidationError
from dogubako_sandbox.n8n.workflow_parts import JsonObject
from dogubako_sandbox.n8n.workflows import WORKFLOWS
from tests.n8n_contract.facts import proves
from tests.n8n_contract.one_sided import only_where_there_is
from tests.n8n_contract.place import Place, copied_body

SET = "n8n-nodes-base.set"
HTTP = "n8n-nodes-base.httpRequest"


def node(name: str, kind: str, version: float = 1, **parameters: Any) -> JsonObject:
    return {"name": name, "type": kind, "typeVersion": version, "position": [0, 0], "parameters": parameters}


def start() -> JsonObject:
    return node("Webhook", "n8n-nodes-base.webhook", 2, path="x", httpMethod="POST", options={})


def fields(**values: str) -> JsonObject:
    rows = [{"id": key, "name": key, "value": value, "type": "string"} for key, value in values.items()]
    return {"assignments": {"assignments": rows}, "options": {}}


def chained(nodes: Sequence[JsonObject]) -> JsonObject:
    names = [one["name"] for one in nodes]
    return {one: {"main": [[{"node": two, "type": "main", "index": 0}]]} for one, two in pairwise(names)}


MISTAKES = {
    "unknownType": (node("Wrong", "n8n-nodes-base.sett", 3.4), "type", SET),
    "unknownVersion": (node("Wrong", SET, 9), "typeVersion", None),
    "unknownParameter": (node("Wrong", HTTP, 4.2, url="http://127.0.0.1:9", methd="POST"), "methd", "method"),
    "unknownOption": (node("Wrong", HTTP, 4.2, url="http://127.0.0.1:9", method="POTS"), "method", "POST"),
    "missingParameter": (node("Wrong", HTTP, 4.2, method="POST"), "url", None),
    "unknownNode": (
        node("Wrong", SET, 3.4, **fields(a="={{ $('Wehbook').item.json.a }}")),
        "assignments.assignments[0].value",
        "Webhook",
    ),
    "brokenExpression": (node("Wrong", SET, 3.4, **fields(a="={{ $json.a")), "assignments.assignments[0].value", None),
    "wrongShape": (node("Wrong", "n8n-nodes-base.if", 2.2, conditions=[{"value1": 1}]), "conditions", None),
    "hiddenParameter": (
        node("Wrong", HTTP, 4.2, url="http://127.0.0.1:9", jsonBody="{}", options={}),
        "jsonBody",
        None,
    ),
}


@pytest.mark.parametrize("kind", MISTAKES)
async def test_a_mistake_is_found_before_it_is_saved(place: Place, kind: str) -> None:
    wrong, path, meant = MISTAKES[kind]
    nodes = [start(), wrong]

    found = await place.call("validate_workflow", nodes=nodes, connections=chained(nodes))

    problems = [*found["errors"], *found["warnings"]]
    assert [(one["problem"], one["node"], one["path"]) for one in problems] == [(kind, "Wrong", path)]
    assert meant is None or meant in problems[0]["didYouMean"]
    assert found["valid"] is (kind == "hiddenParameter")
    assert found["source"].startswith("node types of n8n 2.41.1")


async def test_a_node_that_nothing_leads_to_is_found(place: Place) -> None:
    nodes = [start(), node("Alone", SET, 3.4, **fields(a="b"))]

    found = await place.call("validate_workflow", nodes=nodes)

    assert [(one["problem"], one["node"]) for one in found["warnings"]] == [("unconnectedNode", "Alone")]


async def test_credentials_that_do_not_fit_are_found(place: Place) -> None:
    body = {"name": "for validation", "type": "httpHeaderAuth", "data": {"name": "X-Test", "value": "x"}}
    made = await place.n8n.told("POST", "credentials", body)
    parameters = {"url": "http://127.0.0.1:9", "authentication": "genericCredentialType"}
    wrong = node("Wrong", HTTP, 4.2, **parameters, genericAuthType="httpBasicAuth")
    gone = node("Gone", HTTP, 4.2, **parameters, genericAuthType="httpHeaderAuth")
    right = node("Right", HTTP, 4.2, **parameters, genericAuthType="httpHeaderAuth")
    wrong["credentials"] = {"httpBasicAuth": {"id": made["id"], "name": "x"}}
    gone["credentials"] = {"httpHeaderAuth": {"id": "nobody", "name": "x"}}
    right["credentials"] = {"httpHeaderAuth": {"id": made["id"], "name": "x"}}
    nodes = [start(), wrong, gone, right]

    found = await place.call("validate_workflow", nodes=nodes, connections=chained(nodes))

    assert [(one["problem"], one["node"]) for one in found["errors"]] == [
        ("wrongCredential", "Wrong"),
        ("unknownCredential", "Gone"),
    ]
    assert made["id"] in found["errors"][1]["didYouMean"]


async def test_good_workflows_give_no_false_alarm(place: Place) -> None:
    for key in WORKFLOWS:
        # By its id: a workflow that calls another one names it by the id that this n8n gave.
        found = await place.call("validate_workflow", id=place.workflows[key])

        expected = ["noTrigger"] if key == "o-no-trigger" else []
        assert found["errors"] == [], key
        assert [one["problem"] for one in found["warnings"]] == expected, key


async def test_a_workflow_of_the_instance_is_validated_by_its_id(place: Place) -> None:
    found = await place.call("validate_workflow", id=place.workflows["a-success-100"])

    assert (found["valid"], found["nodesChecked"]) == (True, len(WORKFLOWS["a-success-100"].body["nodes"]))


@proves("unknown-version", "missing-parameter")
@pytest.mark.parametrize(
    ("kind", "reason"),
    [("unknownVersion", "is not available in version 9"), ("missingParameter", "required parameters: url")],
)
async def test_n8n_saves_a_mistake_and_refuses_to_publish_it(place: Place, kind: str, reason: str) -> None:
    nodes = [{**start(), "parameters": {**start()["parameters"], "path": f"mistake-{kind}"}}, MISTAKES[kind][0]]
    body = {"name": f"Mistake {kind}", "nodes": nodes, "connections": chained(nodes), "settings": {}}
    made = await place.n8n.told("POST", "workflows", body)

    status, message = await place.n8n.message("POST", f"workflows/{made['id']}/publish", {})

    assert (status, reason in message) == (400, True)


@proves("unknown-parameters")
async def test_parameters_that_n8n_ignored_are_named(place: Place) -> None:
    body = copied_body("m-empty")
    for one in body["nodes"]:
        if one["type"] == "n8n-nodes-base.code":
            one["parameters"]["jsCod"] = "return $input.all();"
    made = await place.n8n.told("POST", "workflows", body)
    await place.call("activate_workflow", id=made["id"])
    ran = await place.call("run_workflow", id=made["id"])

    summary = await place.call("get_execution", id=ran["execution"]["id"])
    diagnosis = await place.call("diagnose_execution", id=ran["execution"]["id"])
    told = await place.details(ran["execution"]["id"])

    assert ran["n8nIgnored"] == diagnosis["n8nIgnored"] == summary["n8nIgnored"]
    assert summary["n8nIgnored"] == [{"node": "None", "parameters": ["jsCod"]}]
    executed = {one["name"]: one["parameters"] for one in told["workflowData"]["nodes"]}
    assert "jsCod" not in executed["None"]
    assert executed["None"]["mode"] == "runOnceForAllItems"


async def test_an_execution_without_mistakes_names_none(place: Place) -> None:
    summary = await place.call("get_execution", id=place.executions["a-success-100"])

    assert "n8nIgnored" not in summary


async def test_node_types_are_found_by_everyday_words(place: Place) -> None:
    found = await place.call("search_nodes", query="loop over items")

    assert found["nodes"][0]["type"] == "n8n-nodes-base.splitInBatches"


async def test_a_node_type_is_described_in_few_words(place: Place) -> None:
    described = await place.call("describe_node", type="httpRequest", version=4.2)
    misspelt = await place.refused("describe_node", type="httpRequst")

    assert (described["type"], described["version"]) == (HTTP, 4.2)
    assert described["parameters"][0].startswith("url*: string")
    assert any(line.startswith("jsonBody: json [sendBody=true") for line in described["parameters"])
    assert HTTP in str(misspelt.hint)


@pytest.mark.parametrize(("version", "has_it"), [(2, True), (2.1, False), (2.3, False)])
async def test_only_options_of_the_version_are_named(place: Place, version: float, has_it: bool) -> None:
    described = await place.call("describe_node", type="if", version=version)
    whole = await place.call("describe_node", type="if", version=version, parameter="options")

    options = next(line for line in described["parameters"] if line.startswith("options: "))
    assert "ignoreCase" in options
    assert ("looseTypeValidation" in options) is has_it
    assert ("looseTypeValidation" in str(whole["options"])) is has_it


@only_where_there_is("all-node-types")
@pytest.mark.parametrize(
    ("kind", "needed"),
    [
        ("agent", ["ai_languageModel"]),
        ("chainRetrievalQa", ["ai_languageModel", "ai_retriever"]),
        ("memoryManager", ["ai_memory"]),
        ("chainSummarization", ["ai_languageModel", "ai_document [operationMode=documentLoader]"]),
    ],
)
async def test_the_sub_nodes_that_a_node_needs_are_named(place: Place, kind: str, needed: list[str]) -> None:
    described = await place.call("describe_node", type=f"@n8n/n8n-nodes-langchain.{kind}")

    assert described["needsConnected"] == needed


@only_where_there_is("all-node-types")
async def test_the_instance_itself_names_the_sub_nodes_that_a_node_needs(mcp_place: Place) -> None:
    described = await mcp_place.call("describe_node", type="@n8n/n8n-nodes-langchain.agent")

    assert described["needsConnected"] == ["ai_languageModel"]


async def test_a_mistake_is_not_saved_unless_the_caller_insists(place: Place) -> None:
    nodes = [start(), MISTAKES["unknownParameter"][0]]
    new = {"name": "With a mistake", "nodes": nodes, "connections": chained(nodes)}

    refused = await place.refused("create_workflow", **new)
    made = await place.call("create_workflow", **new, allowInvalid=True)

    assert isinstance(refused, ValidationError)
    assert refused.errors[0].field == "nodes.Wrong.methd"
    assert "Did you mean method?" in refused.message
    assert "allowInvalid: true" in str(refused.hint)
    assert [one["problem"] for one in made["warnings"]] == ["unknownParameter"]


async def test_an_old_mistake_does_not_refuse_a_repair_elsewhere(place: Place) -> None:
    nodes = [start(), MISTAKES["unknownOption"][0], node("Next", SET, 3.4, **fields(a="b"))]
    body = {"name": "Old mistake", "nodes": nodes, "connections": chained(nodes), "settings": {}}
    made = await place.n8n.told("POST", "workflows", body)
    repair = {"nodeName": "Next", "parameters": fields(a="={{ $json.body }}")}
    mistake = {"nodeName": "Next", "parameters": fields(a="={{ $('Nobody').item.json.a }}")}

    changed = await place.call("update_workflow", id=made["id"], updateNodes=[repair])
    refused = await place.refused("update_workflow", id=made["id"], updateNodes=[mistake])

    assert "warnings" not in changed
    assert "Nobody" in refused.message
    assert "method" not in refused.message
