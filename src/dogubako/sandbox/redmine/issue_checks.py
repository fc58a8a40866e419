"""What is wrong with a draft, in the sentences and the order of Redmine."""

from dogubako.sandbox.redmine.casting import is_blank
from dogubako.sandbox.redmine.custom_checks import complaints, humanized
from dogubako.sandbox.redmine.custom_values import values_of
from dogubako.sandbox.redmine.issue_access import tracker_allowed
from dogubako.sandbox.redmine.issue_assigning import editable_fields
from dogubako.sandbox.redmine.issue_draft import Draft, may_be_parent_project, trackers_of
from dogubako.sandbox.redmine.issue_tree import ancestors_of, is_closed
from dogubako.sandbox.redmine.relation_rules import would_move
from dogubako.sandbox.redmine.scheduling import day_of, soonest_start
from dogubako.sandbox.redmine.sharing import shared_versions
from dogubako.sandbox.redmine.store import Row
from dogubako.sandbox.redmine.visitor import ACTIVE
from dogubako.sandbox.redmine.workflow import disabled_fields, field_rules

_LABELS = {
    "assigned_to_id": "Assignee",
    "category_id": "Category",
    "fixed_version_id": "Target version",
    "parent_issue_id": "Parent task",
    "start_date": "Start date",
    "due_date": "Due date",
    "estimated_hours": "Estimated time",
    "done_ratio": "% Done",
    "description": "Description",
    "priority_id": "Priority",
    "is_private": "Private",
}


def wrong_with(draft: Draft, lost_files: int) -> list[str]:
    """All that speaks against saving; nothing if it may be saved."""
    files = [f"{lost_files} file(s) could not be saved."] if lost_files else []
    return [
        *files,
        *_custom_fields(draft),
        *_missing(draft),
        *_columns(draft),
        *_dates(draft),
        *_references(draft),
        *_parent(draft),
        *_required(draft),
    ]


def _custom_fields(draft: Draft) -> list[str]:
    if draft.was is not None and not draft.customs_said:
        return []
    fields = editable_fields(draft)
    was = values_of(draft.store, "Issue", draft.was["id"], fields) if draft.was else {}
    return complaints(draft.store, fields, draft.values, was, draft.project)


def _missing(draft: Draft) -> list[str]:
    issue = draft.issue
    names = {
        "Subject": not is_blank(issue.get("subject")),
        "Project": draft.project is not None,
        "Tracker": draft.tracker is not None,
        "Priority": _priority(draft) is not None or (draft.was is not None and not draft.changed("priority_id")),
        "Status": draft.store["issue_statuses"].get(issue.get("status_id")) is not None,
    }
    return [f"{name} cannot be blank" for name, there in names.items() if not there]


def _priority(draft: Draft) -> Row | None:
    row = draft.store["enumerations"].get(draft.issue.get("priority_id"))
    return row if row and row["type"] == "IssuePriority" else None


def _columns(draft: Draft) -> list[str]:
    found = []
    if len(draft.issue.get("subject") or "") > 255:
        found.append("Subject is too long (maximum is 255 characters)")
    if not 0 <= (draft.issue.get("done_ratio") or 0) <= 100:
        found.append("% Done is not included in the list")
    if "estimated_hours" in draft.unreadable:
        found.append("Estimated time is invalid")
    dates = [name for name in ("start_date", "due_date") if name in draft.unreadable]
    return found + [f"{_LABELS[name]} is not a valid date" for name in dates]


def _dates(draft: Draft) -> list[str]:
    start, due = day_of(draft.issue, "start_date"), day_of(draft.issue, "due_date")
    found = []
    if start and due and due < start and (draft.changed("start_date") or draft.changed("due_date")):
        found.append("Due date must be greater than start date")
    soonest = soonest_start(draft.store, draft.issue)
    if start and soonest and start < soonest and draft.changed("start_date"):
        found.append(f"Start date cannot be earlier than {soonest:%m/%d/%Y} because of preceding issues")
    return found


def _references(draft: Draft) -> list[str]:
    project, issue = draft.project, draft.issue
    if project is None:
        return []
    found = _version(draft, project)
    if issue.get("category_id") is not None:
        category = draft.store["issue_categories"].get(issue["category_id"])
        if category is None or category["project_id"] != project["id"]:
            found.append("Category is not included in the list")
    has_moved = draft.changed("tracker_id") or draft.changed("project_id")
    if draft.tracker and has_moved and draft.tracker not in trackers_of(draft.store, project):
        found.append("Tracker is not included in the list")
    assignee = issue.get("assigned_to_id")
    if assignee is not None and draft.changed("assigned_to_id") and assignee not in _assignable(draft, project):
        found.append("Assignee is invalid")
    return found


def _version(draft: Draft, project: Row) -> list[str]:
    """An open version that the project may use, or the one that the issue had before."""
    version_id = draft.issue.get("fixed_version_id")
    if version_id is None:
        return []
    usable = {each["id"]: each for each in shared_versions(draft.store, project)}
    version = usable.get(version_id)
    kept = not draft.changed("fixed_version_id") and (version or not draft.changed("project_id"))
    if not kept and (version is None or version.get("status") != "open"):
        return ["Target version is not included in the list"]
    if _is_reopening(draft) and version and version.get("status") == "closed":
        return ["An issue assigned to a closed version cannot be reopened"]
    return []


def _is_reopening(draft: Draft) -> bool:
    return draft.was is not None and is_closed(draft.store, draft.was) and not is_closed(draft.store, draft.issue)


def _assignable(draft: Draft, project: Row) -> set[int]:
    """Active members with a role for it, the author, and whoever had it before."""
    store = draft.store
    kinds = ("User", "Group") if str(store.setting("issue_group_assignment")) == "1" else ("User",)
    found = {draft.issue["author_id"], (draft.was or {}).get("assigned_to_id")}
    for member in store["members"].where(project_id=project["id"]):
        person = store["users"].at(member["user_id"])
        links = store["member_roles"].where(member_id=member["id"])
        roles = [store["roles"].at(link["role_id"]) for link in links]
        if person["type"] in kinds and person.get("status") == ACTIVE and any(_takes(draft, role) for role in roles):
            found.add(person["id"])
    return found


def _takes(draft: Draft, role: Row) -> bool:
    return bool(role.get("assignable")) and tracker_allowed(role, "view_issues", draft.issue.get("tracker_id"))


def _parent(draft: Draft) -> list[str]:
    if draft.parent_is_wrong:
        return ["Parent task is invalid"]
    parent = draft.store["issues"].get(draft.issue.get("parent_id")) if draft.parent_said else None
    if parent is None or draft.project is None:
        return []
    if not may_be_parent_project(draft.store, parent, draft.project) or _would_push(draft, parent):
        return ["Parent task is invalid"]
    if not is_closed(draft.store, draft.issue) and is_closed(draft.store, parent):
        return ["An open issue cannot be attached to a closed parent task"]
    if draft.was and draft.was["id"] in [parent["id"], *(each["id"] for each in ancestors_of(draft.store, parent))]:
        return ["Parent task is invalid"]
    return []


def _would_push(draft: Draft, parent: Row) -> bool:
    """Whether the issue and its new parent would move each other for ever."""
    if draft.was is None or draft.was.get("parent_id") == parent["id"]:
        return False
    followers = [
        draft.store["issues"].at(row["issue_to_id"])
        for each in (parent, *ancestors_of(draft.store, parent))
        for row in draft.store["issue_relations"].where(issue_from_id=each["id"], relation_type="precedes")
    ]
    pushes = any(would_move(draft.store, each, draft.was) for each in followers)
    return pushes or would_move(draft.store, draft.was, parent)


def _required(draft: Draft) -> list[str]:
    """What the workflow wants to be filled in the issue's status."""
    found = []
    names = {str(each["id"]): each["name"] for each in draft.store["custom_fields"]}
    for name, rule in field_rules(draft.store, draft.ask.who, draft.issue).items():
        value = (
            draft.values.get(int(name)) if name.isdigit() else draft.issue.get(name.replace("parent_issue", "parent"))
        )
        known = int(name) in draft.values if name.isdigit() else name not in disabled_fields(draft.tracker)
        if rule == "required" and known and is_blank(value):
            found.append(f"{humanized(names[name]) if name.isdigit() else _LABELS.get(name, name)} cannot be blank")
    return found
