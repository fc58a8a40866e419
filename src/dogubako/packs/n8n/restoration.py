"""Bring a workflow back as a backup has it: the draft, the published version, the tags."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dogubako.contract.errors import ApiError, ConflictError, NotFoundError, ValidationError
from dogubako.contract.offload import offload_if_large
from dogubako.contract.output import Message
from dogubako.packs.n8n.backups import Backup
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.drafts import publish_unless_changed, published_graph, refuse_other_live, same_graph
from dogubako.packs.n8n.formatters.changes import changed_paths, differences
from dogubako.packs.n8n.formatters.workflow import tag_names
from dogubako.packs.n8n.workflow_change import KEYED, WorkflowChange, held_at, keys_of, state_of
from dogubako.packs.n8n.workflow_writer import WorkflowWriter, leaves_it_as_it_was, published_version_runs

JsonObject = dict[str, Any]

# Static data is what triggers remember: while the workflow exists, n8n's own is newer than ours.
_RESTORED: Final = ("name", "nodes", "connections", "settings", "pinData", "nodeGroups", "description")
_REASON: Final = "before restore_workflow"
_GRAPH: Final = frozenset({"nodes", "connections", "nodeGroups"})
_MOST_CHANGED: Final = 30


@dataclass(frozen=True, kw_only=True, slots=True)
class Restored:
    """The workflow after it was brought back, and how it differs from the backup."""

    workflow: JsonObject
    differences: list[JsonObject]
    replaced: Backup | None
    # What is not as it was right before.
    changed: list[str]
    # What the undone change had touched, and somebody has changed since: it stays as it is.
    left: list[str]
    # What validation finds in it: a credential may have been deleted since.
    warnings: list[JsonObject]

    @property
    def went_live(self) -> Message | None:
        """What became of what was published, if that is not as it was."""
        was = published_graph(self.replaced.workflow) if self.replaced is not None else None
        now = published_graph(self.workflow)
        if now is not None and was is None:
            return Message(en="It was not published, and is now", ja="非公開でしたが、公開されました")
        if now is None and was is not None:
            return Message(en="It was published, and is not any more", ja="公開されていましたが、非公開になりました")
        if now is not None and was is not None and not same_graph(now, was):
            return Message(en="Another version is published than before", ja="公開版が替わりました")
        return None


class Restoration:
    """Writes one backup back. The workflow must be locked."""

    def __init__(
        self, client: N8nClient, backup: Backup, *, draft_only: bool = False, expected_version: str | None = None
    ) -> None:
        self._draft_only = draft_only
        self._expected_version = expected_version
        self._client = client
        self._backup = backup
        self._wanted = backup.workflow
        self._published = published_graph(backup.workflow)
        # An undo takes back what the change touched, and leaves what somebody did since.
        self._touched = frozenset(backup.touched if expected_version is not None else ())
        self._is_undo = bool(self._touched)
        # What the change that is undone has published may be another version than the expected draft.
        self._own_live = {expected_version, backup.published} - {None}
        self._left: list[str] = []
        self._restores_live = not draft_only and (not self._is_undo or "published" in self._touched)
        self._writer = WorkflowWriter(client)
        self._replaced: Backup | None = None
        self._warnings: list[JsonObject] = []

    async def run(self) -> Restored:
        workflow_id = await self._write_draft()
        if self._is_undo or not self._draft_only:
            # No version holds tags, so an undo of a draft takes back those of the change as well.
            await self._set_tags(workflow_id)
        if self._restores_live:
            try:
                await self._publish(workflow_id)
            except (ApiError, ConflictError) as error:
                before = f" It was as in backup '{self._replaced.id}' before." if self._replaced is not None else ""
                done = f"The draft is restored as workflow '{workflow_id}'; only publishing failed.{before}"
                error.hint = f"{error.hint or ''} {done}".strip()
                raise
        got = await self._client.workflows.get(workflow_id, "restore workflow")
        left = await offload_if_large(got, differences, self._facts(self._wanted), self._facts(got))
        was = self._facts(self._replaced.workflow) if self._replaced is not None else {}
        changed = (await offload_if_large(got, changed_paths, was, self._facts(got)))[0] if was else []
        changed = list(dict.fromkeys("tags" if one.startswith("tags[") else one for one in changed))
        more = [f"… [{len(changed) - _MOST_CHANGED} more]"] if len(changed) > _MOST_CHANGED else []
        shown = [*changed[:_MOST_CHANGED], *more]
        return Restored(
            workflow=got,
            differences=left,
            replaced=self._replaced,
            changed=shown,
            left=self._left,
            warnings=self._warnings,
        )

    async def _write_draft(self) -> str:
        """Write exactly what the backup has, so that credentials that were added since are gone."""
        try:
            now = await self._client.workflows.get(self._backup.workflow_id, "restore workflow")
        except NotFoundError:
            return await self._create()
        if self._expected_version not in (None, now.get("versionId")):
            message = f"Workflow '{self._backup.workflow_id}' was changed since the expected version"
            hint = f"Nothing was restored. To replace that change, expect versionId '{now.get('versionId')}'."
            raise ConflictError(message, hint=hint)
        self._refuse_other_live(now)
        # Names, settings and pinned data are in no version, so the expected one does not tell that they changed.
        self._left = [one for one, value in self._backup.became.items() if self._is_changed(now, one, value)]
        self._touched -= frozenset(self._left)
        # One backup for all steps: the steps between are nothing to go back to.
        self._replaced = await self._client.backups.save(now, _REASON)
        # What somebody saves from now on is merged, or is a conflict.
        change = self._change(self._backup.workflow_id, self._wanted, expected_version=now.get("versionId"))
        try:
            outcome = await self._writer.apply_locked(change)
        except (ApiError, ConflictError, ValidationError) as error:
            if leaves_it_as_it_was(error):
                await self._client.backups.discard(self._replaced)
            raise
        self._warnings = list(outcome.warnings)
        return self._backup.workflow_id

    def _is_changed(self, now: JsonObject, touched: str, became: Any) -> bool:
        """Whether somebody changed this part since the change that is undone. An empty value is none."""
        held, was = held_at(now, touched), held_at(self._wanted, touched)
        return touched in self._touched and (held or None) not in (became or None, was or None)

    def _refuse_other_live(self, now: JsonObject) -> None:
        """Refuse to replace what somebody published or unpublished since: that does not change the draft's version."""
        live = published_graph(now)
        # A version that was published and made the draft has two ids.
        known = [self._published, now] if self._published else [now]
        same = live == self._published or (live and any(same_graph(live, one) for one in known))
        expects_none = self._expected_version is None
        if not self._restores_live or expects_none or now.get("activeVersionId") in self._own_live or same:
            return
        message = f"What is published of workflow '{self._backup.workflow_id}' was changed since the expected version"
        hint = "Nothing was restored. draftOnly: true leaves it as it is; without expectedVersionId it is replaced."
        raise ConflictError(message, hint=hint)

    async def _create(self) -> str:
        """A deleted workflow. Its published version is made first, and the draft is saved over it."""
        if self._expected_version is not None:
            hint = "Nothing was restored. Without expectedVersionId it is created again, under a new id."
            raise ConflictError(f"Workflow '{self._backup.workflow_id}' was deleted since", hint=hint)
        published = self._published if self._restores_live else None
        content = {**self._wanted, **(published or {})}
        workflow_id = str((await self._writer.create(content, allow_invalid=True)).workflow["id"])
        if published is not None:
            try:
                await self._client.workflows.publish(workflow_id)
            except ApiError as error:
                done = f"It is there again as workflow '{workflow_id}', unpublished."
                error.hint = f"{error.hint or ''} {done}".strip()
                raise
        await self._writer.apply_locked(self._change(workflow_id, self._wanted))
        return workflow_id

    async def _publish(self, workflow_id: str) -> None:
        now = await self._client.workflows.get(workflow_id, "restore workflow")
        if self._replaced is not None:
            # Who publishes or unpublishes at the same moment wants that to stay.
            refuse_other_live(self._replaced.workflow, now)
        live = published_graph(now)
        if self._published is None:
            if live is not None:
                await self._client.workflows.unpublish(workflow_id)
        elif live is None or not await offload_if_large(now, same_graph, live, self._published):
            await self._bring_live(workflow_id, now, self._published)
            await published_version_runs()

    async def _bring_live(self, workflow_id: str, now: JsonObject, published: JsonObject) -> None:
        """Publish the draft if it is the one, else the version that n8n still has, else a copy of it."""
        if await offload_if_large(now, same_graph, now, published):
            await publish_unless_changed(self._client, now, now.get("versionId"))
            return
        try:
            await publish_unless_changed(self._client, now, self._wanted.get("activeVersionId"))
        except (NotFoundError, ApiError) as error:
            if isinstance(error, ApiError) and error.status_code != 404:
                raise
            await self._writer.apply_locked(self._change(workflow_id, {**self._wanted, **published}))
            await publish_unless_changed(self._client, now, None)
            await self._writer.apply_locked(self._change(workflow_id, self._wanted))

    async def _set_tags(self, workflow_id: str) -> None:
        now = await self._client.workflows.get(workflow_id, "restore workflow")
        wanted = state_of(self._wanted)["tags"]
        if self._is_undo:
            # Only those that the change added or took away.
            ids = keys_of("tags", self._touched)
            kept = [one for one in now.get("tags") or () if str(one.get("id")) not in ids]
            back = [one for one in self._wanted.get("tags") or () if str(one.get("id")) in ids]
            wanted = sorted({str(one["name"]) for one in (*kept, *back)})
        if state_of(now)["tags"] != wanted:
            ids = await self._writer.tag_ids(wanted, create=True)
            await self._client.workflows.set_tags(workflow_id, ids)

    def _change(
        self, workflow_id: str, content: Mapping[str, Any], *, expected_version: str | None = None
    ) -> WorkflowChange:
        wanted = {part: content.get(part) for part in _RESTORED if part in content and self._is_restored(part)}
        # A backup may hold mistakes; it is brought back as it was.
        return WorkflowChange(
            workflow_id=workflow_id,
            change=lambda now: {**now, **_emptied(wanted), **self._keyed(now)},
            expected_version=expected_version,
            reason=_REASON,
            allow_invalid=True,
            backup=self._replaced,
        )

    def _is_restored(self, part: str) -> bool:
        return not self._is_undo or part in self._touched or (part in _GRAPH and bool(self._touched & _GRAPH))

    def _keyed(self, now: JsonObject) -> JsonObject:
        """Settings and pinned data with those of the backup that the change had touched."""
        parts: JsonObject = {}
        for part in KEYED:
            names, was = keys_of(part, self._touched), self._wanted.get(part) or {}
            kept = {key: value for key, value in (now.get(part) or {}).items() if key not in names}
            parts |= {part: {**kept, **{key: was[key] for key in names if key in was}}} if names else {}
        return parts

    def _facts(self, workflow: JsonObject) -> JsonObject:
        parts = {part: workflow.get(part) for part in _RESTORED if workflow.get(part) and self._is_restored(part)}
        for part in KEYED:
            held = workflow.get(part) or {}
            parts |= {f"{part}.{key}": held.get(key) for key in keys_of(part, self._touched)}
        if self._is_undo:
            parts |= {"tags": self._touched_tags(workflow)}
        if not self._restores_live:
            return parts
        live = published_graph(workflow)
        published = {str(node.get("name")): node for node in live["nodes"]} if live else None
        return {
            **parts,
            **{key: value for key, value in state_of(workflow).items() if key != "tags" or not self._is_undo},
            "published": published,
            "publishedConnections": live and live["connections"],
        }

    def _touched_tags(self, workflow: JsonObject) -> list[str]:
        """Which of the tags that the change added or took away the workflow has; created again, one has a new id."""
        ids = keys_of("tags", self._touched)
        known = [self._wanted, workflow, *([self._replaced.workflow] if self._replaced is not None else [])]
        touched = {str(tag.get("name")) for one in known for tag in one.get("tags") or () if str(tag.get("id")) in ids}
        return sorted(touched & set(tag_names(workflow)))


def _emptied(content: JsonObject) -> JsonObject:
    """What the backup does not have is written as empty: n8n keeps what is left out."""
    empty: JsonObject = {"pinData": {}, "nodeGroups": []}
    return {part: value if value is not None else empty.get(part) for part, value in content.items()}
