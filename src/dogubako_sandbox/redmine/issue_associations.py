"""Filters of issues by what belongs to them: notes, files, time, relations, children, the target version, groups."""

from typing import Any, Final

from dogubako_sandbox.redmine.filters import Filter, matches
from dogubako_sandbox.redmine.issue_serializer import RELATION_TYPES, other_end, relations_of
from dogubako_sandbox.redmine.journals import visible_journals
from dogubako_sandbox.redmine.request import ApiRequest
from dogubako_sandbox.redmine.store import Row, to_id
from dogubako_sandbox.redmine.trees import children_of, descendants_of, is_closed

ASSOCIATIONS: Final = {
    "last_updated_by": ("list", "Last updated by"),
    "member_of_group": ("list_optional", "Assignee's group"),
    "assigned_to_role": ("list_optional", "Assignee's role"),
    "fixed_version.due_date": ("date", "Target version's Due date"),
    "fixed_version.status": ("list", "Target version's Status"),
    "notes": ("text", "Notes"),
    "attachment": ("text", "File"),
    "attachment_description": ("text", "File description"),
    "child_id": ("tree", "Subtasks"),
    **{name: ("relation", name) for name in RELATION_TYPES},
}
# Only users with a permission have these.
SPENT_TIME: Final = {"spent_time": ("float", "Spent time")}
IS_PRIVATE: Final = {"is_private": ("list", "Private")}
_NAMES: Final = frozenset({*ASSOCIATIONS, *SPENT_TIME, *IS_PRIVATE})


def is_association(each: Filter) -> bool:
    return each.name in _NAMES


def passes_association(req: ApiRequest, each: Filter, issue: Row) -> bool:
    if each.name in RELATION_TYPES:
        return _passes_relation(req, each, issue)
    match each.name:
        case "child_id":
            return _passes_child(req, each, issue)
        case "is_private":
            return matches(each, int(bool(issue.get("is_private"))))
        case "spent_time":
            hours = req.user.visible_hours([issue])
            return matches(each, hours or None) if each.operator in ("*", "!*") else matches(each, hours)
        case "member_of_group" | "assigned_to_role":
            return _passes_assignee(req, each, issue)
        case "last_updated_by":
            last = [row["user_id"] for row in visible_journals(req, issue)][-1:]
            return (str(last[0]) in each.values if last else False) == (each.operator == "=")
    return _passes_text(each, _values(req, each.name, issue))


def _values(req: ApiRequest, name: str, issue: Row) -> list[Any]:
    store = req.store
    if name.startswith("fixed_version."):
        version = store["versions"].get(issue.get("fixed_version_id")) or {}
        return [version.get("effective_date" if name.endswith("due_date") else "status")]
    if name == "notes":
        return [row.get("notes") for row in visible_journals(req, issue)]
    column = "filename" if name == "attachment" else "description"
    return [row.get(column) for row in store["attachments"].where(container_type="Issue", container_id=issue["id"])]


def _passes_text(each: Filter, values: list[Any]) -> bool:
    """Want one record with the text; a filter that says not wants none."""
    if each.operator in ("!~", "!*"):
        positive = each.positive()
        return not any(value and matches(positive, value) for value in values)
    return any(value and matches(each, value) for value in values)


def _passes_child(req: ApiRequest, each: Filter, issue: Row) -> bool:
    below = children_of(req.store, issue) if each.operator != "~" else descendants_of(req.store, issue)
    if each.operator in ("*", "!*"):
        return bool(below) == (each.operator == "*")
    return to_id(each.values[0]) in {child["id"] for child in below}


def _passes_relation(req: ApiRequest, each: Filter, issue: Row) -> bool:
    """Compare the other ends of all relations of this type, seen from the issue."""
    store = req.store
    rows = [row for row in relations_of(store, issue) if _type_from(row, issue) == each.name]
    others = [store["issues"].at(other_end(row, issue)) for row in rows]
    match each.operator:
        case "*" | "!*":
            return bool(others) == (each.operator == "*")
        case "*o" | "!o":
            return any(not is_closed(store, other) for other in others) == (each.operator == "*o")
    wanted = {to_id(value) for value in each.values}
    return any(other["id"] in wanted for other in others) == (each.operator == "=")


def _type_from(row: Row, issue: Row) -> str:
    """Return the type of a relation as the issue sees it: the other side has the opposite one."""
    kind = str(row["relation_type"])
    return kind if row["issue_from_id"] == issue["id"] else RELATION_TYPES[kind]


def _passes_assignee(req: ApiRequest, each: Filter, issue: Row) -> bool:
    store, assignee = req.store, issue.get("assigned_to_id")
    if each.name == "member_of_group":
        have = {str(row["group_id"]) for row in store["groups_users"].where(user_id=assignee)} if assignee else set()
    else:
        members = store["members"].where(user_id=assignee, project_id=issue["project_id"]) if assignee else []
        links = [link for member in members for link in store["member_roles"].where(member_id=member["id"])]
        have = {str(link["role_id"]) for link in links}
    if each.operator in ("*", "!*"):
        return bool(have) == (each.operator == "*")
    return bool(have & set(each.values)) == (each.operator == "=")
