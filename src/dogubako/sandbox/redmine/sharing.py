"""The tree of projects, and what a project may use because others share theirs."""

from dogubako.sandbox.redmine.store import Row, Store
from dogubako.sandbox.redmine.visitor import ARCHIVED


def is_under(project: Row, ancestor: Row) -> bool:
    """Whether a project is a descendant of another, at any depth."""
    return bool(ancestor["lft"] < project["lft"] and project["rgt"] < ancestor["rgt"])


def with_descendants(store: Store, project: Row) -> list[Row]:
    return [each for each in store["projects"] if each["id"] == project["id"] or is_under(each, project)]


def root_of(store: Store, project: Row) -> Row:
    above = [each for each in store["projects"] if is_under(project, each)]
    return min([project, *above], key=lambda each: each["lft"])


def shared_versions(store: Store, project: Row) -> list[Row]:
    """The project's own versions and those that others share with it, by id."""
    return [version for version in store["versions"] if _is_shared(store, version, project)]


def _is_shared(store: Store, version: Row, project: Row) -> bool:
    home = store["projects"].at(version["project_id"])
    if home["status"] == ARCHIVED and home["id"] != project["id"]:
        return False
    return is_shared_with(store, project, home, version.get("sharing"))


def is_shared_with(store: Store, project: Row, home: Row, sharing: str | None) -> bool:
    """Whether what belongs to its home may be used in a project, by Redmine's word for how far it is shared."""
    if home["id"] == project["id"]:
        return True
    match sharing:
        case "system":
            return True
        case "tree":
            return bool(root_of(store, home)["id"] == root_of(store, project)["id"])
        case "hierarchy":
            return is_under(project, home) or is_under(home, project)
        case "descendants":
            return is_under(project, home)
    return False
