"""Spent time, on issues and on projects."""

from typing import Any

from dogubako.sandbox.redmine.asking import DONE, Ask, BrokenError, created, find_project, forbidden, not_found, page_of
from dogubako.sandbox.redmine.clock import now_text, shown_time, today
from dogubako.sandbox.redmine.naming import named, person, reference
from dogubako.sandbox.redmine.shapes import custom_part, is_blank, optional, save_customs
from dogubako.sandbox.redmine.store import Row
from dogubako.sandbox.redmine.time_access import sees_time_entry
from dogubako.sandbox.redmine.time_checks import checked_entry
from dogubako.sandbox.redmine.time_filters import filtered_entries


def list_time_entries(ask: Ask) -> Any:
    """Of a project with its subprojects, or of all; the latest day first."""
    project = None
    if ask.path.get("project_id") or not is_blank(ask.params.get("project_id")):
        project = ask.project()
        ask.need(project, "view_time_entries")
    elif not ask.who.may_somewhere("view_time_entries"):
        raise ask.denied()
    return page_of(ask, "time_entries", filtered_entries(ask, project), lambda row: _shown(ask, row))


def show_time_entry(ask: Ask) -> Any:
    entry = ask.row("time_entries")
    ask.need(_project(ask, entry), "view_time_entries")
    return {"time_entry": _shown(ask, entry)}


def create_time_entry(ask: Ask) -> Any:
    """On the issue or project of the path, or of the body."""
    start = {**_place(ask), "user_id": ask.who.id, "author_id": ask.who.id, "spent_on": str(today())}
    entry, values = checked_entry(ask, start)
    now = now_text()
    entry = ask.store["time_entries"].add(**entry, created_on=now, updated_on=now)
    save_customs(ask.store, "TimeEntry", entry, values)
    return created({"time_entry": _shown(ask, entry)}, f"{ask.base_url}/time_entries/{entry['id']}")


def _place(ask: Ask) -> Row:
    if not is_blank(ask.path.get("issue_id") or ask.params.get("issue_id")):
        issue = ask.store["issues"].get(ask.path.get("issue_id") or ask.params.get("issue_id"))
        # Here Redmine does not catch what it could not find.
        if issue is None:
            raise BrokenError(404)
        ask.need(ask.store["projects"].at(issue["project_id"]), "log_time")
        return {"issue_id": issue["id"], "project_id": issue["project_id"]}
    if not is_blank(ask.path.get("project_id") or ask.params.get("project_id")):
        project = find_project(ask.store, ask.path.get("project_id") or ask.params.get("project_id"))
        if project is not None:
            ask.need(project, "log_time")
            return {"project_id": project["id"]}
        raise not_found() if ask.who.may_somewhere("log_time") else ask.denied()
    if not ask.who.may_somewhere("log_time"):
        raise ask.denied()
    return {}


def update_time_entry(ask: Ask) -> Any:
    """Whoever may not edit it is forbidden to, strangers too: they are not asked to log in."""
    entry = ask.row("time_entries")
    if not _may_edit(ask, entry):
        raise forbidden()
    changed, values = checked_entry(ask, entry)
    if save_customs(ask.store, "TimeEntry", entry, values) or changed != entry:
        entry.update(changed, updated_on=now_text())
    return DONE


def delete_time_entry(ask: Ask) -> Any:
    entry = ask.row("time_entries")
    if not _may_edit(ask, entry):
        raise ask.denied()
    ask.store["time_entries"].remove(entry)
    ask.store["custom_values"].remove_where(customized_id=entry["id"], customized_type="TimeEntry")
    return DONE


def _project(ask: Ask, entry: Row) -> Row:
    return ask.store["projects"].at(entry["project_id"])


def _may_edit(ask: Ask, entry: Row) -> bool:
    project, own = _project(ask, entry), ask.who.logged_in and entry["user_id"] == ask.who.id
    may = ask.who.may("edit_time_entries", project) or (own and ask.who.may("edit_own_time_entries", project))
    return may and sees_time_entry(ask.store, ask.who, entry)


def _shown(ask: Ask, entry: Row) -> dict[str, Any]:
    project = _project(ask, entry)
    issue = ask.store["issues"].get(entry["issue_id"]) if entry.get("issue_id") else None
    return {
        "id": entry["id"],
        "project": named(project),
        **optional("issue", {"id": issue["id"]} if issue else None),
        **optional("user", person(ask.store, entry.get("user_id"))),
        **optional("activity", reference(ask.store, "enumerations", entry.get("activity_id"))),
        "hours": round(float(entry["hours"]), 2),
        "comments": entry.get("comments"),
        "spent_on": entry["spent_on"],
        "created_on": shown_time(entry["created_on"]),
        "updated_on": shown_time(entry["updated_on"]),
        **custom_part(ask, "TimeEntry", entry, project),
    }
