"""Which custom fields an issue has, and which of them somebody sees."""

from dogubako.sandbox.redmine.custom_values import fields_of, sees_field
from dogubako.sandbox.redmine.store import Row, Store
from dogubako.sandbox.redmine.visitor import Visitor


def project_fields(store: Store, project: Row) -> list[Row]:
    """The custom fields for issues of a project: those for all, and its own."""
    own = {link["custom_field_id"] for link in store["custom_fields_projects"].where(project_id=project["id"])}
    return [field for field in fields_of(store, "Issue") if field.get("is_for_all") or field["id"] in own]


def issue_fields(store: Store, issue: Row) -> list[Row]:
    """The fields of an issue: those of the project that its tracker has too."""
    project = store["projects"].get(issue.get("project_id"))
    if project is None or issue.get("tracker_id") is None:
        return []
    links = store["custom_fields_trackers"].where(tracker_id=issue["tracker_id"])
    of_tracker = {link["custom_field_id"] for link in links}
    return [field for field in project_fields(store, project) if field["id"] in of_tracker]


def visible_fields(store: Store, who: Visitor, issue: Row) -> list[Row]:
    project = store["projects"].get(issue.get("project_id"))
    return [field for field in issue_fields(store, issue) if sees_field(store, who, field, project)]
