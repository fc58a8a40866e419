"""Projects: lists and single ones, created, changed, closed, archived and deleted."""

import re
from collections.abc import Callable
from typing import Any, Final

from dogubako_sandbox.redmine.custom_fields import custom_part
from dogubako_sandbox.redmine.filters import Filter, comparable, filter_errors, matches, read_filters, sort_rows
from dogubako_sandbox.redmine.memberships import add_role, inherit_from_parent, new_member
from dogubako_sandbox.redmine.permissions import ACTIVE, ARCHIVED, CLOSED, MODULES
from dogubako_sandbox.redmine.records import Endpoint, RecordKind
from dogubako_sandbox.redmine.request import DONE, ApiRequest, BrokenError, applying, created, refuse
from dogubako_sandbox.redmine.serializers import named, person, present, reference, times
from dogubako_sandbox.redmine.store import Row, Store, is_blank, now_text, to_id, to_number, to_text, to_truth, too_long
from dogubako_sandbox.redmine.trees import ancestors, branch, erase_issue, is_under, renumber_projects
from dogubako_sandbox.redmine.wiki import remove_page

_FRESH: Final[Row] = {
    "name": "",
    "identifier": "",
    "homepage": "",
    "status": ACTIVE,
    "is_public": True,
    "inherit_members": False,
    "lft": 0,
    "rgt": 0,
}
_PROJECT: Final = RecordKind(
    "projects",
    "Project",
    {
        **dict.fromkeys(("name", "description", "homepage", "identifier"), to_text),
        **dict.fromkeys(("is_public", "inherit_members"), to_truth),
        **dict.fromkeys(("default_version_id", "default_assigned_to_id"), to_number),
    },
)
_IDENTIFIER: Final = re.compile(r"(?!\d+$)[a-z0-9\-_]*")
_FILTERS: Final = {
    "status": "list",
    "id": "list",
    "name": "text",
    "description": "text",
    "parent_id": "list_subprojects",
    "is_public": "list",
    "created_on": "date_past",
}
_ACTIVE_ONLY: Final = Filter(name="status", kind="list", operator="=", values=("1",))
_SORTABLE: Final = ("id", "name", "status", "description", "homepage", "identifier", "is_public", "created_on")
_TABLES: Final = (
    "enabled_modules",
    "projects_trackers",
    "custom_fields_projects",
    "issue_categories",
    "time_entries",
    "queries",
)


def list_projects(req: ApiRequest) -> Any:
    """Show active projects in the order of the tree, unless filters or a sort say otherwise."""
    filters = read_filters(req.params, _FILTERS, _ACTIVE_ONLY)
    # One filter that Redmine cannot read, and none of them counts.
    if filter_errors(filters, {}):
        filters = {}
    rows = [each for each in req.user.projects_with() if all(_passes(each, one) for one in filters.values())]
    keys = {name: lambda each, name=name: comparable(each.get(name)) for name in _SORTABLE}
    sort_rows(rows, req.text("sort"), {**keys, "parent_id": lambda each: each["lft"]}.get)
    return req.page_of("projects", rows, lambda row: _shown(req, row))


def _passes(project: Row, wanted: Filter) -> bool:
    value = project.get(wanted.name)
    return matches(wanted, int(value) if isinstance(value, bool) else value)


def show_project(req: ApiRequest) -> Any:
    project = req.project("id")
    req.need(project, "view_project")
    return {"project": _shown(req, project, alone=True)}


def _shown(req: ApiRequest, project: Row, *, alone: bool = False) -> Row:
    """Show a project; alone, with its homepage and what new issues get by default."""
    store = req.store
    parent = store["projects"].get(project.get("parent_id"))
    default = {
        "default_version": reference(store, "versions", project.get("default_version_id")),
        "default_assignee": person(store, project.get("default_assigned_to_id")),
    }
    return {
        **named(project),
        "identifier": project["identifier"],
        "description": project.get("description"),
        **({"homepage": project.get("homepage")} if alone else {}),
        **present(parent=named(parent) if parent and req.user.may("view_project", parent) else None),
        "status": project["status"],
        "is_public": bool(project.get("is_public")),
        "inherit_members": bool(project.get("inherit_members")),
        **(present(**default) if alone else {}),
        **custom_part(req, "Project", project, project),
        **_included(req, project),
        **times(project),
    }


def _included(req: ApiRequest, project: Row) -> Row:
    store, number = req.store, project["id"]
    parts: dict[str, Callable[[], list[Row]]] = {
        "trackers": lambda: trackers_of(store, project) if req.user.may("view_issues", project) else [],
        "issue_categories": lambda: sorted(
            store["issue_categories"].where(project_id=number), key=lambda each: each["name"]
        ),
        "time_entry_activities": lambda: activities_of(store, project),
        "enabled_modules": lambda: store["enabled_modules"].where(project_id=number),
        "issue_custom_fields": lambda: _chosen(store, "custom_fields", project),
    }
    return {name: [named(each) for each in rows()] for name, rows in parts.items() if req.includes(name)}


def activities_of(store: Store, project: Row) -> list[Row]:
    """Return the active activities: a project may have its own in place of those for all."""
    rows = store["enumerations"].where(type="TimeEntryActivity")
    own = [each for each in rows if each.get("project_id") == project["id"]]
    replaced = {each.get("parent_id") for each in own}
    shared = [each for each in rows if each.get("project_id") is None and each["id"] not in replaced]
    return [each for each in [*shared, *own] if each.get("active")]


def trackers_of(store: Store, project: Row) -> list[Row]:
    return _chosen(store, "trackers", project)


def _chosen(store: Store, table: str, project: Row) -> list[Row]:
    links, column = _LINKS[table]
    ids = store[links].ids(column, project_id=project["id"])
    return [each for each in store[table].by_position() if each["id"] in ids]


_LINKS: Final = {
    "trackers": ("projects_trackers", "tracker_id"),
    "custom_fields": ("custom_fields_projects", "custom_field_id"),
}


def create_project(req: ApiRequest) -> Any:
    """Create a project; a user who is no administrator becomes its first member."""
    req.check(req.user.may_somewhere("add_project") or req.user.may_somewhere("add_subprojects"))
    store, body = req.store, req.lenient_body("project")
    project = _save(req, dict(_FRESH), body)
    _set_modules(store, project, body.get("enabled_module_names"))
    _set_links(store, project, {"tracker_ids": store.setting("default_projects_tracker_ids"), **body})
    inherit_from_parent(store, project)
    if not req.user.admin:
        first_role = next(role for role in store["roles"].by_position() if not role["builtin"])
        add_role(store, new_member(store, project["id"], to_id(req.user.id)), first_role["id"])
    return created({"project": _shown(req, project, alone=True)}, f"{req.base_url}/projects/{project['id']}")


def update_project(req: ApiRequest) -> Any:
    project, body = req.project("id"), req.lenient_body("project")
    req.need(project, "edit_project")
    inherited = (project.get("parent_id"), project["inherit_members"])
    _save(req, project, body)
    if inherited != (project.get("parent_id"), project["inherit_members"]):
        inherit_from_parent(req.store, project)
    if "enabled_module_names" in body and req.user.may("select_project_modules", project):
        _set_modules(req.store, project, body["enabled_module_names"])
    _set_links(req.store, project, body)
    return DONE


def _save(req: ApiRequest, project: Row, body: Row) -> Row:
    """Check and save a project. Identifier and status of an old one never change, without an error."""
    is_new, changes = "id" not in project, _PROJECT.changes(body)
    identifier = (changes.get("identifier") or "") if is_new else project["identifier"]
    changes["identifier"] = identifier
    bad_parent = ["Subproject of is invalid"] if _set_parent(req, changes, project, body) else []

    def errors(changed: Row) -> list[str]:
        return [*_errors(req.store, changed, is_new=is_new), *bad_parent]

    saved = _PROJECT.save(req, project, body, changes, errors)
    renumber_projects(req.store)
    return saved


def _set_parent(req: ApiRequest, changes: Row, project: Row, body: Row) -> bool:
    """Put the project under the wanted one; tell whether that is not allowed."""
    wanted = "" if is_blank(body.get("parent_id")) else str(body["parent_id"])
    if "id" in project and ("parent_id" not in body or wanted == str(project.get("parent_id") or "")):
        return False
    parent = req.store["projects"].get(wanted) if wanted else None
    if parent is None:
        is_root = "id" in project and not project.get("parent_id")
        allowed = is_root or req.user.may_somewhere("add_project")
    else:
        is_inside = "id" in project and (parent is project or is_under(parent, project))
        allowed = not is_inside and req.user.may("add_subprojects", parent)
    # Redmine looks for the project by its number only, and does not notice when there is none.
    if allowed and wanted and parent is None:
        raise BrokenError(500)
    changes |= {"parent_id": parent["id"] if parent else None} if allowed else {}
    return not allowed


def _errors(store: Store, project: Row, *, is_new: bool) -> list[str]:
    name, identifier = project["name"], project["identifier"]
    wrong = {
        "Name cannot be blank": is_blank(name),
        "Identifier cannot be blank": is_blank(identifier),
        "Identifier has already been taken": is_new and identifier and store["projects"].first(identifier=identifier),
    }
    more = {
        "Identifier is invalid": is_new and not _IDENTIFIER.fullmatch(identifier),
        "Identifier is reserved": identifier == "new",
    }
    return [
        *applying(wrong),
        *too_long("Name", name, 255),
        *too_long("Homepage", project.get("homepage"), 255),
        *too_long("Identifier", identifier, 100),
        *applying(more),
    ]


def _set_modules(store: Store, project: Row, wanted: Any) -> None:
    """Enable exactly these modules; a new project without a list has all of them."""
    table = store["enabled_modules"]
    there = {each["name"]: each for each in table.where(project_id=project["id"])}
    if wanted is None and there:
        return
    names = list(MODULES) if wanted is None else [str(each) for each in wanted] if isinstance(wanted, list) else []
    for name, row in there.items():
        if name not in names:
            table.remove(row)
    for name in [*(each for each in MODULES if each in names), *(each for each in names if each not in MODULES)]:
        if name and name not in there:
            table.add(project_id=project["id"], name=name)
    if "wiki" in names and not store["wikis"].first(project_id=project["id"]):
        store["wikis"].add(project_id=project["id"], start_page="Wiki", status=1)


def _set_links(store: Store, project: Row, body: Row) -> None:
    """Choose the trackers and the custom fields of a project's issues."""
    for table, name in (("trackers", "tracker_ids"), ("custom_fields", "issue_custom_field_ids")):
        if isinstance(body.get(name), list):
            links, column = _LINKS[table]
            store[links].remove_where(project_id=project["id"])
            for number in dict.fromkeys(to_id(each) for each in body[name]):
                if store[table].get(number):
                    store[links].add(**{"project_id": project["id"], column: number})


def delete_project(req: ApiRequest) -> Any:
    """Delete a project with everything in it. Only administrators can delete one that has subprojects."""
    project = req.project("id")
    doomed = branch(req.store, project)
    req.check(req.user.admin or (req.user.may("delete_project", project) and len(doomed) == 1))
    for each in doomed:
        _remove(req.store, each)
    renumber_projects(req.store)
    return DONE


def _remove(store: Store, project: Row) -> None:
    number = project["id"]
    for member in store["members"].where(project_id=number):
        store["member_roles"].remove_where(member_id=member["id"])
        store["members"].remove(member)
    for issue in store["issues"].where(project_id=number):
        erase_issue(store, issue)
    for kind, table in (("News", "news"), ("Version", "versions"), ("TimeEntry", "time_entries")):
        for row in store[table].where(project_id=number):
            store.remove_parts(kind, row["id"])
            store[table].remove(row)
    for wiki in store["wikis"].where(project_id=number):
        for page in store["wiki_pages"].where(wiki_id=wiki["id"]):
            remove_page(store, page)
        store["wikis"].remove(wiki)
    for table in _TABLES:
        store[table].remove_where(project_id=number)
    store.remove_parts("Project", number)
    store["projects"].remove(project)


def set_status(old: int, new: int) -> Endpoint:
    """Return the endpoint that closes or reopens a project, with all below it that are in the old state."""

    def endpoint(req: ApiRequest) -> Any:
        project = req.project("id")
        req.need(project, "close_project")
        for each in branch(req.store, project):
            each["status"] = new if each["status"] == old else each["status"]
        return DONE

    return endpoint


close_project: Final = set_status(ACTIVE, CLOSED)
reopen_project: Final = set_status(CLOSED, ACTIVE)


def archive_project(req: ApiRequest) -> Any:
    """Archive a project with all below it, unless issues elsewhere use its versions."""
    project = req.project("id")
    req.check(req.user.admin)
    inside = {each["id"]: each for each in branch(req.store, project)}
    versions = {each["id"] for each in req.store["versions"] if each["project_id"] in inside}
    users = [each["project_id"] for each in req.store["issues"] if each.get("fixed_version_id") in versions]
    refuse([] if all(each in inside for each in users) else ["This project cannot be archived"])
    for each in inside.values():
        each.update(status=ARCHIVED, updated_on=now_text())
    return DONE


def unarchive_project(req: ApiRequest) -> Any:
    """Unarchive a project with its archived ancestors. Below a closed project it comes back closed."""
    project = req.project("id")
    req.check(req.user.admin)
    above = ancestors(req.store, project)
    status = CLOSED if any(each["status"] == CLOSED for each in above) else ACTIVE
    for each in [project, *above] if project["status"] != ACTIVE else []:
        each["status"] = status if each["status"] == ARCHIVED else each["status"]
    return DONE
