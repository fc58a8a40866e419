"""Parents, children and everything below them."""

from dogubako.sandbox.redmine.store import Row, Store


def children_of(store: Store, issue: Row) -> list[Row]:
    return store["issues"].where(parent_id=issue["id"]) if "id" in issue else []


def descendants_of(store: Store, issue: Row) -> list[Row]:
    below = children_of(store, issue)
    return [*below, *(deeper for child in below for deeper in descendants_of(store, child))]


def with_descendants(store: Store, issue: Row) -> list[Row]:
    return [issue, *descendants_of(store, issue)]


def ancestors_of(store: Store, issue: Row) -> list[Row]:
    """From the parent up to the root."""
    parent = store["issues"].get(issue.get("parent_id")) if issue.get("parent_id") else None
    return [parent, *ancestors_of(store, parent)] if parent else []


def is_leaf(store: Store, issue: Row) -> bool:
    return not children_of(store, issue)


def leaves_of(store: Store, issue: Row) -> list[Row]:
    return [each for each in descendants_of(store, issue) if is_leaf(store, each)]


def is_closed(store: Store, issue: Row) -> bool:
    status = store["issue_statuses"].get(issue.get("status_id"))
    return bool(status and status.get("is_closed"))


def renumber(store: Store, issue: Row) -> None:
    """Give a whole tree its places again; siblings stand in the order of their ids."""
    above = ancestors_of(store, issue)
    root = above[-1] if above else issue
    _number(store, root, root["id"], 1)


def _number(store: Store, issue: Row, root_id: int, left: int) -> int:
    issue["root_id"], issue["lft"] = root_id, left
    right = left + 1
    for child in sorted(children_of(store, issue), key=lambda each: each["id"]):
        right = _number(store, child, root_id, right) + 1
    issue["rgt"] = right
    return right
