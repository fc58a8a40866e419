"""A workflow goes from one n8n to another: here the same server under two names."""

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


async def test_a_workflow_that_does_not_exist_is_not_copied(two_instances: Place) -> None:
    error = await two_instances.refused("copy_workflow", instance="dev", target="prod", id="doesNotExist1234")

    assert error.code == "NOT_FOUND"
