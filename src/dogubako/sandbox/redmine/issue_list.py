"""The list of issues: filters or a saved query, order, pages."""

from collections.abc import Mapping
from typing import Any, Final

from dogubako.sandbox.redmine.asking import (
    Ask,
    BrokenError,
    RefusedError,
    find_project,
    not_found,
    page_of,
    unprocessable,
)
from dogubako.sandbox.redmine.filters import Filter, asked_filters, complaints_about
from dogubako.sandbox.redmine.issue_access import sees_issue
from dogubako.sandbox.redmine.issue_filters import LABELS, OPEN_ONLY, custom_labels, filter_kinds
from dogubako.sandbox.redmine.issue_passing import passes
from dogubako.sandbox.redmine.issue_shown import included_in_list, shown_issue
from dogubako.sandbox.redmine.issue_sorting import criteria, sorted_issues
from dogubako.sandbox.redmine.sharing import with_descendants
from dogubako.sandbox.redmine.store import Row
from dogubako.sandbox.redmine.visitor import ARCHIVED

_NEWEST_FIRST: Final = "id:desc"
_LONGEST_MEMORY: Final = 2048
_AROUND_A_FILTER: Final = 25


def list_issues(ask: Ask) -> dict[str, Any]:
    project = _project(ask)
    query = _saved_query(ask, project)
    filters = _filters(ask, project, query)
    wrong = complaints_about(filters, {**LABELS, **custom_labels(ask)})
    if wrong:
        raise unprocessable(*wrong)
    if query is None and _too_long_to_remember(filters):
        raise BrokenError(500)
    places = _projects(ask, project, filters.get("subproject_id"))
    tests = [each for each in filters.values() if each.name != "subproject_id"]
    found = [issue for issue in ask.store["issues"] if places is None or issue["project_id"] in places]
    found = [issue for issue in found if all(passes(ask, each, issue) for each in tests)]
    visible = [issue for issue in found if sees_issue(ask.store, ask.who, issue)]
    wanted = criteria(ask.params.get("sort") or (query or {}).get("sort_criteria") or _NEWEST_FIRST)
    ordered = sorted_issues(ask, visible, wanted, project)
    try:
        return page_of(
            ask, "issues", ordered, lambda issue: {**shown_issue(ask, issue), **included_in_list(ask, issue)}
        )
    except BrokenError as error:
        # Of all lists, only this one has its own words for what went wrong: none.
        raise RefusedError(error.status) from error


def _project(ask: Ask) -> Row | None:
    """`project_id` is no filter but the place in which all is looked for; without it every project is."""
    if not ask.path.get("project_id") and not ask.text("project_id").strip():
        if not ask.who.may_somewhere("view_issues"):
            raise ask.denied()
        return None
    project = ask.project()
    ask.need(project, "view_issues")
    return project


def _saved_query(ask: Ask, project: Row | None) -> Row | None:
    """A query of this project or of all; with one, the filters in the query string count for nothing."""
    if not ask.text("query_id").strip():
        return None
    row = ask.store["queries"].get(ask.params["query_id"])
    homes = (None, project["id"]) if project else (None,)
    if row is None or row["type"] != "IssueQuery" or row.get("project_id") not in homes:
        raise not_found()
    if not sees_query(ask, row):
        raise ask.denied()
    return row


def sees_query(ask: Ask, query: Row) -> bool:
    home = find_project(ask.store, query.get("project_id")) if query.get("project_id") else None
    if ask.who.admin:
        return True
    if home and not ask.who.may("view_issues", home):
        return False
    match query.get("visibility"):
        case 0:
            return ask.who.logged_in and query["user_id"] == ask.who.id
        case 1:
            return _has_role_of(ask, query, home)
    return True


def _has_role_of(ask: Ask, query: Row, home: Row | None) -> bool:
    wanted = {link["role_id"] for link in ask.store["queries_roles"].where(query_id=query["id"])}
    places = [home] if home else [each for each in ask.store["projects"] if ask.who.membership(each)]
    return any(role["id"] in wanted for place in places for role in ask.who.roles_in(place))


def _filters(ask: Ask, project: Row | None, query: Row | None) -> dict[str, Filter]:
    kinds = filter_kinds(ask, project)
    if query is None:
        return asked_filters(ask.params, kinds, OPEN_ONLY)
    saved: Mapping[str, Any] = query.get("filters") or {"status_id": {"operator": "o", "values": [""]}}
    return {
        name: Filter(name=name, kind=kinds[name], operator=said["operator"], values=tuple(said.get("values") or ("",)))
        for name, said in saved.items()
        if name in kinds
    }


def _too_long_to_remember(filters: Mapping[str, Filter]) -> bool:
    """Redmine puts the filters of a list into a cookie, and falls over when they do not fit: at about 2,000 bytes."""
    sizes = [len(each.name) + _AROUND_A_FILTER + len("|".join(each.values).encode()) for each in filters.values()]
    return sum(sizes) > _LONGEST_MEMORY


def _projects(ask: Ask, project: Row | None, subprojects: Filter | None) -> set[int] | None:
    """In which projects to look: with everything below, unless `subproject_id` says otherwise."""
    if project is None:
        return None
    below = {each["id"] for each in with_descendants(ask.store, project) if each["status"] != ARCHIVED}
    if subprojects is None:
        return below if str(ask.store.setting("display_subprojects_issues")) != "0" else {project["id"]}
    named = {int(value) for value in subprojects.values if value.isdigit()}
    match subprojects.operator:
        case "=":
            return {project["id"]} | named
        case "!":
            return {project["id"]} | (below - named)
        case "!*":
            return {project["id"]}
    return below
