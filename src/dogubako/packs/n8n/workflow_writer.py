"""Change workflows safely: lock, read, merge, check, back up, write, then read back."""

from collections.abc import Iterable, Mapping, Sequence
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
from dogubako.packs.n8n.drafts import GRAPH, has_unpublished_changes, recent_versions, same_graph, unpublished_draft
from dogubako.packs.n8n.formatters.changes import changed_paths, differences, shown_value, unrequested
from dogubako.packs.n8n.merging import CONTENT, Clash, merge
from dogubako.packs.n8n.workflow_change import Outcome, Plan, Saved, WorkflowChange, only, requested_parts

JsonObject = dict[str, Any]

REPUBLISH_SECONDS: Final = 1.0
_CREATED: Final = ("name", "nodes", "connections", "settings", "pinData", "staticData", "nodeGroups")
_VERSIONED: Final = ("nodes", "connections", "nodeGroups")
_REQUIRED: Final = ("name", "nodes", "connections", "settings")
# An unknown name is compared and repeated up to this length.
_LONGEST_SHOWN: Final = 100
_MOST_CLASHES: Final = 5
_MOST_ROUNDS: Final = 3
# So many versions may have been saved while we wrote one.
_MOST_VERSIONS: Final = 6


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
            raise _naming_settings(error, meant) from error
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
        return outcome

    async def apply_locked(self, request: WorkflowChange) -> Outcome:
        plan = await self._plan(request)
        if request.dry_run or not plan.does_something:
            return plan.unwritten(plan.going_live or await unpublished_draft(self._client, plan.before))
        backup = request.backup or await self._client.backups.save(plan.before, request.reason)
        before, meant = plan.before, _with_ids(plan.meant)
        try:
            saved = await self._saved(before, meant, backup) if plan.changes else Saved(meant=meant, written=before)
        except (ApiError, ConflictError) as error:
            if request.backup is None and _refused(error):
                await self._client.backups.discard(backup)
            raise
        if plan.retags:
            await self._client.workflows.set_tags(request.workflow_id, list(request.tag_ids or ()))
        if request.publish:
            await self._publish(saved.written, before, backup)
        return await self._outcome(request, plan, saved, backup)

    async def _plan(self, request: WorkflowChange) -> Plan:
        """Read the workflow and tell what the change would do. Raises for mistakes and for conflicts."""
        before = await self._client.workflows.get(request.workflow_id, "update workflow")
        meant, merged_with = await self._merged(before, request)
        return Plan(
            before=before,
            meant=meant,
            merged_with=merged_with,
            warnings=await refuse_problems(self._client, before, meant, allow_invalid=request.allow_invalid),
            changes=bool(requested_parts(before, meant)),
            retags=request.tag_ids is not None and set(request.tag_ids) != _tag_ids(before),
            publishes=request.publish and _can_be_published(before),
            going_live=await unpublished_draft(self._client, before) if request.publish else None,
        )

    async def _outcome(self, request: WorkflowChange, plan: Plan, saved: Saved, backup: Backup) -> Outcome:
        """Read the workflow back, and compare it with what was meant."""
        now = await self._client.workflows.get(request.workflow_id, "update workflow")
        got = _as_we_left_it(now, saved.written)
        return Outcome(
            before=plan.before,
            meant=saved.meant,
            workflow=got,
            backup=backup,
            merged_with=[*plan.merged_with, *saved.merged_with],
            draft=await unpublished_draft(self._client, now),
            differences=await offload_if_large(got, _differences, plan.before, saved.meant, got),
            unrequested=_unrequested(plan.before, got, saved.meant, request),
            warnings=plan.warnings,
            published_draft=plan.going_live,
            saved_since=None if same_graph(now, got) else str(now.get("versionId")),
        )

    async def _merged(self, before: JsonObject, request: WorkflowChange) -> tuple[JsonObject, list[str]]:
        """The workflow as it shall be, and what somebody else has changed since the expected version."""
        if request.expected_version in (None, before.get("versionId")):
            return await offload_if_large(before, request.change, before), []
        base = await self._base(before, str(request.expected_version))
        ours = await offload_if_large(before, request.change, base)
        meant, clashes = await offload_if_large(before, merge, base, before, ours)
        if clashes:
            raise _conflict(before, clashes)
        changed, _ = changed_paths(only(base, CONTENT), only(before, CONTENT))
        # Tags belong to no version, so there is nothing to merge.
        return {**meant, **only(ours, ("tags",))}, changed

    async def _base(self, before: JsonObject, version_id: str) -> JsonObject:
        try:
            version = await self._client.workflows.version(str(before["id"]), version_id)
        except NotFoundError as error:
            message = f"Workflow '{before['id']}' has changed, and n8n has no version with the expected id"
            raise ConflictError(message, hint=_read_again(before)) from error
        return {**before, **only(version, _VERSIONED)}

    async def _saved(self, before: JsonObject, meant: JsonObject, backup: Backup) -> Saved:
        """Write, merge with what somebody saved between our read and our write, and tell what that was."""
        base, merged_with = before, list[str]()
        written = before
        for _ in range(_MOST_ROUNDS):
            written = await self._put(base, meant, backup)
            ours, theirs = await self._saved_between(base, written, meant)
            # Somebody may have saved right behind us: what we publish and answer with is our own version.
            written = (
                written if ours == written.get("versionId") else {**written, **only(meant, CONTENT), "versionId": ours}
            )
            if theirs is None:
                break
            both, clashes = await offload_if_large(before, merge, base, theirs, meant)
            if clashes:
                # The other side may be a person who does not know of us: their version stays.
                await self._put(written, {**written, **only(theirs, CONTENT)}, backup)
                raise _conflict(theirs, clashes)
            merged_with += changed_paths(only(base, GRAPH), only(theirs, GRAPH))[0]
            base, meant = written, both
        return Saved(meant=meant, written=written, merged_with=merged_with)

    async def _put(self, before: JsonObject, meant: JsonObject, backup: Backup) -> JsonObject:
        sent = only(
            meant, {*_REQUIRED, *requested_parts(before, meant), *(["nodeGroups"] if meant.get("nodeGroups") else [])}
        )
        try:
            return await self._client.workflows.update(backup.workflow_id, sent, _new_settings(before, meant))
        except ApiError as error:
            raise _naming_settings(error, sent) from error

    async def _saved_between(
        self, before: JsonObject, written: JsonObject, meant: JsonObject
    ) -> tuple[Any, JsonObject | None]:
        """The id of our version, and the version of somebody else that our write has just overwritten.

        n8n's answer to a write may name a version that somebody saved right behind it. That one has overwritten ours
        and must stay, so versions are told apart by their content.
        """
        named = written.get("versionId")
        if not _counts_more(before, written, meant):
            return named, None
        versions = [str(row["versionId"]) for row in await recent_versions(self._client, str(before["id"]))]
        if before.get("versionId") not in versions:
            return named, None
        newer = versions[: versions.index(str(before["versionId"]))][:_MOST_VERSIONS]
        found = [await self._client.workflows.version(str(before["id"]), one) for one in newer]
        place = next((index for index, one in enumerate(found) if same_graph(one, meant)), None)
        if place is None and found:
            # n8n adds to what it saves, for example a webhook's id: then ours is the version that differs least.
            apart = [len(changed_paths(only(meant, GRAPH), only(one, GRAPH))[0]) for one in found]
            place = apart.index(min(apart))
        if place is None:
            place = 0
        if place + 1 >= len(found):
            return newer[place] if newer else named, None
        version = found[place + 1]
        theirs = {**before, **only(version, (*_VERSIONED, "authors", "createdAt"))}
        return newer[place], {**theirs, "versionId": version["versionId"]}

    async def _publish(self, written: JsonObject, before: JsonObject, backup: Backup) -> None:
        """Publish the version that we wrote, and no other that somebody may have saved since."""
        try:
            await self._client.workflows.publish(backup.workflow_id, version_to_publish(written))
        except ApiError as error:
            undo = example_call("restore_workflow", id=backup.workflow_id, backup=backup.id)
            live = "the published version is still the one before" if before.get("active") else "nothing is published"
            message = f"The change was saved as a draft, {live}. This undoes it: {undo}"
            error.hint = f"{error.hint or ''} {message}".strip()
            raise

    async def tag_ids(self, names: Sequence[str], *, create: bool = False) -> list[str]:
        """Ids of tags by name (or id). An unknown one is an error with similar names, unless `create`."""
        existing = {str(tag["name"]): str(tag["id"]) for tag in await self._client.lookups.tags()} if names else {}
        ids = []
        for name in names:
            tag_id = existing.get(name) or (name if name in existing.values() else None)
            if tag_id is None and create:
                tag_id = str((await self._client.lookups.create_tag(name))["id"])
            if tag_id is None:
                raise _no_such_tag(name[:_LONGEST_SHOWN], existing)
            ids.append(tag_id)
        return ids


async def published_version_runs() -> None:
    """Wait: n8n reports that the new version is published, but runs the old one for a moment."""
    await anyio.sleep(REPUBLISH_SECONDS)


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


def _can_be_published(workflow: JsonObject) -> bool:
    return not workflow.get("active") or has_unpublished_changes(workflow)


def _counts_more(before: JsonObject, written: JsonObject, meant: JsonObject) -> bool:
    """Whether n8n's counter of changes may have counted another change than ours."""
    was, now = before.get("versionCounter"), written.get("versionCounter")
    if not isinstance(was, int) or not isinstance(now, int):
        return True
    ours = 1 if set(requested_parts(before, meant)) & {*_VERSIONED, "settings"} else 0
    return now - was > ours


def _differences(before: JsonObject, meant: JsonObject, got: JsonObject) -> list[JsonObject]:
    sent = only(meant, requested_parts(before, meant))
    return differences(sent, only(got, sent))


def _refused(error: ApiError | ConflictError) -> bool:
    """Whether n8n has the workflow as it was before, so that its backup is of no use."""
    status = error.status_code if isinstance(error, ApiError) else None
    return isinstance(error, ConflictError) or (status is not None and 400 <= status < 500)


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


def _conflict(theirs: JsonObject, clashes: Sequence[Clash]) -> ConflictError:
    """Nothing was written, or the other side's version was put back."""
    shown = "; ".join(f"{one.path} is now {shown_value(one.theirs)!r}" for one in clashes[:_MOST_CLASHES])
    more = f"; and {len(clashes) - _MOST_CLASHES} more" if len(clashes) > _MOST_CLASHES else ""
    who = f" by {theirs['authors']} at {theirs.get('createdAt')}" if theirs.get("authors") else ""
    message = f"Workflow '{theirs['id']}' was changed{who} in the same place: {shown[:1_000]}{more}"
    return ConflictError(message, hint=_read_again(theirs))


def _read_again(workflow: JsonObject) -> str:
    call = example_call("get_workflow", id=str(workflow["id"]))
    return f"Your change was not saved. Read it again with {call}, and expect versionId '{workflow.get('versionId')}'."


def _no_such_tag(name: str, names: Iterable[str]) -> ValidationError:
    near = get_close_matches(name, names, n=3, cutoff=0.4)
    advice = f" Did you mean {' or '.join(near)}?" if near else ""
    return ValidationError.of("tags", f"Invalid value for parameter tags: there is no tag '{name}'.{advice}")


def _new_settings(before: Mapping[str, Any], meant: Mapping[str, Any]) -> list[str]:
    """Settings to change. Others may be omitted where n8n returns more than it accepts."""
    was = before.get("settings") or {}
    return [key for key, value in (meant.get("settings") or {}).items() if was.get(key) != value]


def _naming_settings(error: ApiError, requested: Mapping[str, Any]) -> ApiError:
    """Name the unknown settings: older versions report an unknown key without its name."""
    unknown = [key for key in requested.get("settings") or {} if key not in KNOWN_SETTINGS]
    if error.status_code == 400 and unknown and error.hint is None:
        error.hint = f"Unknown settings: {', '.join(unknown)}."
    return error
