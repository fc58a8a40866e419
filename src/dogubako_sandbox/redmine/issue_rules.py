"""Validate a draft of an issue, with Redmine's error messages in its order, and detect circular relations."""

from collections.abc import Callable
from typing import Final

from dogubako_sandbox.redmine.custom_fields import custom_errors, values_of, visible_issue_fields
from dogubako_sandbox.redmine.issue_draft import Draft, may_have_child_in
from dogubako_sandbox.redmine.permissions import ACTIVE
from dogubako_sandbox.redmine.projects import trackers_of
from dogubako_sandbox.redmine.request import applying
from dogubako_sandbox.redmine.scheduling import day_of, soonest_start
from dogubako_sandbox.redmine.store import Row, Store, is_blank, too_long
from dogubako_sandbox.redmine.trees import ancestors_of, is_closed, leaves_of, shared_versions

_BAD_PARENT: Final = "Parent task is invalid"


def issue_errors(draft: Draft, lost_files: int) -> list[str]:
    """Return all that speaks against saving."""
    return [
        *([f"{lost_files} file(s) could not be saved."] if lost_files else []),
        *_custom_fields(draft),
        *_missing(draft),
        *_columns(draft),
        *_dates(draft),
        *(_references(draft, draft.project) if draft.project else []),
        *_parent(draft),
    ]


def _custom_fields(draft: Draft) -> list[str]:
    if draft.was is not None and not draft.custom_fields_given:
        return []
    fields = visible_issue_fields(draft.req, draft.issue)
    was = values_of(draft.store, "Issue", draft.was["id"], fields) if draft.was else {}
    return custom_errors(draft.store, fields, draft.values, was, draft.project)


def _missing(draft: Draft) -> list[str]:
    issue, store = draft.issue, draft.store
    priority = store["enumerations"].get(issue.get("priority_id"))
    is_there = {
        "Subject": not is_blank(issue.get("subject")),
        "Project": draft.project,
        "Tracker": draft.tracker,
        "Priority": (priority and priority["type"] == "IssuePriority")
        or (draft.was and not draft.changed("priority_id")),
        "Status": store["issue_statuses"].get(issue.get("status_id")),
    }
    return [f"{name} cannot be blank" for name, there in is_there.items() if not there]


def _columns(draft: Draft) -> list[str]:
    wrong = {
        "% Done is not included in the list": not 0 <= (draft.issue.get("done_ratio") or 0) <= 100,
        "Estimated time is invalid": "estimated_hours" in draft.unreadable,
        "Start date is not a valid date": "start_date" in draft.unreadable,
        "Due date is not a valid date": "due_date" in draft.unreadable,
    }
    return [*too_long("Subject", draft.issue.get("subject"), 255), *applying(wrong)]


def _dates(draft: Draft) -> list[str]:
    start, due = day_of(draft.issue, "start_date"), day_of(draft.issue, "due_date")
    soonest = soonest_start(draft.store, draft.issue)
    sentences = []
    if start and due and due < start and draft.changed("start_date", "due_date"):
        sentences.append("Due date must be greater than start date")
    if start and soonest and start < soonest and draft.changed("start_date"):
        sentences.append(f"Start date cannot be earlier than {soonest:%m/%d/%Y} because of preceding issues")
    return sentences


def _references(draft: Draft, project: Row) -> list[str]:
    issue, sentences = draft.issue, _version(draft, project)
    category = draft.store["issue_categories"].get(issue.get("category_id"))
    if issue.get("category_id") is not None and (category is None or category["project_id"] != project["id"]):
        sentences.append("Category is not included in the list")
    has_moved = draft.tracker and draft.changed("tracker_id", "project_id")
    if has_moved and draft.tracker not in trackers_of(draft.store, project):
        sentences.append("Tracker is not included in the list")
    # Active members with a role that can have issues, the author, and the assignee before.
    assignable = {
        *_assignable(draft.store, project),
        issue["author_id"],
        (draft.was or {}).get("assigned_to_id"),
        None,
    }
    if draft.changed("assigned_to_id") and issue.get("assigned_to_id") not in assignable:
        sentences.append("Assignee is invalid")
    return sentences


def _assignable(store: Store, project: Row) -> set[int]:
    """Return who can be assigned: groups too, if the settings say so."""
    groups = str(store.setting("issue_group_assignment")) == "1"
    found = set()
    for member in store["members"].where(project_id=project["id"]):
        roles = [store["roles"].at(link["role_id"]) for link in store["member_roles"].where(member_id=member["id"])]
        is_group = store["users"].at(member["user_id"])["type"] == "Group"
        if any(role.get("assignable", True) for role in roles) and (groups or not is_group):
            found.add(member["user_id"])
    return {each for each in found if store["users"].at(each).get("status", ACTIVE) == ACTIVE}


def _version(draft: Draft, project: Row) -> list[str]:
    """Want an open version that the project may use, or the one that the issue had before."""
    version_id = draft.issue.get("fixed_version_id")
    if version_id is None:
        return []
    version = next((each for each in shared_versions(draft.store, project) if each["id"] == version_id), None)
    is_kept = not draft.changed("fixed_version_id") and (version or not draft.changed("project_id"))
    if not is_kept and (version is None or version.get("status") != "open"):
        return ["Target version is not included in the list"]
    reopens = draft.was and is_closed(draft.store, draft.was) and not is_closed(draft.store, draft.issue)
    if reopens and version and version.get("status") == "closed":
        return ["An issue assigned to a closed version cannot be reopened"]
    return []


def _parent(draft: Draft) -> list[str]:
    if "parent_id" in draft.unreadable:
        return [_BAD_PARENT]
    store = draft.store
    parent = store["issues"].get(draft.issue.get("parent_id")) if draft.parent_given else None
    if parent is None or draft.project is None:
        return []
    if not may_have_child_in(store, parent, draft.project) or _would_push(draft, parent):
        return [_BAD_PARENT]
    if not is_closed(store, draft.issue) and is_closed(store, parent):
        return ["An open issue cannot be attached to a closed parent task"]
    return [_BAD_PARENT] if draft.was in [parent, *ancestors_of(store, parent)] else []


def _would_push(draft: Draft, parent: Row) -> bool:
    """Tell whether the issue and its new parent would move each other for ever."""
    if draft.was is None or draft.was.get("parent_id") == parent["id"]:
        return False
    store, was = draft.store, draft.was
    above = [parent, *ancestors_of(store, parent)]
    followers = [target for each in above for target in _targets(store, each["id"], "precedes")]
    return any(_would_move(store, each, was["id"]) for each in followers) or _would_move(store, was["id"], parent["id"])


def is_circular(store: Store, kind: str, issue_id: int, other_id: int) -> bool:
    """Tell whether a new relation would lead back to where it starts."""
    match kind:
        case "follows":
            return _would_move(store, issue_id, other_id)
        case "precedes":
            return _would_move(store, other_id, issue_id)
        case "blocked":
            return _reaches(issue_id, other_id, lambda each: _targets(store, each, "blocks"))
        case "blocks":
            return is_circular(store, "blocked", other_id, issue_id)
    return kind == "relates" and bool(store["issue_relations"].first(issue_from_id=other_id, issue_to_id=issue_id))


def _would_move(store: Store, issue_id: int, other_id: int) -> bool:
    """Tell whether new dates of one issue could change another's: by precedence, or because it is above it."""

    def moved_with(number: int) -> set[int]:
        issue = store["issues"].at(number)
        precedes = [_targets(store, each["id"], "precedes") for each in (issue, *ancestors_of(store, issue))]
        return {each["id"] for each in leaves_of(store, issue)}.union(*precedes)

    return _reaches(issue_id, other_id, moved_with)


def _targets(store: Store, issue_id: int, kind: str) -> set[int]:
    return store["issue_relations"].ids("issue_to_id", issue_from_id=issue_id, relation_type=kind)


def _reaches(start: int, goal: int, steps: Callable[[int], set[int]]) -> bool:
    seen, edge = {start}, {start}
    while edge and goal not in edge - {start}:
        edge = {there for each in edge for there in steps(each)} - seen
        seen |= edge
    return goal in edge
