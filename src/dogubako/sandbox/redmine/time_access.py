"""Which time entries somebody sees, and how many hours they make."""

from dogubako.sandbox.redmine.store import Row, Store
from dogubako.sandbox.redmine.visitor import Visitor


def sees_time_entry(store: Store, who: Visitor, entry: Row) -> bool:
    """By the permission in the project; some roles see only their own time."""
    project = store["projects"].at(entry["project_id"])
    return who.may("view_time_entries", project, lambda role: _role_sees(role, who, entry))


def _role_sees(role: Row, who: Visitor, entry: Row) -> bool:
    match role.get("time_entries_visibility"):
        case "all":
            return True
        case "own":
            return bool(entry["user_id"] == who.id)
    return False


def visible_hours(store: Store, who: Visitor, issue_ids: set[int]) -> float:
    entries = [entry for entry in store["time_entries"] if entry.get("issue_id") in issue_ids]
    return float(sum(entry["hours"] for entry in entries if sees_time_entry(store, who, entry)))
