"""Which issues somebody sees, and what may be done with one of them."""

from dogubako.sandbox.redmine.store import Row, Store
from dogubako.sandbox.redmine.visitor import Visitor


def sees_issue(store: Store, who: Visitor, issue: Row) -> bool:
    """By the permission in the project, and by how much of its issues the role sees."""
    project = store["projects"].at(issue["project_id"])
    return who.may("view_issues", project, lambda role: _role_sees(role, who, issue) and _tracker(role, issue))


def _role_sees(role: Row, who: Visitor, issue: Row) -> bool:
    if not who.logged_in:
        return not issue.get("is_private")
    own = issue["author_id"] == who.id or who.is_or_belongs_to(issue.get("assigned_to_id"))
    match role.get("issues_visibility"):
        case "all":
            return True
        case "default":
            return own or not issue.get("is_private")
        case "own":
            return own
    return False


def _tracker(role: Row, issue: Row) -> bool:
    return tracker_allowed(role, "view_issues", issue.get("tracker_id"))


def tracker_allowed(role: Row, permission: str, tracker_id: int | None) -> bool:
    """A role's permission may be limited to some trackers."""
    settings = role.get("settings") or {}
    if str((settings.get("permissions_all_trackers") or {}).get(permission)) != "0":
        return True
    chosen = (settings.get("permissions_tracker_ids") or {}).get(permission) or ()
    return tracker_id in [int(each) for each in chosen]


def may_with_issue(store: Store, who: Visitor, issue: Row, permission: str) -> bool:
    project = store["projects"].get(issue.get("project_id"))
    if project is None:
        return False
    return who.may(permission, project, lambda role: tracker_allowed(role, permission, issue.get("tracker_id")))


def may_edit(store: Store, who: Visitor, issue: Row) -> bool:
    """Whether the fields may be changed, not only notes be added."""
    own = issue["author_id"] == who.id and may_with_issue(store, who, issue, "edit_own_issues")
    return own or may_with_issue(store, who, issue, "edit_issues")


def may_note(store: Store, who: Visitor, issue: Row) -> bool:
    return may_with_issue(store, who, issue, "add_issue_notes")
