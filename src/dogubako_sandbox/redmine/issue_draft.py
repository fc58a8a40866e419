"""An issue while a request changes it, before it is saved.

What the user may not set, or the workflow does not allow, is dropped without an error: Redmine answers 204 then too.
"""

import re
from dataclasses import dataclass, field
from typing import Any, Final

from dogubako_sandbox.redmine.custom_fields import (
    Values,
    changed_values,
    empty_values,
    issue_fields,
    values_of,
    visible_issue_fields,
)
from dogubako_sandbox.redmine.lookups import disabled_fields
from dogubako_sandbox.redmine.permissions import role_has
from dogubako_sandbox.redmine.projects import trackers_of
from dogubako_sandbox.redmine.request import ApiRequest, BrokenError, find_project
from dogubako_sandbox.redmine.store import (
    Row,
    Store,
    is_blank,
    to_date,
    to_hours,
    to_id,
    to_list,
    to_number,
    to_text,
    to_truth,
    today,
)
from dogubako_sandbox.redmine.trees import allowed_statuses, children_of, is_shared_with, shared_versions

_FIELDS: Final = (
    "project_id tracker_id status_id category_id assigned_to_id priority_id fixed_version_id subject description "
    "start_date due_date done_ratio estimated_hours custom_fields lock_version"
)
# A parent has these from its children.
_DERIVED: Final = {"start_date", "due_date", "priority_id", "done_ratio"}
_SUBTASKS_SHARED: Final = "tree"


@dataclass(kw_only=True, slots=True)
class Draft:
    """`was` is the saved issue, or None for a new one; `issue` is how it would be saved."""

    req: ApiRequest
    was: Row | None
    issue: Row
    values: Values
    notes: str = ""
    private_notes: bool = False
    watcher_ids: list[int] = field(default_factory=list)
    # Columns whose new value makes no sense, by name.
    unreadable: set[str] = field(default_factory=set)
    custom_fields_given: bool = False
    parent_given: bool = False

    @property
    def store(self) -> Store:
        return self.req.store

    @property
    def project(self) -> Row | None:
        return self.store["projects"].get(self.issue.get("project_id"))

    @property
    def tracker(self) -> Row | None:
        return self.store["trackers"].get(self.issue.get("tracker_id"))

    def changed(self, *names: str) -> bool:
        return any((self.was or {}).get(name) != self.issue.get(name) for name in names)

    def set_project(self, project: Row) -> None:
        """Move the issue, and give up what has no place in the new project."""
        before = self.project
        self.issue["project_id"] = project["id"]
        if before and before["id"] != project["id"]:
            self._fit_into(project)
            self._write_out_values()
        default = self.store["versions"].get(project.get("default_version_id"))
        if self.was is None and self.issue.get("fixed_version_id") is None and default:
            usable = default in shared_versions(self.store, project) and default.get("status") == "open"
            self.issue["fixed_version_id"] = default["id"] if usable else None
        self._refit_values()

    def _fit_into(self, project: Row) -> None:
        trackers, issue = trackers_of(self.store, project), self.issue
        if issue.get("tracker_id") not in [each["id"] for each in trackers] and trackers:
            self.set_tracker(trackers[0])
        category = self.store["issue_categories"].get(issue.get("category_id"))
        if category:
            same = self.store["issue_categories"].first(project_id=project["id"], name=category["name"])
            issue["category_id"] = same["id"] if same else None
        if issue.get("fixed_version_id") not in [each["id"] for each in shared_versions(self.store, project)]:
            issue["fixed_version_id"] = None
        parent = self.store["issues"].get(issue.get("parent_id"))
        if parent and not may_have_child_in(self.store, parent, project):
            issue["parent_id"] = None

    def set_tracker(self, tracker: Row) -> None:
        if self.issue.get("tracker_id") != tracker["id"]:
            self._write_out_values()
        self.issue["tracker_id"] = tracker["id"]
        self.issue["status_id"] = self.issue.get("status_id") or tracker["default_status_id"]
        self._refit_values()

    def _write_out_values(self) -> None:
        """Give fields without a value an empty one: a saved issue that moves has them."""
        files = self.store["custom_fields"].ids("id", field_format="attachment")
        if self.was:
            self.values |= {each: "" for each, value in self.values.items() if value is None and each not in files}

    def _refit_values(self) -> None:
        """Keep the values of fields that this project and tracker have too; other fields start empty."""
        empty = empty_values(issue_fields(self.store, self.issue))
        self.values = {each: self.values.get(each, value) for each, value in empty.items()}


def new_draft(req: ApiRequest, project: Row | None) -> Draft:
    default = req.store["enumerations"].first(type="IssuePriority", is_default=True)
    issue: Row = {
        "author_id": req.user.id,
        "start_date": today().isoformat(),
        "priority_id": default["id"] if default else None,
        "done_ratio": 0,
        "is_private": False,
    }
    draft = Draft(req=req, was=None, issue=issue, values={})
    if project:
        draft.set_project(project)
    return draft


def draft_of(req: ApiRequest, issue: Row) -> Draft:
    fields = issue_fields(req.store, issue)
    return Draft(req=req, was=issue, issue=dict(issue), values=values_of(req.store, "Issue", issue["id"], fields))


def may_have_child_in(store: Store, parent: Row, project: Row) -> bool:
    """Tell whether a child may be in this project: in the same tree of projects."""
    return is_shared_with(store, project, store.project_of(parent), _SUBTASKS_SHARED)


def allowed_trackers(draft: Draft) -> list[Row]:
    project, user = draft.project, draft.req.user
    if project is None:
        return []
    roles = [role for role in user.roles_in(project) if role_has(role, "add_issues")]
    return [
        each
        for each in trackers_of(draft.store, project)
        if user.admin
        or any(_may_add(role, each) for role in roles)
        or each["id"] == (draft.was or {}).get("tracker_id")
    ]


def _may_add(role: Row, tracker: Row) -> bool:
    """Tell whether a role may add issues of a tracker; most may add all."""
    settings = role.get("settings") or {}
    if str((settings.get("permissions_all_trackers") or {}).get("add_issues", "1")) != "0":
        return True
    ids = (settings.get("permissions_tracker_ids") or {}).get("add_issues") or ()
    return tracker["id"] in [to_id(each) for each in ids]


def assign(draft: Draft, body: Row) -> None:
    """Set what a body says. Project, tracker and status come first: what else may be set depends on them."""
    # In an update the word `none` empties a field.
    given = {name: "" if value == "none" and draft.was else value for name, value in body.items()}
    if given.get("assigned_to_id") == "me":
        given["assigned_to_id"] = draft.req.user.id
    _assign_project(draft, given)
    _assign_tracker(draft, given.pop("tracker_id", None))
    _assign_status(draft, given.pop("status_id", None))
    assignee, settable = given.pop("assigned_to_id", None), _settable(draft)
    if assignee is not None and "assigned_to_id" in settable:
        draft.issue["assigned_to_id"] = to_number(assignee)
    _assign_rest(draft, {name: value for name, value in given.items() if name in settable})


def _settable(draft: Draft) -> set[str]:
    """Return the fields that this user may set on this issue now."""
    user, issue, project, is_new = draft.req.user, draft.issue, draft.project, draft.was is None
    editable = is_new or user.may_edit_issue(issue)
    names = set(_FIELDS.split()) if editable else set()
    if project is None:
        return names
    own = issue["author_id"] == user.id
    by_permission = {
        "notes": user.may("add_issue_notes", project),
        "private_notes": not is_new and user.may("set_notes_private", project),
        "watcher_user_ids": is_new and user.may("add_issue_watchers", project),
        "is_private": user.may("set_issues_private", project) or (own and user.may("set_own_issues_private", project)),
        "parent_issue_id": editable and user.may("manage_subtasks", project),
    }
    names |= {name for name, allowed in by_permission.items() if allowed}
    names -= disabled_fields(draft.tracker)
    return names - _DERIVED if draft.was and children_of(draft.store, draft.was) else names


def _assign_project(draft: Draft, given: Row) -> None:
    wanted = given.pop("project_id", None)
    if wanted is None or "project_id" not in _settable(draft):
        return
    project = find_project(draft.store, wanted)
    stays = draft.was is not None and project is not None and draft.was["project_id"] == project["id"]
    if project and trackers_of(draft.store, project) and (stays or draft.req.user.may("add_issues", project)):
        category = draft.issue.get("category_id")
        draft.set_project(project)
        if draft.was and draft.changed("project_id") and str(given.get("category_id")) == str(category):
            given.pop("category_id", None)


def _assign_tracker(draft: Draft, wanted: Any) -> None:
    """Set the tracker; a new issue without one gets the first that is allowed."""
    allowed = allowed_trackers(draft)
    if wanted is not None and "tracker_id" in _settable(draft):
        for tracker in [each for each in allowed if each["id"] == to_id(wanted)]:
            draft.set_tracker(tracker)
    if draft.project and draft.tracker is None and allowed:
        draft.set_tracker(allowed[0])


def statuses_for(req: ApiRequest, issue: Row, was: Row | None) -> list[Row]:
    project = req.store["projects"].get(issue.get("project_id"))
    roles = list(req.store["roles"]) if req.user.admin else req.user.roles_in(project) if project else []
    return allowed_statuses(req.store, roles, issue, was)


def _assign_status(draft: Draft, wanted: Any) -> None:
    allowed = [each["id"] for each in statuses_for(draft.req, draft.issue, draft.was)]
    if wanted is not None and "status_id" in _settable(draft) and to_id(wanted) in allowed:
        draft.issue["status_id"] = to_id(wanted)
    if draft.was is None and draft.issue.get("status_id") not in allowed and allowed:
        draft.issue["status_id"] = allowed[0]


def _assign_rest(draft: Draft, given: Row) -> None:
    _assign_columns(draft, given)
    if "parent_issue_id" in given:
        _assign_parent(draft, given["parent_issue_id"])
    if "custom_fields" in given:
        if isinstance(given.get("custom_fields"), str):
            raise BrokenError(500)
        draft.values = changed_values(visible_issue_fields(draft.req, draft.issue), draft.values, given)
        draft.custom_fields_given = True
    draft.notes = to_text(given.get("notes")) or ""
    draft.private_notes = to_truth(given.get("private_notes"))
    if "watcher_user_ids" in given:
        numbers = [to_id(each) for each in to_list(given["watcher_user_ids"]) if not is_blank(each)]
        # One who does not exist breaks the whole request.
        if any(draft.store["users"].get(each) is None for each in numbers):
            raise BrokenError(404)
        draft.watcher_ids = list(dict.fromkeys(numbers))


def _assign_columns(draft: Draft, given: Row) -> None:
    issue = draft.issue
    for name in ("category_id", "priority_id", "fixed_version_id", "lock_version", "done_ratio"):
        if name in given:
            issue[name] = to_number(given[name])
    issue["done_ratio"] = issue["done_ratio"] or 0
    for name in [each for each in ("start_date", "due_date", "estimated_hours") if each in given]:
        issue[name] = _hours(given[name]) if name == "estimated_hours" else _day(given[name])
        is_readable = name != "estimated_hours" and not isinstance(given[name], str)
        if issue[name] is None and not is_blank(given[name]) and not is_readable:
            draft.unreadable.add(name)
    if "subject" in given:
        issue["subject"] = to_text(given["subject"])
    if "description" in given:
        text = to_text(given["description"])
        issue["description"] = None if text is None else re.sub(r"\r\n|\n|\r", "\r\n", text)
    if "is_private" in given:
        issue["is_private"] = to_truth(given["is_private"])


def _day(value: Any) -> str | None:
    day = to_date(value.removesuffix(" 00:00:00")) if isinstance(value, str) else None
    return day.isoformat() if day else None


def _hours(value: Any) -> float | None:
    hours = to_hours(value)
    is_number = isinstance(hours, int | float) and not isinstance(hours, bool)
    return float(hours) if is_number and hours >= 0 else None


def _assign_parent(draft: Draft, wanted: Any) -> None:
    """Take the number of an issue that the user sees, perhaps after a #; an empty text is no parent."""
    draft.parent_given = True
    text = str(wanted if wanted is not None else "").strip()
    number = re.fullmatch(r"#?(\d+)", text)
    parent = draft.store["issues"].get(number[1]) if number else None
    stays = parent is not None and parent["id"] == draft.issue.get("parent_id")
    if not text:
        draft.issue["parent_id"] = None
    elif parent and (stays or draft.req.user.sees_issue(parent)):
        draft.issue["parent_id"] = parent["id"]
    else:
        draft.unreadable.add("parent_id")
