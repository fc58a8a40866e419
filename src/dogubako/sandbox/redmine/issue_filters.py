"""The filters that a list of issues knows, by who asks and where."""

from typing import Final

from dogubako.sandbox.redmine.asking import Ask
from dogubako.sandbox.redmine.custom_values import fields_of, sees_field
from dogubako.sandbox.redmine.filters import Filter
from dogubako.sandbox.redmine.issue_fields import project_fields
from dogubako.sandbox.redmine.relation_rules import TYPES
from dogubako.sandbox.redmine.sharing import with_descendants
from dogubako.sandbox.redmine.store import Row

OPEN_ONLY: Final = Filter(name="status_id", kind="list_status", operator="o", values=("",))
LABELS: Final = {
    "status_id": "Status",
    "project_id": "Project",
    "tracker_id": "Tracker",
    "priority_id": "Priority",
    "author_id": "Author",
    "assigned_to_id": "Assignee",
    "fixed_version_id": "Target version",
    "fixed_version.due_date": "Target version's Due date",
    "fixed_version.status": "Target version's Status",
    "category_id": "Category",
    "subject": "Subject",
    "description": "Description",
    "notes": "Notes",
    "created_on": "Created",
    "updated_on": "Updated",
    "closed_on": "Closed",
    "start_date": "Start date",
    "due_date": "Due date",
    "estimated_hours": "Estimated time",
    "spent_time": "Spent time",
    "done_ratio": "% Done",
    "is_private": "Private",
    "attachment": "File",
    "watcher_id": "Watcher",
    "updated_by": "Updated by",
    "last_updated_by": "Last updated by",
    "subproject_id": "Subproject",
    "parent_id": "Parent task",
    "child_id": "Subtasks",
    "issue_id": "Issue",
}
_KINDS: Final = {
    "tracker_id": "list",
    "priority_id": "list",
    "author_id": "list",
    "assigned_to_id": "list_optional",
    "fixed_version_id": "list_optional",
    "fixed_version.due_date": "date",
    "fixed_version.status": "list",
    "subject": "text",
    "description": "text",
    "notes": "text",
    "created_on": "date_past",
    "updated_on": "date_past",
    "closed_on": "date_past",
    "start_date": "date",
    "due_date": "date",
    "estimated_hours": "float",
    "done_ratio": "integer",
    "attachment": "text",
    "updated_by": "list",
    "last_updated_by": "list",
    "parent_id": "tree",
    "child_id": "tree",
    "issue_id": "integer",
}
_FIELD_KINDS: Final = {
    "string": "string",
    "link": "string",
    "attachment": "string",
    "text": "text",
    "int": "integer",
    "float": "float",
    "date": "date",
}


def filter_kinds(ask: Ask, project: Row | None) -> dict[str, str]:
    """All filters that this visitor has here: some exist only in a project, some only with a permission."""
    kinds = {"status_id": "list_status", **({} if project else {"project_id": "list"}), **_KINDS}
    if project:
        kinds["category_id"] = "list_optional"
        if len(with_descendants(ask.store, project)) > 1:
            kinds["subproject_id"] = "list_subprojects"
    if ask.who.logged_in:
        kinds["watcher_id"] = "list"
    if _may_view_time(ask, project):
        kinds["spent_time"] = "float"
    if ask.who.may_somewhere("set_issues_private") or ask.who.may_somewhere("set_own_issues_private"):
        kinds["is_private"] = "list"
    if project is None or "subproject_id" in kinds:
        kinds["project.status"] = "list"
    return {**kinds, **dict.fromkeys(TYPES, "relation"), **_custom_kinds(ask, project)}


def _may_view_time(ask: Ask, project: Row | None) -> bool:
    return ask.who.may("view_time_entries", project) if project else ask.who.may_somewhere("view_time_entries")


def filter_fields(ask: Ask, project: Row | None) -> list[Row]:
    """Custom fields by which this visitor may filter and sort. In a project they are those of its subprojects too."""
    fields = fields_of(ask.store, "Issue")
    if project:
        tree = with_descendants(ask.store, project)
        known = {field["id"] for each in tree for field in project_fields(ask.store, each)}
        fields = [field for field in fields if field["id"] in known]
    return [field for field in fields if sees_field_somewhere(ask, field)]


def sees_field_somewhere(ask: Ask, field: Row) -> bool:
    return any(sees_field(ask.store, ask.who, field, project) for project in ask.store["projects"])


def _custom_kinds(ask: Ask, project: Row | None) -> dict[str, str]:
    fields = [each for each in filter_fields(ask, project) if each.get("is_filter")]
    return {f"cf_{field['id']}": _FIELD_KINDS.get(field["field_format"], "list_optional") for field in fields}


def custom_labels(ask: Ask) -> dict[str, str]:
    return {f"cf_{field['id']}": field["name"] for field in fields_of(ask.store, "Issue")}
