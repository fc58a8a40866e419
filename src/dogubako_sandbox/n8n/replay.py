"""Replay a recorded execution when a workflow runs; refuse when there is no recording."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dogubako_sandbox.n8n.node_types import understood
from dogubako_sandbox.n8n.request import RefusedError
from dogubako_sandbox.n8n.store import Recording, Store, now_ms, recordings, to_ms, to_text
from dogubako_sandbox.n8n.workflow_endpoints import publish
from dogubako_sandbox.n8n.workflow_parts import WEBHOOK, JsonObject, Workflow, stable_id
from dogubako_sandbox.n8n.workflows import WORKFLOWS

_LOOKS: Final = frozenset({"id", "name", "position", "webhookId", "notes", "notesInFlow", "color"})


def essence(workflow: Mapping[str, Any]) -> JsonObject:
    """A form that is equal for two workflows that do the same; webhook paths are ignored."""
    nodes: Iterable[JsonObject] = workflow["nodes"]
    return {"nodes": {node["name"]: _of_node(node) for node in nodes}, "connections": workflow["connections"]}


def _of_node(node: JsonObject) -> JsonObject:
    kept = {name: value for name, value in node.items() if name not in _LOOKS}
    parameters = _without_ids(understood(node))
    if node["type"] == WEBHOOK:
        parameters.pop("path", None)
    return {**kept, "parameters": parameters}


def _without_ids(value: Any) -> Any:
    """The value without the ids that the editor gives to assignments and conditions."""
    if isinstance(value, dict):
        return {name: _without_ids(each) for name, each in value.items() if name != "id"}
    if isinstance(value, list):
        return [_without_ids(each) for each in value]
    return value


# Nodes that wait for a call, not for a time, wait until then.
_FOREVER: Final = "3000-01-01T00:00:00.000Z"
_MOMENTS: Final = frozenset({"createdAt", "startedAt", "stoppedAt", "waitTill"})
_STAMPS: Final = frozenset({"startTime", "establishedAt", "timestamp"})
_EXECUTION_IDS: Final = frozenset({"executionId", "parentExecutionId"})
# User data in items may look like our fields; it stays unchanged.
_ITEMS: Final = frozenset({"json", "binary"})
# A crashed execution counts in seconds.
_LAST_SECOND: Final = 10**11


@dataclass(frozen=True, kw_only=True)
class Retelling:
    """Replacements for a replay: new ids for old ones, and all times `shift` milliseconds later."""

    executions: Mapping[str, str]
    workflows: Mapping[str, str]
    shift: int

    def of(self, recorded: JsonObject) -> JsonObject:
        """A copy that shares only the items with the recording."""
        copy: JsonObject = self._replaced("", recorded)
        copy["id"] = self.executions[recorded["id"]]
        for link in ("retryOf", "retrySuccessId"):
            copy[link] = self.executions.get(str(recorded.get(link)))
        return copy

    def _replaced(self, key: str, value: Any) -> Any:
        match value:
            case dict():
                return {name: each if name in _ITEMS else self._replaced(name, each) for name, each in value.items()}
            case list():
                return [self._replaced(key, each) for each in value]
            case str():
                return self._text(key, value)
            case int() if key in _STAMPS:
                return value + (self.shift if value > _LAST_SECOND else self.shift // 1000)
        return value

    def _text(self, key: str, value: str) -> str:
        if key in _MOMENTS and value != _FOREVER:
            return to_text(to_ms(value) + self.shift)
        if key in _EXECUTION_IDS:
            return self.executions.get(value, value)
        if key == "resumeUrl":
            return re.sub(r"(?<=/webhook-waiting/)\d+", lambda match: self.executions.get(match[0], match[0]), value)
        return self.workflows.get(value, value)


def end_of(recorded: JsonObject) -> int:
    """The end time, or the start time of an execution without end."""
    return to_ms(recorded["stoppedAt"] or recorded["startedAt"])


_NO_RECORDING: Final = "The sandbox cannot run this workflow: it has no recording of it."


def cannot_run() -> RefusedError:
    """The only error that a real n8n would not send."""
    return RefusedError(501, _NO_RECORDING)


def recording_of(workflow: Mapping[str, Any]) -> Recording:
    """The recording of this workflow from a real server."""
    wanted = essence(workflow)
    for each in recordings():
        if each.shows_a_call and essence(_as_saved(each)) == wanted:
            return each
    raise cannot_run()


def replay(
    store: Store, recording: Recording, workflow: JsonObject, *, ends: int, linked: Mapping[str, str] | None = None
) -> JsonObject:
    """Add the recorded execution and those of its sub-workflows, as if `workflow` had run and ended then."""
    numbers = {each["id"]: store.next_execution_id() for each in recording.all_executions}
    homes = {each["workflowId"]: seed_id(each["workflowData"]["name"]) for each in recording.children}
    retelling = Retelling(
        executions={**(linked or {}), **numbers},
        workflows={**homes, recording.execution["workflowId"]: workflow["id"]},
        shift=ends - end_of(recording.execution),
    )
    for each in recording.all_executions:
        execution = retelling.of(each)
        _belongs_to(
            execution, workflow if each is recording.execution else store.workflows.get(execution["workflowId"])
        )
        store.add_execution(execution, recording)
    return store.executions[int(numbers[recording.execution["id"]])]


def show_headers(execution: JsonObject, headers: Mapping[str, str]) -> None:
    """Put the headers of the call into the first item of the webhook; a running execution has it on its stack."""
    hooks = [one for one in execution["workflowData"]["nodes"] if one["type"] == WEBHOOK]
    for node in hooks if "data" in execution else ():
        runs = execution["data"]["resultData"]["runData"].get(node["name"])
        if runs:
            outputs = runs[0]["data"]["main"]
            # Items are shared with the recording, so the changed one is a copy.
            outputs[0] = [_with_headers(outputs[0][0], headers), *outputs[0][1:]]
        elif execution["status"] == "running":
            item = _with_headers({"json": {"params": {}, "query": {}, "body": {}}}, headers)
            entry = {"node": {"name": node["name"]}, "data": {"main": [[item]]}, "source": None}
            execution["data"]["executionData"] = {"nodeExecutionStack": [entry]}


def _with_headers(item: JsonObject, headers: Mapping[str, str]) -> JsonObject:
    return {**item, "json": {**item["json"], "headers": dict(headers)}}


def seed_id(workflow_name: str) -> str:
    """The constant id of a seeded workflow."""
    return stable_id("workflow", workflow_name).replace("-", "")[:16]


def seed_body(definition: Workflow) -> Mapping[str, Any]:
    """The seeded body, with the id of this server's sub-workflow."""
    if definition.calls is None:
        return definition.body
    return definition.body_calling(seed_id(WORKFLOWS[definition.calls].name))


def _as_saved(recording: Recording) -> Mapping[str, Any]:
    """The workflow before n8n filled in all defaults, which it does for every execution."""
    executed: Mapping[str, Any] = recording.execution["workflowData"]
    saved = (seed_body(each) for each in WORKFLOWS.values() if each.name == executed["name"])
    return next(saved, executed)


def _belongs_to(execution: JsonObject, workflow: JsonObject | None) -> None:
    """Name, version and node ids are those of the workflow here; the defaults are those of the recording."""
    if workflow is None:
        return
    recorded = {node["name"]: node for node in execution["workflowData"]["nodes"]}
    nodes = [_executed(node, recorded.get(node["name"], {})) for node in workflow["nodes"]]
    execution["workflowData"] |= {"name": workflow["name"], "nodes": nodes}
    execution["workflowVersionId"] = workflow["versionId"]


def _executed(node: JsonObject, recorded: JsonObject) -> JsonObject:
    return {**recorded, **node, "parameters": {**recorded.get("parameters", {}), **understood(node)}}


_BETWEEN_TWO: Final = 3 * 60 * 1000


def seeded_store() -> Store:
    store = Store()
    for definition in WORKFLOWS.values():
        _add(store, seed_body(definition), published=definition.published)
    for each in (execution for recording in recordings() for execution in recording.all_executions):
        if seed_id(each["workflowData"]["name"]) not in store.workflows:
            # Only a published workflow answers its webhook.
            _add(store, each["workflowData"], published=each["mode"] == "webhook")
    _replay_all(store)
    return store


def _add(store: Store, body: Mapping[str, Any], *, published: bool) -> None:
    workflow = store.add_workflow(body, seed_id(body["name"]))
    if published:
        publish(store, workflow)
        workflow["triggerCount"] = 1


def _replay_all(store: Store) -> None:
    """Replay all recordings in order, each at its own distance from now. A retry refers to ids of this server."""
    numbers: dict[tuple[str, str], str] = {}
    known = recordings()
    for place, recording in enumerate(known):
        home = recording.execution["workflowId"]
        workflow = store.workflow(seed_id(recording.execution["workflowData"]["name"]))
        linked = {old: new for (where, old), new in numbers.items() if where == home}
        ends = now_ms() - (len(known) - place) * _BETWEEN_TWO
        replayed = replay(store, recording, workflow, ends=ends, linked=linked)
        numbers[home, recording.execution["id"]] = replayed["id"]
