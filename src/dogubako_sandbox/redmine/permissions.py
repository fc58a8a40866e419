"""The current user and its permissions in projects: by roles, enabled modules and the project's status."""

from collections.abc import Callable
from typing import Final

from dogubako_sandbox.redmine.store import Row, Store

ACTIVE, CLOSED, ARCHIVED = 1, 5, 9
_NON_MEMBER, _ANONYMOUS = 1, 2

# A permission counts in a project only while its module is enabled there. Permissions that no endpoint checks are
# left out.
MODULES: Final = {
    "issue_tracking": (
        "view_issues add_issues edit_issues edit_own_issues copy_issues manage_issue_relations manage_subtasks "
        "set_issues_private set_own_issues_private add_issue_notes edit_issue_notes edit_own_issue_notes "
        "view_private_notes set_notes_private delete_issues "
        "view_issue_watchers add_issue_watchers delete_issue_watchers manage_categories"
    ),
    "time_tracking": "view_time_entries log_time edit_time_entries edit_own_time_entries log_time_for_other_users",
    "news": "view_news manage_news",
    "documents": "",
    "files": "view_files manage_files",
    "wiki": (
        "view_wiki_pages view_wiki_edits edit_wiki_pages rename_wiki_pages delete_wiki_pages "
        "delete_wiki_pages_attachments protect_wiki_pages"
    ),
    "repository": "",
    "boards": "",
    "calendar": "",
    "gantt": "",
}
_MODULE_OF: Final = {name: module for module, names in MODULES.items() for name in names.split()}
# Every user who sees a project has these; no role lists them.
_PUBLIC: Final = frozenset({"view_project", "search_project", "view_members"})
# These count in a closed project too, as everything that begins with `view_`.
_READING: Final = _PUBLIC | {"close_project", "delete_project"}

RoleTest = Callable[[Row], bool]


def role_has(role: Row, permission: str) -> bool:
    return permission in _PUBLIC or permission in (role.get("permissions") or ())


def allows(store: Store, project: Row, permission: str) -> bool:
    """Tell whether a project's state and modules let any user use a permission there."""
    reads = permission in _READING or (permission in _MODULE_OF and permission.startswith("view_"))
    if project["status"] == ARCHIVED or (project["status"] != ACTIVE and not reads):
        return False
    module = _MODULE_OF.get(permission)
    return module is None or store["enabled_modules"].first(project_id=project["id"], name=module) is not None


class CurrentUser:
    """The user of a request. Without a valid key it is the anonymous user."""

    def __init__(self, store: Store, row: Row | None) -> None:
        self._store = store
        self.row: Row = row or store["users"].first(type="AnonymousUser") or {}
        self.id: int | None = self.row.get("id")
        self.logged_in = row is not None
        self.admin = bool(self.row.get("admin"))

    @property
    def group_ids(self) -> set[int]:
        return self._store["groups_users"].ids("group_id", user_id=self.id)

    def is_or_belongs_to(self, principal_id: int | None) -> bool:
        return principal_id is not None and (principal_id == self.id or principal_id in self.group_ids)

    def membership(self, project: Row) -> Row | None:
        return self._store["members"].first(user_id=self.id, project_id=project["id"])

    def roles_in(self, project: Row) -> list[Row]:
        """Return the roles that count in a project; no user has one in an archived project."""
        if project["status"] == ARCHIVED:
            return []
        member = self.membership(project)
        if member is None and project.get("is_public"):
            # A project may give other roles to non members, by a membership of the built-in group.
            group = self._store["users"].first(type="GroupNonMember" if self.logged_in else "GroupAnonymous")
            member = group and self._store["members"].first(user_id=group["id"], project_id=project["id"])
            return self._roles_of(member) if member else [self._builtin_role]
        return self._roles_of(member) if member else []

    @property
    def _builtin_role(self) -> Row:
        kind = _NON_MEMBER if self.logged_in else _ANONYMOUS
        return next(role for role in self._store["roles"] if role.get("builtin") == kind)

    def _roles_of(self, *members: Row) -> list[Row]:
        ids = {link["role_id"] for each in members for link in self._store["member_roles"].where(member_id=each["id"])}
        return [role for role in self._store["roles"] if role["id"] in ids]

    def may(self, permission: str, project: Row, role_also: RoleTest | None = None) -> bool:
        """Tell whether one of the user's roles has the permission, and the project lets any user use it."""
        if not allows(self._store, project, permission):
            return False
        return self.admin or any(
            role_has(role, permission) and (role_also is None or role_also(role)) for role in self.roles_in(project)
        )

    def may_somewhere(self, permission: str) -> bool:
        """Tell whether any role of the user, in any project, has the permission."""
        members = self._store["members"].where(user_id=self.id)
        alive = [each for each in members if self._store.project_of(each)["status"] != ARCHIVED]
        return self.admin or any(role_has(role, permission) for role in [*self._roles_of(*alive), self._builtin_role])

    def projects_with(self, permission: str = "view_project") -> list[Row]:
        """Return all projects in which the permission counts, in the order of the tree."""
        projects = [each for each in self._store["projects"] if self.may(permission, each)]
        return sorted(projects, key=lambda each: each["lft"])

    def sees_person(self, principal: Row) -> bool:
        """Tell whether the user sees a user or a group: others than administrators see active ones."""
        return self.admin or principal.get("status") == ACTIVE

    def sees_field(self, field: Row, project: Row | None) -> bool:
        """Tell whether the user sees a custom field: some are for some roles only."""
        if field.get("visible") or self.admin:
            return True
        allowed = self._store["custom_fields_roles"].ids("role_id", custom_field_id=field["id"])
        return project is not None and any(role["id"] in allowed for role in self.roles_in(project))

    def sees_issue(self, issue: Row) -> bool:
        """Tell whether the user sees an issue: private ones need a role for all issues, or to be one's own."""
        project = self._store.project_of(issue)
        if not issue.get("is_private"):
            return self.may("view_issues", project)
        own = issue["author_id"] == self.id or self.is_or_belongs_to(issue.get("assigned_to_id"))
        own = own and self.logged_in
        return self.may("view_issues", project, lambda role: own or role.get("issues_visibility") == "all")

    def may_edit_issue(self, issue: Row) -> bool:
        """Tell whether the user may change the fields, not only add notes."""
        project = self._store["projects"].get(issue.get("project_id"))
        own = issue["author_id"] == self.id
        return project is not None and (
            (own and self.may("edit_own_issues", project)) or self.may("edit_issues", project)
        )

    def sees_journal(self, journal: Row, project: Row) -> bool:
        own = journal["user_id"] == self.id
        return not journal.get("private_notes") or own or self.may("view_private_notes", project)

    def sees_time_entry(self, entry: Row) -> bool:
        return self.may("view_time_entries", self._store.project_of(entry))

    def visible_hours(self, issues: list[Row]) -> float:
        """Add up the time on issues that the user sees."""
        ids = {each["id"] for each in issues}
        entries = [each for each in self._store["time_entries"] if each.get("issue_id") in ids]
        return float(sum(each["hours"] for each in entries if self.sees_time_entry(each)))
