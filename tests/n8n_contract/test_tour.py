"""The tour of docs/n8n-tour.md: every call that it shows, with the answer that it promises."""

import re
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from dogubako.contract.output import parse_call
from tests.n8n_contract.place import Place

PAGE = Path(__file__).parents[2] / "docs" / "n8n-tour.md"
_BLOCK = re.compile(r"^```text\n(.*?)^```", re.DOTALL | re.MULTILINE)


class Step(NamedTuple):
    """A call as the page writes it, and the error that it gets."""

    call: str
    refusal: str | None


def steps() -> list[Step]:
    blocks = [block.partition("\n→ ") for block in _BLOCK.findall(PAGE.read_text(encoding="utf-8"))]
    return [Step(call.strip(), refusal.strip() or None) for call, _, refusal in blocks]


async def test_the_tour_builds_ten_nodes_and_every_mistake_is_caught(place: Place) -> None:
    path, workflow_id, outcomes = uuid4().hex, "", []
    for step in steps():
        name, arguments = parse_call(step.call.replace("ORDERS", workflow_id).replace("orders-of-the-day", path))
        if name == "run_workflow" and place.side == "sandbox":
            # The sandbox has recordings, and of this workflow it has none.
            continue
        result = await place.box.call(name, arguments)
        refusal = result.error.message if result.error else None
        assert refusal == (step.refusal and step.refusal.replace("ORDERS", workflow_id)), step.call
        if name == "create_workflow":
            workflow_id = result.value["data"]["id"]
        if refusal is None:
            outcomes.append((name, result.value["data"]))

    built = [data for name, data in outcomes if name == "edit_workflow"]
    assert all("differences" not in data for data in built)
    assert sum(len(data["diff"].get("nodes", {}).get("added", [])) for data in built) == 10 + 1
    ran = [data["execution"]["status"] for name, data in outcomes if name == "run_workflow"]
    assert ran == ([] if place.side == "sandbox" else ["success"])
    after = await place.workflow(workflow_id)
    assert (len(after["nodes"]), after["isArchived"]) == (10, True)
    report = next(node for node in after["nodes"] if node["name"] == "Report")
    assert "$('Orders')" in report["parameters"]["jsCode"]
