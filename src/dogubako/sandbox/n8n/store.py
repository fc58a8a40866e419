"""Everything this n8n remembers, as the JSON objects that it shows."""

import secrets
import string
from collections.abc import Mapping
from typing import Any, Final
from uuid import uuid4

from dogubako.sandbox.n8n.asking import not_found
from dogubako.sandbox.n8n.clock import now_text
from dogubako.sandbox.n8n.recordings import Recording
from dogubako.sandbox.n8n.workflow_parts import Json, stable_id

OWNER: Final = {"id": stable_id("owner"), "email": "owner@example.com", "firstName": "Sandbox", "lastName": "Owner"}
_LETTERS: Final = string.ascii_letters + string.digits


def new_id() -> str:
    """As n8n makes them for workflows, tags and credentials."""
    return "".join(secrets.choice(_LETTERS) for _ in range(16))


class Store:
    """One running n8n. Executions are kept by number, the newest last."""

    def __init__(self) -> None:
        self.started = now_text()
        self.workflows: dict[str, Json] = {}
        self.executions: dict[int, Json] = {}
        self.recordings: dict[int, Recording] = {}
        self.tags: dict[str, Json] = {}
        self.credentials: dict[str, Json] = {}
        # Workflows that were published a moment ago, and cannot be deleted yet.
        self.unpublishing: set[str] = set()
        self._executions_so_far = 0

    def workflow(self, workflow_id: str) -> Json:
        if workflow_id not in self.workflows:
            raise not_found()
        return self.workflows[workflow_id]

    def execution(self, execution_id: int) -> Json:
        if execution_id not in self.executions:
            raise not_found()
        return self.executions[execution_id]

    def next_execution_id(self) -> str:
        """Numbers are never given twice, not even after a deletion."""
        self._executions_so_far += 1
        return str(self._executions_so_far)

    def add_execution(self, execution: Json, recording: Recording) -> None:
        self.executions[int(execution["id"])] = execution
        self.recordings[int(execution["id"])] = recording

    def add_workflow(self, body: Mapping[str, Any], workflow_id: str | None = None) -> Json:
        """A new draft. n8n gives ids to nodes that have none."""
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
        return self.workflows[own_id]

    def project(self) -> Json:
        """The owner's own; this n8n has no licence for others."""
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

    def _owned(self, workflow_id: str, now: str) -> Json:
        project = self.project()
        return {
            "role": "workflow:owner",
            "workflowId": workflow_id,
            "projectId": project["id"],
            "project": project,
            "createdAt": now,
            "updatedAt": now,
        }


def with_ids(node: Mapping[str, Any]) -> Json:
    """A node as n8n saves it."""
    missing: Json = {} if "id" in node else {"id": str(uuid4())}
    if node["type"].endswith(".webhook") and "webhookId" not in node:
        missing["webhookId"] = str(uuid4())
    return {**node, **missing}


def licensed(settings: Mapping[str, Any]) -> Json:
    """What n8n saves of settings: the one that needs a licence is left out without a word."""
    return {name: value for name, value in settings.items() if name != "redactionPolicy"}
