"""Two processes that share nothing edit one workflow: none of their edits is lost."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Final

import anyio
import pytest

from dogubako.packs.n8n.client import WorkflowLocks
from dogubako_sandbox.n8n.workflow_parts import JsonObject
from tests.n8n_contract.facts import proves
from tests.n8n_contract.place import Place
from tests.n8n_contract.test_concurrent_edits import many_nodes
from tests.n8n_contract.test_workflow_changes import node_of

# Of each process.
EDITS = 12


def connected(number: int) -> JsonObject:
    return {"op": "addConnection", "from": f"Node {number}", "to": f"Node {number + 1}"}


OPERATIONS: Final[Mapping[str, Callable[[int], JsonObject]]] = {
    "connections": connected,
    "parameters": lambda number: {"op": "setParameter", "node": f"Node {number}", "path": "x", "value": number},
    "nodes": lambda number: {"op": "addNode", "name": f"New {number}", "type": "noOp"},
    "connections beside nodes": lambda number: (
        connected(number) if number % 2 else {"op": "addNode", "name": f"New {number}", "type": "noOp"}
    ),
}


@proves("counter")
@pytest.mark.parametrize("kind", OPERATIONS)
async def test_of_the_edits_of_two_processes_none_is_lost(
    place: Place, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Processes that share nothing have no lock in common: each finds in n8n's history what the other has saved."""
    monkeypatch.setattr(WorkflowLocks, "hold", lambda *_: nullcontext())
    workflow_id = await many_nodes(place, 2 * EDITS + 1)
    answers: list[JsonObject] = []

    async def edit(numbers: range) -> None:
        for number in numbers:
            change = {"id": workflow_id, "operations": [OPERATIONS[kind](number)], "allowInvalid": True}
            answers.append(await place.call("edit_workflow", **change))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(edit, range(EDITS))
        tasks.start_soon(edit, range(EDITS, 2 * EDITS))

    again = [OPERATIONS[kind](number) for number in range(2 * EDITS)]
    missing = [one for one in again if not await is_there(place, workflow_id, one)]
    assert missing == []
    assert [answer["differences"] for answer in answers if answer.get("differences")] == []
    assert len(answers) == 2 * EDITS


async def is_there(place: Place, workflow_id: str, operation: JsonObject) -> bool:
    """Whether the workflow has what an operation makes."""
    now = await place.workflow(workflow_id)
    if operation["op"] == "addConnection":
        targets = now["connections"].get(operation["from"], {}).get("main", [[]])[0]
        return any(one["node"] == operation["to"] for one in targets)
    if operation["op"] == "addNode":
        return any(one["name"] == operation["name"] for one in now["nodes"])
    return bool(node_of(now, operation["node"])["parameters"].get("x") == operation["value"])
