"""Saving and deleting issues: the row, its custom fields and files, and all changes that follow in other issues."""

from collections.abc import Callable
from typing import Final

from dogubako_sandbox.redmine.attachments import Upload, attach, may_delete
from dogubako_sandbox.redmine.custom_fields import Values, issue_fields, save_values, values_of
from dogubako_sandbox.redmine.issue_draft import Draft
from dogubako_sandbox.redmine.journals import Detail, write_journal
from dogubako_sandbox.redmine.request import DONE, Answer, ApiRequest
from dogubako_sandbox.redmine.scheduling import derive_parents, reschedule_followers, touch
from dogubako_sandbox.redmine.store import Row, now_text, to_list
from dogubako_sandbox.redmine.trees import (
    ancestors_of,
    children_of,
    descendants_of,
    erase_issue,
    is_closed,
    renumber_issues,
)

# The columns that the history tells, in their order.
_JOURNALIZED: Final = (
    "tracker_id project_id subject description due_date category_id status_id assigned_to_id priority_id "
    "fixed_version_id author_id start_date done_ratio estimated_hours parent_id is_private"
)
_EMPTY: Final = (None, "", False)


def save_new(draft: Draft, files: list[Upload], finish: Callable[[Row], None] | None = None) -> Row:
    """Save a new issue; `finish` adds what else belongs to it before its parent is told."""
    req, store, now = draft.req, draft.store, now_text()
    if draft.issue.get("assigned_to_id") is None:
        category = store["issue_categories"].get(draft.issue.get("category_id")) or {}
        default = category.get("assigned_to_id") or (draft.project or {}).get("default_assigned_to_id")
        draft.issue["assigned_to_id"] = default
    closed_on = {"closed_on": now} if is_closed(store, draft.issue) else {}
    issue = store["issues"].add(**{**draft.issue, "created_on": now, "updated_on": now, "lock_version": 0, **closed_on})
    save_values(store, "Issue", issue["id"], draft.values)
    attach(files, "Issue", issue["id"])
    for user_id in draft.watcher_ids:
        store["watchers"].add(watchable_type="Issue", watchable_id=issue["id"], user_id=user_id)
    renumber_issues(store, issue)
    derive_parents(req, issue.get("parent_id"))
    if finish:
        finish(issue)
    _tell_parent(req, issue.get("parent_id"), old=None, new=issue["id"])
    return issue


def save_changes(draft: Draft, files: list[Upload]) -> None:
    """Save an update; also an empty one gets a new time and a new lock_version."""
    req, store, issue = draft.req, draft.store, draft.was
    assert issue is not None
    before = dict(issue)
    values_before = values_of(store, "Issue", issue["id"], issue_fields(store, issue))
    closes = is_closed(store, draft.issue) and not is_closed(store, issue)
    if closes:
        _close_duplicates(draft, issue)
    touch(issue, **{name: value for name, value in draft.issue.items() if name != "lock_version"})
    if closes:
        issue["closed_on"] = issue["updated_on"]
    save_values(store, "Issue", issue["id"], draft.values)
    attached = attach(files, "Issue", issue["id"])
    details: list[Detail] = [("attachment", str(row["id"]), None, row["filename"]) for row in attached]
    _change_others(req, issue, before)
    details += [*_column_details(before, issue), *_custom_details(values_before, draft.values)]
    write_journal(req, issue, details, draft.notes, private=draft.private_notes)
    if issue.get("parent_id") != before.get("parent_id"):
        _tell_parent(req, before.get("parent_id"), old=issue["id"], new=None)
        _tell_parent(req, issue.get("parent_id"), old=None, new=issue["id"])


def _change_others(req: ApiRequest, issue: Row, before: Row) -> None:
    if issue["project_id"] != before["project_id"]:
        _leave_project(req, issue, before["project_id"])
    if any(issue.get(name) != before.get(name) for name in ("start_date", "due_date")):
        reschedule_followers(req, issue, journal=True)
    if issue.get("parent_id") != before.get("parent_id"):
        _change_place(req, issue, before.get("parent_id"))
    derive_parents(req, issue.get("parent_id"))


def _leave_project(req: ApiRequest, issue: Row, old_project: int) -> None:
    """Take along time, and the children that were in the same project; relations do not cross projects."""
    for entry in req.store["time_entries"].where(issue_id=issue["id"]):
        entry["project_id"] = issue["project_id"]
    for name in ("issue_from_id", "issue_to_id"):
        req.store["issue_relations"].remove_where(**{name: issue["id"]})
    for child in children_of(req.store, issue):
        if child["project_id"] == old_project:
            touch(child, project_id=issue["project_id"], category_id=None)
            _leave_project(req, child, old_project)


def _change_place(req: ApiRequest, issue: Row, old_parent: int | None) -> None:
    """Number both trees again, and remove relations with parents, which an issue cannot have."""
    store = req.store
    renumber_issues(store, issue)
    if old_parent:
        renumber_issues(store, store["issues"].at(old_parent))
    tree = {each["id"] for each in (issue, *descendants_of(store, issue))}
    above = {each["id"] for each in ancestors_of(store, issue)}
    for row in store["issue_relations"]:
        ends = {row["issue_from_id"], row["issue_to_id"]}
        if ends & tree and ends & above:
            store["issue_relations"].remove(row)
    derive_parents(req, old_parent)


def _tell_parent(req: ApiRequest, parent_id: int | None, *, old: int | None, new: int | None) -> None:
    """Write into a parent's history which child came or went."""
    parent = req.store["issues"].get(parent_id)
    if parent and req.user.sees_issue(parent):
        touch(parent)
        write_journal(req, parent, [("attr", "child_id", old, new)])


def _column_details(before: Row, issue: Row) -> list[Detail]:
    pairs = [(name, before.get(name), issue.get(name)) for name in _JOURNALIZED.split()]
    changed = [each for each in pairs if each[1] != each[2] and not (each[1] in _EMPTY and each[2] in _EMPTY)]
    return [("attr", name, old, new) for name, old, new in changed]


def _custom_details(before: Values, after: Values) -> list[Detail]:
    """Tell each value that went or came in a field with many values, and one change per field in others."""
    details: list[Detail] = []
    for name in {**before, **after}:
        old, new = before.get(name), after.get(name)
        if isinstance(old, list) or isinstance(new, list):
            olds, news = ([each for each in to_list(values) if each] for values in (old, new))
            details += [("cf", str(name), each, None) for each in olds if each not in news]
            details += [("cf", str(name), None, each) for each in news if each not in olds]
        elif old != new and (old or new):
            details.append(("cf", str(name), old, new))
    return details


def _close_duplicates(draft: Draft, issue: Row) -> None:
    """Close the duplicates of a closed issue with it, with the same note."""
    for row in draft.store["issue_relations"].where(issue_to_id=issue["id"], relation_type="duplicates"):
        other = draft.store["issues"].at(row["issue_from_id"])
        if not is_closed(draft.store, other):
            old, new = other["status_id"], draft.issue["status_id"]
            touch(other, status_id=new)
            other["closed_on"] = other["updated_on"]
            derive_parents(draft.req, other.get("parent_id"))
            details: list[Detail] = [("attr", "status_id", old, new)]
            write_journal(draft.req, other, details, draft.notes, private=draft.private_notes)


def delete_attachment(req: ApiRequest) -> Answer:
    """Delete a file; the history of its issue tells it."""
    row = req.row("attachments")
    req.check(may_delete(req, row))
    req.store["attachments"].remove(row)
    if row.get("container_type") == "Issue":
        issue = req.store["issues"].at(row["container_id"])
        touch(issue)
        write_journal(req, issue, [("attachment", str(row["id"]), row["filename"], None)])
    return DONE


def delete_with_children(req: ApiRequest, issue: Row) -> None:
    parent = req.store["issues"].get(issue.get("parent_id"))
    for child in children_of(req.store, issue):
        _delete_below(req, child)
    erase_issue(req.store, issue)
    if parent:
        renumber_issues(req.store, parent)
        derive_parents(req, parent["id"])
        _tell_parent(req, parent["id"], old=issue["id"], new=None)


def _delete_below(req: ApiRequest, issue: Row) -> None:
    """Delete from the bottom up; each parent loses its dates with its last child, and issues above notice."""
    for child in children_of(req.store, issue):
        _delete_below(req, child)
    erase_issue(req.store, issue)
    derive_parents(req, issue["parent_id"], was_parent=True)
