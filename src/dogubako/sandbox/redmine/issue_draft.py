"""An issue while a request changes it, before anything is saved."""

from dataclasses import dataclass, field
from typing import Any

from dogubako.sandbox.redmine.asking import Ask
from dogubako.sandbox.redmine.clock import today
from dogubako.sandbox.redmine.custom_values import Values, default_values, values_of
from dogubako.sandbox.redmine.issue_fields import issue_fields
from dogubako.sandbox.redmine.sharing import is_shared_with, shared_versions
from dogubako.sandbox.redmine.store import Row, Store
from dogubako.sandbox.redmine.workflow import statuses_of_tracker


@dataclass(kw_only=True, slots=True)
class Draft:
    """`was` is the saved issue, or None for a new one; `issue` is how it would be saved."""

    ask: Ask
    was: Row | None
    issue: Row
    values: Values
    notes: str = ""
    private_notes: bool = False
    watcher_ids: list[int] = field(default_factory=list)
    files_to_delete: set[int] = field(default_factory=set)
    # Columns whose new value makes no sense, by name.
    unreadable: set[str] = field(default_factory=set)
    customs_said: bool = False
    parent_said: bool = False
    parent_is_wrong: bool = False

    @property
    def store(self) -> Store:
        return self.ask.store

    @property
    def project(self) -> Row | None:
        return self.store["projects"].get(self.issue.get("project_id"))

    @property
    def tracker(self) -> Row | None:
        return self.store["trackers"].get(self.issue.get("tracker_id"))

    def changed(self, name: str) -> bool:
        return (self.was or {}).get(name) != self.issue.get(name)

    def set_project(self, project: Row) -> None:
        """Move, and give up what has no place in the new project."""
        before = self.project
        self.issue["project_id"] = project["id"]
        if before and before["id"] != project["id"]:
            self._fit_into(project)
            self._write_out_values()
        if self.was is None and self.issue.get("fixed_version_id") is None:
            self._take_default_version(project)
        self._refit_values()

    def _fit_into(self, project: Row) -> None:
        trackers = trackers_of(self.store, project)
        if self.issue.get("tracker_id") not in [each["id"] for each in trackers] and trackers:
            self.set_tracker(trackers[0])
        category = self.store["issue_categories"].get(self.issue.get("category_id"))
        if category:
            same = self.store["issue_categories"].first(project_id=project["id"], name=category["name"])
            self.issue["category_id"] = same["id"] if same else None
        if self.issue.get("fixed_version_id") not in [each["id"] for each in shared_versions(self.store, project)]:
            self.issue["fixed_version_id"] = None
        parent = self.store["issues"].get(self.issue.get("parent_id"))
        if parent and not may_be_parent_project(self.store, parent, project):
            self.issue["parent_id"] = None

    def _take_default_version(self, project: Row) -> None:
        default = self.store["versions"].get(project.get("default_version_id"))
        if default and default in shared_versions(self.store, project) and default.get("status") == "open":
            self.issue["fixed_version_id"] = default["id"]

    def set_tracker(self, tracker: Row) -> None:
        """Another tracker may bring another status: when the old one was only the first, or is not in its workflow."""
        before = self.tracker
        if before is None or before["id"] != tracker["id"]:
            status = self.issue.get("status_id")
            was_first = status == (before or {}).get("default_status_id")
            if was_first or status not in statuses_of_tracker(self.store, tracker):
                self.issue["status_id"] = None
            self._write_out_values()
        self.issue["tracker_id"] = tracker["id"]
        if self.issue.get("status_id") is None:
            self.issue["status_id"] = tracker.get("default_status_id")
        self._refit_values()

    def _write_out_values(self) -> None:
        """In an issue that moves, fields that had no value have an empty one afterwards."""
        if self.was is None:
            return
        files = {each["id"] for each in self.store["custom_fields"].where(field_format="attachment")}
        empty = [each for each, value in self.values.items() if value is None and each not in files]
        self.values |= dict.fromkeys(empty, "")

    def _refit_values(self) -> None:
        """The fields of this project and tracker: those that were there keep their values, others start anew."""
        fields = issue_fields(self.store, self.issue)
        fresh = default_values(fields)
        self.values = {each["id"]: self.values.get(each["id"], fresh[each["id"]]) for each in fields}


def new_draft(ask: Ask, project: Row | None) -> Draft:
    default = ask.store["enumerations"].first(type="IssuePriority", is_default=True)
    issue: dict[str, Any] = {
        "author_id": ask.who.id,
        "start_date": today().isoformat(),
        "priority_id": default["id"] if default else None,
        "done_ratio": 0,
        "is_private": False,
    }
    draft = Draft(ask=ask, was=None, issue=issue, values={})
    if project:
        draft.set_project(project)
    return draft


def draft_of(ask: Ask, issue: Row) -> Draft:
    fields = issue_fields(ask.store, issue)
    return Draft(ask=ask, was=issue, issue=dict(issue), values=values_of(ask.store, "Issue", issue["id"], fields))


def trackers_of(store: Store, project: Row) -> list[Row]:
    ids = {link["tracker_id"] for link in store["projects_trackers"].where(project_id=project["id"])}
    return sorted((each for each in store["trackers"] if each["id"] in ids), key=lambda each: each["position"])


def may_be_parent_project(store: Store, parent: Row, project: Row) -> bool:
    """Whether a parent may be in another project, by the setting for it: usually in the same tree."""
    home = store["projects"].at(parent["project_id"])
    return is_shared_with(store, project, home, store.setting("cross_project_subtasks"))
