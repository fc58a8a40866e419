"""The state of the sandbox's n8n: workflows and executions, and the recordings of a real n8n."""

import json
import secrets
import string
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final
from uuid import uuid4

from dogubako_sandbox.n8n.request import RefusedError, not_found
from dogubako_sandbox.n8n.workflow_parts import JsonObject, stable_id


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def now_text() -> str:
    return to_text(now_ms())


def to_ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def to_text(moment: int) -> str:
    """As `2026-11-15T21:09:22.646Z`."""
    return datetime.fromtimestamp(moment / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, kw_only=True)
class Webhook:
    """The answer to the caller of the webhook."""

    status: int
    body: Any


@dataclass(frozen=True, kw_only=True)
class Recording:
    """One recorded execution of a real n8n, with those of its sub-workflows."""

    key: str
    webhook: Webhook | None
    execution: JsonObject
    children: tuple[JsonObject, ...]

    @property
    def all_executions(self) -> tuple[JsonObject, ...]:
        return (self.execution, *self.children)

    @property
    def is_retry(self) -> bool:
        return self.execution.get("retryOf") is not None

    @property
    def shows_a_call(self) -> bool:
        """Whether it is an undisturbed webhook call, which would look the same the next time."""
        return self.webhook is not None and self.execution["status"] not in ("canceled", "crashed")


@lru_cache(maxsize=1)
def recordings() -> tuple[Recording, ...]:
    """All recordings by key; a retry follows its original. They are shared: copy before you change one."""
    folder = files("dogubako_sandbox.n8n").joinpath("recordings")
    texts = [each.read_bytes() for each in folder.iterdir() if each.name.endswith(".json")] if folder.is_dir() else []
    return tuple(sorted(map(_parsed, texts), key=lambda each: (each.is_retry, each.key)))


def _parsed(text: bytes) -> Recording:
    recorded: Mapping[str, Any] = json.loads(text)
    webhook = recorded.get("webhook")
    return Recording(
        key=recorded["key"],
        webhook=Webhook(status=webhook["status"], body=webhook["body"]) if webhook else None,
        execution=recorded["execution"],
        children=tuple(recorded.get("children", ())),
    )


OWNER: Final = {"id": stable_id("owner"), "email": "owner@example.com", "firstName": "Sandbox", "lastName": "Owner"}
_LETTERS: Final = string.ascii_letters + string.digits


def new_id() -> str:
    """An id as n8n makes them for workflows, tags and credentials."""
    return "".join(secrets.choice(_LETTERS) for _ in range(16))


class Store:
    """One running n8n. Executions are stored by number, the newest last."""

    def __init__(self) -> None:
        self.started = now_text()
        self.workflows: dict[str, JsonObject] = {}
        self.executions: dict[int, JsonObject] = {}
        self.recordings: dict[int, Recording] = {}
        # Versions of each workflow, the oldest first.
        self.versions: dict[str, list[JsonObject]] = {}
        self.tags: dict[str, JsonObject] = {}
        self.credentials: dict[str, JsonObject] = {}
        self.data_tables: dict[str, JsonObject] = {}
        # Workflows that were published a moment ago and cannot be deleted yet.
        self.unpublishing: set[str] = set()
        # Events of publishing and unpublishing, of all workflows.
        self.publications = 0
        self._executions_so_far = 0

    def workflow(self, workflow_id: str) -> JsonObject:
        if workflow_id not in self.workflows:
            raise not_found()
        return self.workflows[workflow_id]

    def execution(self, execution_id: int) -> JsonObject:
        if execution_id not in self.executions:
            raise not_found()
        return self.executions[execution_id]

    def next_execution_id(self) -> str:
        """Numbers are never reused, not even after a deletion."""
        self._executions_so_far += 1
        return str(self._executions_so_far)

    def add_execution(self, execution: JsonObject, recording: Recording) -> None:
        self.executions[int(execution["id"])] = execution
        self.recordings[int(execution["id"])] = recording

    def add_workflow(self, body: Mapping[str, Any], workflow_id: str | None = None) -> JsonObject:
        """Add a draft. n8n gives ids to nodes without one."""
        own_id, now = workflow_id or new_id(), now_text()
        self.workflows[own_id] = {
            "id": own_id,
            "name": body["name"],
            "description": None,
            "active": False,
            "activeVersionId": None,
            "createdAt": now,
            "updatedAt": now,
            "isArchived": False,
            "versionId": str(uuid4()),
            "versionCounter": 1,
            "sourceWorkflowId": None,
            "triggerCount": 0,
            "nodes": [with_ids(node) for node in body["nodes"]],
            "connections": body["connections"],
            "nodeGroups": body.get("nodeGroups", []),
            "settings": licensed(body["settings"]),
            "staticData": body.get("staticData"),
            "pinData": body.get("pinData"),
            "meta": None,
            "tags": [],
            "shared": [self._owned(own_id, now)],
            "activeVersion": None,
            "parentFolder": None,
        }
        self.add_version(self.workflows[own_id])
        return self.workflows[own_id]

    def add_version(self, workflow: JsonObject) -> None:
        """Keep the draft as a version under its present id."""
        now = now_text()
        version = {name: workflow[name] for name in ("versionId", "nodes", "connections", "nodeGroups")}
        authors = f"{OWNER['firstName']} {OWNER['lastName']}"
        about = {"workflowId": workflow["id"], "authors": authors, "name": None, "description": None}
        self.versions.setdefault(workflow["id"], []).append({**version, **about, "createdAt": now, "updatedAt": now})

    def version(self, workflow_id: str, version_id: str) -> JsonObject:
        for version in self.versions.get(workflow_id, []):
            if version["versionId"] == version_id:
                return version
        raise RefusedError(404, "Version not found")

    def project(self) -> JsonObject:
        """The owner's project; this n8n has no licence for others."""
        name = f"{OWNER['firstName']} {OWNER['lastName']} <{OWNER['email']}>"
        return {
            "id": stable_id("project").replace("-", "")[:16],
            "name": name,
            "type": "personal",
            "icon": None,
            "description": None,
            "customTelemetryTags": [],
            "creatorId": OWNER["id"],
            "createdAt": self.started,
            "updatedAt": self.started,
        }

    def _owned(self, workflow_id: str, now: str) -> JsonObject:
        project = self.project()
        return {
            "role": "workflow:owner",
            "workflowId": workflow_id,
            "projectId": project["id"],
            "project": project,
            "createdAt": now,
            "updatedAt": now,
        }


def with_ids(node: Mapping[str, Any]) -> JsonObject:
    """A node as n8n saves it."""
    missing: JsonObject = {} if "id" in node else {"id": str(uuid4())}
    if node["type"].endswith(".webhook") and "webhookId" not in node:
        missing["webhookId"] = str(uuid4())
    return {**node, **missing}


def licensed(settings: Mapping[str, Any]) -> JsonObject:
    """The settings that n8n saves: it silently drops the one that needs a licence."""
    return {name: value for name, value in settings.items() if name != "redactionPolicy"}
