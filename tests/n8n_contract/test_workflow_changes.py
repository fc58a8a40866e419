"""Creating and changing workflows: what n8n does with what it is sent, and what our tools keep safe."""

import json
from typing import Any

import pytest

from dogubako.contract.output import parse_call
from tests.n8n_contract.facts import proves
from tests.n8n_contract.place import Place, copied_body, eventually


async def with_credentials(place: Place) -> tuple[str, dict[str, Any]]:
    """A workflow whose request uses a credential, and which has pinned data; its id and its credentials."""
    secret = {"user": "u", "password": "p"}
    made = await place.n8n.told("POST", "credentials", {"name": "basic", "type": "httpBasicAuth", "data": secret})
    used = {"httpBasicAuth": {"id": made["id"], "name": "basic"}}
    body = copied_body("b1-http-econnrefused", pinData={"Never": [{"json": {"pinned": True}}]})
    body["nodes"][1]["credentials"] = used
    return str((await place.n8n.told("POST", "workflows", body))["id"]), used


def node_of(workflow: dict[str, Any], name: str) -> dict[str, Any]:
    return next(dict(node) for node in workflow["nodes"] if node["name"] == name)


def writable(workflow: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {name: workflow[name] for name in ("name", "nodes", "connections", "settings")} | changes


async def test_a_created_workflow_is_what_was_sent(place: Place) -> None:
    await place.n8n.ask("POST", "tags", {"name": "made"})
    body = copied_body("c-if-branch")

    created = await place.call("create_workflow", **body, tags=["made"])

    got = await place.workflow(created["id"])
    assert (created["differences"], got["active"]) == ([], False)
    assert [got[name] for name in ("name", "nodes", "connections")] == [
        body[name] for name in ("name", "nodes", "connections")
    ]
    assert [tag["name"] for tag in got["tags"]] == ["made"]


async def test_only_the_named_parameters_of_a_node_change(place: Place) -> None:
    workflow_id, used = await with_credentials(place)
    before = await place.workflow(workflow_id)

    change = {"nodeName": "Call closed port", "parameters": {"url": "http://127.0.0.1:9/other"}}
    outcome = await place.call("update_workflow", id=workflow_id, updateNodes=[change])

    after = await place.workflow(workflow_id)
    assert (outcome["differences"], outcome["unrequested"]) == ([], [])
    assert outcome["changed"] == ["nodes.Call closed port.parameters.url"]
    changed = node_of(before, "Call closed port")
    changed["parameters"]["url"] = "http://127.0.0.1:9/other"
    assert node_of(after, "Call closed port") == changed
    assert (changed["credentials"], after["pinData"]) == (used, before["pinData"])


@proves("pins-kept", "credentials-dropped")
async def test_n8n_keeps_pinned_data_and_drops_credentials(place: Place) -> None:
    workflow_id, _ = await with_credentials(place)
    before = await place.workflow(workflow_id)
    nodes = [{name: value for name, value in node.items() if name != "credentials"} for node in before["nodes"]]

    await place.n8n.told("PUT", f"workflows/{workflow_id}", writable(before, nodes=nodes))

    after = await place.workflow(workflow_id)
    assert after["pinData"] == before["pinData"] != {}
    assert "credentials" not in node_of(after, "Call closed port")


@proves("credentials-dropped", "pins-kept")
async def test_our_update_keeps_credentials_that_were_left_out_and_says_so(place: Place) -> None:
    workflow_id, used = await with_credentials(place)
    before = await place.workflow(workflow_id)
    nodes = [{name: value for name, value in node.items() if name != "credentials"} for node in before["nodes"]]

    outcome = await place.call("update_workflow", id=workflow_id, nodes=nodes, connections=before["connections"])

    after = await place.workflow(workflow_id)
    assert outcome["kept"] == {"Call closed port": ["credentials"]}
    assert node_of(after, "Call closed port")["credentials"] == used
    assert after["pinData"] == before["pinData"]


@proves("settings-merged")
async def test_settings_that_are_left_out_stay(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty")
    before = await place.workflow(workflow_id)

    await place.n8n.told("PUT", f"workflows/{workflow_id}", writable(before, settings={"timezone": "Asia/Tokyo"}))
    outcome = await place.call("update_workflow", id=workflow_id, settings={"executionTimeout": 60})

    after = await place.workflow(workflow_id)
    assert after["settings"] == {**before["settings"], "timezone": "Asia/Tokyo", "executionTimeout": 60}
    assert outcome["differences"] == []


@proves("extra-key")
async def test_a_setting_that_n8n_does_not_know_is_named(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty")
    before = await place.workflow(workflow_id)

    error = await place.refused("update_workflow", id=workflow_id, settings={"bogus": 1, "timezone": "Asia/Tokyo"})

    reason = "request/body/settings Unrecognized key(s) in object: 'bogus'"
    assert error.message == f"Failed to update workflow: {reason}"
    assert await place.workflow(workflow_id) == before


@proves("unlicensed-setting")
async def test_a_setting_that_n8n_left_out_is_reported(place: Place) -> None:
    created = await place.call("create_workflow", **copied_body("m-empty", settings={"redactionPolicy": "all"}))
    updated = await place.call("update_workflow", id=created["id"], settings={"redactionPolicy": "all"})

    left_out = [{"path": "settings.redactionPolicy", "sent": "all", "got": None}]
    assert (created["differences"], updated["differences"]) == (left_out, left_out)


@proves("draft-saved")
async def test_a_change_that_cannot_be_published_is_a_draft_and_our_hint_says_so(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty", published=True)
    before = await place.workflow(workflow_id)
    idle = [node_of(before, "None")]

    error = await place.refused("update_workflow", id=workflow_id, nodes=idle, connections={}, publish=True)

    after = await place.workflow(workflow_id)
    assert "it has no trigger node" in error.message
    assert error.hint is not None
    assert "saved as a draft" in error.hint
    assert f"restore_workflow(id: '{workflow_id}'" in error.hint
    assert ([node["name"] for node in after["nodes"]], after["active"]) == (["None"], True)
    assert len(after["activeVersion"]["nodes"]) == 3


@proves("republishing-takes-time")
async def test_the_new_version_runs_in_the_end(place: Place) -> None:
    workflow_id = await place.copy_of("null-upstream", published=True)
    fixed = node_of(await place.workflow(place.workflows["null-upstream-fixed"]), "Normalise email")["parameters"]
    change = {"nodeName": "Normalise email", "parameters": fixed}
    outcome = await place.call("update_workflow", id=workflow_id, updateNodes=[change], publish=True)

    async def version_that_runs() -> str:
        ran = await place.call("run_workflow", id=workflow_id)
        return str((await place.details(ran["execution"]["id"]))["workflowVersionId"])

    assert await eventually(version_that_runs, lambda version: version == outcome["versionId"])


async def test_a_workflow_comes_from_a_file_and_is_replaced_by_one(place: Place) -> None:
    first, second = copied_body("m-empty"), copied_body("p-disabled", pinData={"End": [{"json": {"a": 1}}]})
    (place.files / "first.json").write_text(json.dumps(first))
    # An export holds more than n8n takes back.
    (place.files / "second.json").write_text(json.dumps({**second, "id": "x", "active": True, "tags": []}))

    created = await place.call("create_workflow_from_file", path="first.json")
    replaced = await place.call("replace_workflow_from_file", id=created["id"], path="second.json")

    got = await place.workflow(created["id"])
    assert (created["differences"], replaced["differences"], replaced["unrequested"]) == ([], [], [])
    assert [got[name] for name in second] == [
        {**got["settings"], **second[name]} if name == "settings" else second[name] for name in second
    ]
    assert got["active"] is False


async def test_unknown_tags_are_refused_and_known_ones_are_set(place: Place) -> None:
    workflow_id = await place.copy_of("m-empty")

    error = await place.refused("set_workflow_tags", id=workflow_id, tags=["nobody-made-this"])
    done = await place.call("set_workflow_tags", id=workflow_id, tags=["blue"], createMissing=True)

    assert "there is no tag 'nobody-made-this'" in error.message
    assert done["tags"] == ["blue"]
    assert "blue" in [tag["name"] for tag in (await place.call("list_tags"))["tags"]]


@pytest.mark.parametrize("after", [["green"], ["green", "grey"], []])
async def test_tags_that_an_undo_takes_back_are_told(place: Place, after: list[str]) -> None:
    workflow_id = await place.copy_of("m-empty")
    await place.call("set_workflow_tags", id=workflow_id, tags=["blue"], createMissing=True)
    done = await place.call("set_workflow_tags", id=workflow_id, tags=after, createMissing=True)

    name, arguments = parse_call(done["_guidance"]["example"])
    undone = await place.call(name, **arguments)

    assert "expectedVersionId" in arguments
    assert (undone["changed"], undone["differences"]) == (["tags"], [])
    assert [one["name"] for one in (await place.workflow(workflow_id))["tags"]] == ["blue"]
