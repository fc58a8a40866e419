"""A change to a workflow as it passes through `WorkflowWriter`: requested, planned, saved, and its outcome."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dogubako.contract.output import example_call
from dogubako.packs.n8n.api.workflows import REMOVED_BY
from dogubako.packs.n8n.backups import Backup
from dogubako.packs.n8n.formatters.changes import changed_paths
from dogubako.packs.n8n.formatters.workflow import tag_names
from dogubako.packs.n8n.merging import CONTENT, is_same

JsonObject = dict[str, Any]
# Parts of which others may change another key at the same time.
KEYED: Final = ("settings", "pinData")
_PUBLISHED: Final = frozenset({"active", "activeVersionId"})
_OF_NO_VERSION: Final = ("name", "description", *KEYED)
# Returns the whole workflow as it shall be. It must not change what it is given.
Change = Callable[[JsonObject], JsonObject]


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkflowChange:
    """A change to one workflow. `expected_version` is the one that the caller has read."""

    workflow_id: str
    change: Change
    reason: str
    expected_version: str | None = None
    publish: bool = False
    dry_run: bool = False
    # The tags that it shall have; None leaves them as they are.
    tag_ids: Sequence[str] | None = None
    allow_invalid: bool = False
    # A backup from before an earlier step of the same change.
    backup: Backup | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """A workflow before a change, as it was meant to be, and as n8n has it now."""

    before: JsonObject
    meant: JsonObject
    workflow: JsonObject
    written: bool = True
    backup: Backup | None = None
    merged_with: Sequence[str] = ()
    draft: JsonObject | None = None
    # What n8n did not save as it was sent, and what it changed besides.
    differences: list[JsonObject] = field(default_factory=list)
    warnings: Sequence[JsonObject] = ()
    unrequested: list[JsonObject] = field(default_factory=list)
    # The version that somebody has saved behind ours, with other content.
    saved_since: str | None = None
    # What of our change that version does not have.
    taken_back: Sequence[str] = ()
    # The version that has our change, and the one that somebody has published behind it.
    own: str | None = None
    published_since: str | None = None
    # The version that somebody saved and may have published while ours was on its way: ours has taken its place.
    may_have_been_live: str | None = None
    # The version of somebody who saves again and again that our last write does not have; n8n's history has it.
    overwrote: str | None = None
    # Whether somebody changed settings at the same moment, and n8n put the old ones back.
    settings_lost: bool = False
    # Whether it was published, and whether it got other tags.
    published: bool = False
    retagged: bool = False
    other_tags: bool = False
    # A draft of somebody else that publishing puts live together with this change.
    published_draft: JsonObject | None = None
    # Of a preview: why the change would be refused.
    refused: Sequence[str] = ()

    @property
    def off_again(self) -> bool:
        """Whether it was published, and somebody unpublished it since."""
        return self.published and not self.workflow.get("active")

    @property
    def changes_something(self) -> bool:
        """Whether anything but what is published is not as it was."""
        return self.retagged or bool(requested_parts(self.before, self.meant))

    @property
    def only_published_by_others(self) -> bool:
        """Whether our change is as it was meant, and somebody else published or unpublished at the same moment."""
        paths = {str(one.get("path")) for one in self.unrequested}
        return bool(paths) and paths <= _PUBLISHED and not self.differences and not self.taken_back

    @property
    def live_at_once(self) -> str:
        """A sentence about what was changed of a published workflow and belongs to no version; empty without it."""
        parts = requested_parts(self.before, self.meant) if self.written and self.workflow.get("active") else []
        live: list[str] = [part for part in ("name", "settings") if part in parts]
        live += ["tags"] if self.retagged and self.written and self.workflow.get("active") else []
        rest = "; the rest is a draft" if self.draft is not None and set(parts) - set(live) else ""
        return f"No version holds {' and '.join(live)}, so that is live at once{rest}" if live else ""

    @property
    def undo(self) -> str | None:
        """The call that undoes it; of a draft it leaves what is published as it is."""
        if self.backup is None:
            return None
        expected = {"expectedVersionId": self.workflow["versionId"]} if self.workflow.get("versionId") else {}
        draft = {"draftOnly": True} if not (self.published or self.retagged) else {}
        return example_call("restore_workflow", id=self.workflow["id"], backup=self.backup.id, **draft, **expected)

    @property
    def not_undone(self) -> list[str]:
        """Settings that were made and that n8n never forgets."""
        was, now = self.before.get("settings") or {}, self.meant.get("settings") or {}
        return [key for key in now if key not in was and key not in REMOVED_BY]

    def report(self) -> JsonObject:
        parts = requested_parts(self.before, self.meant)
        changed, removed = changed_paths(only(self.before, parts), only(self.workflow, parts))
        facts: JsonObject = {
            "id": self.workflow["id"],
            "name": self.workflow.get("name"),
            "active": self.workflow.get("active"),
            "versionId": self.workflow.get("versionId"),
            "changed": changed if self.before else [],
            "removed": removed,
            "mergedWith": list(self.merged_with),
            "wouldBeRefused": list(self.refused),
            "warnings": list(self.warnings),
            "differences": self.differences,
            "unrequested": self.unrequested,
            "savedSince": self.saved_since,
            "takenBack": list(self.taken_back),
            "publishedSince": self.published_since,
            "mayHaveBeenLive": self.may_have_been_live,
            "overwroteVersionId": self.overwrote,
            "settingsPutBack": self.settings_lost or None,
            "unpublishedDraft": self.draft,
            "alsoPublished" if self.written else "wouldAlsoPublish": self.published_draft,
            "backup": self.backup.id if self.backup else None,
        }
        always = ("differences", "unrequested")
        return {key: value for key, value in facts.items() if value not in (None, []) or key in always}


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What a change would do to the workflow as it is."""

    before: JsonObject
    meant: JsonObject
    merged_with: Sequence[str]
    warnings: Sequence[JsonObject]
    refused: Sequence[str]
    changes: bool
    retags: bool
    publishes: bool
    # Whether nobody else has saved what is in the draft and not published.
    draft_is_ours: bool
    # The draft of somebody else that would go live with it.
    going_live: JsonObject | None

    @property
    def does_something(self) -> bool:
        return self.changes or self.retags or self.publishes

    def unwritten(self, draft: JsonObject | None) -> Outcome:
        """What is answered to a preview, or to a change that changes nothing."""
        return Outcome(
            before=self.before,
            meant=self.meant,
            workflow=self.before,
            written=False,
            merged_with=self.merged_with,
            draft=draft,
            warnings=self.warnings,
            published_draft=self.going_live,
            refused=self.refused,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Saved:
    """What was sent in the end, what n8n answered, and what of somebody else is in it."""

    meant: JsonObject
    written: JsonObject
    # The first version that we wrote: it has our change, and nothing that somebody saved while we wrote it.
    own: JsonObject
    # The workflow without our change: as we have read it, or as somebody saved it meanwhile.
    replaced: JsonObject
    merged_with: Sequence[str] = ()
    # What is doubtful in a merge with somebody who saved meanwhile.
    warnings: Sequence[JsonObject] = ()
    # The version of somebody who saves again and again that our last write does not have.
    overwrote: str | None = None
    # Whether somebody changed settings at the same moment, and n8n put the old ones back.
    settings_lost: bool = False


def requested_parts(before: Mapping[str, Any], meant: Mapping[str, Any]) -> list[str]:
    """The parts of a workflow that a change touches."""
    return [part for part in CONTENT if not is_same(meant.get(part) or None, before.get(part) or None)]


def touched_parts(before: Mapping[str, Any], meant: Mapping[str, Any]) -> list[str]:
    """The parts that a change touches; of settings and pinned data the single ones."""
    parts = [part for part in requested_parts(before, meant) if part not in KEYED]
    for part in KEYED:
        was, now = before.get(part) or {}, meant.get(part) or {}
        parts += [f"{part}.{key}" for key in {**was, **now} if not is_same(was.get(key), now.get(key))]
    return parts


def became(workflow: Mapping[str, Any], touched: Iterable[str]) -> JsonObject:
    """What is now under the touched parts that no version of n8n holds: name, description, settings, pinned data."""
    return {one: held_at(workflow, one) for one in touched if one.partition(".")[0] in _OF_NO_VERSION}


def counting_at_once(touched: Iterable[str]) -> list[str]:
    """The touched parts that belong to no version, so that no draft of them waits to be published."""
    parts = dict.fromkeys(one.partition(".")[0] for one in touched)
    return [one for one in parts if one in (*_OF_NO_VERSION, "tags")]


def held_at(workflow: Mapping[str, Any], touched: str) -> Any:
    """The value of a touched part, such as `settings.timezone`."""
    part, _, key = touched.partition(".")
    held = workflow.get(part)
    return held.get(key) if key and isinstance(held, Mapping) else None if key else held


def keys_of(part: str, touched: Iterable[str]) -> list[str]:
    """The settings, or the nodes with pinned data, among what was touched."""
    return [one.removeprefix(f"{part}.") for one in touched if one.startswith(f"{part}.")]


def changed_settings(now: Mapping[str, Any], changes: Mapping[str, Any]) -> JsonObject:
    """The settings with these changes; null takes one away."""
    meant = {**(now.get("settings") or {}), **changes}
    return {key: value for key, value in meant.items() if value is not None or key not in changes}


def state_of(workflow: Mapping[str, Any]) -> JsonObject:
    """The state that a backup restores besides the content."""
    return {"active": bool(workflow.get("active")), "tags": sorted(tag_names(workflow))}


def only(workflow: Mapping[str, Any], keys: Iterable[str]) -> JsonObject:
    """The parts with these keys that the workflow has."""
    return {key: workflow[key] for key in keys if key in workflow}
