"""From a request into a draft. What somebody may not set, or the workflow does not allow, is dropped without a word."""

import re
from typing import Any, Final

from dogubako.sandbox.redmine.asking import BrokenError, find_project
from dogubako.sandbox.redmine.casting import is_blank, to_day, to_hours, to_number, to_text, to_truth
from dogubako.sandbox.redmine.custom_values import asked_values, changed_values
from dogubako.sandbox.redmine.issue_access import may_edit, may_note, sees_issue, tracker_allowed
from dogubako.sandbox.redmine.issue_draft import Draft, trackers_of
from dogubako.sandbox.redmine.issue_fields import visible_fields
from dogubako.sandbox.redmine.issue_tree import is_leaf
from dogubako.sandbox.redmine.store import Row, to_id
from dogubako.sandbox.redmine.workflow import allowed_statuses, disabled_fields, field_rules

_FIELDS: Final = frozenset(
    {
        "project_id",
        "tracker_id",
        "status_id",
        "category_id",
        "assigned_to_id",
        "priority_id",
        "fixed_version_id",
        "subject",
        "description",
        "start_date",
        "due_date",
        "done_ratio",
        "estimated_hours",
        "custom_field_values",
        "custom_fields",
        "lock_version",
    }
)
_DERIVED: Final = (
    ("parent_issue_dates", ("start_date", "due_date")),
    ("parent_issue_priority", ("priority_id",)),
    ("parent_issue_done_ratio", ("done_ratio",)),
)
_PARENT: Final = re.compile(r"#?(\d+)")


def assign(draft: Draft, asked: dict[str, Any]) -> None:
    """Project, tracker and status come first: what else may be set depends on them."""
    said = dict(asked) if draft.was is None else {name: _unless_none(value) for name, value in asked.items()}
    if said.get("assigned_to_id") == "me":
        said["assigned_to_id"] = draft.ask.who.id
    _assign_project(draft, said)
    _assign_tracker(draft, said)
    _assign_status(draft, said.pop("status_id", None))
    assignee = said.pop("assigned_to_id", None)
    if assignee is not None and "assigned_to_id" in safe_names(draft):
        draft.issue["assigned_to_id"] = to_number(assignee)
    safe = safe_names(draft)
    _assign_rest(draft, {name: value for name, value in said.items() if name in safe})


def _unless_none(value: Any) -> Any:
    """In an update the word `none` empties a field."""
    return "" if value == "none" else value


def safe_names(draft: Draft) -> set[str]:
    """What this visitor may set on this issue now."""
    names = _permitted_names(draft)
    names -= set(disabled_fields(draft.tracker))
    names -= {name for name, rule in field_rules(draft.store, draft.ask.who, draft.issue).items() if rule == "readonly"}
    if draft.was is None:
        return names | {"project_id"}
    if not is_leaf(draft.store, draft.was):
        for setting, derived in _DERIVED:
            names -= set(derived) if draft.store.setting(setting) == "derived" else set()
    return names


def _permitted_names(draft: Draft) -> set[str]:
    who, issue, project, is_new = draft.ask.who, draft.issue, draft.project, draft.was is None
    editable = is_new or may_edit(draft.store, who, issue)
    names = set(_FIELDS) if editable else set()
    if project is None:
        return names
    if may_note(draft.store, who, issue):
        names.add("notes")
    if not is_new and who.may("set_notes_private", project):
        names.add("private_notes")
    if is_new and who.may("add_issue_watchers", project):
        names.add("watcher_user_ids")
    own = issue["author_id"] == who.id and who.may("set_own_issues_private", project)
    if own or who.may("set_issues_private", project):
        names.add("is_private")
    if editable and who.may("manage_subtasks", project):
        names.add("parent_issue_id")
    if not is_new and editable:
        names.add("deleted_attachment_ids")
    return names


def _assign_project(draft: Draft, said: dict[str, Any]) -> None:
    asked = said.pop("project_id", None)
    if asked is None or "project_id" not in safe_names(draft):
        return
    project = find_project(draft.store, asked if asked != "" else None)
    if project and _is_target(draft, project):
        category = draft.issue.get("category_id")
        draft.set_project(project)
        if draft.was and draft.changed("project_id") and str(said.get("category_id")) == str(category):
            said.pop("category_id", None)


def _is_target(draft: Draft, project: Row) -> bool:
    """Where somebody may put an issue: where they may add one, or where it is already."""
    stays = draft.was is not None and draft.was["project_id"] == project["id"]
    return (stays or draft.ask.who.may("add_issues", project)) and bool(trackers_of(draft.store, project))


def allowed_trackers(draft: Draft) -> list[Row]:
    project, who = draft.project, draft.ask.who
    if project is None:
        return []
    trackers = trackers_of(draft.store, project)
    if who.admin:
        return trackers
    roles = [role for role in who.roles_in(project) if "add_issues" in (role.get("permissions") or ())]
    if any(tracker_allowed(role, "add_issues", None) for role in roles):
        return trackers
    stays = (draft.was or {}).get("tracker_id")
    return [
        each
        for each in trackers
        if each["id"] == stays or any(tracker_allowed(role, "add_issues", each["id"]) for role in roles)
    ]


def _assign_tracker(draft: Draft, said: dict[str, Any]) -> None:
    """A new issue without one gets the first that is allowed."""
    asked = said.pop("tracker_id", None)
    allowed = allowed_trackers(draft)
    if asked is not None and "tracker_id" in safe_names(draft):
        wanted = next((each for each in allowed if each["id"] == to_id(asked)), None)
        if wanted:
            draft.set_tracker(wanted)
    if draft.project and draft.tracker is None and allowed:
        draft.set_tracker(allowed[0])


def _assign_status(draft: Draft, asked: Any) -> None:
    allowed = [each["id"] for each in allowed_statuses(draft.store, draft.ask.who, draft.issue, draft.was)]
    if asked is not None and "status_id" in safe_names(draft) and to_id(asked) in allowed:
        draft.issue["status_id"] = to_id(asked)
    if draft.was is None and draft.issue.get("status_id") not in allowed and allowed:
        draft.issue["status_id"] = allowed[0]


def _assign_rest(draft: Draft, said: dict[str, Any]) -> None:
    _assign_columns(draft, said)
    if "parent_issue_id" in said:
        _assign_parent(draft, said["parent_issue_id"])
    if "custom_fields" in said or "custom_field_values" in said:
        _assign_customs(draft, said)
    if "notes" in said:
        draft.notes = to_text(said["notes"]) or ""
    draft.private_notes = bool(to_truth(said.get("private_notes")))
    gone = said.get("deleted_attachment_ids") or []
    draft.files_to_delete = {to_id(each) for each in (gone if isinstance(gone, list) else [gone])}
    if "watcher_user_ids" in said:
        _assign_watchers(draft, said["watcher_user_ids"])


def _assign_watchers(draft: Draft, asked: Any) -> None:
    """One who does not exist breaks the whole request."""
    numbers = [to_id(each) for each in (asked if isinstance(asked, list) else [asked]) if not is_blank(each)]
    if any(draft.store["users"].get(each) is None for each in numbers):
        raise BrokenError(404)
    draft.watcher_ids = list(dict.fromkeys(numbers))


def _assign_columns(draft: Draft, said: dict[str, Any]) -> None:
    issue = draft.issue
    for name in ("category_id", "priority_id", "fixed_version_id", "lock_version", "done_ratio"):
        if name in said:
            issue[name] = to_number(said[name])
    issue["done_ratio"] = issue["done_ratio"] or 0
    for name in ("start_date", "due_date", "estimated_hours"):
        if name in said:
            issue[name], fits = to_hours(said[name]) if name == "estimated_hours" else to_day(said[name])
            draft.unreadable |= set() if fits else {name}
    if "subject" in said:
        issue["subject"] = to_text(said["subject"])
    if "description" in said:
        text = to_text(said["description"])
        issue["description"] = None if text is None else re.sub(r"\r\n|\n|\r", "\r\n", text)
    if "is_private" in said:
        issue["is_private"] = bool(to_truth(said["is_private"]))


def _assign_parent(draft: Draft, asked: Any) -> None:
    """The number of an issue that the visitor sees, perhaps after a #; an empty text is no parent."""
    draft.parent_said = True
    text = str(asked if asked is not None else "").strip()
    if not text:
        draft.issue["parent_id"] = None
        return
    match = _PARENT.fullmatch(text)
    parent = draft.store["issues"].get(match[1]) if match else None
    stays = parent is not None and parent["id"] == draft.issue.get("parent_id")
    if parent is None or not (stays or sees_issue(draft.store, draft.ask.who, parent)):
        draft.parent_is_wrong = True
        return
    draft.issue["parent_id"] = parent["id"]


def _assign_customs(draft: Draft, said: dict[str, Any]) -> None:
    if isinstance(said.get("custom_fields"), str):
        raise BrokenError(500)
    editable = editable_fields(draft)
    draft.values = changed_values(draft.store, editable, draft.values, asked_values(said))
    draft.customs_said = True


def editable_fields(draft: Draft) -> list[Row]:
    """The custom fields that the visitor sees and the workflow does not lock."""
    rules = field_rules(draft.store, draft.ask.who, draft.issue)
    fields = visible_fields(draft.store, draft.ask.who, draft.issue)
    return [each for each in fields if rules.get(str(each["id"])) != "readonly"]
