"""What the workflow allows: which statuses come next, which fields are read only or required."""

from collections.abc import Mapping
from typing import Any, Final

from dogubako.sandbox.redmine.issue_tree import ancestors_of, descendants_of, is_closed
from dogubako.sandbox.redmine.store import Row, Store
from dogubako.sandbox.redmine.visitor import Visitor

# In the order of the bits with which a tracker switches them off.
CORE_FIELDS: Final = (
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


def disabled_fields(tracker: Row | None) -> list[str]:
    bits = (tracker or {}).get("fields_bits") or 0
    return [name for place, name in enumerate(CORE_FIELDS) if bits & (1 << place)]


def statuses_of_tracker(store: Store, tracker: Row) -> set[int]:
    rows = store["workflows"].where(type="WorkflowTransition", tracker_id=tracker["id"])
    return {row[name] for row in rows for name in ("old_status_id", "new_status_id")}


def allowed_statuses(store: Store, who: Visitor, issue: Row, was: Mapping[str, Any] | None) -> list[Row]:
    """The statuses that somebody may give to an issue. `was` is the issue before the request; a new one has none."""
    initial = _initial_status(store, issue, was)
    tracker = store["trackers"].get(issue.get("tracker_id"))
    found = _next_statuses(store, who, issue, was, initial) if tracker else []
    if found and initial:
        found.append(initial)
    default = store["issue_statuses"].get(tracker.get("default_status_id")) if tracker else None
    if was is None and not found and default:
        found.append(default)
    unique = {status["id"]: status for status in found}
    ordered = sorted(unique.values(), key=lambda status: status["position"])
    return [status for status in ordered if _is_reachable(store, issue, status)]


def _initial_status(store: Store, issue: Row, was: Mapping[str, Any] | None) -> Row | None:
    """From where the workflow goes on: after a change of the tracker perhaps from the new tracker's first status."""
    if was is None:
        return None
    if issue["tracker_id"] == was["tracker_id"]:
        return store["issue_statuses"].get(was["status_id"])
    old, new = store["trackers"].at(was["tracker_id"]), store["trackers"].at(issue["tracker_id"])
    keeps = old["default_status_id"] != was["status_id"] and was["status_id"] in statuses_of_tracker(store, new)
    return store["issue_statuses"].get(was["status_id"] if keeps else new["default_status_id"])


def _next_statuses(
    store: Store, who: Visitor, issue: Row, was: Mapping[str, Any] | None, initial: Row | None
) -> list[Row]:
    project = store["projects"].get(issue.get("project_id"))
    roles = list(store["roles"]) if who.admin else who.roles_in(project) if project else []
    role_ids = {role["id"] for role in roles}
    is_author = issue.get("author_id") == who.id
    is_assignee = who.is_or_belongs_to((was or issue).get("assigned_to_id"))
    rows = store["workflows"].where(
        type="WorkflowTransition", tracker_id=issue["tracker_id"], old_status_id=initial["id"] if initial else 0
    )
    usable = [row for row in rows if row["role_id"] in role_ids and _is_open_to(row, is_author, is_assignee)]
    return [store["issue_statuses"].at(row["new_status_id"]) for row in usable]


def _is_open_to(row: Row, is_author: bool, is_assignee: bool) -> bool:
    """Some steps are only for the author, or only for the one to whom the issue is assigned."""
    for_author, for_assignee = bool(row.get("author")), bool(row.get("assignee"))
    if is_author and is_assignee:
        return True
    if is_author or is_assignee:
        return for_author == is_author or for_assignee == is_assignee
    return not for_author and not for_assignee


def _is_reachable(store: Store, issue: Row, status: Row) -> bool:
    """What is blocked or has open children cannot be closed; a child of a closed parent cannot be opened."""
    if status.get("is_closed"):
        return not (_has_open_children(store, issue) or is_blocked(store, issue))
    return not any(is_closed(store, each) for each in ancestors_of(store, issue))


def _has_open_children(store: Store, issue: Row) -> bool:
    return any(not is_closed(store, each) for each in descendants_of(store, issue))


def is_blocked(store: Store, issue: Row) -> bool:
    rows = store["issue_relations"].where(issue_to_id=issue.get("id"), relation_type="blocks")
    return any(not is_closed(store, store["issues"].at(row["issue_from_id"])) for row in rows)


def field_rules(store: Store, who: Visitor, issue: Row) -> dict[str, str]:
    """Fields that are `readonly` or `required` in the issue's status, for all roles of a person alike."""
    project = store["projects"].get(issue.get("project_id"))
    roles = list(store["roles"]) if who.admin else who.roles_in(project) if project else []
    ids = {role["id"] for role in roles if {"add_issues", "edit_issues"} & set(role.get("permissions") or ())}
    rows = store["workflows"].where(
        type="WorkflowPermission", tracker_id=issue.get("tracker_id"), old_status_id=issue.get("status_id")
    )
    rules: dict[str, dict[int, str]] = {}
    for row in rows:
        if row["role_id"] in ids:
            rules.setdefault(row["field_name"], {})[row["role_id"]] = row["rule"]
    return {name: _joined(set(by_role.values())) for name, by_role in rules.items() if len(by_role) == len(ids)}


def _joined(rules: set[str]) -> str:
    return rules.pop() if len(rules) == 1 else "required"
