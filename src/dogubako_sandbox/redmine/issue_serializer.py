"""An issue as the API shows it, with what `include` asks for."""

from typing import Final

from dogubako_sandbox.redmine.attachments import shown_attachments
from dogubako_sandbox.redmine.custom_fields import shown_values, values_of, visible_issue_fields
from dogubako_sandbox.redmine.issue_draft import statuses_for
from dogubako_sandbox.redmine.journals import shown_journals
from dogubako_sandbox.redmine.request import ApiRequest
from dogubako_sandbox.redmine.serializers import named, person, present, reference, times
from dogubako_sandbox.redmine.store import Row, Store
from dogubako_sandbox.redmine.trees import children_of, descendants_of

# Each type of relation and its name from the other side, in Redmine's order.
RELATION_TYPES: Final = {
    "relates": "relates",
    "duplicates": "duplicated",
    "duplicated": "duplicates",
    "blocks": "blocked",
    "blocked": "blocks",
    "precedes": "follows",
    "follows": "precedes",
    "copied_to": "copied_from",
    "copied_from": "copied_to",
}
_ORDER: Final = list(RELATION_TYPES)


def shown_status(status: Row) -> Row:
    return {**named(status), "is_closed": bool(status.get("is_closed"))}


def shown_issue(req: ApiRequest, issue: Row, *, with_time: bool = True) -> Row:
    """Show an issue without any `include`."""
    store, tree = req.store, [issue, *descendants_of(req.store, issue)]
    hours = {}
    if with_time and req.user.may("view_time_entries", store.project_of(issue)):
        spent, total = req.user.visible_hours([issue]), req.user.visible_hours(tree)
        hours = {"spent_hours": spent, "total_spent_hours": total}
    fields = visible_issue_fields(req, issue)
    values = {"custom_fields": shown_values(fields, values_of(store, "Issue", issue["id"], fields))}
    return {
        **_references(store, issue),
        "subject": issue["subject"],
        **{name: issue.get(name) for name in ("description", "start_date", "due_date", "done_ratio")},
        "is_private": bool(issue.get("is_private")),
        "estimated_hours": issue.get("estimated_hours"),
        "total_estimated_hours": _total_estimated_hours(req, tree),
        **hours,
        **(values if fields else {}),
        **times(issue, "created_on", "updated_on", "closed_on"),
    }


def _references(store: Store, issue: Row) -> Row:
    parent = store["issues"].get(issue.get("parent_id"))
    return present(
        id=issue["id"],
        project=reference(store, "projects", issue["project_id"]),
        tracker=reference(store, "trackers", issue["tracker_id"]),
        status=shown_status(store["issue_statuses"].at(issue["status_id"])),
        priority=reference(store, "enumerations", issue["priority_id"]),
        author=person(store, issue["author_id"]),
        assigned_to=person(store, issue.get("assigned_to_id")),
        category=reference(store, "issue_categories", issue.get("category_id")),
        fixed_version=reference(store, "versions", issue.get("fixed_version_id")),
        parent={"id": parent["id"]} if parent else None,
    )


def _total_estimated_hours(req: ApiRequest, tree: list[Row]) -> float | None:
    """Add up a parent's estimate and those below it that the user sees."""
    if len(tree) == 1:
        hours: float | None = tree[0].get("estimated_hours")
        return hours
    return float(sum(each.get("estimated_hours") or 0 for each in tree if req.user.sees_issue(each)))


def included(req: ApiRequest, issue: Row) -> Row:
    """Show what `include` asks for, in Redmine's order; words that it does not know are ignored."""
    store = req.store
    shown: Row = {}
    if req.includes("children") and children_of(store, issue):
        shown["children"] = _shown_children(store, issue)
    shown |= shown_attachments(req, "Issue", issue["id"])
    relations = _shown_relations(req, issue)
    if req.includes("relations") and relations:
        shown["relations"] = relations
    if req.includes("changesets"):
        shown["changesets"] = []
    if req.includes("journals"):
        shown["journals"] = shown_journals(req, issue)
    if req.includes("watchers") and req.user.may("view_issue_watchers", store.project_of(issue)):
        rows = store["watchers"].where(watchable_type="Issue", watchable_id=issue["id"])
        shown["watchers"] = [person(store, row["user_id"]) for row in rows]
    if req.includes("allowed_statuses"):
        shown["allowed_statuses"] = [shown_status(each) for each in statuses_for(req, issue, issue)]
    return shown


def shown_in_list(req: ApiRequest, issue: Row) -> Row:
    """Show an issue in a list: two words of `include` count, and relations are there even if there are none."""
    relations = {"relations": _shown_relations(req, issue)} if req.includes("relations") else {}
    return {**shown_issue(req, issue), **shown_attachments(req, "Issue", issue["id"]), **relations}


def _shown_relations(req: ApiRequest, issue: Row) -> list[Row]:
    """Show the relations with issues that the user sees."""
    rows = relations_of(req.store, issue)
    ends = [(row, req.store["issues"].get(other_end(row, issue))) for row in rows]
    return [shown_relation(row) for row, other in ends if other and req.user.sees_issue(other)]


def relations_of(store: Store, issue: Row) -> list[Row]:
    rows = [row for row in store["issue_relations"] if issue["id"] in (row["issue_from_id"], row["issue_to_id"])]
    return sorted(rows, key=lambda row: (_ORDER.index(row["relation_type"]), row["id"]))


def other_end(relation: Row, issue: Row) -> int:
    return int(relation["issue_to_id" if relation["issue_from_id"] == issue["id"] else "issue_from_id"])


def shown_relation(row: Row) -> Row:
    return {
        "id": row["id"],
        "issue_id": row["issue_from_id"],
        "issue_to_id": row["issue_to_id"],
        "relation_type": row["relation_type"],
        "delay": row.get("delay"),
    }


def _shown_children(store: Store, issue: Row) -> list[Row]:
    """Show the whole tree below, also issues that the user could not see alone."""
    shown = []
    for child in sorted(children_of(store, issue), key=lambda each: each["lft"]):
        below = {"children": _shown_children(store, child)} if children_of(store, child) else {}
        tracker = reference(store, "trackers", child["tracker_id"])
        shown.append({"id": child["id"], "tracker": tracker, "subject": child["subject"], **below})
    return shown
