"""A new issue as a copy of another: `POST /issues.json?copy_from=3`, with or without its files and children."""

from functools import partial
from typing import Final

from dogubako.sandbox.redmine.asking import Ask, not_found
from dogubako.sandbox.redmine.clock import today
from dogubako.sandbox.redmine.custom_values import Values, values_of
from dogubako.sandbox.redmine.issue_access import sees_issue
from dogubako.sandbox.redmine.issue_draft import Draft, new_draft
from dogubako.sandbox.redmine.issue_fields import issue_fields
from dogubako.sandbox.redmine.issue_saving import save_new
from dogubako.sandbox.redmine.issue_tree import children_of
from dogubako.sandbox.redmine.journals import write_journal
from dogubako.sandbox.redmine.store import Row, Store
from dogubako.sandbox.redmine.visitor import ACTIVE

# What every issue has for itself.
_OWN: Final = frozenset(
    {"id", "root_id", "lft", "rgt", "created_on", "updated_on", "status_id", "closed_on", "project_id", "tracker_id"}
)


def original_of(ask: Ask) -> Row | None:
    """The issue that the request wants to copy, for those who see it and may copy it."""
    if ask.params.get("copy_from") is None:
        return None
    issue = ask.store["issues"].get(ask.params["copy_from"])
    if issue is None or not sees_issue(ask.store, ask.who, issue):
        raise not_found()
    if not ask.who.may("copy_issues", ask.store["projects"].at(issue["project_id"])):
        raise ask.denied()
    return issue


def draft_of_copy(ask: Ask, original: Row, project: Row | None) -> Draft:
    """Everything but the status and the history; who copies is the author."""
    draft = _copied(ask, original)
    if project and project["id"] != original["project_id"]:
        draft.issue["project_id"] = original["project_id"]
        draft.set_project(project)
    elif project is None:
        draft.issue["project_id"] = None
    if draft.issue.get("start_date") is None:
        draft.issue["start_date"] = today().isoformat()
    if project and ask.who.may("add_issue_watchers", project):
        rows = ask.store["watchers"].where(watchable_type="Issue", watchable_id=original["id"])
        people = [ask.store["users"].at(row["user_id"]) for row in rows]
        draft.watcher_ids = [each["id"] for each in people if each.get("status") == ACTIVE]
    return draft


def _copied(ask: Ask, original: Row) -> Draft:
    draft = new_draft(ask, ask.store["projects"].at(original["project_id"]))
    draft.set_tracker(ask.store["trackers"].at(original["tracker_id"]))
    draft.issue["start_date"] = None
    draft.issue |= {name: value for name, value in original.items() if name not in _OWN}
    draft.issue["author_id"] = ask.who.id
    draft.values |= _copied_values(ask.store, original)
    return draft


def _copied_values(store: Store, original: Row) -> Values:
    """Fields without a value have an empty one in the copy; files are not copied."""
    fields = issue_fields(store, original)
    values = values_of(store, "Issue", original["id"], fields)
    files = {field["id"] for field in fields if field["field_format"] == "attachment"}
    return {name: "" if value is None or name in files else value for name, value in values.items()} | {
        name: None for name in files if values[name] is None
    }


def finish_copy(ask: Ask, original: Row | None, issue: Row) -> None:
    """The files, a link between the two, and the children, when the request asks for them."""
    if original is None:
        return
    if ask.text("copy_attachments"):
        _copy_files(ask, original, issue)
    _link(ask, original, issue)
    if ask.text("copy_subtasks"):
        _copy_children(ask, original, issue)


def _link(ask: Ask, original: Row, issue: Row) -> None:
    if ask.text("link_copy") == "1" and original["project_id"] == issue["project_id"]:
        ask.store["issue_relations"].add(
            issue_from_id=original["id"], issue_to_id=issue["id"], relation_type="copied_to", delay=None
        )
        write_journal(ask.store, ask.who, original, [("relation", "copied_to", None, issue["id"])])
        write_journal(ask.store, ask.who, issue, [("relation", "copied_from", None, original["id"])])


def _copy_files(ask: Ask, original: Row, issue: Row) -> None:
    for row in ask.store["attachments"].where(container_type="Issue", container_id=original["id"]):
        copied = {name: value for name, value in row.items() if name != "id"}
        ask.store["attachments"].add(**{**copied, "container_id": issue["id"], "downloads": 0})


def _copy_children(ask: Ask, original: Row, issue: Row) -> None:
    for child in sorted(children_of(ask.store, original), key=lambda each: int(each["id"])):
        if child["id"] == issue["id"] or not sees_issue(ask.store, ask.who, child):
            continue
        draft = _copied(ask, child)
        draft.set_project(ask.store["projects"].at(issue["project_id"]))
        draft.issue["parent_id"] = issue["id"]
        save_new(draft, [], partial(finish_copy, ask, child))
