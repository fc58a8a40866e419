"""The way from a failed execution to a repaired workflow, and back."""

import pytest

from dogubako_sandbox.n8n.workflows import WORKFLOWS
from tests.n8n_contract.place import Place

CONTENT = ("name", "nodes", "connections", "settings")


@pytest.mark.parametrize(
    ("key", "failing", "origin", "item"),
    [
        pytest.param("null-upstream", "Normalise email", "Look up customer", 1, id="null three nodes before"),
        pytest.param("renamed-field", "Write letter", "Map fields", 0, id="misspelt field"),
        pytest.param("swallowed", "Print label", "Parse price", 1, id="error that went on as data"),
        pytest.param("bad-iteration", "Count articles", "Read orders", 5, id="one batch of a loop"),
    ],
)
async def test_a_diagnosis_names_the_node_and_the_item_where_it_began(
    place: Place, key: str, failing: str, origin: str, item: int
) -> None:
    diagnosis = await place.call("diagnose_execution", id=place.executions[key])

    told = diagnosis.get("origin") or diagnosis["noticed"]
    assert diagnosis["failure"]["node"] == failing
    assert (told["nodeName"], told["itemIndex"]) == (origin, item)
    assert (diagnosis["path"][0], diagnosis["path"][-1]) == (origin, failing)


async def test_a_diagnosis_of_a_success_names_the_node_that_gave_nothing(place: Place) -> None:
    diagnosis = await place.call("diagnose_execution", id=place.executions["empty-branch"])

    assert diagnosis["status"] == "success"
    assert diagnosis["noticed"]["nodeName"] == "Only paid"
    assert diagnosis["noticed"]["problem"].startswith("it was given 3 items and handed on none, so 'Write receipt'")


async def test_a_workflow_is_understood_repaired_and_brought_back(place: Place) -> None:
    workflow_id = await place.copy_of("null-upstream", published=True)
    before = await place.workflow(workflow_id)

    failed = (await place.call("run_workflow", id=workflow_id))["execution"]
    assert failed["status"] == "error"
    summary = await place.call("get_execution", id=failed["id"])
    assert summary["error"]["node"] == "Normalise email"
    node = await place.call("get_execution_by_node", id=failed["id"], nodeName=summary["error"]["node"])
    assert node["input"]["items"][1]["json"]["email"] is None
    diagnosis = await place.call("diagnose_execution", id=failed["id"])
    assert diagnosis["origin"]["nodeName"] == "Look up customer"

    script = next(
        each["parameters"]["jsCode"]
        for each in WORKFLOWS["null-upstream-fixed"].body["nodes"]
        if each["name"] == "Normalise email"
    )
    change = {"nodeName": "Normalise email", "parameters": {"jsCode": script}}
    updated = await place.call("update_workflow", id=workflow_id, updateNodes=[change], publish=True)
    assert updated["changed"] == ["nodes.Normalise email.parameters.jsCode"]
    assert (updated["differences"], updated["unrequested"], updated["active"]) == ([], [], True)

    repaired = await place.call("run_workflow", id=workflow_id)
    assert (repaired["execution"]["status"], repaired.get("note")) == ("success", None)
    retried = await place.call("retry_execution", id=failed["id"], loadWorkflow=True)
    assert retried["status"] == "success"

    restored = await place.call("restore_workflow", id=workflow_id)
    after = await place.workflow(workflow_id)
    assert (restored["restoredFrom"], restored["differences"]) == (updated["backup"], [])
    assert [after[name] for name in CONTENT] == [before[name] for name in CONTENT]
    assert after["active"] is True
    again = await place.call("run_workflow", id=workflow_id)
    assert again["execution"]["status"] == "error"
