"""The filters and the order of the list of time entries."""

from typing import Any, Final

from dogubako.sandbox.redmine.asking import Ask
from dogubako.sandbox.redmine.filters import Filter, asked_filters, complaints_about, matches
from dogubako.sandbox.redmine.issue_sorting import criteria
from dogubako.sandbox.redmine.issue_tree import with_descendants as issue_with_descendants
from dogubako.sandbox.redmine.sharing import with_descendants
from dogubako.sandbox.redmine.store import Row, to_id
from dogubako.sandbox.redmine.time_access import sees_time_entry

_KINDS: Final = {
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
_LATEST_FIRST: Final = "spent_on:desc"


def filtered_entries(ask: Ask, project: Row | None) -> list[Row]:
    """What the visitor sees of what is asked for. One filter that cannot be understood, and none of them counts."""
    filters = {**asked_filters(ask.params, _known(project)), **_from_and_to(ask)}
    if complaints_about(filters, {}):
        filters = {}
    places = _places(ask, project, filters.pop("subproject_id", None))
    rows = [each for each in ask.store["time_entries"] if places is None or each["project_id"] in places]
    seen = [each for each in rows if sees_time_entry(ask.store, ask.who, each)]
    return _sorted(ask, [each for each in seen if all(_fits(ask, each, one) for one in filters.values())])


def _known(project: Row | None) -> dict[str, str]:
    return {**_KINDS, "subproject_id": "list_subprojects"} if project else dict(_KINDS)


def _from_and_to(ask: Ask) -> dict[str, Filter]:
    start, end = ask.text("from"), ask.text("to")
    if not start.strip() and not end.strip():
        return {}
    operator = "><" if start and end else ">=" if start else "<="
    values = tuple(each for each in (start, end) if each)
    return {"spent_on": Filter(name="spent_on", kind="date_past", operator=operator, values=values)}


def _places(ask: Ask, project: Row | None, subprojects: Filter | None) -> set[int] | None:
    if project is None:
        return None
    below = {each["id"] for each in with_descendants(ask.store, project)} - {project["id"]}
    if subprojects is not None:
        below = set() if subprojects.operator == "!*" else {each for each in below if matches(subprojects, each)}
    return {project["id"], *below}


def _fits(ask: Ask, entry: Row, wanted: Filter) -> bool:
    match wanted.name:
        case "issue_id":
            return _fits_issue(ask, entry, wanted)
        case "user_id" | "author_id":
            return matches(_with_me(ask, wanted), entry.get(wanted.name))
        case "activity_id":
            return _fits_activity(ask, entry, wanted)
        case "issue.fixed_version_id" if wanted.operator == "!" and entry.get("issue_id") is None:
            return False
        case "project.status":
            return matches(wanted, ask.store["projects"].at(entry["project_id"])["status"])
        case name if name.startswith("issue."):
            issue = ask.store["issues"].get(entry["issue_id"]) if entry.get("issue_id") else None
            return matches(wanted, issue.get(name.removeprefix("issue.")) if issue else None)
    return matches(wanted, entry.get(wanted.name))


def _fits_activity(ask: Ask, entry: Row, wanted: Filter) -> bool:
    """A project's own activity counts as the one that it replaces."""
    activity = ask.store["enumerations"].get(entry.get("activity_id")) or {}
    hits = [str(activity.get(name)) in wanted.values for name in ("id", "parent_id")]
    return any(hits) if wanted.operator == "=" else not any(hits)


def _with_me(ask: Ask, wanted: Filter) -> Filter:
    me = str(ask.who.id if ask.who.logged_in else 0)
    values = tuple(me if each == "me" else each for each in wanted.values)
    return Filter(name=wanted.name, kind=wanted.kind, operator=wanted.operator, values=values)


def _fits_issue(ask: Ask, entry: Row, wanted: Filter) -> bool:
    """Of several issues only the first counts; `~` means an issue with all below it."""
    number = entry.get("issue_id")
    if wanted.operator in ("*", "!*"):
        return (number is not None) == (wanted.operator == "*")
    asked = to_id(wanted.values[0] if wanted.values else "")
    if wanted.operator == "=":
        return bool(number == asked)
    issue = ask.store["issues"].get(asked)
    return issue is not None and number in {each["id"] for each in issue_with_descendants(ask.store, issue)}


def _sorted(ask: Ask, rows: list[Row]) -> list[Row]:
    """A column that nobody knows leaves the oldest first."""
    for name, goes_down in reversed(criteria(ask.text("sort") or _LATEST_FIRST)):
        key = _keys(ask).get(name)
        if key:
            rows.sort(key=key, reverse=goes_down)
    return rows


def _keys(ask: Ask) -> dict[str, Any]:
    store = ask.store
    return {
        "project": lambda each: store["projects"].at(each["project_id"])["name"],
        "spent_on": lambda each: (each["spent_on"], each["created_on"]),
        "created_on": lambda each: each["created_on"],
        "tweek": lambda each: (each.get("tyear") or 0, each.get("tweek") or 0),
        "user": lambda each: _person_key(ask, each["user_id"]),
        "author": lambda each: _person_key(ask, each["author_id"]),
        "activity": lambda each: store["enumerations"].at(each["activity_id"])["position"],
        "issue": lambda each: each.get("issue_id") or 0,
        "hours": lambda each: each["hours"],
    }


def _person_key(ask: Ask, user_id: int) -> tuple[str, str, int]:
    row = ask.store["users"].at(user_id)
    return (row.get("firstname", ""), row["lastname"], row["id"])
