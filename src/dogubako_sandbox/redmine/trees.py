"""The trees of projects and issues (nested sets: `lft` and `rgt`), and what projects share."""

from dogubako_sandbox.redmine.permissions import ARCHIVED
from dogubako_sandbox.redmine.store import Row, Store


def renumber_projects(store: Store, parent_id: int | None = None, start: int = 1) -> int:
    """Number the tree again: siblings by name, capital letters before small ones."""
    for child in sorted(store["projects"].where(parent_id=parent_id), key=lambda each: (each["name"], each["id"])):
        child["lft"] = start
        child["rgt"] = renumber_projects(store, child["id"], start + 1)
        start = child["rgt"] + 1
    return start


def is_under(project: Row, ancestor: Row) -> bool:
    """Tell whether a project is a descendant of another, at any depth."""
    return bool(ancestor["lft"] < project["lft"] and project["rgt"] < ancestor["rgt"])


def ancestors(store: Store, project: Row) -> list[Row]:
    """Return all projects above, the root first."""
    return sorted((each for each in store["projects"] if is_under(project, each)), key=lambda each: each["lft"])


def branch(store: Store, project: Row) -> list[Row]:
    """Return a project with all below it."""
    return [each for each in store["projects"] if each["id"] == project["id"] or is_under(each, project)]


def root_of(store: Store, project: Row) -> Row:
    return [*ancestors(store, project), project][0]


def shared_versions(store: Store, project: Row) -> list[Row]:
    """Return the project's own versions and those that others share with it, by id."""
    return [version for version in store["versions"] if _is_usable(store, version, project)]


def _is_usable(store: Store, version: Row, project: Row) -> bool:
    home = store.project_of(version)
    if home["status"] == ARCHIVED and home["id"] != project["id"]:
        return False
    return is_shared_with(store, project, home, version.get("sharing"))


def is_shared_with(store: Store, project: Row, home: Row, sharing: str | None) -> bool:
    """Tell whether a project may use what belongs to its home, by Redmine's word for how far it is shared."""
    match sharing:
        case _ if home["id"] == project["id"]:
            return True
        case "tree":
            return bool(root_of(store, home)["id"] == root_of(store, project)["id"])
        case "hierarchy":
            return is_under(project, home) or is_under(home, project)
        case "descendants":
            return is_under(project, home)
    return sharing == "system"


def children_of(store: Store, issue: Row) -> list[Row]:
    return store["issues"].where(parent_id=issue["id"]) if "id" in issue else []


def descendants_of(store: Store, issue: Row) -> list[Row]:
    below = children_of(store, issue)
    return [*below, *(deeper for child in below for deeper in descendants_of(store, child))]


def ancestors_of(store: Store, issue: Row) -> list[Row]:
    """Return the issues from the parent up to the root."""
    parent = store["issues"].get(issue.get("parent_id"))
    return [parent, *ancestors_of(store, parent)] if parent else []


def leaves_of(store: Store, issue: Row) -> list[Row]:
    return [each for each in descendants_of(store, issue) if not children_of(store, each)]


def is_closed(store: Store, issue: Row) -> bool:
    status = store["issue_statuses"].get(issue.get("status_id"))
    return bool(status and status.get("is_closed"))


def renumber_issues(store: Store, issue: Row) -> None:
    """Number a whole tree again; siblings stand in the order of their ids."""
    root = [issue, *ancestors_of(store, issue)][-1]
    _number(store, root, root["id"], 1)


def _number(store: Store, issue: Row, root_id: int, left: int) -> int:
    issue["root_id"], issue["lft"] = root_id, left
    right = left + 1
    for child in sorted(children_of(store, issue), key=lambda each: each["id"]):
        right = _number(store, child, root_id, right) + 1
    issue["rgt"] = right
    return right


def erase_issue(store: Store, issue: Row) -> None:
    """Remove an issue with its history, time, relations, watchers, files and custom values."""
    number = issue["id"]
    for journal in store["journals"].where(journalized_id=number, journalized_type="Issue"):
        store["journal_details"].remove_where(journal_id=journal["id"])
        store["journals"].remove(journal)
    store["time_entries"].remove_where(issue_id=number)
    store["issue_relations"].remove_where(issue_from_id=number)
    store["issue_relations"].remove_where(issue_to_id=number)
    store.remove_parts("Issue", number)
    store["issues"].remove(issue)


def allowed_statuses(store: Store, roles: list[Row], issue: Row, was: Row | None) -> list[Row]:
    """Return the statuses that the workflow allows for these roles. `was` is the saved issue; a new one has none."""
    role_ids = {role["id"] for role in roles}
    initial = store["issue_statuses"].get(was["status_id"]) if was else None
    steps = store["workflows"].where(
        type="WorkflowTransition", tracker_id=issue.get("tracker_id"), old_status_id=initial["id"] if initial else 0
    )
    ids = {step["new_status_id"] for step in steps if step["role_id"] in role_ids}
    ids |= {initial["id"]} if ids and initial else set()
    tracker = store["trackers"].get(issue.get("tracker_id"))
    if was is None and not ids and tracker:
        ids = {tracker["default_status_id"]}
    statuses = [each for each in store["issue_statuses"].by_position() if each["id"] in ids]
    return [each for each in statuses if _is_reachable(store, issue, each)]


def _is_reachable(store: Store, issue: Row, status: Row) -> bool:
    """An issue that is blocked or has open children cannot be closed; one with a closed parent cannot be opened."""
    if not status.get("is_closed"):
        return not any(is_closed(store, each) for each in ancestors_of(store, issue))
    blocks = store["issue_relations"].where(issue_to_id=issue.get("id"), relation_type="blocks")
    blocking = [store["issues"].at(row["issue_from_id"]) for row in blocks]
    return all(is_closed(store, each) for each in [*descendants_of(store, issue), *blocking])
