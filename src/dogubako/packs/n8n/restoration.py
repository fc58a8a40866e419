"""Bring a workflow back as a backup has it: the draft, the published version, the tags."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dogubako.contract.errors import ApiError, NotFoundError
from dogubako.packs.n8n.backups import Backup
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.drafts import published_graph, same_graph
from dogubako.packs.n8n.formatters.changes import differences
from dogubako.packs.n8n.workflow_change import WorkflowChange, state_of
from dogubako.packs.n8n.workflow_writer import WorkflowWriter, published_version_runs

JsonObject = dict[str, Any]

# Static data is what triggers remember: while the workflow exists, n8n's own is newer than ours.
_RESTORED: Final = ("name", "nodes", "connections", "settings", "pinData", "nodeGroups", "description")
_REASON: Final = "before restore_workflow"


@dataclass(frozen=True, kw_only=True, slots=True)
class Restored:
    """The workflow after it was brought back, and how it differs from the backup."""

    workflow: JsonObject
    differences: list[JsonObject]
    replaced: Backup | None


class Restoration:
    """Writes one backup back. The workflow must be locked."""

    def __init__(self, client: N8nClient, backup: Backup) -> None:
        self._client = client
        self._backup = backup
        self._wanted = backup.workflow
        self._published = published_graph(backup.workflow)
        self._writer = WorkflowWriter(client)
        self._replaced: Backup | None = None

    async def run(self) -> Restored:
        workflow_id = await self._write_draft()
        await self._set_tags(workflow_id)
        await self._publish(workflow_id)
        got = await self._client.workflows.get(workflow_id, "restore workflow")
        left = differences(self._facts(self._wanted), self._facts(got))
        return Restored(workflow=got, differences=left, replaced=self._replaced)

    async def _write_draft(self) -> str:
        """Write exactly what the backup has, so that credentials that were added since are gone."""
        try:
            now = await self._client.workflows.get(self._backup.workflow_id, "restore workflow")
        except NotFoundError:
            return await self._create()
        # One backup for all steps: the steps between are nothing to go back to.
        self._replaced = await self._client.backups.save(now, _REASON)
        await self._writer.apply_locked(self._change(self._backup.workflow_id, self._wanted))
        return self._backup.workflow_id

    async def _create(self) -> str:
        """A deleted workflow. Its published version is made first, and the draft is saved over it."""
        content = {**self._wanted, **(self._published or {})}
        workflow_id = str((await self._writer.create(content, allow_invalid=True)).workflow["id"])
        if self._published is not None:
            await self._client.workflows.publish(workflow_id)
        await self._writer.apply_locked(self._change(workflow_id, self._wanted))
        return workflow_id

    async def _publish(self, workflow_id: str) -> None:
        now = await self._client.workflows.get(workflow_id, "restore workflow")
        live = published_graph(now)
        if self._published is None:
            if live is not None:
                await self._client.workflows.unpublish(workflow_id)
        elif live is None or not same_graph(live, self._published):
            await self._bring_live(workflow_id, now, self._published)
            await published_version_runs()

    async def _bring_live(self, workflow_id: str, now: JsonObject, published: JsonObject) -> None:
        """Publish the draft if it is the one, else the version that n8n still has, else a copy of it."""
        if same_graph(now, published):
            await self._client.workflows.publish(workflow_id, now.get("versionId"))
            return
        try:
            await self._client.workflows.publish(workflow_id, self._wanted.get("activeVersionId"))
        except (NotFoundError, ApiError) as error:
            if isinstance(error, ApiError) and error.status_code != 404:
                raise
            await self._writer.apply_locked(self._change(workflow_id, {**self._wanted, **published}))
            await self._client.workflows.publish(workflow_id)
            await self._writer.apply_locked(self._change(workflow_id, self._wanted))

    async def _set_tags(self, workflow_id: str) -> None:
        wanted = state_of(self._wanted)["tags"]
        if state_of(await self._client.workflows.get(workflow_id, "restore workflow"))["tags"] != wanted:
            ids = await self._writer.tag_ids(wanted, create=True)
            await self._client.workflows.set_tags(workflow_id, ids)

    def _change(self, workflow_id: str, content: Mapping[str, Any]) -> WorkflowChange:
        wanted = {part: content.get(part) for part in _RESTORED if part in content}
        # A backup may hold mistakes; it is brought back as it was.
        return WorkflowChange(
            workflow_id=workflow_id,
            change=lambda now: {**now, **_emptied(wanted)},
            reason=_REASON,
            allow_invalid=True,
            backup=self._replaced,
        )

    def _facts(self, workflow: JsonObject) -> JsonObject:
        parts = {part: workflow.get(part) for part in _RESTORED if workflow.get(part)}
        live = published_graph(workflow)
        published = {str(node.get("name")): node for node in live["nodes"]} if live else None
        return {
            **parts,
            **state_of(workflow),
            "published": published,
            "publishedConnections": live and live["connections"],
        }


def _emptied(content: JsonObject) -> JsonObject:
    """What the backup does not have is written as empty: n8n keeps what is left out."""
    empty: JsonObject = {"pinData": {}, "nodeGroups": []}
    return {part: value if value is not None else empty.get(part) for part, value in content.items()}
