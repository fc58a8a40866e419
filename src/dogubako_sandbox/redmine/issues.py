"""One issue: show, create, copy, update, delete."""

from functools import partial
from typing import Any, Final

from dogubako_sandbox.redmine.attachments import Upload, uploaded
from dogubako_sandbox.redmine.custom_fields import Values, issue_fields, values_of
from dogubako_sandbox.redmine.issue_draft import Draft, allowed_trackers, assign, draft_of, new_draft
from dogubako_sandbox.redmine.issue_rules import issue_errors
from dogubako_sandbox.redmine.issue_saving import delete_with_children, save_changes, save_new
from dogubako_sandbox.redmine.issue_serializer import included, shown_issue
from dogubako_sandbox.redmine.journals import write_journal
from dogubako_sandbox.redmine.permissions import ACTIVE
from dogubako_sandbox.redmine.projects import trackers_of
from dogubako_sandbox.redmine.request import (
    DONE,
    Answer,
    ApiRequest,
    RefusedError,
    created,
    forbidden,
    not_found,
    refuse,
)
from dogubako_sandbox.redmine.store import Row, Store, to_id, today
from dogubako_sandbox.redmine.trees import children_of

# What a copy does not take from the original.
_OWN: Final = frozenset(
    {"id", "root_id", "lft", "rgt", "created_on", "updated_on", "status_id", "closed_on", "project_id", "tracker_id"}
)


def show_issue(req: ApiRequest) -> Any:
    issue = req.visible_issue()
    return {"issue": {**shown_issue(req, issue), **included(req, issue)}}


def create_issue(req: ApiRequest) -> Answer:
    """Create an issue; the answer shows hours only when the project stands in the address, not only in the body."""
    project = req.project_or_all("add_issues", "copy_issues")
    original = _original(req)
    draft = _draft_of_copy(req, original, project) if original else new_draft(req, project)
    assign(draft, req.body("issue"))
    _check_place(draft)
    issue = save_new(draft, _checked_files(draft), partial(_finish_copy, req, original) if original else None)
    body = {**shown_issue(req, issue, with_time=project is not None), **included(req, issue)}
    # The children of a copy do not count yet.
    body["total_estimated_hours"] = issue.get("estimated_hours")
    return created({"issue": body}, f"{req.base_url}/issues/{issue['id']}")


def _check_place(draft: Draft) -> None:
    req, project = draft.req, draft.project
    if project and draft.tracker is None:
        raise forbidden() if trackers_of(draft.store, project) and not allowed_trackers(draft) else RefusedError(500)
    req.check(req.user.may("add_issues", project) if project else req.user.may_somewhere("add_issues"))


def _checked_files(draft: Draft) -> list[Upload]:
    """Return the files of the request, when nothing speaks against saving the draft."""
    files, lost = uploaded(draft.store, draft.req.body("issue").get("uploads"))
    refuse(issue_errors(draft, lost))
    return files


def update_issue(req: ApiRequest) -> Answer:
    """Answer 204 whatever was dropped on the way."""
    issue = req.visible_issue()
    req.need(req.store.project_of(issue), "edit_issues", "edit_own_issues", "add_issue_notes")
    draft = draft_of(req, issue)
    assign(draft, req.body("issue"))
    files = _checked_files(draft)
    if to_id(draft.issue["lock_version"]) != issue["lock_version"]:
        raise RefusedError(422, [])
    save_changes(draft, files)
    return DONE


def delete_issue(req: ApiRequest) -> Answer:
    issue = req.visible_issue()
    req.need(req.store.project_of(issue), "delete_issues")
    delete_with_children(req, issue)
    return DONE


def _original(req: ApiRequest) -> Row | None:
    """Return the issue that `copy_from` names, for users who see it and may copy it."""
    if req.params.get("copy_from") is None:
        return None
    issue = req.store["issues"].get(req.params["copy_from"])
    if issue is None or not req.user.sees_issue(issue):
        raise not_found()
    req.check(req.user.may("copy_issues", req.store.project_of(issue)))
    return issue


def _draft_of_copy(req: ApiRequest, original: Row, project: Row | None) -> Draft:
    """Copy everything but the status and the history; the user is the author."""
    draft = _copied(req, original)
    if project:
        draft.set_project(project)
    else:
        draft.issue["project_id"] = None
    draft.issue["start_date"] = draft.issue.get("start_date") or today().isoformat()
    if project and req.user.may("add_issue_watchers", project):
        rows = req.store["watchers"].where(watchable_type="Issue", watchable_id=original["id"])
        watchers = [req.store["users"].at(row["user_id"]) for row in rows]
        draft.watcher_ids = [each["id"] for each in watchers if each.get("status") == ACTIVE]
    return draft


def _copied(req: ApiRequest, original: Row) -> Draft:
    draft = new_draft(req, req.store.project_of(original))
    draft.set_tracker(req.store["trackers"].at(original["tracker_id"]))
    columns = {name: value for name, value in original.items() if name not in _OWN}
    draft.issue |= {"start_date": None, **columns, "author_id": req.user.id}
    draft.values |= _copied_values(req.store, original)
    return draft


def _copied_values(store: Store, original: Row) -> Values:
    """Copy values without files; fields without a value have an empty one in the copy."""
    fields = issue_fields(store, original)
    values = values_of(store, "Issue", original["id"], fields)
    files = {field["id"] for field in fields if field["field_format"] == "attachment"}
    copied = {name: "" if value is None or name in files else value for name, value in values.items()}
    return {**copied, **{name: None for name in files if values[name] is None}}


def _finish_copy(req: ApiRequest, original: Row, issue: Row) -> None:
    """Copy the files, link the two, and copy the children, if the request says so."""
    if req.text("copy_attachments"):
        for row in req.store["attachments"].where(container_type="Issue", container_id=original["id"]):
            copied = {name: value for name, value in row.items() if name != "id"}
            req.store["attachments"].add(**{**copied, "container_id": issue["id"], "downloads": 0})
    if req.text("link_copy") == "1" and original["project_id"] == issue["project_id"]:
        ends = {"issue_from_id": original["id"], "issue_to_id": issue["id"]}
        req.store["issue_relations"].add(**ends, relation_type="copied_to", delay=None)
        write_journal(req, original, [("relation", "copied_to", None, issue["id"])])
        write_journal(req, issue, [("relation", "copied_from", None, original["id"])])
    for child in sorted(children_of(req.store, original), key=lambda each: int(each["id"])):
        if req.text("copy_subtasks") and child["id"] != issue["id"] and req.user.sees_issue(child):
            draft = _copied(req, child)
            draft.set_project(req.store.project_of(issue))
            draft.issue["parent_id"] = issue["id"]
            save_new(draft, [], partial(_finish_copy, req, child))
