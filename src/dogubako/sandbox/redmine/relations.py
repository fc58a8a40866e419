"""Relations between issues: list, show, create, delete."""

import re
from typing import Any

from dogubako.sandbox.redmine.asking import DONE, Answer, Ask, BrokenError, created, unprocessable
from dogubako.sandbox.redmine.casting import is_blank, to_number, to_text
from dogubako.sandbox.redmine.issue_access import sees_issue
from dogubako.sandbox.redmine.issue_tree import ancestors_of
from dogubako.sandbox.redmine.journals import Detail, add_detail, write_journal
from dogubako.sandbox.redmine.relation_rules import (
    REVERSED,
    TYPES,
    is_circular,
    relations_of,
    shown_relation,
    type_seen_from,
)
from dogubako.sandbox.redmine.scheduling import apply_precedence
from dogubako.sandbox.redmine.store import Row


def list_relations(ask: Ask) -> dict[str, Any]:
    """All of them, also with issues that the visitor does not see; but only for those who may manage relations."""
    issue = _issue(ask)
    return {"relations": [shown_relation(row) for row in relations_of(ask.store, issue)]}


def _issue(ask: Ask) -> Row:
    issue = ask.row("issues", "issue_id")
    ask.need(ask.store["projects"].at(issue["project_id"]), "manage_issue_relations")
    return issue


def show_relation(ask: Ask) -> dict[str, Any]:
    row = ask.row("issue_relations")
    if not _sees_both(ask, row):
        raise ask.denied()
    return {"relation": shown_relation(row)}


def _ends(ask: Ask, row: Row) -> tuple[Row, Row]:
    issues = ask.store["issues"]
    return issues.at(row["issue_from_id"]), issues.at(row["issue_to_id"])


def _sees_both(ask: Ask, row: Row) -> bool:
    return all(sees_issue(ask.store, ask.who, each) for each in _ends(ask, row))


def create_relation(ask: Ask) -> Answer:
    """A comma separated list makes several; the answer is about the last."""
    issue = _issue(ask)
    if ask.params.get("relation") is None:
        raise BrokenError(500)
    said = ask.given("relation")
    row: Row = {}
    entries: dict[int, Row] = {}
    for target in _targets(said.get("issue_to_id")):
        row = _create_one(ask, issue, target, said, entries)
    return created({"relation": shown_relation(row)}, f"{ask.base_url}/relations/{row['id']}")


def _targets(asked: Any) -> list[Any]:
    if is_blank(asked):
        return [""]
    return [each for each in asked.split(",") if each.strip()] if isinstance(asked, str) else [asked]


def _create_one(ask: Ask, issue: Row, target: Any, said: dict[str, Any], entries: dict[int, Row]) -> Row:
    other = _visible_target(ask, target)
    kind = to_text(said.get("relation_type")) if "relation_type" in said else "relates"
    wrong = _wrong(ask, issue, other, kind or "", said.get("delay"))
    if wrong or other is None:
        raise unprocessable(*wrong)
    delay = to_number(said.get("delay"))
    first, second, kept = _kept_way(issue, other, kind or "")
    if ask.store["issue_relations"].first(issue_from_id=first["id"], issue_to_id=second["id"]):
        # Only the database notices, and it has no name for what it is about.
        raise unprocessable("has already been taken")
    row = ask.store["issue_relations"].add(
        issue_from_id=first["id"],
        issue_to_id=second["id"],
        relation_type=kept,
        delay=(delay or 0) if kept == "precedes" else None,
    )
    moved = apply_precedence(ask.store, row, ask.who)
    if moved:
        entries[row["issue_to_id"]] = moved
    _tell(ask, row, entries, gone=False)
    return row


def _visible_target(ask: Ask, target: Any) -> Row | None:
    match = re.fullmatch(r"#?(\d+)", str(target).strip())
    other = ask.store["issues"].get(match[1]) if match else None
    return other if other and sees_issue(ask.store, ask.who, other) else None


def _kept_way(issue: Row, other: Row, kind: str) -> tuple[Row, Row, str]:
    """Some types are kept the other way round, and plain relations from the older issue to the newer."""
    if kind in REVERSED:
        return other, issue, TYPES[kind]
    if kind == "relates" and issue["id"] > other["id"]:
        return other, issue, kind
    return issue, other, kind


def _wrong(ask: Ask, issue: Row, other: Row | None, kind: str, delay: Any) -> list[str]:
    found = [] if other else ["Related issue cannot be blank"]
    if not kind:
        found.append("Relation type cannot be blank")
    if kind not in TYPES:
        found.append("Relation type is not included in the list")
    if delay is not None and not re.fullmatch(r"[+-]?\d+(\.\d+)?", str(delay)) and delay != "":
        found.append("Delay is not a number")
    return found + (_wrong_pair(ask, issue, other, kind) if other else [])


def _wrong_pair(ask: Ask, issue: Row, other: Row, kind: str) -> list[str]:
    store, found = ask.store, []
    if store["issue_relations"].first(issue_from_id=issue["id"], issue_to_id=other["id"]):
        found.append("Related issue has already been taken")
    if issue["id"] == other["id"]:
        found.append("Related issue is invalid")
    crosses = str(store.setting("cross_project_issue_relations")) == "1"
    if issue["project_id"] != other["project_id"] and not crosses:
        found.append("Related issue doesn't belong to the same project")
    if is_circular(store, kind, issue, other):
        found.append("This relation would create a circular dependency")
    if issue in ancestors_of(store, other) or other in ancestors_of(store, issue):
        found.append("An issue cannot be linked to one of its subtasks")
    return found


def delete_relation(ask: Ask) -> Answer:
    row = ask.row("issue_relations")
    projects = [ask.store["projects"].at(each["project_id"]) for each in _ends(ask, row)]
    if not _sees_both(ask, row) or not any(ask.who.may("manage_issue_relations", each) for each in projects):
        raise ask.denied()
    ask.store["issue_relations"].remove(row)
    _tell(ask, row, {}, gone=True)
    return DONE


def _tell(ask: Ask, row: Row, entries: dict[int, Row], *, gone: bool) -> None:
    """Both histories tell of it, in the entry of this request if there is one already."""
    first, second = _ends(ask, row)
    for issue, other in ((first, second), (second, first)):
        old, new = (other["id"], None) if gone else (None, other["id"])
        detail: Detail = ("relation", type_seen_from(row, issue["id"]), old, new)
        if issue["id"] in entries:
            add_detail(ask.store, entries[issue["id"]], detail)
        else:
            entry = write_journal(ask.store, ask.who, issue, [detail])
            entries.update({issue["id"]: entry} if entry else {})
