"""Saving a draft: the row, its custom fields and files, and everything that other issues notice of it."""

from collections.abc import Callable
from typing import Final

from dogubako.sandbox.redmine.attaching import Upload, attach
from dogubako.sandbox.redmine.clock import now_text
from dogubako.sandbox.redmine.custom_values import Values, save_values, values_of
from dogubako.sandbox.redmine.issue_access import sees_issue
from dogubako.sandbox.redmine.issue_draft import Draft
from dogubako.sandbox.redmine.issue_fields import issue_fields
from dogubako.sandbox.redmine.issue_tree import ancestors_of, children_of, descendants_of, is_closed, renumber
from dogubako.sandbox.redmine.journals import Detail, write_journal
from dogubako.sandbox.redmine.scheduling import derive_parents, reschedule_followers, touch
from dogubako.sandbox.redmine.store import Row, Store
from dogubako.sandbox.redmine.visitor import Visitor

# What the history tells, in the order of the columns.
_JOURNALIZED: Final = (
    "tracker_id",
    "project_id",
    "subject",
    "description",
    "due_date",
    "category_id",
    "status_id",
    "assigned_to_id",
    "priority_id",
    "fixed_version_id",
    "author_id",
    "start_date",
    "done_ratio",
    "estimated_hours",
    "parent_id",
    "is_private",
)


def save_new(draft: Draft, files: list[Upload], finish: Callable[[Row], None] | None = None) -> Row:
    """`finish` is what else belongs to a new issue before its parent hears of it."""
    store, now = draft.store, now_text()
    _assign_by_default(draft)
    closed_on = {"closed_on": now} if is_closed(store, draft.issue) else {}
    issue = store["issues"].add(**{**draft.issue, "created_on": now, "updated_on": now, "lock_version": 0, **closed_on})
    save_values(store, "Issue", issue["id"], draft.values)
    attach(files, "Issue", issue["id"])
    for user_id in draft.watcher_ids:
        store["watchers"].add(watchable_type="Issue", watchable_id=issue["id"], user_id=user_id)
    renumber(store, issue)
    if issue.get("parent_id"):
        derive_parents(store, issue["parent_id"])
    if finish:
        finish(issue)
    if issue.get("parent_id"):
        tell_parent(store, draft.ask.who, issue["parent_id"], old=None, new=issue["id"])
    return issue


def _assign_by_default(draft: Draft) -> None:
    """The category, or else the project, may say who gets new issues."""
    if draft.issue.get("assigned_to_id") is None:
        category = draft.store["issue_categories"].get(draft.issue.get("category_id")) or {}
        project = draft.project or {}
        draft.issue["assigned_to_id"] = category.get("assigned_to_id") or project.get("default_assigned_to_id")


def save_changes(draft: Draft, files: list[Upload]) -> None:
    """Every update counts as one, also an empty one: it gets a new time and a new lock_version."""
    store, issue, who = draft.store, draft.was, draft.ask.who
    assert issue is not None
    before = dict(issue)
    values_before = values_of(store, "Issue", issue["id"], issue_fields(store, issue))
    closes = is_closed(store, draft.issue) and not is_closed(store, issue)
    if closes:
        _close_duplicates(draft, issue)
    touch(issue, {name: value for name, value in draft.issue.items() if name != "lock_version"})
    if closes:
        issue["closed_on"] = issue["updated_on"]
    save_values(store, "Issue", issue["id"], draft.values)
    attached: list[Detail] = [
        ("attachment", str(row["id"]), None, row["filename"]) for row in attach(files, "Issue", issue["id"])
    ]
    _tell_others(store, who, issue, before)
    details = [*attached, *_attributes(before, issue), *custom_details(values_before, draft.values)]
    details += _deleted_files(draft, issue)
    write_journal(store, who, issue, details, draft.notes, private=draft.private_notes)
    _tell_parents(store, who, issue, before)


def _deleted_files(draft: Draft, issue: Row) -> list[Detail]:
    rows = draft.store["attachments"].where(container_type="Issue", container_id=issue["id"])
    gone = [row for row in rows if row["id"] in draft.files_to_delete]
    for row in gone:
        draft.store["attachments"].remove(row)
    return [("attachment", str(row["id"]), row["filename"], None) for row in gone]


def _tell_others(store: Store, who: Visitor, issue: Row, before: Row) -> None:
    if issue["project_id"] != before["project_id"]:
        _leave_project(store, issue, before["project_id"])
    if any(issue.get(name) != before.get(name) for name in ("start_date", "due_date")):
        reschedule_followers(store, issue, who)
    if issue.get("parent_id") != before.get("parent_id"):
        _change_place(store, issue, before.get("parent_id"))
    derive_parents(store, issue.get("parent_id"))


def _leave_project(store: Store, issue: Row, old_project: int) -> None:
    """Time goes along, and so do the children that were in the same project; relations do not cross projects."""
    for entry in store["time_entries"].where(issue_id=issue["id"]):
        entry["project_id"] = issue["project_id"]
    if str(store.setting("cross_project_issue_relations")) != "1":
        for name in ("issue_from_id", "issue_to_id"):
            store["issue_relations"].remove_where(**{name: issue["id"]})
    for child in children_of(store, issue):
        if child["project_id"] == old_project:
            touch(child, {"project_id": issue["project_id"], "category_id": None})
            _leave_project(store, child, old_project)


def _change_place(store: Store, issue: Row, old_parent: int | None) -> None:
    renumber(store, issue)
    if old_parent:
        renumber(store, store["issues"].at(old_parent))
    tree = {each["id"] for each in (issue, *descendants_of(store, issue))}
    above = {each["id"] for each in ancestors_of(store, issue)}
    for row in store["issue_relations"]:
        ends = {row["issue_from_id"], row["issue_to_id"]}
        # An issue cannot be related to one of its own parents.
        if ends & tree and ends & above:
            store["issue_relations"].remove(row)
    derive_parents(store, old_parent)


def _tell_parents(store: Store, who: Visitor, issue: Row, before: Row) -> None:
    if issue.get("parent_id") != before.get("parent_id"):
        tell_parent(store, who, before.get("parent_id"), old=issue["id"], new=None)
        tell_parent(store, who, issue.get("parent_id"), old=None, new=issue["id"])


def tell_parent(store: Store, who: Visitor, parent_id: int | None, *, old: int | None, new: int | None) -> None:
    """A parent's history tells which children came and went."""
    parent = store["issues"].get(parent_id) if parent_id else None
    if parent and sees_issue(store, who, parent):
        touch(parent, {})
        write_journal(store, who, parent, [("attr", "child_id", old, new)])


def _attributes(before: Row, issue: Row) -> list[Detail]:
    pairs = [(name, before.get(name), issue.get(name)) for name in _JOURNALIZED]
    return [
        ("attr", name, old, new)
        for name, old, new in pairs
        if old != new and not (old in (None, "", False) and new in (None, "", False))
    ]


def custom_details(before: Values, after: Values) -> list[Detail]:
    """One line per value that went or came in a field with many values, one per field in others."""
    found: list[Detail] = []
    for name in [*before, *(each for each in after if each not in before)]:
        old, new = before.get(name), after.get(name)
        if isinstance(old, list) or isinstance(new, list):
            olds, news = _as_list(old), _as_list(new)
            found += [("cf", str(name), each, None) for each in olds if each not in news]
            found += [("cf", str(name), None, each) for each in news if each not in olds]
        elif old != new and not (not old and not new):
            found.append(("cf", str(name), old, new))
    return found


def _as_list(value: object) -> list[object]:
    values = value if isinstance(value, list) else [value]
    return [each for each in values if each not in (None, "")]


def _close_duplicates(draft: Draft, issue: Row) -> None:
    """What duplicates a closed issue is closed with it, and with the same note."""
    store, who = draft.store, draft.ask.who
    for row in store["issue_relations"].where(issue_to_id=issue["id"], relation_type="duplicates"):
        other = store["issues"].at(row["issue_from_id"])
        if not is_closed(store, other):
            old, new = other["status_id"], draft.issue["status_id"]
            touch(other, {"status_id": new})
            other["closed_on"] = other["updated_on"]
            derive_parents(store, other.get("parent_id"))
            details: list[Detail] = [("attr", "status_id", old, new)]
            write_journal(store, who, other, details, draft.notes, private=draft.private_notes)


def delete_with_children(store: Store, who: Visitor, issue: Row) -> None:
    """An issue goes with everything that hangs on it: children, time, history, files, relations."""
    parent_id = issue.get("parent_id")
    for child in children_of(store, issue):
        _delete_below(store, child)
    _erase(store, issue)
    if parent_id and store["issues"].get(parent_id):
        renumber(store, store["issues"].at(parent_id))
        derive_parents(store, parent_id)
        tell_parent(store, who, parent_id, old=issue["id"], new=None)


def _delete_below(store: Store, issue: Row) -> None:
    """From the bottom up; each parent forgets its dates with its last child, and those above notice."""
    for child in children_of(store, issue):
        _delete_below(store, child)
    _erase(store, issue)
    derive_parents(store, issue["parent_id"], was_parent=True)


def _erase(store: Store, issue: Row) -> None:
    number = issue["id"]
    for journal in store["journals"].where(journalized_id=number, journalized_type="Issue"):
        store["journal_details"].remove_where(journal_id=journal["id"])
        store["journals"].remove(journal)
    store["time_entries"].remove_where(issue_id=number)
    store["issue_relations"].remove_where(issue_from_id=number)
    store["issue_relations"].remove_where(issue_to_id=number)
    store["watchers"].remove_where(watchable_type="Issue", watchable_id=number)
    store["attachments"].remove_where(container_type="Issue", container_id=number)
    store["custom_values"].remove_where(customized_id=number, customized_type="Issue")
    store["issues"].remove(issue)
