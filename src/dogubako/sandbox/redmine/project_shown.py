"""Projects as the API shows them."""

from collections.abc import Callable
from typing import Any

from dogubako.sandbox.redmine.asking import Ask
from dogubako.sandbox.redmine.clock import shown_time
from dogubako.sandbox.redmine.lookups import in_position
from dogubako.sandbox.redmine.naming import named, person, reference
from dogubako.sandbox.redmine.shapes import custom_part, optional
from dogubako.sandbox.redmine.store import Row, Store


def in_list(ask: Ask, project: Row) -> dict[str, Any]:
    return {**_head(project), **_middle(ask, project), **_tail(ask, project)}


def in_whole(ask: Ask, project: Row) -> dict[str, Any]:
    """One project; unlike in lists, with its homepage and what new issues get by default."""
    store = ask.store
    return {
        **_head(project),
        "homepage": project.get("homepage"),
        **_middle(ask, project),
        **optional("default_version", reference(store, "versions", project.get("default_version_id"))),
        **optional("default_assignee", person(store, project.get("default_assigned_to_id"))),
        **_tail(ask, project),
    }


def _head(project: Row) -> dict[str, Any]:
    return {**named(project), "identifier": project["identifier"], "description": project.get("description")}


def _middle(ask: Ask, project: Row) -> dict[str, Any]:
    parent = ask.store["projects"].get(project["parent_id"]) if project.get("parent_id") else None
    return {
        **optional("parent", named(parent) if parent and ask.who.sees_project(parent) else None),
        "status": project["status"],
        "is_public": bool(project.get("is_public")),
        "inherit_members": bool(project.get("inherit_members")),
    }


def _tail(ask: Ask, project: Row) -> dict[str, Any]:
    return {
        **custom_part(ask, "Project", project, project),
        **_included(ask, project),
        "created_on": shown_time(project["created_on"]),
        "updated_on": shown_time(project["updated_on"]),
    }


def _included(ask: Ask, project: Row) -> dict[str, Any]:
    store, number = ask.store, project["id"]
    parts: dict[str, Callable[[], list[Row]]] = {
        "trackers": lambda: _trackers(ask, project),
        "issue_categories": lambda: sorted(
            store["issue_categories"].where(project_id=number), key=lambda each: each["name"]
        ),
        "time_entry_activities": lambda: activities_of(store, project),
        "enabled_modules": lambda: store["enabled_modules"].where(project_id=number),
        "issue_custom_fields": lambda: _issue_fields(store, project),
    }
    return {name: [named(each) for each in rows()] for name, rows in parts.items() if ask.includes(name)}


def _trackers(ask: Ask, project: Row) -> list[Row]:
    """None for those who do not see the project's issues, nor without the module."""
    if not ask.who.may("view_issues", project):
        return []
    chosen = {link["tracker_id"] for link in ask.store["projects_trackers"].where(project_id=project["id"])}
    return [each for each in in_position(ask.store["trackers"]) if each["id"] in chosen]


def activities_of(store: Store, project: Row) -> list[Row]:
    """The active ones of the whole Redmine, except those that the project replaced by its own."""
    rows = store["enumerations"].where(type="TimeEntryActivity")
    own = [each for each in rows if each.get("project_id") == project["id"]]
    replaced = {each.get("parent_id") for each in own}
    shared = [each for each in rows if each.get("project_id") is None and each["id"] not in replaced]
    return [each for each in [*shared, *own] if each.get("active")]


def _issue_fields(store: Store, project: Row) -> list[Row]:
    """Those that the project chose; fields for all projects are not among them."""
    chosen = {link["custom_field_id"] for link in store["custom_fields_projects"].where(project_id=project["id"])}
    return [each for each in in_position(store["custom_fields"]) if each["id"] in chosen]
