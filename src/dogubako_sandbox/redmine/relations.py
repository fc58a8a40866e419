"""Relations between issues, and their watchers."""

import re
from typing import Any, Final

from dogubako_sandbox.redmine.issue_rules import is_circular
from dogubako_sandbox.redmine.issue_serializer import RELATION_TYPES, other_end, relations_of, shown_relation
from dogubako_sandbox.redmine.journals import Detail, add_detail, write_journal
from dogubako_sandbox.redmine.permissions import ACTIVE
from dogubako_sandbox.redmine.request import DONE, Answer, ApiRequest, applying, created, not_found, refuse
from dogubako_sandbox.redmine.scheduling import apply_precedence
from dogubako_sandbox.redmine.store import Row, is_blank, to_id, to_number, to_text
from dogubako_sandbox.redmine.trees import ancestors_of

# These are kept the other way round.
_REVERSED: Final = {"duplicated", "blocked", "follows", "copied_from"}


def list_relations(req: ApiRequest) -> Any:
    """Show all relations, also with issues that the user does not see; but only to users who may manage them."""
    issue = _managed_issue(req)
    return {"relations": [shown_relation(row) for row in relations_of(req.store, issue)]}


def _managed_issue(req: ApiRequest) -> Row:
    issue = req.row("issues", "issue_id")
    req.need(req.store.project_of(issue), "manage_issue_relations")
    return issue


def show_relation(req: ApiRequest) -> Any:
    row = req.row("issue_relations")
    req.check(all(req.user.sees_issue(each) for each in _ends(req, row)))
    return {"relation": shown_relation(row)}


def _ends(req: ApiRequest, row: Row) -> list[Row]:
    return [req.store["issues"].at(row[name]) for name in ("issue_from_id", "issue_to_id")]


def create_relation(req: ApiRequest) -> Answer:
    issue, body = _managed_issue(req), req.body("relation", required=True)
    number = re.fullmatch(r"#?(\d+)", str(body.get("issue_to_id")).strip())
    other = req.store["issues"].get(number[1]) if number else None
    other = other if other and req.user.sees_issue(other) else None
    kind = to_text(body.get("relation_type", "relates")) or ""
    refuse(_errors(req, issue, other, kind, body.get("delay")))
    assert other is not None
    # Some types are kept the other way round, and plain relations from the older issue to the newer.
    is_reversed = kind in _REVERSED or (kind == "relates" and issue["id"] > other["id"])
    first, second = (other, issue) if is_reversed else (issue, other)
    kept = RELATION_TYPES[kind] if kind in _REVERSED else kind
    ends = {"issue_from_id": first["id"], "issue_to_id": second["id"]}
    # Only the database notices this, and it has no name for the field.
    refuse(["has already been taken"] if req.store["issue_relations"].first(**ends) else [])
    delay = (to_number(body.get("delay")) or 0) if kept == "precedes" else None
    row = req.store["issue_relations"].add(**ends, relation_type=kept, delay=delay)
    moved = apply_precedence(req, row)
    _write_journals(req, row, {second["id"]: moved} if moved else {}, gone=False)
    return created({"relation": shown_relation(row)}, f"{req.base_url}/relations/{row['id']}")


def _errors(req: ApiRequest, issue: Row, other: Row | None, kind: str, delay: Any) -> list[str]:
    is_number = is_blank(delay) or re.fullmatch(r"[+-]?\d+(\.\d+)?", str(delay))
    wrong = {
        "Related issue cannot be blank": other is None,
        "Relation type cannot be blank": not kind,
        "Relation type is not included in the list": kind not in RELATION_TYPES,
        "Delay is not a number": not is_number,
        **(_pair_errors(req, issue, other, kind) if other else {}),
    }
    return applying(wrong)


def _pair_errors(req: ApiRequest, issue: Row, other: Row, kind: str) -> dict[str, bool]:
    store, ends = req.store, {"issue_from_id": issue["id"], "issue_to_id": other["id"]}
    is_family = issue in ancestors_of(store, other) or other in ancestors_of(store, issue)
    return {
        "Related issue has already been taken": store["issue_relations"].first(**ends) is not None,
        "Related issue is invalid": issue["id"] == other["id"],
        "Related issue doesn't belong to the same project": issue["project_id"] != other["project_id"],
        "This relation would create a circular dependency": is_circular(store, kind, issue["id"], other["id"]),
        "An issue cannot be linked to one of its subtasks": is_family,
    }


def delete_relation(req: ApiRequest) -> Answer:
    row = req.row("issue_relations")
    ends = _ends(req, row)
    manages = any(req.user.may("manage_issue_relations", req.store.project_of(each)) for each in ends)
    req.check(manages and all(req.user.sees_issue(each) for each in ends))
    req.store["issue_relations"].remove(row)
    _write_journals(req, row, {}, gone=True)
    return DONE


def _write_journals(req: ApiRequest, row: Row, entries: dict[int, Row], *, gone: bool) -> None:
    """Write into both histories, into the entry of this request if there is one already."""
    kind = row["relation_type"]
    for issue in _ends(req, row):
        name = kind if row["issue_from_id"] == issue["id"] else RELATION_TYPES[kind]
        other = other_end(row, issue)
        detail: Detail = ("relation", name, other if gone else None, None if gone else other)
        if issue["id"] in entries:
            add_detail(req, entries[issue["id"]], detail)
        else:
            write_journal(req, issue, [detail])


def add_watcher(req: ApiRequest) -> Answer:
    """Add a watcher; users and groups that do not exist are ignored, and so is one who watches already."""
    issue = _watched_issue(req, "add_issue_watchers")
    user = req.store["users"].get(req.params.get("user_id"))
    entry = {"watchable_type": "Issue", "watchable_id": issue["id"], "user_id": (user or {}).get("id")}
    is_usable = user and user["type"] in ("User", "Group") and user.get("status") == ACTIVE
    if is_usable and req.store["watchers"].first(**entry) is None:
        req.store["watchers"].add(**entry)
    return DONE


def remove_watcher(req: ApiRequest) -> Answer:
    issue = _watched_issue(req, "delete_issue_watchers")
    if req.store["users"].get(req.path["user_id"]) is None:
        raise not_found()
    user_id = to_id(req.path["user_id"])
    req.store["watchers"].remove_where(watchable_type="Issue", watchable_id=issue["id"], user_id=user_id)
    return DONE


def _watched_issue(req: ApiRequest, permission: str) -> Row:
    """Refuse a missing issue like one that the user may not see."""
    req.check(req.store["issues"].get(req.path["issue_id"]) is not None)
    issue = req.visible_issue("issue_id")
    req.need(req.store.project_of(issue), permission)
    return issue
