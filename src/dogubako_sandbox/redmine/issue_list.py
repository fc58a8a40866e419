"""The list of issues: filters or a saved query, order, pages."""

from collections.abc import Callable
from typing import Any, Final

from dogubako_sandbox.redmine.custom_fields import fields_of, project_fields
from dogubako_sandbox.redmine.filters import Filter, comparable, filter_errors, matches, read_filters, sort_rows
from dogubako_sandbox.redmine.issue_associations import (
    ASSOCIATIONS,
    IS_PRIVATE,
    SPENT_TIME,
    is_association,
    passes_association,
)
from dogubako_sandbox.redmine.issue_serializer import shown_in_list
from dogubako_sandbox.redmine.journals import visible_journals
from dogubako_sandbox.redmine.lookups import sees_query
from dogubako_sandbox.redmine.permissions import ARCHIVED
from dogubako_sandbox.redmine.request import ApiRequest, BrokenError, RefusedError, not_found, refuse
from dogubako_sandbox.redmine.serializers import person_key
from dogubako_sandbox.redmine.store import Row, Store, to_id
from dogubako_sandbox.redmine.trees import ancestors_of, branch

Key = Callable[[Row], tuple[Any, ...]]

# Redmine puts the filters of a list into a cookie, and breaks when they do not fit.
_LARGEST_COOKIE: Final = 2048
_COOKIE_PER_FILTER: Final = 25
_OPEN_ONLY: Final = Filter(name="status_id", kind="list_status", operator="o", values=("",))
# Each filter, its kind, and what sentences call it.
_FILTERS: Final = {
    "status_id": ("list_status", "Status"),
    "tracker_id": ("list", "Tracker"),
    "priority_id": ("list", "Priority"),
    "author_id": ("list", "Author"),
    "assigned_to_id": ("list_optional", "Assignee"),
    "fixed_version_id": ("list_optional", "Target version"),
    "subject": ("text", "Subject"),
    "description": ("text", "Description"),
    "created_on": ("date_past", "Created"),
    "updated_on": ("date_past", "Updated"),
    "closed_on": ("date_past", "Closed"),
    "start_date": ("date", "Start date"),
    "due_date": ("date", "Due date"),
    "estimated_hours": ("float", "Estimated time"),
    "done_ratio": ("integer", "% Done"),
    "updated_by": ("list", "Updated by"),
    "parent_id": ("tree", "Parent task"),
    "issue_id": ("integer", "Issue"),
}
_IN_ALL_PROJECTS: Final = {"project_id": ("list", "Project")}
_IN_A_PROJECT: Final = {"category_id": ("list_optional", "Category")}
_WITH_SUBPROJECTS: Final = {"subproject_id": ("list_subprojects", "Subproject")}
_WITH_A_KEY: Final = {"watcher_id": ("list", "Watcher")}
_PROJECT_STATUS: Final = {"project.status": ("list", "Project's Status")}
_FIELD_KINDS: Final = {
    "string": "string",
    "link": "string",
    "attachment": "string",
    "text": "text",
    "int": "integer",
    "float": "float",
    "date": "date",
}
_SORTABLE: Final = (
    "id subject updated_on start_date due_date estimated_hours done_ratio created_on closed_on is_private"
)


def list_issues(req: ApiRequest) -> Any:
    project = req.project_or_all("view_issues")
    query = _saved_query(req, project)
    known = known_filters(req, project)
    filters = _query_filters(query, known) if query else _request_filters(req, known)
    places = _places(req.store, project, filters.pop("subproject_id", None))
    rows = [each for each in req.store["issues"] if places is None or each["project_id"] in places]
    rows = [each for each in rows if all(_passes(req, one, each) for one in filters.values())]
    rows = [each for each in reversed(rows) if req.user.sees_issue(each)]
    sort = req.params.get("sort") or (query or {}).get("sort_criteria")
    sort_rows(rows, sort, lambda name: _sort_key(req, name, project))
    try:
        return req.page_of("issues", rows, lambda issue: shown_in_list(req, issue))
    except BrokenError as error:
        # Only this list answers without a body here.
        raise RefusedError(error.status) from error


def _saved_query(req: ApiRequest, project: Row | None) -> Row | None:
    """Return a query of this project or of all; with one, Redmine ignores the filters of the request."""
    if not req.text("query_id").strip():
        return None
    row = req.store["queries"].get(req.params["query_id"])
    homes = (None, project["id"]) if project else (None,)
    if row is None or row["type"] != "IssueQuery" or row.get("project_id") not in homes:
        raise not_found()
    req.check(req.user.admin or sees_query(req, row))
    return row


def known_filters(req: ApiRequest, project: Row | None) -> dict[str, tuple[str, str]]:
    """Return all filters that this user has here, with kinds and labels."""
    has_subprojects = project is not None and len(branch(req.store, project)) > 1
    fields = [each for each in _filter_fields(req, project) if each.get("is_filter")]
    kinds = {each["id"]: _FIELD_KINDS.get(each["field_format"], "list_optional") for each in fields}
    return {
        **(_IN_A_PROJECT if project else _IN_ALL_PROJECTS),
        **_FILTERS,
        **ASSOCIATIONS,
        **(SPENT_TIME if _may(req, project, "view_time_entries") else {}),
        **(IS_PRIVATE if _may(req, None, "set_issues_private", "set_own_issues_private") else {}),
        **(_WITH_SUBPROJECTS if has_subprojects else {}),
        **(_WITH_A_KEY if req.user.logged_in else {}),
        **(_PROJECT_STATUS if has_subprojects or project is None else {}),
        **{f"cf_{each['id']}": (kinds[each["id"]], each["name"]) for each in fields},
    }


def _may(req: ApiRequest, project: Row | None, *permissions: str) -> bool:
    return any(req.user.may(each, project) if project else req.user.may_somewhere(each) for each in permissions)


def _filter_fields(req: ApiRequest, project: Row | None) -> list[Row]:
    """Return the custom fields by which this user may filter and sort; a project has those of its subprojects too."""
    store = req.store
    places = branch(store, project) if project else []
    known = {field["id"] for each in places for field in project_fields(store, each)}
    fields = [each for each in fields_of(store, "Issue") if project is None or each["id"] in known]
    return [each for each in fields if any(req.user.sees_field(each, place) for place in store["projects"])]


def _query_filters(query: Row, known: dict[str, tuple[str, str]]) -> dict[str, Filter]:
    return {
        name: Filter(name=name, kind=known[name][0], operator=saved["operator"], values=tuple(saved["values"]))
        for name, saved in query["filters"].items()
        if name in known
    }


def _request_filters(req: ApiRequest, known: dict[str, tuple[str, str]]) -> dict[str, Filter]:
    filters = read_filters(req.params, {name: kind for name, (kind, _) in known.items()}, _OPEN_ONLY)
    refuse(filter_errors(filters, {name: label for name, (_, label) in known.items()}))
    sizes = [len(each.name) + _COOKIE_PER_FILTER + len("|".join(each.values).encode()) for each in filters.values()]
    if sum(sizes) > _LARGEST_COOKIE:
        raise BrokenError(500)
    return filters


def _places(store: Store, project: Row | None, subprojects: Filter | None) -> set[int] | None:
    """Return the projects in which to look: with all below, unless `subproject_id` says otherwise."""
    if project is None:
        return None
    below = {each["id"] for each in branch(store, project) if each["status"] != ARCHIVED}
    chosen = {each for each in below if subprojects is None or matches(subprojects, each)}
    return {project["id"], *(chosen if subprojects is None or subprojects.operator != "!*" else ())}


def _passes(req: ApiRequest, each: Filter, issue: Row) -> bool:
    """Tell whether an issue is what a filter wants."""
    if "me" in each.values and each.kind.startswith("list"):
        each = _with_me(req, each)
    if is_association(each):
        return passes_association(req, each, issue)
    match each.name:
        case "status_id" if each.operator in ("o", "c"):
            status = req.store["issue_statuses"].at(issue["status_id"])
            return bool(status.get("is_closed")) == (each.operator == "c")
        case "parent_id" if each.operator == "=":
            return issue.get("parent_id") in each.ids
        case "parent_id" if each.operator == "~":
            return to_id(each.values[0]) in {above["id"] for above in ancestors_of(req.store, issue)}
        case "issue_id":
            return matches(each, issue["id"])
        case "updated_on" if each.operator in ("*", "!*"):
            return bool(issue["updated_on"] != issue["created_on"]) == (each.operator == "*")
        case "project.status":
            return matches(each, req.store.project_of(issue)["status"])
        case "watcher_id" | "updated_by":
            users = _watchers(req, issue) if each.name == "watcher_id" else _editors(req, issue)
            return bool(users & set(each.values)) == (each.operator == "=")
    return _passes_custom(req, each, issue) if each.name.startswith("cf_") else matches(each, issue.get(each.name))


def _with_me(req: ApiRequest, each: Filter) -> Filter:
    """Replace `me` by the user, with the groups where a group could stand as well."""
    mine = [str(req.user.id) if req.user.logged_in else "0"]
    if each.name in ("assigned_to_id", "watcher_id"):
        mine += [str(group) for group in req.user.group_ids]
    return each.with_values(*(value for value in each.values if value != "me"), *mine)


def _watchers(req: ApiRequest, issue: Row) -> set[str]:
    """Return the watchers whom the user may see; every user sees the own watching."""
    ids = {str(row["user_id"]) for row in req.store["watchers"].where(watchable_type="Issue", watchable_id=issue["id"])}
    return ids if req.user.may("view_issue_watchers", req.store.project_of(issue)) else ids & {str(req.user.id)}


def _editors(req: ApiRequest, issue: Row) -> set[str]:
    return {str(row["user_id"]) for row in visible_journals(req, issue)}


def _passes_custom(req: ApiRequest, each: Filter, issue: Row) -> bool:
    field = req.store["custom_fields"].at(each.name.removeprefix("cf_"))
    values = _custom_values(req.store, field, issue) or [None]
    wanted = each.positive() if each.operator == "!" else each
    found = any(matches(wanted, value, custom=True) for value in values)
    return (found and req.user.sees_field(field, req.store.project_of(issue))) != (each.operator == "!")


def _custom_values(store: Store, field: Row, issue: Row) -> list[Any]:
    own = {"customized_id": issue["id"], "customized_type": "Issue", "custom_field_id": field["id"]}
    return [row.get("value") for row in store["custom_values"].where(**own)]


def _sort_key(req: ApiRequest, name: str, project: Row | None) -> Key | None:
    """Return what `sort` compares; columns that Redmine does not know have nothing."""
    store = req.store
    if name in _SORTABLE.split():
        return lambda issue: comparable(issue.get(name))
    if name.startswith("cf_"):
        fields = [each for each in _filter_fields(req, project) if f"cf_{each['id']}" == name and not each["multiple"]]
        return (lambda issue: _custom_key(store, fields[0], issue)) if fields else None
    positions = {"tracker": "trackers", "status": "issue_statuses", "priority": "enumerations"}
    if name in positions:
        return lambda issue: comparable(store[positions[name]].at(issue[f"{name}_id"])["position"])
    keys: dict[str, Key] = {
        "author": lambda issue: person_key(store, issue["author_id"]),
        "assigned_to": lambda issue: person_key(store, issue.get("assigned_to_id")),
        "project": lambda issue: comparable(store.project_of(issue)["name"]),
        "category": lambda issue: comparable(
            (store["issue_categories"].get(issue.get("category_id")) or {}).get("name")
        ),
        "fixed_version": lambda issue: _version_key(store, issue.get("fixed_version_id")),
        "parent": lambda issue: (issue["root_id"], issue["lft"]),
    }
    return keys.get(name)


def _version_key(store: Store, version_id: object) -> tuple[Any, ...]:
    """Sort versions with a date first, by date, then by name."""
    row = store["versions"].get(version_id)
    if row is None:
        return (1, (0, 0), "", 0)
    due = row.get("effective_date")
    return (1 if due is None else 0, comparable(due), row["name"], row["id"])


def _custom_key(store: Store, field: Row, issue: Row) -> tuple[Any, ...]:
    """Compare numbers as numbers, people by name, versions by date, enumerations by position."""
    value = next((each for each in _custom_values(store, field, issue) if each), None)
    match field["field_format"]:
        case "int" | "float":
            return comparable(float(value) if value else None)
        case "user":
            return comparable(person_key(store, int(value)) if value else None)
        case "version":
            return comparable(_version_key(store, value))
        case "enumeration":
            row = store["custom_field_enumerations"].get(value)
            return comparable(row["position"] if row else None)
    return comparable(value or "")
