"""Who asks, and what this person may do where."""

from collections.abc import Callable
from typing import Final

from dogubako.sandbox.redmine.permissions import MODULE_OF, PUBLIC, READING
from dogubako.sandbox.redmine.store import Row, Store

ACTIVE: Final = 1
CLOSED: Final = 5
ARCHIVED: Final = 9
NON_MEMBER: Final = 1
ANONYMOUS: Final = 2

RoleTest = Callable[[Row], bool]


class Visitor:
    """A user, or nobody we know: then the row is that of the anonymous user, if there is one."""

    def __init__(self, store: Store, row: Row | None) -> None:
        self._store = store
        self.row: Row = row or store["users"].first(type="AnonymousUser") or {}
        self.id: int | None = self.row.get("id")
        self.logged_in = row is not None
        self.admin = bool(self.row.get("admin"))

    @property
    def builtin_role(self) -> Row:
        """The role of everybody who is not a member of a public project."""
        kind = NON_MEMBER if self.logged_in else ANONYMOUS
        return next(role for role in self._store["roles"] if role.get("builtin") == kind)

    @property
    def group_ids(self) -> set[int]:
        return {link["group_id"] for link in self._store["groups_users"].where(user_id=self.id)}

    def is_or_belongs_to(self, principal_id: int | None) -> bool:
        return principal_id is not None and (principal_id == self.id or principal_id in self.group_ids)

    def membership(self, project: Row) -> Row | None:
        return self._store["members"].first(user_id=self.id, project_id=project["id"])

    def roles_in(self, project: Row) -> list[Row]:
        """The roles that count in a project; nobody has one in an archived project."""
        if project["status"] == ARCHIVED:
            return []
        member = self.membership(project)
        if member:
            return self._roles_of(member)
        return self._roles_of_strangers(project) if project.get("is_public") else []

    def _roles_of(self, member: Row) -> list[Row]:
        ids = {link["role_id"] for link in self._store["member_roles"].where(member_id=member["id"])}
        return [role for role in self._store["roles"] if role["id"] in ids]

    def _roles_of_strangers(self, project: Row) -> list[Row]:
        """A project may give other roles to non members, by a membership of the built-in group."""
        group = self._store["users"].first(type="GroupNonMember" if self.logged_in else "GroupAnonymous")
        member = group and self._store["members"].first(user_id=group["id"], project_id=project["id"])
        return self._roles_of(member) if member else [self.builtin_role]

    def may(self, permission: str, project: Row, role_also: RoleTest | None = None) -> bool:
        """Whether one of the person's roles has the permission, and the project lets anybody use it now."""
        if not allows(self._store, project, permission):
            return False
        if self.admin:
            return True
        return any(
            role_has(role, permission) and (role_also is None or role_also(role)) for role in self.roles_in(project)
        )

    def may_any(self, permissions: tuple[str, ...], project: Row) -> bool:
        return any(self.may(each, project) for each in permissions)

    def may_somewhere(self, permission: str) -> bool:
        """Whether any role of the person, in any project, has the permission."""
        return self.admin or any(role_has(role, permission) for role in self._all_roles())

    def _all_roles(self) -> list[Row]:
        members = self._store["members"].where(user_id=self.id)
        alive = [each for each in members if self._store["projects"].at(each["project_id"])["status"] != ARCHIVED]
        return [role for member in alive for role in self._roles_of(member)] + [self.builtin_role]

    def sees_project(self, project: Row) -> bool:
        return self.may("view_project", project)

    def projects_with(self, permission: str = "view_project") -> list[Row]:
        """All projects in which the permission counts, in the order of the tree."""
        projects = [each for each in self._store["projects"] if self.may(permission, each)]
        return sorted(projects, key=lambda each: each["lft"])

    def sees_person(self, principal: Row) -> bool:
        """Active people and groups; with the narrower visibility only those who share a project that is seen."""
        if self.admin:
            return True
        if principal.get("status") != ACTIVE:
            return False
        if any(role.get("users_visibility") == "all" for role in self._roles_for_people()):
            return True
        seen = {each["id"] for each in self.projects_with()}
        theirs = {each["project_id"] for each in self._store["members"].where(user_id=principal["id"])}
        return principal["id"] == self.id or bool(seen & theirs)

    def _roles_for_people(self) -> list[Row]:
        members = self._store["members"].where(user_id=self.id)
        return [role for member in members for role in self._roles_of(member)] if members else [self.builtin_role]


def role_has(role: Row, permission: str) -> bool:
    return permission in PUBLIC or permission in (role.get("permissions") or ())


def allows(store: Store, project: Row, permission: str) -> bool:
    """An archived project allows nothing, a closed one only reading, and a module has to be switched on."""
    if project["status"] == ARCHIVED or (project["status"] != ACTIVE and permission not in READING):
        return False
    module = MODULE_OF.get(permission)
    return module is None or store["enabled_modules"].first(project_id=project["id"], name=module) is not None
