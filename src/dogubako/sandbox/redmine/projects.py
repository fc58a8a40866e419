"""Projects: lists and single ones, made, changed, closed, archived and deleted."""

from typing import Any, Final

from dogubako.sandbox.redmine.asking import DONE, Ask, created, page_of, unprocessable
from dogubako.sandbox.redmine.clock import now_text
from dogubako.sandbox.redmine.membership_roles import add_role, inherit_from_parent, new_member
from dogubako.sandbox.redmine.project_checks import checked_project
from dogubako.sandbox.redmine.project_filters import filtered_projects
from dogubako.sandbox.redmine.project_parts import set_modules, set_parts
from dogubako.sandbox.redmine.project_removal import remove_project
from dogubako.sandbox.redmine.project_shown import in_list, in_whole
from dogubako.sandbox.redmine.project_tree import ancestors, renumber
from dogubako.sandbox.redmine.shapes import body_object, save_customs
from dogubako.sandbox.redmine.sharing import is_under, with_descendants
from dogubako.sandbox.redmine.store import Row
from dogubako.sandbox.redmine.visitor import ACTIVE, ARCHIVED, CLOSED

_FRESH: Final[Row] = {"name": "", "identifier": "", "homepage": "", "status": ACTIVE, "inherit_members": False}


def list_projects(ask: Ask) -> Any:
    """Active ones, in the order of the tree, unless filters or a sort say otherwise."""
    return page_of(ask, "projects", filtered_projects(ask), lambda row: in_list(ask, row))


def show_project(ask: Ask) -> Any:
    project = ask.project("id")
    ask.need(project, "view_project")
    return {"project": in_whole(ask, project)}


def create_project(ask: Ask) -> Any:
    """Whoever is no administrator becomes its first member."""
    if not (ask.who.may_somewhere("add_project") or ask.who.may_somewhere("add_subprojects")):
        raise ask.denied()
    store, now = ask.store, now_text()
    body = body_object(ask, "project")
    fresh = {**_FRESH, "is_public": store.setting("default_projects_public") == "1"}
    columns, values = checked_project(ask, fresh, body)
    project = store["projects"].add(**columns, created_on=now, updated_on=now, lft=0, rgt=0)
    renumber(store)
    set_modules(store, project, body.get("enabled_module_names"))
    set_parts(store, project, {"tracker_ids": store.setting("default_projects_tracker_ids"), **body})
    save_customs(store, "Project", project, values)
    inherit_from_parent(store, project)
    if not ask.who.admin:
        _join(ask, project)
    return created({"project": in_whole(ask, project)}, f"{ask.base_url}/projects/{project['id']}")


def _join(ask: Ask, project: Row) -> None:
    roles = sorted(ask.store["roles"].where(builtin=0), key=lambda each: each["position"])
    assert ask.who.id is not None
    add_role(ask.store, new_member(ask.store, project["id"], ask.who.id), roles[0]["id"])


def update_project(ask: Ask) -> Any:
    project = ask.project("id")
    ask.need(project, "edit_project")
    body = body_object(ask, "project")
    columns, values = checked_project(ask, project, body)
    inherited = (project.get("parent_id"), project["inherit_members"])
    if save_customs(ask.store, "Project", project, values) or columns != project:
        project.update(columns, updated_on=now_text())
    renumber(ask.store)
    if inherited != (project.get("parent_id"), project["inherit_members"]):
        inherit_from_parent(ask.store, project)
    if "enabled_module_names" in body and ask.who.may("select_project_modules", project):
        set_modules(ask.store, project, body["enabled_module_names"])
    set_parts(ask.store, project, body)
    return DONE


def delete_project(ask: Ask) -> Any:
    """With everything in it. Only administrators can delete one that has subprojects."""
    project = ask.project("id")
    branch = with_descendants(ask.store, project)
    if not ask.who.admin and not (ask.who.may("delete_project", project) and len(branch) == 1):
        raise ask.denied()
    for each in branch:
        remove_project(ask.store, each)
    renumber(ask.store)
    return DONE


def close_project(ask: Ask) -> Any:
    return _set_status(ask, ACTIVE, CLOSED)


def reopen_project(ask: Ask) -> Any:
    return _set_status(ask, CLOSED, ACTIVE)


def _set_status(ask: Ask, old: int, new: int) -> Any:
    """A project and all below it that are in the old state."""
    project = ask.project("id")
    ask.need(project, "close_project")
    for each in with_descendants(ask.store, project):
        if each["status"] == old:
            each["status"] = new
    return DONE


def archive_project(ask: Ask) -> Any:
    project = ask.project("id")
    ask.need_admin()
    branch = with_descendants(ask.store, project)
    if _versions_are_used_elsewhere(ask, project, branch):
        raise unprocessable("This project cannot be archived")
    for each in branch:
        each.update(status=ARCHIVED, updated_on=now_text())
    return DONE


def unarchive_project(ask: Ask) -> Any:
    """Its archived ancestors come back too. Below a closed project it comes back closed."""
    project = ask.project("id")
    ask.need_admin()
    above = ancestors(ask.store, project)
    status = CLOSED if any(each["status"] == CLOSED for each in above) else ACTIVE
    branch = [project, *above] if project["status"] != ACTIVE else []
    for each in branch:
        if each["status"] == ARCHIVED:
            each["status"] = status
    return DONE


def _versions_are_used_elsewhere(ask: Ask, project: Row, branch: list[Row]) -> bool:
    inside = {each["id"] for each in branch}
    versions = {each["id"] for each in ask.store["versions"] if each["project_id"] in inside}
    users = [each for each in ask.store["issues"] if each.get("fixed_version_id") in versions]
    homes = [ask.store["projects"].at(each["project_id"]) for each in users]
    return any(each["id"] != project["id"] and not is_under(each, project) for each in homes)
