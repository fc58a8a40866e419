"""Two processes that share nothing, and a person, save one workflow at the same moment: no answer is false."""

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from functools import partial
from typing import Any, Final

import anyio
import pytest

from dogubako.packs.n8n import draft_saving
from dogubako.packs.n8n.api.workflows import WorkflowsApi
from dogubako.packs.n8n.client import WorkflowLocks
from tests.n8n_contract.facts import proves
from tests.n8n_contract.place import Place
from tests.n8n_contract.test_concurrent_edits import many_nodes, note, person_saves, save_in_between
from tests.n8n_contract.test_publishing_beside_people import publishes
from tests.n8n_contract.test_workflow_changes import node_of, writable

ROUNDS: Final = 4
MOST_STAYED: Final = 1
TOOL: Final = "edit_workflow"


def noted(number: int, text: str) -> list[dict[str, Any]]:
    return [{"op": "setNodeSettings", "node": f"Node {number}", "settings": {"notes": text}}]


def in_the_pause(monkeypatch: pytest.MonkeyPatch, act: Callable[[], Awaitable[None]]) -> None:
    """Somebody acts once, while a writer waits for what others make of its version."""
    waiting = [True]

    async def pause() -> None:
        if waiting:
            waiting.clear()
            await act()

    monkeypatch.setattr(draft_saving, "_pause", pause)


async def saved(place: Place, workflow_id: str, body: dict[str, Any]) -> None:
    await place.n8n.told("PUT", f"workflows/{workflow_id}", body, params={"publishIfActive": "false"})


async def notes_of(place: Place, workflow_id: str) -> list[Any]:
    return [node.get("notes") for node in (await place.workflow(workflow_id))["nodes"]]


@proves("history")
async def test_what_another_process_puts_back_of_a_refused_change_is_withdrawn_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow_id = await many_nodes(place, 2)
    save_in_between(place, monkeypatch, workflow_id, "Node 0", notes="by a person")

    async def other_process() -> None:
        await person_saves(place, workflow_id, "Node 0", notes="by us")

    in_the_pause(monkeypatch, other_process)
    refused = await place.refused(TOOL, id=workflow_id, operations=noted(0, "by us"))

    assert refused.code == "CONFLICT"
    assert await notes_of(place, workflow_id) == ["by a person", None]


@proves("history")
async def test_what_another_process_mends_is_not_taken_off_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person's old page takes off what the other process saved: that one puts it back, and we leave it so."""
    workflow_id = await many_nodes(place, 4)
    old_page = await place.workflow(workflow_id)
    await person_saves(place, workflow_id, "Node 1", notes="by the other")
    update, waiting = WorkflowsApi.update, [True]

    async def update_after_an_old_page(self: WorkflowsApi, *args: Any) -> Any:
        if waiting:
            waiting.clear()
            nodes = [{**one, "notes": "by a person"} if one["name"] == "Node 3" else one for one in old_page["nodes"]]
            await saved(place, workflow_id, writable(old_page, nodes=nodes))
        return await update(self, *args)

    async def other_process() -> None:
        await person_saves(place, workflow_id, "Node 1", notes="by the other")

    monkeypatch.setattr(WorkflowsApi, "update", update_after_an_old_page)
    in_the_pause(monkeypatch, other_process)
    await place.call(TOOL, id=workflow_id, operations=noted(0, "by us"))

    assert await notes_of(place, workflow_id) == ["by us", "by the other", None, "by a person"]


@proves("history")
async def test_a_change_that_is_lost_while_others_mend_is_saved_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow_id = await many_nodes(place, 3)
    save_in_between(place, monkeypatch, workflow_id, "Node 2", notes="by a person")

    async def other_process() -> None:
        now = await place.workflow(workflow_id)
        first, *others = now["nodes"]
        bare = {key: value for key, value in first.items() if key != "notes"}
        await saved(place, workflow_id, writable(now, nodes=[bare, *others]))

    in_the_pause(monkeypatch, other_process)
    outcome = await place.call(TOOL, id=workflow_id, operations=[*noted(0, "by us"), *noted(1, "by us")])

    assert await notes_of(place, workflow_id) == ["by us", "by us", "by a person"]
    assert "takenBack" not in outcome


@pytest.mark.parametrize("tool", [TOOL, "update_workflow"])
async def test_the_answer_names_what_somebody_took_back_right_after(
    place: Place, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    workflow_id = await many_nodes(place, 2)
    update = WorkflowsApi.update

    async def overwritten(self: WorkflowsApi, *args: Any) -> Any:
        written = await update(self, *args)
        await person_saves(place, workflow_id, "Node 0", notes="by a person")
        return written

    monkeypatch.setattr(WorkflowsApi, "update", overwritten)
    change = {"operations": noted(0, "by us")} if tool == TOOL else {"updateNodes": note("Node 0", "by us")}
    result = await place.box.call(tool, {"id": workflow_id, **change})

    assert result.value["data"]["takenBack"] == ["nodes.Node 0.notes"]
    assert "lacks your change (takenBack)" in result.value["message"]
    assert await notes_of(place, workflow_id) == ["by a person", None]


async def test_the_answer_says_that_another_version_was_published_while_we_waited(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow_id = await place.copy_of("m-empty", published=True)
    names = [str(node["name"]) for node in (await place.workflow(workflow_id))["nodes"]]
    change = {"op": "setNodeSettings", "node": names[0], "settings": {"notes": "by us"}}
    monkeypatch.setattr("dogubako.packs.n8n.workflow_writer.published_version_runs", publishes(place, workflow_id))

    result = await place.box.call(TOOL, {"id": workflow_id, "operations": [change], "publish": True})

    after = await place.workflow(workflow_id)
    assert result.value["data"]["publishedSince"] == after["activeVersionId"]
    assert "somebody published another version right after" in result.value["message"]


@proves("history")
async def test_a_value_seldom_stays_of_which_its_caller_is_told_that_it_was_not_saved(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two writers that share nothing may put back each other's value in turn, and stop at either (ADR 0132)."""
    monkeypatch.setattr(WorkflowLocks, "hold", lambda *_: nullcontext())
    stayed = 0
    for _ in range(ROUNDS):
        workflow_id = await many_nodes(place, 2)
        refused = await refused_of_two(place, workflow_id)

        stayed += node_of(await place.workflow(workflow_id), "Node 0")["notes"] in refused
        assert set(refused.values()) <= {"CONFLICT"}

    assert stayed <= MOST_STAYED


async def refused_of_two(place: Place, workflow_id: str) -> dict[str, str]:
    """Two agents and a person write their notes at once: the codes of the agents that were refused."""
    expected = (await place.workflow(workflow_id))["versionId"]
    refused: dict[str, str] = {}

    async def edit(text: str) -> None:
        change = {"id": workflow_id, "operations": noted(0, text), "expectedVersionId": expected}
        answer = await place.box.call(TOOL, change)
        if answer.error is not None:
            refused[text] = answer.error.code

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(edit, "by an agent")
        tasks.start_soon(edit, "by another")
        tasks.start_soon(partial(person_saves, place, workflow_id, "Node 0", notes="by a person"))
    return refused
