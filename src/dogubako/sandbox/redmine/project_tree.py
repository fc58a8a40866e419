"""The tree of projects as numbers: everything below a project has its `lft` and `rgt` inside the project's own."""

from dogubako.sandbox.redmine.store import Row, Store


def renumber(store: Store) -> None:
    """Number the whole tree again: siblings by name, capital letters before small ones."""
    _number(store, None, 1)


def _number(store: Store, parent_id: int | None, start: int) -> int:
    position = start
    children = sorted(store["projects"].where(parent_id=parent_id), key=lambda each: (each["name"], each["id"]))
    for child in children:
        child["lft"] = position
        child["rgt"] = _number(store, child["id"], position + 1)
        position = child["rgt"] + 1
    return position


def ancestors(store: Store, project: Row) -> list[Row]:
    """The parent first, the root last."""
    parent = store["projects"].get(project["parent_id"]) if project.get("parent_id") else None
    return [parent, *ancestors(store, parent)] if parent else []
