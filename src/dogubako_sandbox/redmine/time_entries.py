"""Spent time on issues and projects: lists with filters, and the rules of what may be logged."""

import re
from typing import Any, Final

from dogubako_sandbox.redmine.custom_fields import active_members, custom_part
from dogubako_sandbox.redmine.filters import Filter, filter_errors, matches, read_filters, sort_rows
from dogubako_sandbox.redmine.permissions import CurrentUser
from dogubako_sandbox.redmine.projects import activities_of
from dogubako_sandbox.redmine.records import RecordKind, as_given
from dogubako_sandbox.redmine.request import DONE, ApiRequest, applying, created, forbidden
from dogubako_sandbox.redmine.serializers import named, person, person_key, present, reference, times
from dogubako_sandbox.redmine.store import Row, is_blank, to_date, to_hours, to_id, to_number, to_text, today, too_long
from dogubako_sandbox.redmine.trees import branch, descendants_of

_FILTERS: Final = {
    "spent_on": "date_past",
    "issue_id": "tree",
    "issue.tracker_id": "list",
    "issue.status_id": "list",
    "issue.fixed_version_id": "list",
    "user_id": "list_optional",
    "author_id": "list_optional",
    "activity_id": "list",
    "project.status": "list",
    "comments": "text",
    "hours": "float",
}
_TIME_ENTRY: Final = RecordKind(
    "time_entries",
    "TimeEntry",
    {
        **dict.fromkeys(("user_id", "project_id", "issue_id", "activity_id"), to_number),
        "comments": to_text,
        "hours": to_hours,
        "spent_on": as_given,
    },
)
_LABELS: Final = {
    "user_id": "User",
    "activity_id": "Activity",
    "project_id": "Project",
    "hours": "Hours",
    "spent_on": "Date",
}
_MOST_HOURS: Final = 999.0
# Ruby reads this as a day, though Redmine then says that it is not a valid one.
_SLASHED: Final = re.compile(r"\d{1,2}/\d{1,2}/\d{4}|\d{4}/\d{1,2}/\d{1,2}")


def list_time_entries(req: ApiRequest) -> Any:
    """Show time of a project with its subprojects, or of all; the latest day first."""
    project, store = req.project_or_all("view_time_entries"), req.store
    filters = {**read_filters(req.params, _FILTERS), **_from_and_to(req)}
    # One filter that Redmine cannot read, and none of them counts.
    if filter_errors(filters, {}):
        filters = {}
    places = {each["id"] for each in (branch(store, project) if project else store["projects"])}
    rows = [each for each in store["time_entries"] if each["project_id"] in places and req.user.sees_time_entry(each)]
    rows = [each for each in rows if all(_passes(req, one, each) for one in filters.values())]
    keys: Row = {
        "project": lambda each: store.project_of(each)["name"],
        "spent_on": lambda each: (each["spent_on"], each["created_on"]),
        "created_on": lambda each: each["created_on"],
        "user": lambda each: person_key(store, each["user_id"]),
        "author": lambda each: person_key(store, each["author_id"]),
        "activity": lambda each: store["enumerations"].at(each["activity_id"])["position"],
        "issue": lambda each: each.get("issue_id") or 0,
        "hours": lambda each: each["hours"],
    }
    sort_rows(rows, req.text("sort") or "spent_on:desc", keys.get)
    return req.page_of("time_entries", rows, lambda row: _shown(req, row))


def _from_and_to(req: ApiRequest) -> dict[str, Filter]:
    start, end = req.text("from"), req.text("to")
    values = tuple(each for each in (start, end) if each)
    if not "".join(values).strip():
        return {}
    operator = "><" if len(values) > 1 else ">=" if start else "<="
    return {"spent_on": Filter(name="spent_on", kind="date_past", operator=operator, values=values)}


def _passes(req: ApiRequest, wanted: Filter, entry: Row) -> bool:
    issue = req.store["issues"].get(entry.get("issue_id"))
    match wanted.name:
        case "issue_id":
            return _passes_issue(req, wanted, entry.get("issue_id"))
        case "user_id" | "author_id":
            me = str(req.user.id if req.user.logged_in else 0)
            values = [me if each == "me" else each for each in wanted.values]
            return matches(wanted.with_values(*values), entry.get(wanted.name))
        case "issue.fixed_version_id" if wanted.operator == "!" and issue is None:
            return False
        case "project.status":
            return matches(wanted, req.store.project_of(entry)["status"])
    row = (issue or {}) if wanted.name.startswith("issue.") else entry
    return matches(wanted, row.get(wanted.name.removeprefix("issue.")))


def _passes_issue(req: ApiRequest, wanted: Filter, number: int | None) -> bool:
    """Count only the first of several issues; `~` means an issue with all below it."""
    if wanted.operator in ("*", "!*"):
        return (number is not None) == (wanted.operator == "*")
    issue = {"id": to_id(wanted.values[0] if wanted.values else "")}
    tree = [issue, *descendants_of(req.store, issue)] if wanted.operator == "~" else [issue]
    return number in {each["id"] for each in tree}


def _shown(req: ApiRequest, entry: Row) -> Row:
    store, project = req.store, req.store.project_of(entry)
    issue = store["issues"].get(entry.get("issue_id"))
    return {
        "id": entry["id"],
        "project": named(project),
        **present(
            issue={"id": issue["id"]} if issue else None,
            user=person(store, entry.get("user_id")),
            activity=reference(store, "enumerations", entry.get("activity_id")),
        ),
        "hours": round(float(entry["hours"]), 2),
        "comments": entry.get("comments"),
        "spent_on": entry["spent_on"],
        **times(entry),
        **custom_part(req, "TimeEntry", entry, project),
    }


def show_time_entry(req: ApiRequest) -> Any:
    entry = req.row("time_entries")
    req.need(req.store.project_of(entry), "view_time_entries")
    return {"time_entry": _shown(req, entry)}


def create_time_entry(req: ApiRequest) -> Any:
    """Log time on the issue or project of the body."""
    req.check(req.user.may_somewhere("log_time"))
    entry = _save(req, {"user_id": req.user.id, "author_id": req.user.id, "spent_on": str(today())})
    return created({"time_entry": _shown(req, entry)}, f"{req.base_url}/time_entries/{entry['id']}")


def update_time_entry(req: ApiRequest) -> Any:
    """Forbid it to users who may not edit it; without a key too, where other endpoints ask for a login."""
    entry = req.row("time_entries")
    if not _may_edit(req, entry):
        raise forbidden()
    _save(req, entry)
    return DONE


def delete_time_entry(req: ApiRequest) -> Any:
    entry = req.row("time_entries")
    req.check(_may_edit(req, entry))
    req.store["time_entries"].remove(entry)
    req.store.remove_parts("TimeEntry", entry["id"])
    return DONE


def _may_edit(req: ApiRequest, entry: Row) -> bool:
    project, own = req.store.project_of(entry), req.user.logged_in and entry["user_id"] == req.user.id
    may = req.user.may("edit_time_entries", project) or (own and req.user.may("edit_own_time_entries", project))
    return may and req.user.sees_time_entry(entry)


def _save(req: ApiRequest, entry: Row) -> Row:
    """Check and save spent time; the issue brings its project."""
    body, store = req.lenient_body("time_entry"), req.store
    changed = {**entry, **_TIME_ENTRY.changes(body)}
    has_project = store["projects"].get(changed.get("project_id")) is not None
    issue_error = ["Issue is invalid"] if _place(req, entry, changed, body) else []
    project = store["projects"].get(changed.get("project_id"))
    has_project |= is_blank(body.get("project_id")) and not issue_error
    if "id" not in entry and project and has_project and not req.user.may("log_time", project):
        raise forbidden()
    return _TIME_ENTRY.save(req, entry, body, changed, lambda row: _errors(req, entry, row, project, issue_error))


def _place(req: ApiRequest, was: Row, entry: Row, body: Row) -> bool:
    """Move an entry to its issue's project; tell whether the issue is wrong: not seen, or of another project."""
    issue = req.store["issues"].get(entry.get("issue_id"))
    if issue is None:
        return entry.get("issue_id") is not None
    is_wrong = False
    if entry["issue_id"] != was.get("issue_id"):
        is_wrong = not (req.user.sees_issue(issue) and req.user.may("log_time", req.store.project_of(issue)))
        if not is_wrong and is_blank(body.get("project_id")):
            entry["project_id"] = issue["project_id"]
    if req.store["projects"].get(entry.get("project_id")) is None:
        entry["project_id"] = issue["project_id"]
    return is_wrong or entry["project_id"] != issue["project_id"]


def _errors(req: ApiRequest, was: Row, entry: Row, project: Row | None, issue_error: list[str]) -> list[str]:
    """Return the sentences in the order in which Redmine looks."""
    day, hours, activity = entry.get("spent_on"), entry.get("hours"), entry.get("activity_id")
    no_day = is_blank(day) or (to_date(day) is None and not _SLASHED.fullmatch(str(day)))
    missing = {**{name: entry.get(name) is None for name in _LABELS}, "spent_on": no_day}
    known = {each["id"] for each in activities_of(req.store, project)} if project else set()
    wrong = {
        "Date is not a valid date": not is_blank(day) and to_date(day) is None,
        **_hours_errors(req, was, entry),
        "Project is invalid": project is None,
        "User is invalid": _user_is_wrong(req, was, entry, project),
    }
    bad_activity = project and activity != was.get("activity_id") and activity not in known
    return [
        *(f"{label} cannot be blank" for name, label in _LABELS.items() if missing[name]),
        *(["Hours is invalid"] if isinstance(hours, str) else []),
        *too_long("Comment", entry.get("comments"), 1024),
        *applying(wrong),
        *issue_error,
        *(["Activity is not included in the list"] if bad_activity else []),
    ]


def _hours_errors(req: ApiRequest, was: Row, entry: Row) -> dict[str, bool]:
    hours = entry.get("hours")
    if not isinstance(hours, int | float):
        return {}
    rows = req.store["time_entries"].where(user_id=entry.get("user_id"), spent_on=entry.get("spent_on"))
    others = sum(each["hours"] for each in rows if each["id"] != entry.get("id"))
    most, logged = (f"{round(each * 60) // 60}:{round(each * 60) % 60:02}" for each in (_MOST_HOURS, others))
    too_many = f"Cannot log more than {most} hours on the same day ({logged} hours have already been logged)"
    return {"Hours is invalid": hours < 0, too_many: hours != was.get("hours") and others + hours > _MOST_HOURS}


def _user_is_wrong(req: ApiRequest, was: Row, entry: Row, project: Row | None) -> bool:
    """Tell whether the user may not log time for another user: that needs a permission, and a member who may log."""
    user_id = entry.get("user_id")
    if user_id in (None, entry["author_id"], was.get("user_id") if "id" in was else None):
        return False
    user = req.store["users"].get(user_id)
    if project is None or user is None or not req.user.may("log_time_for_other_users", project):
        return True
    is_member = user_id in active_members(req.store, project)
    return user_id != req.user.id and not (is_member and CurrentUser(req.store, user).may("log_time", project))
