"""An issue as the API shows it, with what `include` asks for."""

from typing import Any

from dogubako.sandbox.redmine.asking import Ask
from dogubako.sandbox.redmine.attaching import attachments_of, shown_attachment
from dogubako.sandbox.redmine.clock import shown_time
from dogubako.sandbox.redmine.custom_values import shown_values, values_of
from dogubako.sandbox.redmine.issue_access import sees_issue
from dogubako.sandbox.redmine.issue_fields import visible_fields
from dogubako.sandbox.redmine.issue_tree import children_of, is_leaf, with_descendants
from dogubako.sandbox.redmine.journals import shown_journals
from dogubako.sandbox.redmine.naming import named, person, reference
from dogubako.sandbox.redmine.relation_rules import relations_of, shown_relation
from dogubako.sandbox.redmine.store import Row, Store
from dogubako.sandbox.redmine.time_access import visible_hours
from dogubako.sandbox.redmine.workflow import allowed_statuses


def shown_status(status: Row) -> dict[str, Any]:
    return {**named(status), "is_closed": bool(status.get("is_closed"))}


def shown_issue(ask: Ask, issue: Row, *, with_time: bool = True) -> dict[str, Any]:
    """All that is shown of an issue without any `include`."""
    shown = {
        **_references(ask.store, issue),
        "subject": issue["subject"],
        "description": issue.get("description"),
        "start_date": issue.get("start_date"),
        "due_date": issue.get("due_date"),
        "done_ratio": issue["done_ratio"],
        "is_private": bool(issue.get("is_private")),
        "estimated_hours": issue.get("estimated_hours"),
        "total_estimated_hours": total_estimated_hours(ask, issue),
    }
    project = ask.store["projects"].at(issue["project_id"])
    if with_time and ask.who.may("view_time_entries", project):
        everything = {each["id"] for each in with_descendants(ask.store, issue)}
        shown["spent_hours"] = visible_hours(ask.store, ask.who, {issue["id"]})
        shown["total_spent_hours"] = visible_hours(ask.store, ask.who, everything)
    fields = visible_fields(ask.store, ask.who, issue)
    if fields:
        shown["custom_fields"] = shown_values(fields, values_of(ask.store, "Issue", issue["id"], fields))
    times = ("created_on", "updated_on", "closed_on")
    return {**shown, **{name: shown_time(issue.get(name)) for name in times}}


def _references(store: Store, issue: Row) -> dict[str, Any]:
    status = store["issue_statuses"].get(issue["status_id"])
    parent = store["issues"].get(issue["parent_id"]) if issue.get("parent_id") else None
    found = {
        "id": issue["id"],
        "project": reference(store, "projects", issue["project_id"]),
        "tracker": reference(store, "trackers", issue["tracker_id"]),
        "status": shown_status(status) if status else None,
        "priority": reference(store, "enumerations", issue["priority_id"]),
        "author": person(store, issue["author_id"]),
        "assigned_to": person(store, issue.get("assigned_to_id")),
        "category": reference(store, "issue_categories", issue.get("category_id")),
        "fixed_version": reference(store, "versions", issue.get("fixed_version_id")),
        "parent": {"id": parent["id"]} if parent else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def total_estimated_hours(ask: Ask, issue: Row) -> float | None:
    """A parent's estimate is its own and that of all below it that the visitor sees."""
    if is_leaf(ask.store, issue):
        hours: float | None = issue.get("estimated_hours")
        return hours
    tree = with_descendants(ask.store, issue)
    return float(sum(each.get("estimated_hours") or 0 for each in tree if sees_issue(ask.store, ask.who, each)))


def included(ask: Ask, issue: Row) -> dict[str, Any]:
    """What `include` asks for, in Redmine's order; words that it does not know are ignored."""
    found: dict[str, Any] = {}
    if ask.includes("children") and not is_leaf(ask.store, issue):
        found["children"] = _shown_children(ask.store, issue)
    if ask.includes("attachments"):
        found["attachments"] = _shown_files(ask, issue)
    relations = [each for each in relations_of(ask.store, issue) if _other_is_visible(ask, each, issue)]
    if ask.includes("relations") and relations:
        found["relations"] = [shown_relation(each) for each in relations]
    if ask.includes("changesets"):
        found["changesets"] = []
    if ask.includes("journals"):
        found["journals"] = shown_journals(ask, issue)
    return {**found, **_included_people(ask, issue)}


def _included_people(ask: Ask, issue: Row) -> dict[str, Any]:
    found: dict[str, Any] = {}
    project = ask.store["projects"].at(issue["project_id"])
    if ask.includes("watchers") and ask.who.may("view_issue_watchers", project):
        rows = ask.store["watchers"].where(watchable_type="Issue", watchable_id=issue["id"])
        found["watchers"] = [person(ask.store, row["user_id"]) for row in rows]
    if ask.includes("allowed_statuses"):
        statuses = allowed_statuses(ask.store, ask.who, issue, issue)
        found["allowed_statuses"] = [shown_status(each) for each in statuses]
    return found


def included_in_list(ask: Ask, issue: Row) -> dict[str, Any]:
    """A list knows only two of the words, and shows relations even where there are none."""
    found: dict[str, Any] = {}
    if ask.includes("attachments"):
        found["attachments"] = _shown_files(ask, issue)
    if ask.includes("relations"):
        relations = [each for each in relations_of(ask.store, issue) if _other_is_visible(ask, each, issue)]
        found["relations"] = [shown_relation(each) for each in relations]
    return found


def _shown_files(ask: Ask, issue: Row) -> list[dict[str, Any]]:
    return [shown_attachment(ask, row) for row in attachments_of(ask.store, "Issue", issue["id"])]


def _other_is_visible(ask: Ask, relation: Row, issue: Row) -> bool:
    there = "issue_to_id" if relation["issue_from_id"] == issue["id"] else "issue_from_id"
    other = ask.store["issues"].get(relation[there])
    return other is not None and sees_issue(ask.store, ask.who, other)


def _shown_children(store: Store, issue: Row) -> list[dict[str, Any]]:
    """The whole tree below, also what the visitor could not see alone."""
    shown = []
    for child in sorted(children_of(store, issue), key=lambda each: each["lft"]):
        below = {} if is_leaf(store, child) else {"children": _shown_children(store, child)}
        tracker = reference(store, "trackers", child["tracker_id"])
        shown.append({"id": child["id"], "tracker": tracker, "subject": child["subject"], **below})
    return shown
