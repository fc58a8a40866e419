"""A workflow goes from one n8n to another: here the same server under two names."""

from typing import Any
from uuid import uuid4

import pytest

from dogubako.contract.errors import ApiError, ApiErrorContext
from dogubako.packs.n8n.api.workflows import WorkflowsApi
from dogubako_sandbox.n8n.workflow_parts import JsonObject
from tests.n8n_contract.place import Place


async def test_a_copy_is_a_draft_with_the_same_nodes(two_instances: Place) -> None:
    place = two_instances
    (row,) = (await place.call("list_workflows", limit=1, instance="dev"))["workflows"]
    copied = await place.call("copy_workflow", instance="dev", target="prod", id=row["id"], name="写し")

    source, copy = await place.workflow(row["id"]), await place.workflow(copied["copied"]["id"])
    assert (copy["name"], copy["active"]) == ("写し", False)
    assert [node["name"] for node in copy["nodes"]] == [node["name"] for node in source["nodes"]]
    assert "credentials" not in copied["missing"], "the other side has the same ones"


async def test_a_credential_that_the_other_side_lacks_is_named_and_left_out(two_instances: Place) -> None:
    place = two_instances
    node = {
        "name": "取得",
        "type": "n8n-nodes-base.httpRequest",
        "typeVersion": 4.2,
        "position": [0, 0],
        "parameters": {"url": "https://example.com", "authentication": "genericCredentialType"},
        "credentials": {"httpBasicAuth": {"id": "nowhere0000000000", "name": "そこにない"}},
    }
    body = {"name": "資格情報", "nodes": [node], "connections": {}, "settings": {}}
    made = await place.n8n.told("POST", "workflows", body)
    copied = await place.call("copy_workflow", instance="dev", target="prod", id=made["id"])

    assert copied["missing"]["credentials"] == [{"node": "取得", "type": "httpBasicAuth", "name": "そこにない"}]
    assert "credentials" not in (await place.workflow(copied["copied"]["id"]))["nodes"][0]


def table_node(name: str, mode: str, value: str, **more: str) -> dict[str, object]:
    locator = {"__rl": True, "mode": mode, "value": value, **more}
    parameters = {"operation": "get", "dataTableId": locator}
    return {
        "name": name,
        "type": "n8n-nodes-base.dataTable",
        "typeVersion": 1,
        "position": [0, 0],
        "parameters": parameters,
    }


async def test_data_tables_are_found_by_their_names_or_named_as_missing(two_instances: Place) -> None:
    place = two_instances
    name = f"表 {uuid4().hex[:8]}"
    table = await place.n8n.told("POST", "data-tables", {"name": name, "columns": [{"name": "s", "type": "string"}]})
    nodes = [
        table_node("by name", "name", name),
        table_node("by id", "id", table["id"]),
        table_node("of the same name", "list", "elsewhere0000001", cachedResultName=name),
        table_node("lost", "list", "elsewhere0000002", cachedResultName="ない表"),
        table_node("lost by name", "name", "ない表"),
        table_node("unknown", "list", "={{ $json.table }}"),
    ]
    made = await place.n8n.told(
        "POST", "workflows", {"name": "表を使う", "nodes": nodes, "connections": {}, "settings": {}}
    )

    copied = await place.call("copy_workflow", instance="dev", target="prod", id=made["id"])

    found = {one["name"]: one["parameters"] for one in (await place.workflow(copied["copied"]["id"]))["nodes"]}
    assert found["of the same name"]["dataTableId"]["value"] == table["id"]
    assert found["lost"]["dataTableId"]["value"] == "elsewhere0000002"
    assert copied["linked"]["dataTables"] == [{"name": name, "id": table["id"]}]
    assert copied["missing"]["dataTables"] == [
        {"node": "lost", "name": "ない表", "id": "elsewhere0000002"},
        {"node": "lost by name", "name": "ない表"},
    ]


def login(name: str, credential: JsonObject, **more: Any) -> JsonObject:
    return {
        "name": name,
        "type": "n8n-nodes-base.httpRequest",
        "typeVersion": 4.2,
        "position": [0, 0],
        "parameters": {"url": "https://example.com", "authentication": "genericCredentialType"},
        "credentials": {"httpBasicAuth": credential},
        **more,
    }


async def test_of_several_credentials_of_one_name_none_is_chosen(two_instances: Place) -> None:
    place, data = two_instances, {"user": "u", "password": "p"}
    name, single = f"twice {uuid4().hex[:8]}", f"once {uuid4().hex[:8]}"
    ids = []
    for one in (name, name, single):
        made = await place.n8n.told("POST", "credentials", {"name": one, "type": "httpBasicAuth", "data": data})
        ids.append(made["id"])
    nodes = [
        login("elsewhere", {"id": "elsewhere0000001", "name": name}),
        login("the same", {"id": ids[1], "name": name}),
        login("once", {"id": "elsewhere0000002", "name": single}),
        login("once more", {"id": "elsewhere0000002", "name": single}),
    ]
    made = await place.n8n.told("POST", "workflows", {"name": "C", "nodes": nodes, "connections": {}, "settings": {}})

    copied = await place.call("copy_workflow", instance="dev", target="prod", id=made["id"])

    (open_question,) = copied["missing"]["credentials"]
    found = {one["name"]: one.get("credentials") for one in (await place.workflow(copied["copied"]["id"]))["nodes"]}
    assert sorted(open_question.pop("sameName")) == sorted(ids[:2])
    assert open_question == {"node": "elsewhere", "type": "httpBasicAuth", "name": name}
    assert found["elsewhere"] is None
    assert [found[one]["httpBasicAuth"]["id"] for one in ("the same", "once", "once more")] == [ids[1], ids[2], ids[2]]
    assert copied["linked"] == {
        "credentials": [
            {"type": "httpBasicAuth", "name": name, "id": ids[1]},
            {"type": "httpBasicAuth", "name": single, "id": ids[2]},
        ]
    }


async def test_a_missing_sub_workflow_is_named_with_those_of_its_name(two_instances: Place) -> None:
    place, name = two_instances, f"子 {uuid4().hex[:8]}"
    body: JsonObject = {"nodes": [], "connections": {}, "settings": {}}
    there = await place.n8n.told("POST", "workflows", {**body, "name": name})
    await place.n8n.told("POST", "workflows", {**body, "name": f"{name} 2"})
    calls = {"mode": "list", "__rl": True, "value": "elsewhere0000001"}
    node = {
        "name": "Call",
        "type": "n8n-nodes-base.executeWorkflow",
        "typeVersion": 1.2,
        "position": [0, 0],
        "parameters": {"workflowId": {**calls, "cachedResultName": name}},
    }
    lost = {**node, "name": "Lost", "parameters": {"workflowId": {**calls, "cachedResultName": f"{name} none"}}}
    made = await place.n8n.told("POST", "workflows", {**body, "name": "P", "nodes": [node, lost]})

    copied = await place.call("copy_workflow", instance="dev", target="prod", id=made["id"])

    assert copied["missing"]["subWorkflows"] == [
        {"node": "Call", "id": "elsewhere0000001", "name": name, "sameName": [there["id"]]},
        {"node": "Lost", "id": "elsewhere0000001", "name": f"{name} none"},
    ]


async def test_a_copy_is_told_although_its_sub_workflows_cannot_be_looked_up(
    two_instances: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, get, called = two_instances, WorkflowsApi.get, "elsewhere0000002"
    node = {"name": "Call", "type": "n8n-nodes-base.executeWorkflow", "typeVersion": 1.2, "position": [0, 0]}
    parameters = {"workflowId": {"mode": "id", "__rl": True, "value": called}}
    body = {"name": "P", "nodes": [{**node, "parameters": parameters}], "connections": {}, "settings": {}}
    made = await place.n8n.told("POST", "workflows", body)

    async def refused(self: WorkflowsApi, workflow_id: str, *args: Any) -> JsonObject:
        if workflow_id == called:
            raise ApiError("Failed to get workflow: no", status_code=403, context=ApiErrorContext(operation="get"))
        return await get(self, workflow_id, *args)

    monkeypatch.setattr(WorkflowsApi, "get", refused)
    copied = await place.call("copy_workflow", instance="dev", target="prod", id=made["id"])

    (missing,) = copied["missing"]["subWorkflows"]
    assert (missing["id"], missing["reason"]) == (called, "n8n does not tell: look yourself.")
    assert (await place.workflow(copied["copied"]["id"]))["name"] == "P"


async def test_a_copy_has_the_tags_that_are_there_and_says_what_is_archived(two_instances: Place) -> None:
    place, tag = two_instances, f"札 {uuid4().hex[:8]}"
    source = await place.copy_of("a-success-100")
    await place.call("set_workflow_tags", instance="dev", id=source, tags=[tag], createMissing=True)
    await place.call("archive_workflow", instance="dev", id=source)

    copied = await place.call("copy_workflow", instance="dev", target="prod", id=source)

    copy = await place.workflow(copied["copied"]["id"])
    assert [one["name"] for one in copy["tags"]] == [tag]
    assert "tags" not in copied["missing"]
    assert "archived" in copied["note"]


async def test_a_workflow_that_does_not_exist_is_not_copied(two_instances: Place) -> None:
    error = await two_instances.refused("copy_workflow", instance="dev", target="prod", id="doesNotExist1234")

    assert error.code == "NOT_FOUND"
