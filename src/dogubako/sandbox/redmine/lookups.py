"""Lists that nobody changes here: statuses, trackers, enumerations, roles, saved queries, custom fields."""

import re
from typing import Any, Final

from dogubako.sandbox.redmine.asking import Ask, not_found, page_of
from dogubako.sandbox.redmine.naming import named
from dogubako.sandbox.redmine.shapes import optional
from dogubako.sandbox.redmine.store import Row, Store, Table

_ENUMERATIONS: Final = {
    "issue_priorities": "IssuePriority",
    "time_entry_activities": "TimeEntryActivity",
    "document_categories": "DocumentCategory",
}
# A tracker keeps what is switched off as bits, in this order.
_STANDARD_FIELDS: Final = (
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
_PRIVATE, _FOR_ROLES, _PUBLIC = range(3)


def in_position(table: Table) -> list[Row]:
    return sorted(table, key=lambda each: each.get("position") or 0)


def list_statuses(ask: Ask) -> Any:
    rows = in_position(ask.store["issue_statuses"])
    return {"issue_statuses": [{**named(each), "is_closed": bool(each.get("is_closed"))} for each in rows]}


def list_trackers(ask: Ask) -> Any:
    return {"trackers": [_tracker(ask.store, each) for each in in_position(ask.store["trackers"])]}


def _tracker(store: Store, row: Row) -> dict[str, Any]:
    status = store["issue_statuses"].get(row.get("default_status_id"))
    switched_off = row.get("fields_bits") or 0
    return {
        **named(row),
        **optional("default_status", named(status) if status else None),
        "description": row.get("description"),
        "enabled_standard_fields": [name for bit, name in enumerate(_STANDARD_FIELDS) if not switched_off & (1 << bit)],
    }


def list_enumerations(ask: Ask) -> Any:
    """Those of the whole Redmine; what a project made of them is not listed."""
    name = ask.path["kind"]
    if name not in _ENUMERATIONS:
        raise not_found()
    rows = [each for each in in_position(ask.store["enumerations"]) if each["type"] == _ENUMERATIONS[name]]
    return {name: [_enumeration(each) for each in rows if each.get("project_id") is None]}


def _enumeration(row: Row) -> dict[str, Any]:
    return {**named(row), "is_default": bool(row.get("is_default")), "active": bool(row.get("active"))}


def list_roles(ask: Ask) -> Any:
    """Without the two that everybody else has: Non member and Anonymous can be shown, but are not listed."""
    return {"roles": [named(each) for each in in_position(ask.store["roles"]) if not each.get("builtin")]}


def show_role(ask: Ask) -> Any:
    role = ask.row("roles")
    return {
        "role": {
            **named(role),
            "assignable": bool(role.get("assignable")),
            "issues_visibility": role.get("issues_visibility"),
            "time_entries_visibility": role.get("time_entries_visibility"),
            "users_visibility": role.get("users_visibility"),
            "permissions": list(role.get("permissions") or ()),
        }
    }


def list_queries(ask: Ask) -> Any:
    kind = ask.text("type") or "IssueQuery"
    rows = [each for each in ask.store["queries"].where(type=kind) if _sees_query(ask, each)]
    return page_of(ask, "queries", sorted(rows, key=lambda each: each["name"]), _query)


def _query(row: Row) -> dict[str, Any]:
    return {**named(row), "is_public": row.get("visibility") == _PUBLIC, "project_id": row.get("project_id")}


def _sees_query(ask: Ask, row: Row) -> bool:
    if row.get("project_id") is not None:
        project = ask.store["projects"].get(row["project_id"])
        if project is None or not ask.who.may("view_issues", project):
            return False
    visibility = row.get("visibility") or _PRIVATE
    if visibility == _PUBLIC or (ask.who.logged_in and row.get("user_id") == ask.who.id):
        return True
    return visibility == _FOR_ROLES and (ask.who.admin or _has_role_for(ask, row))


def _has_role_for(ask: Ask, row: Row) -> bool:
    store = ask.store
    wanted = {link["role_id"] for link in store["queries_roles"].where(query_id=row["id"])}
    members = store["members"].where(user_id=ask.who.id)
    places = [each for each in members if row.get("project_id") in (None, each["project_id"])]
    return any(
        link["role_id"] in wanted for each in places for link in store["member_roles"].where(member_id=each["id"])
    )


def list_custom_fields(ask: Ask) -> Any:
    ask.need_admin()
    return {"custom_fields": [_custom_field(ask.store, each) for each in ask.store["custom_fields"]]}


def _custom_field(store: Store, row: Row) -> dict[str, Any]:
    kind = row["type"].removesuffix("CustomField")
    values = _possible_values(store, row)
    return {
        **named(row),
        "customized_type": re.sub(r"(?<!^)(?=[A-Z])", "_", kind).lower(),
        "field_format": row["field_format"],
        "regexp": row.get("regexp", ""),
        "min_length": row.get("min_length"),
        "max_length": row.get("max_length"),
        "is_required": bool(row.get("is_required")),
        "is_filter": bool(row.get("is_filter")),
        "searchable": bool(row.get("searchable")),
        "multiple": bool(row.get("multiple")),
        "default_value": row.get("default_value"),
        "visible": bool(row.get("visible")),
        **({"possible_values": values} if values else {}),
        **(_only_of_issues(store, row) if kind == "Issue" else {}),
    }


def _possible_values(store: Store, row: Row) -> list[dict[str, str]]:
    """People and versions depend on a project, so they are not told."""
    match row["field_format"]:
        case "list":
            return [{"value": each, "label": each} for each in row.get("possible_values") or ()]
        case "bool":
            return [{"value": "1", "label": "Yes"}, {"value": "0", "label": "No"}]
        case "enumeration":
            choices = in_position(store["custom_field_enumerations"])
            mine = [each for each in choices if each["custom_field_id"] == row["id"] and each.get("active")]
            return [{"value": str(each["id"]), "label": each["name"]} for each in mine]
    return []


def _only_of_issues(store: Store, row: Row) -> dict[str, Any]:
    trackers = {link["tracker_id"] for link in store["custom_fields_trackers"].where(custom_field_id=row["id"])}
    roles = {link["role_id"] for link in store["custom_fields_roles"].where(custom_field_id=row["id"])}
    return {
        "trackers": [named(each) for each in in_position(store["trackers"]) if each["id"] in trackers],
        "roles": [named(each) for each in store["roles"] if each["id"] in roles],
    }
