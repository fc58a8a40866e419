"""Relations between issues: their types, their order, how they are shown, and which would go in a circle."""

from typing import Any, Final

from dogubako.sandbox.redmine.issue_tree import ancestors_of, leaves_of
from dogubako.sandbox.redmine.store import Row, Store

# Each type and what it is called from the other side, in Redmine's order.
TYPES: Final = {
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
# These are kept the other way round.
REVERSED: Final = {"duplicated", "blocked", "follows", "copied_from"}
_ORDER: Final = {name: place for place, name in enumerate(TYPES)}


def relations_of(store: Store, issue: Row) -> list[Row]:
    rows = [row for row in store["issue_relations"] if issue["id"] in (row["issue_from_id"], row["issue_to_id"])]
    return sorted(rows, key=lambda row: (_ORDER[row["relation_type"]], row["id"]))


def shown_relation(row: Row) -> dict[str, Any]:
    return {
        "id": row["id"],
        "issue_id": row["issue_from_id"],
        "issue_to_id": row["issue_to_id"],
        "relation_type": row["relation_type"],
        "delay": row.get("delay"),
    }


def type_seen_from(row: Row, issue_id: int) -> str:
    kind: str = row["relation_type"]
    return kind if row["issue_from_id"] == issue_id else TYPES[kind]


def is_circular(store: Store, kind: str, issue: Row, other: Row) -> bool:
    """Whether a new relation would lead back to where it starts."""
    match kind:
        case "follows":
            return would_move(store, issue, other)
        case "precedes":
            return would_move(store, other, issue)
        case "blocked":
            return _blocks(store, issue, other)
        case "blocks":
            return _blocks(store, other, issue)
        case "relates":
            found = store["issue_relations"].first(issue_from_id=other["id"], issue_to_id=issue["id"])
            return found is not None
    return False


def _blocks(store: Store, issue: Row, other: Row) -> bool:
    return _reaches(issue["id"], other["id"], lambda each: _targets(store, each, "blocks"))


def would_move(store: Store, issue: Row, other: Row) -> bool:
    """Whether new dates of one issue could change those of another: by precedence, or because it is above it."""
    return _reaches(issue["id"], other["id"], lambda each: _moved_with(store, each))


def _moved_with(store: Store, issue_id: int) -> set[int]:
    issue = store["issues"].at(issue_id)
    above = {target for each in ancestors_of(store, issue) for target in _targets(store, each["id"], "precedes")}
    return _targets(store, issue_id, "precedes") | {each["id"] for each in leaves_of(store, issue)} | above


def _targets(store: Store, issue_id: int, kind: str) -> set[int]:
    return {row["issue_to_id"] for row in store["issue_relations"].where(issue_from_id=issue_id, relation_type=kind)}


def _reaches(start: int, goal: int, steps: Any) -> bool:
    seen, edge = {start}, {start}
    while edge:
        edge = {there for each in edge for there in steps(each)} - seen
        if goal in edge:
            return True
        seen |= edge
    return False
