"""Change workflows safely: lock, read, merge, check, back up, write, then read back."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Final
from uuid import uuid4

import anyio

from dogubako.contract.errors import ApiError, ConflictError, NotFoundError, ValidationError
from dogubako.contract.offload import offload_if_large
from dogubako.contract.output import example_call
from dogubako.packs.n8n.api.workflows import KNOWN_SETTINGS
from dogubako.packs.n8n.backups import Backup
from dogubako.packs.n8n.checks import refuse_problems
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.draft_saving import VERSIONED, DraftSaver, conflict, naming_keys, read_again
from dogubako.packs.n8n.drafts import (
    GRAPH,
    has_unpublished_changes,
    publish_unless_changed,
    published_between,
    same_graph,
    unpublished_draft,
)
from dogubako.packs.n8n.formatters.changes import changed_paths, differences, unrequested
from dogubako.packs.n8n.merge_renames import merge_renamed
from dogubako.packs.n8n.merging import CONTENT
from dogubako.packs.n8n.workflow_change import (
    Outcome,
    Plan,
    Saved,
    WorkflowChange,
    became,
    counting_at_once,
    only,
    requested_parts,
    touched_parts,
)

JsonObject = dict[str, Any]

REPUBLISH_SECONDS: Final = 1.0
_CREATED: Final = ("name", "nodes", "connections", "settings", "pinData", "staticData", "nodeGroups")
# An unknown name is compared and repeated up to this length.
_LONGEST_SHOWN: Final = 100
_LONGEST_TAG: Final = 24
_MOST_TAKEN_BACK: Final = 20
_ARCHIVED: Final = "The workflow is archived. archive_workflow with unarchive: true takes it out."


class WorkflowWriter:
    """Creates and overwrites workflows, and reads them back instead of trusting a 200."""

    def __init__(self, client: N8nClient) -> None:
        self._client = client

    async def create(
        self, workflow: Mapping[str, Any], tags: Sequence[str] = (), *, allow_invalid: bool = False
    ) -> Outcome:
        meant = {key: workflow[key] for key in _CREATED if workflow.get(key) is not None}
        meant = {"connections": {}, "settings": {}, **meant}
        warnings = await refuse_problems(self._client, {}, meant, allow_invalid=allow_invalid)
        tag_ids = await self.tag_ids(tags)
        try:
            made = await self._client.workflows.create(meant)
        except ApiError as error:
            raise naming_keys(error, meant) from error
        workflow_id = str(made["id"])
        if tag_ids:
            await self._client.workflows.set_tags(workflow_id, tag_ids)
        got = await self._client.workflows.get(workflow_id, "create workflow")
        found = await offload_if_large(got, _differences, {}, meant, got)
        return Outcome(before={}, meant=meant, workflow=got, differences=found, warnings=warnings)

    async def apply(self, request: WorkflowChange) -> Outcome:
        """Make one change. Nobody else of this process writes the workflow between our read and our write."""
        async with self._client.locks.hold(request.workflow_id):
            outcome = await self.apply_locked(request)
        if request.publish and outcome.workflow.get("active"):
            await published_version_runs()
            now = await self._client.workflows.get(request.workflow_id, "update workflow")
            state = only(now, ("active", "activeVersionId", "activeVersion"))
            outcome = replace(
                outcome,
                workflow={**outcome.workflow, **state},
                draft=await unpublished_draft(self._client, now),
                published_since=outcome.published_since or _other_live(now, outcome.own),
            )
        return outcome

    async def apply_locked(self, request: WorkflowChange) -> Outcome:
        plan = await self._plan(request)
        if request.dry_run or not plan.does_something:
            return plan.unwritten(plan.going_live or await unpublished_draft(self._client, plan.before))
        before, meant = plan.before, _with_ids(plan.meant)
        touched = await offload_if_large(before, touched_parts, before, meant)
        touched += [f"tags.{one}" for one in _tag_ids(before) ^ set(request.tag_ids or ())] if plan.retags else []
        touched += ["published"] if request.publish else []
        made = became(meant, touched)
        backup = request.backup or await self._client.backups.save(before, request.reason, touched, made)
        saved = Saved(meant=meant, written=before, own=before, replaced=before)
        saver = DraftSaver(self._client, request)
        if plan.changes:
            try:
                saved = await saver.save(before, meant)
            except (ApiError, ConflictError, ValidationError) as error:
                if saver.wrote and isinstance(error, ApiError):
                    # Archived right behind our write, for example.
                    error.hint = f"{error.hint or ''} The change may be saved. This undoes it: {_undo(backup)}".strip()
                elif request.backup is None and leaves_it_as_it_was(error):
                    await self._client.backups.discard(backup)
                raise
        if saved.replaced is not before and request.backup is None:
            # Somebody saved after our read: who undoes our change wants to keep theirs.
            older = backup
            backup = await self._client.backups.save(saved.replaced, request.reason, touched, made)
            await self._client.backups.discard(older)
        alone = plan.draft_is_ours and not saved.merged_with and saved.replaced is before
        live = version_to_publish(saved.own) if request.publish else None
        if (plan.changes and alone) or live:
            await self._client.backups.note_made(backup, saved.written.get("versionId") if alone else None, live)
        if plan.retags:
            await self._client.workflows.set_tags(request.workflow_id, list(request.tag_ids or ()))
        right_before = await self._publish(saved, before, backup) if request.publish else None
        return await self._outcome(request, plan, saved, backup, right_before)

    async def _plan(self, request: WorkflowChange) -> Plan:
        """Read the workflow and tell what the change would do. Raises for mistakes and for conflicts."""
        before = await self._client.workflows.get(request.workflow_id, "update workflow")
        meant, merged_with = await self._merged(before, request)
        if request.publish and merged_with:
            message = f"Workflow '{before['id']}' was changed since the expected version, and this would publish that"
            raise ConflictError(message, hint=read_again(before))
        going_live = await unpublished_draft(self._client, before) if request.publish else None
        warnings, refused = await self._checked(request, before, meant)
        draft = str(before.get("versionId"))
        is_ours = not await offload_if_large(before, has_unpublished_changes, before) or await self._is_ours(before)
        if going_live is not None and request.expected_version != draft and not is_ours:
            if not request.dry_run:
                raise unexpected_draft(before, going_live)
            refused = [*refused, str(unexpected_draft(before, going_live))]
        return Plan(
            before=before,
            meant=meant,
            merged_with=merged_with,
            warnings=warnings,
            refused=refused,
            changes=bool(await offload_if_large(before, requested_parts, before, meant)),
            retags=request.tag_ids is not None and set(request.tag_ids) != _tag_ids(before),
            publishes=request.publish and await offload_if_large(before, _can_be_published, before),
            going_live=going_live,
            draft_is_ours=is_ours,
        )

    async def _is_ours(self, workflow: JsonObject) -> bool:
        """Whether the draft was saved by a tool of ours, and by nobody else since."""
        return await self._client.backups.is_ours(str(workflow["id"]), workflow.get("versionId"))

    async def _checked(
        self, request: WorkflowChange, before: JsonObject, meant: JsonObject
    ) -> tuple[list[JsonObject], list[str]]:
        """The doubts about a change, and for a preview why it would be refused. Else what is certain is raised."""
        refused = [_ARCHIVED] if request.dry_run and before.get("isArchived") else []
        unknown = set(meant.get("settings") or {}) - KNOWN_SETTINGS - set(before.get("settings") or {})
        refused += [f"n8n knows no setting {one}." for one in sorted(unknown)] if request.dry_run else []
        try:
            return await refuse_problems(self._client, before, meant, allow_invalid=request.allow_invalid), refused
        except ValidationError as error:
            if not request.dry_run:
                raise
            return [], [*refused, *(one.message for one in error.errors)]

    async def _outcome(
        self,
        request: WorkflowChange,
        plan: Plan,
        saved: Saved,
        backup: Backup,
        right_before: Mapping[str, Any] | None,
    ) -> Outcome:
        """Read the workflow back, and compare it with what was meant."""
        now = await self._client.workflows.get(request.workflow_id, "update workflow")
        got = _as_we_left_it(now, saved.written)
        is_ours = await offload_if_large(now, same_graph, now, got)
        replaced_live = right_before is not None and not is_ours and published_between(right_before, now)
        return Outcome(
            before=saved.replaced,
            meant=saved.meant,
            workflow=got,
            backup=backup,
            merged_with=await offload_if_large(
                now, _still_there, [*plan.merged_with, *saved.merged_with], saved.meant, now
            ),
            draft=await unpublished_draft(self._client, now),
            differences=await offload_if_large(got, _differences, saved.replaced, saved.meant, got),
            unrequested=await offload_if_large(got, _unrequested, saved.replaced, got, saved.meant, request),
            warnings=[*plan.warnings, *saved.warnings],
            overwrote=saved.overwrote,
            settings_lost=saved.settings_lost,
            published=request.publish,
            retagged=plan.retags,
            other_tags=plan.retags and _tag_ids(now) != set(request.tag_ids or ()),
            published_draft=plan.going_live,
            saved_since=None if is_ours else str(now.get("versionId")),
            may_have_been_live=str(now.get("versionId")) if replaced_live else None,
            taken_back=[] if is_ours else await offload_if_large(now, _taken_back, saved.replaced, now, got),
            own=version_to_publish(saved.own),
            published_since=_other_live(now, version_to_publish(saved.own)) if request.publish else None,
        )

    async def _merged(self, before: JsonObject, request: WorkflowChange) -> tuple[JsonObject, list[str]]:
        """The workflow as it shall be, and what somebody else has changed since the expected version."""
        if request.expected_version in (None, before.get("versionId")):
            return await offload_if_large(before, request.change, before), []
        base = await self._base(before, str(request.expected_version))
        ours = await offload_if_large(before, request.change, base)
        meant, clashes = await offload_if_large(before, merge_renamed, base, before, ours)
        if clashes:
            raise conflict(before, clashes)
        changed, _ = await offload_if_large(before, changed_paths, only(base, CONTENT), only(before, CONTENT))
        # Tags belong to no version, so there is nothing to merge.
        return {**meant, **only(ours, ("tags",))}, changed

    async def _base(self, before: JsonObject, version_id: str) -> JsonObject:
        try:
            version = await self._client.workflows.version(str(before["id"]), version_id)
        except NotFoundError as error:
            message = f"Workflow '{before['id']}' has changed, and n8n has no version with the expected id"
            raise ConflictError(message, hint=read_again(before)) from error
        return {**before, **only(version, VERSIONED)}

    async def _publish(self, saved: Saved, before: JsonObject, backup: Backup) -> Mapping[str, Any]:
        """Publish the version that we wrote, and no other that somebody may have saved since."""
        try:
            return await publish_unless_changed(self._client, before, version_to_publish(saved.own))
        except (ApiError, ConflictError) as error:
            undo = _undo(backup, saved.written.get("versionId"))
            live = "the published version is still the one before" if before.get("active") else "nothing is published"
            live = live if isinstance(error, ApiError) else "and what is published stays as it is"
            at_once = counting_at_once(backup.touched)
            counts = f" (in force at once: {', '.join(at_once)})" if at_once else ""
            message = f"The change was saved as a draft{counts}, {live}. This undoes it: {undo}"
            error.hint = f"{error.hint or ''} {message}".strip()
            raise

    async def tag_ids(self, names: Sequence[str], *, create: bool = False) -> list[str]:
        """Ids of tags by name (or id). An unknown one is an error with similar names, unless `create`."""
        # n8n takes the spaces around a name away.
        names = [name.strip() or name for name in names]
        existing = await self._tags() if names else {}
        for name in names if create else ():
            if not 1 <= len(name.strip()) <= _LONGEST_TAG:
                told = f"'{name[:_LONGEST_SHOWN]}' does not have 1 to {_LONGEST_TAG} characters"
                raise ValidationError.of("tags", f"Invalid value for parameter tags: {told}")
        ids = []
        for name in dict.fromkeys(names):
            tag_id = existing.get(name) or (name if name in existing.values() else None)
            if tag_id is None and create:
                tag_id = await self._created_tag(name)
            if tag_id is None:
                raise _no_such_tag(name[:_LONGEST_SHOWN], existing)
            ids.append(tag_id)
        return ids

    async def _tags(self) -> dict[str, str]:
        """The ids of all tags by their names."""
        return {str(tag["name"]): str(tag["id"]) for tag in await self._client.lookups.tags()}

    async def _created_tag(self, name: str) -> str:
        try:
            return str((await self._client.lookups.create_tag(name))["id"])
        except ApiError as error:
            # Somebody else may have created it since we looked.
            known = await self._tags() if error.status_code == 409 else {}
            if name not in known:
                raise
            return known[name]


async def published_version_runs() -> None:
    """Wait: n8n reports that the new version is published, but runs the old one for a moment."""
    await anyio.sleep(REPUBLISH_SECONDS)


def _undo(backup: Backup, version_id: Any = None) -> str:
    """The call that takes the draft back, and leaves what is published."""
    expected = {"expectedVersionId": version_id} if version_id else {}
    return example_call("restore_workflow", id=backup.workflow_id, backup=backup.id, draftOnly=True, **expected)


def unexpected_draft(workflow: JsonObject, draft: JsonObject) -> ConflictError:
    """A draft that the caller has not named would go live together with the change."""
    who = f" by {draft['savedBy']}" if draft.get("savedBy") else ""
    when = f" at {draft['savedAt']}" if draft.get("savedAt") else ""
    message = f"Workflow '{workflow['id']}' has a draft that is not published, saved{who}{when}: this would publish it"
    see = example_call("diff_workflow", id=str(workflow["id"]))
    both = f"To publish it with your change, expect versionId '{workflow.get('versionId')}'"
    return ConflictError(message, hint=f"Nothing was changed. {both}; {see} shows what is in it.")


def version_to_publish(workflow: JsonObject) -> str | None:
    """The draft by its id. Versions of n8n that publish nothing but the draft get none."""
    return str(workflow["versionId"]) if "activeVersionId" in workflow and workflow.get("versionId") else None


def _with_ids(workflow: JsonObject) -> JsonObject:
    """The workflow with an id for every node: n8n would make one, and our version could not be told from another's."""
    nodes = workflow.get("nodes")
    if not isinstance(nodes, list) or all(not isinstance(one, dict) or one.get("id") for one in nodes):
        return workflow
    return {**workflow, "nodes": [_with_id(one) if isinstance(one, dict) else one for one in nodes]}


def _with_id(node: JsonObject) -> JsonObject:
    return node if node.get("id") else {"id": str(uuid4()), **{key: node[key] for key in node if key != "id"}}


def _as_we_left_it(now: JsonObject, written: JsonObject) -> JsonObject:
    """The workflow as it is, or as we wrote it if somebody has saved another version since."""
    if now.get("versionId") == written.get("versionId") or "nodes" not in written:
        return now
    return {**now, **only(written, (*CONTENT, "versionId"))}


def _other_live(now: JsonObject, own: str | None) -> str | None:
    """The version that is published instead of ours."""
    live = now.get("activeVersionId")
    return str(live) if live and own not in (None, live) else None


def _taken_back(before: JsonObject, now: JsonObject, ours: JsonObject) -> list[str]:
    """The places of our change that somebody changed again, or saved as they were before."""
    both, clashes = merge_renamed(before, now, ours)
    return [*(one.path for one in clashes), *changed_paths(only(now, GRAPH), only(both, GRAPH))[0]][:_MOST_TAKEN_BACK]


def _still_there(merged: Sequence[str], meant: JsonObject, now: JsonObject) -> list[str]:
    """What of somebody else is in the workflow in the end, too."""
    changed = set(changed_paths(only(meant, GRAPH), only(now, GRAPH))[0]) if merged else set()
    return [path for path in merged if path not in changed]


def _can_be_published(workflow: JsonObject) -> bool:
    return not workflow.get("active") or has_unpublished_changes(workflow)


def _differences(before: JsonObject, meant: JsonObject, got: JsonObject) -> list[JsonObject]:
    sent = only(meant, requested_parts(before, meant))
    return differences(sent, only(got, sent))


def leaves_it_as_it_was(error: ApiError | ConflictError | ValidationError) -> bool:
    """Whether n8n has the workflow as it was before, so that its backup is of no use."""
    status = error.status_code if isinstance(error, ApiError) else None
    return not isinstance(error, ApiError) or (status is not None and 400 <= status < 500)


def _tag_ids(workflow: JsonObject) -> set[str]:
    return {str(tag.get("id")) for tag in workflow.get("tags") or []}


def _unrequested(before: JsonObject, got: JsonObject, meant: JsonObject, request: WorkflowChange) -> list[JsonObject]:
    """Changes outside of what was asked for, above all a version that went live."""
    tags = ["tags"] if request.tag_ids is not None else []
    published = ["active"] if request.publish else []
    found = unrequested(before, got, dict.fromkeys([*requested_parts(before, meant), *tags, *published]))
    was, now = before.get("activeVersionId"), got.get("activeVersionId")
    if not request.publish and was != now:
        found.append({"path": "activeVersionId", "before": was, "now": now})
    return found


def _no_such_tag(name: str, names: Iterable[str]) -> ValidationError:
    near = get_close_matches(name, names, n=3, cutoff=0.4)
    advice = f" Did you mean {' or '.join(near)}?" if near else ""
    return ValidationError.of("tags", f"Invalid value for parameter tags: there is no tag '{name}'.{advice}")
