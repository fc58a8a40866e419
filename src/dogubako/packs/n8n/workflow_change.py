"""A change to a workflow as it passes through `WorkflowWriter`: requested, planned, saved, and its outcome."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dogubako.packs.n8n.backups import Backup
from dogubako.packs.n8n.formatters.changes import changed_paths
from dogubako.packs.n8n.formatters.workflow import tag_names
from dogubako.packs.n8n.merging import CONTENT

JsonObject = dict[str, Any]
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
    # A draft of somebody else that publishing puts live together with this change.
    published_draft: JsonObject | None = None

    @property
    def live_at_once(self) -> str:
        """A sentence about what was changed of a published workflow and belongs to no version; empty without it."""
        parts = requested_parts(self.before, self.meant) if self.written and self.workflow.get("active") else []
        live = [part for part in ("name", "settings") if part in parts]
        rest = "; the rest is a draft" if self.draft is not None and len(live) < len(parts) else ""
        return f"No version holds {' and '.join(live)}, so that is live at once{rest}" if live else ""

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
            "warnings": list(self.warnings),
            "differences": self.differences,
            "unrequested": self.unrequested,
            "savedSince": self.saved_since,
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
    changes: bool
    retags: bool
    publishes: bool
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
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Saved:
    """What was sent in the end, what n8n answered, and what of somebody else is in it."""

    meant: JsonObject
    written: JsonObject
    merged_with: Sequence[str] = ()


def requested_parts(before: Mapping[str, Any], meant: Mapping[str, Any]) -> list[str]:
    """The parts of a workflow that a change touches."""
    return [part for part in CONTENT if (meant.get(part) or None) != (before.get(part) or None)]


def state_of(workflow: Mapping[str, Any]) -> JsonObject:
    """The state that a backup restores besides the content."""
    return {"active": bool(workflow.get("active")), "tags": sorted(tag_names(workflow))}


def only(workflow: Mapping[str, Any], keys: Iterable[str]) -> JsonObject:
    """The parts with these keys that the workflow has."""
    return {key: workflow[key] for key in keys if key in workflow}
