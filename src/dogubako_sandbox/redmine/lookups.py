"""Lists that the API does not change: statuses, trackers, enumerations, roles, saved queries, custom fields."""

import re
from typing import Any, Final

from dogubako_sandbox.redmine.request import ApiRequest, not_found
from dogubako_sandbox.redmine.serializers import named, present
from dogubako_sandbox.redmine.store import Row, Store

_ENUMERATIONS: Final = {
    "issue_priorities": "IssuePriority",
    "time_entry_activities": "TimeEntryActivity",
    "document_categories": "DocumentCategory",
}
_STANDARD_FIELDS: Final = (
    "assigned_to_id category_id fixed_version_id parent_issue_id start_date due_date estimated_hours done_ratio "
    "description"
)
_PRIVATE, _PUBLIC = 0, 2


def disabled_fields(tracker: Row | None) -> set[str]:
    """Return the standard fields that a tracker does not use: each has a bit."""
    bits = (tracker or {}).get("fields_bits") or 0
    return {name for place, name in enumerate(_STANDARD_FIELDS.split()) if bits >> place & 1}


def list_statuses(req: ApiRequest) -> Any:
    rows = req.store["issue_statuses"].by_position()
    return {"issue_statuses": [{**named(each), "is_closed": bool(each.get("is_closed"))} for each in rows]}


def list_trackers(req: ApiRequest) -> Any:
    """Show trackers with the standard fields that they use."""
    return {
        "trackers": [
            {
                **named(each),
                "default_status": named(req.store["issue_statuses"].at(each["default_status_id"])),
                "description": each.get("description"),
                "enabled_standard_fields": [
                    name for name in _STANDARD_FIELDS.split() if name not in disabled_fields(each)
                ],
            }
            for each in req.store["trackers"].by_position()
        ]
    }


def list_enumerations(req: ApiRequest) -> Any:
    name = req.path["kind"]
    if name not in _ENUMERATIONS:
        raise not_found()
    rows = [each for each in req.store["enumerations"].by_position() if each["type"] == _ENUMERATIONS[name]]
    # Those of a project are shown with the project.
    rows = [each for each in rows if each.get("project_id") is None]
    return {name: [{**named(each), "is_default": each["is_default"], "active": each["active"]} for each in rows]}


def list_roles(req: ApiRequest) -> Any:
    """Show the roles that members can have; Non member and Anonymous can be shown alone."""
    return {"roles": [named(each) for each in req.store["roles"].by_position() if not each.get("builtin")]}


def show_role(req: ApiRequest) -> Any:
    role = req.row("roles")
    names = ("assignable", "issues_visibility", "time_entries_visibility", "users_visibility")
    permissions = list(role.get("permissions") or ())
    return {"role": {**named(role), **{name: role[name] for name in names}, "permissions": permissions}}


def list_queries(req: ApiRequest) -> Any:
    rows = req.store["queries"].where(type=req.text("type") or "IssueQuery")
    seen = [each for each in rows if sees_query(req, each)]
    return req.page_of("queries", sorted(seen, key=lambda each: each["name"]), _shown_query)


def _shown_query(row: Row) -> Row:
    return {**named(row), "is_public": row.get("visibility") == _PUBLIC, "project_id": row.get("project_id")}


def sees_query(req: ApiRequest, row: Row) -> bool:
    """Tell whether a query is public or the user's own, in a project whose issues the user sees."""
    project = req.store["projects"].get(row.get("project_id"))
    if row.get("project_id") is not None and (project is None or not req.user.may("view_issues", project)):
        return False
    own = req.user.logged_in and row.get("user_id") == req.user.id
    return own or row.get("visibility") == _PUBLIC


def list_custom_fields(req: ApiRequest) -> Any:
    req.check(req.user.admin)
    return {"custom_fields": [_shown_field(req.store, each) for each in req.store["custom_fields"]]}


def _shown_field(store: Store, row: Row) -> Row:
    kind = row["type"].removesuffix("CustomField")
    flags = ("is_required", "is_filter", "searchable", "multiple")
    return {
        **named(row),
        "customized_type": re.sub(r"(?<!^)(?=[A-Z])", "_", kind).lower(),
        "field_format": row["field_format"],
        "regexp": row.get("regexp", ""),
        "min_length": row.get("min_length"),
        "max_length": row.get("max_length"),
        **{name: bool(row.get(name)) for name in flags},
        "default_value": row.get("default_value"),
        "visible": bool(row.get("visible")),
        **present(possible_values=_possible_values(store, row) or None),
        **(_only_of_issues(store, row) if kind == "Issue" else {}),
    }


def _possible_values(store: Store, row: Row) -> list[Row]:
    """Show the choices; people and versions depend on a project, so they are not shown."""
    pairs: list[tuple[str, str]] = []
    match row["field_format"]:
        case "list":
            pairs = [(each, each) for each in row.get("possible_values") or ()]
        case "bool":
            pairs = [("1", "Yes"), ("0", "No")]
        case "enumeration":
            choices = store["custom_field_enumerations"].by_position()
            mine = [each for each in choices if each["custom_field_id"] == row["id"] and each.get("active")]
            pairs = [(str(each["id"]), each["name"]) for each in mine]
    return [{"value": value, "label": label} for value, label in pairs]


def _only_of_issues(store: Store, row: Row) -> Row:
    trackers = store["custom_fields_trackers"].ids("tracker_id", custom_field_id=row["id"])
    roles = store["custom_fields_roles"].ids("role_id", custom_field_id=row["id"])
    return {
        "trackers": [named(each) for each in store["trackers"].by_position() if each["id"] in trackers],
        "roles": [named(each) for each in store["roles"] if each["id"] in roles],
    }
