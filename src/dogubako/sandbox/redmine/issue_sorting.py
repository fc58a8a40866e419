"""The order of a list of issues: `sort=priority:desc,updated_on`. Columns that nobody knows are ignored."""

from collections.abc import Callable
from typing import Any, Final

from dogubako.sandbox.redmine.asking import Ask
from dogubako.sandbox.redmine.issue_filters import filter_fields
from dogubako.sandbox.redmine.issue_shown import total_estimated_hours
from dogubako.sandbox.redmine.issue_tree import with_descendants
from dogubako.sandbox.redmine.store import Row, Store
from dogubako.sandbox.redmine.time_access import visible_hours

Key = Callable[[Row], tuple[Any, ...]]
Criterion = tuple[str, bool]

_MOST_CRITERIA: Final = 3
_OWN_COLUMNS: Final = (
    "id",
    "subject",
    "updated_on",
    "start_date",
    "due_date",
    "estimated_hours",
    "done_ratio",
    "created_on",
    "closed_on",
)


def criteria(sort: Any) -> list[Criterion]:
    """Names of columns and whether each goes down; from a text, or from the pairs of a saved query."""
    pairs = [each.split(":")[:2] for each in sort.split(",")] if isinstance(sort, str) else list(sort or ())
    found: dict[str, bool] = {}
    for pair in pairs:
        if pair and pair[0]:
            found.setdefault(pair[0], pair[-1] == "desc")
    return list(found.items())[:_MOST_CRITERIA]


def sorted_issues(ask: Ask, issues: list[Row], wanted: list[Criterion], project: Row | None) -> list[Row]:
    """Stable from the last criterion to the first; what is equal has the newest first."""
    ordered = sorted(issues, key=lambda issue: -issue["id"])
    for name, goes_down in reversed(wanted):
        key = _key(ask, name, project)
        if key:
            ordered.sort(key=key, reverse=goes_down)
    return ordered


def _key(ask: Ask, name: str, project: Row | None) -> Key | None:
    if name in _OWN_COLUMNS:
        return lambda issue: _comparable(issue.get(name))
    if name in ("author", "assigned_to"):
        return lambda issue: _person_key(ask.store, issue.get(f"{name}_id"))
    if name.startswith("cf_"):
        return _custom_key(ask, name, project)
    return _special_key(ask, name)


def _special_key(ask: Ask, name: str) -> Key | None:
    store = ask.store
    keys: dict[str, Key] = {
        "project": lambda issue: _comparable(store["projects"].at(issue["project_id"])["name"]),
        "tracker": lambda issue: _comparable(store["trackers"].at(issue["tracker_id"])["position"]),
        "status": lambda issue: _comparable(store["issue_statuses"].at(issue["status_id"])["position"]),
        "priority": lambda issue: _comparable(store["enumerations"].at(issue["priority_id"])["position"]),
        "category": lambda issue: _comparable(_name_of(store, "issue_categories", issue.get("category_id"))),
        "fixed_version": lambda issue: _version_key(store, issue.get("fixed_version_id")),
        "parent": lambda issue: (issue["root_id"], issue["lft"]),
        "is_private": lambda issue: _comparable(issue.get("is_private") or 0),
        "total_estimated_hours": lambda issue: _comparable(total_estimated_hours(ask, issue) or 0),
        "spent_hours": lambda issue: (visible_hours(store, ask.who, {issue["id"]}),),
        "total_spent_hours": lambda issue: (visible_hours(store, ask.who, _tree_ids(store, issue)),),
    }
    return keys.get(name)


def _tree_ids(store: Store, issue: Row) -> set[int]:
    return {each["id"] for each in with_descendants(store, issue)}


def _comparable(value: Any) -> tuple[Any, ...]:
    """Nothing comes before everything."""
    return (0, 0) if value is None else (1, value)


def _name_of(store: Store, table: str, row_id: int | None) -> str | None:
    row = store[table].get(row_id) if row_id else None
    return row["name"] if row else None


def _person_key(store: Store, user_id: int | None) -> tuple[Any, ...]:
    row = store["users"].get(user_id) if user_id else None
    if row is None:
        return (0,)
    return (1, row.get("firstname", ""), row.get("lastname", ""), row["id"])


def _version_key(store: Store, version_id: int | None) -> tuple[Any, ...]:
    """Those with a date first, by date, then by name."""
    row = store["versions"].get(version_id) if version_id else None
    if row is None:
        return (1, (0, 0), "", 0)
    due = row.get("effective_date")
    return (1 if due is None else 0, _comparable(due), row["name"], row["id"])


def _custom_key(ask: Ask, name: str, project: Row | None) -> Key | None:
    """A custom field with one value that the visitor may see; numbers are compared as numbers."""
    fields = {f"cf_{field['id']}": field for field in filter_fields(ask, project) if not field.get("multiple")}
    field = fields.get(name)
    if field is None:
        return None
    return lambda issue: _comparable(_sortable(ask.store, field, issue))


def _sortable(store: Store, field: Row, issue: Row) -> Any:
    rows = store["custom_values"].where(customized_id=issue["id"], customized_type="Issue", custom_field_id=field["id"])
    value = next((row.get("value") for row in reversed(rows) if row.get("value")), None)
    match field["field_format"]:
        case "int" | "float":
            return float(value) if value else None
        case "user":
            return _person_key(store, int(value)) if value else None
        case "version":
            return _version_key(store, int(value or 0))
        case "enumeration":
            row = store["custom_field_enumerations"].get(value) if value else None
            return row["position"] if row else None
    return value or ""
