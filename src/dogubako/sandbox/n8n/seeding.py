"""What this n8n knows when it starts: the workflows, and one execution per recording, the last some minutes ago."""

from collections.abc import Mapping
from typing import Any, Final

from dogubako.sandbox.n8n.clock import now_ms
from dogubako.sandbox.n8n.publishing import publish
from dogubako.sandbox.n8n.recordings import recordings
from dogubako.sandbox.n8n.replaying import replay, seed_body, seed_id
from dogubako.sandbox.n8n.store import Store
from dogubako.sandbox.n8n.workflows import WORKFLOWS

_BETWEEN_TWO: Final = 3 * 60 * 1000


def seeded_store() -> Store:
    store = Store()
    for definition in WORKFLOWS.values():
        _add(store, seed_body(definition), published=definition.published)
    for each in (execution for recording in recordings() for execution in recording.all_executions):
        if seed_id(each["workflowData"]["name"]) not in store.workflows:
            # Only a published workflow answers to its webhook.
            _add(store, each["workflowData"], published=each["mode"] == "webhook")
    _replay_all(store)
    return store


def _add(store: Store, body: Mapping[str, Any], *, published: bool) -> None:
    workflow = store.add_workflow(body, seed_id(body["name"]))
    if published:
        publish(store, workflow)
        workflow["triggerCount"] = 1


def _replay_all(store: Store) -> None:
    """In order, each at its own distance from now. A retry names what it repeats by its number here."""
    numbers: dict[tuple[str, str], str] = {}
    known = recordings()
    for place, recording in enumerate(known):
        home = recording.execution["workflowId"]
        workflow = store.workflow(seed_id(recording.execution["workflowData"]["name"]))
        linked = {old: new for (where, old), new in numbers.items() if where == home}
        ends = now_ms() - (len(known) - place) * _BETWEEN_TWO
        replayed = replay(store, recording, workflow, ends=ends, linked=linked)
        numbers[home, recording.execution["id"]] = replayed["id"]
