"""Find out why Redmine ignored a field, which it does silently."""

from collections.abc import Mapping
from typing import Any, Final

from dogubako.contract.errors import DogubakoError
from dogubako.packs.redmine.errors import Undone
from dogubako.packs.redmine.lookups import Lookups
from dogubako.packs.redmine.models import ISSUE, TRACKER, JsonObject, Kind
from dogubako.packs.redmine.permissions import Access
from dogubako.packs.redmine.verification import ignored

_OPEN: Final = "Redmine kept another value and gave no reason"
_NOT_WHEN_NEW: Final = "the workflow does not allow it for a new issue; show_issue tells what is allowed now"
_FROM_CHILDREN: Final = ("priority_id", "start_date", "due_date", "done_ratio")

# Fields that need another permission than editing.
OWN_PERMISSION: Final = {
    ("issue", "is_private"): "set_issues_private",
    ("issue", "parent_issue_id"): "manage_subtasks",
    ("issue", "private_notes"): "set_notes_private",
    ("issue", "notes"): "add_issue_notes",
    ("issue", "watcher_user_ids"): "add_issue_watchers",
    ("project", "enabled_module_names"): "select_project_modules",
    ("wiki_page", "parent_title"): "rename_wiki_pages",
}


class Reasons:
    """Looks for reasons in the record, the tracker and the roles."""

    def __init__(self, access: Access, lookups: Lookups) -> None:
        self._access = access
        self._lookups = lookups

    async def of(self, requested: Mapping[str, Any], kind: Kind, act: str, record: JsonObject) -> list[Undone]:
        """Every requested value that was not set, with its reason."""
        fields = ignored(requested, record)
        return [Undone(field=field, reason=await self._why(field, kind, act, record)) for field in fields]

    async def _why(self, field: str, kind: Kind, act: str, record: JsonObject) -> str:
        try:
            return await self._reason(field, kind, act, record) or _OPEN
        except DogubakoError:
            return _OPEN

    async def _reason(self, field: str, kind: Kind, act: str, record: JsonObject) -> str | None:
        project = (record.get("project") or {}).get("id")
        for permission in (kind.needs.get(act), OWN_PERMISSION.get((kind.one, field))):
            if permission and await self._access.lacks(permission, project):
                return f"your role lacks the permission {permission}"
        if kind is ISSUE and (reason := await self._of_issue(field, act, record)) is not None:
            return reason
        if kind is ISSUE:
            return (
                "Redmine kept another value; the workflow may make this field read-only for your role and this status"
            )
        return None

    async def _of_issue(self, field: str, act: str, record: JsonObject) -> str | None:
        if field == "status_id":
            # The statuses that an existing issue may get differ from those of a new one.
            return workflow_refusal(record) if act != "create" else _NOT_WHEN_NEW
        if field == "tracker_id" and act == "create":
            return "your role may not add issues of this tracker here, so Redmine took another one"
        if field == "uploads":
            return "a token is unknown, or was used before"
        if field in _FROM_CHILDREN and record.get("children"):
            return "it comes from the issue's children"
        if field == "watcher_user_ids" and "watchers" not in record:
            return "your role may not see who watches, so it could not be checked"
        if field == "project_id":
            return "you may not see that project, or not create issues of this tracker in it"
        trackers = await self._lookups.rows(TRACKER)
        mine = next((one for one in trackers if one["id"] == record.get("tracker", {}).get("id")), None)
        enabled = mine.get("enabled_standard_fields") if mine else None
        if mine and enabled is not None and field in _TRACKER_FIELDS and field not in enabled:
            return f"the tracker {mine['name']} does not use this field"
        return None


_TRACKER_FIELDS: Final = (
    "assigned_to_id",
    "category_id",
    "fixed_version_id",
    "parent_issue_id",
    "start_date",
    "due_date",
    "estimated_hours",
    "done_ratio",
    "description",
)


def workflow_refusal(record: JsonObject) -> str:
    """The statuses that an issue may get, as far as its record tells."""
    allowed = [f"{status['name']} ({status['id']})" for status in record.get("allowed_statuses") or ()]
    if not allowed:
        return "the workflow lets your role set no status here"
    return f"the workflow allows here only {', '.join(allowed)}"
