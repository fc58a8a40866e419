"""Explain Redmine's refusals: the missing permission, the roles that have it, the project's state."""

from collections.abc import Mapping
from typing import Any, Final

from dogubako.contract.errors import DogubakoError
from dogubako.packs.redmine.api import RecordsApi, RedmineService, to
from dogubako.packs.redmine.errors import RedmineRefused
from dogubako.packs.redmine.lookups import NON_MEMBER, Lookups
from dogubako.packs.redmine.models import (
    ADMINISTRATOR,
    ARCHIVED,
    CLOSED,
    ISSUE,
    MEMBERSHIP,
    PROJECT,
    ROLE,
    USER,
    VERSION,
    JsonObject,
    Kind,
)

_LOCKED: Final = 3
_READING: Final = ("show", "list")
# Actions that work on a project in any state.
_TO_ANY_PROJECT: Final = ("close", "reopen", "archive", "unarchive", "delete")


class Access:
    """The permissions of our user."""

    def __init__(self, service: RedmineService, lookups: Lookups) -> None:
        self._service = service
        self._lookups = lookups
        self._records = RecordsApi(service)

    async def me(self) -> JsonObject:
        return await self._service.me()

    async def lacks(self, permission: str, project: int | None) -> bool:
        """Whether our user certainly lacks a permission in a project."""
        me = await self._service.me()
        if me.get("admin"):
            return False
        if permission == ADMINISTRATOR:
            return True
        roles = [role for role in await self._roles_in(project) if "permissions" in role]
        return bool(roles) and not any(permission in role["permissions"] for role in roles)

    async def still_lacks(self, permission: str, project: int) -> bool:
        """Like `lacks`, but a lack is looked up again: somebody may have given the role a moment ago."""
        return await self.lacks(permission, project) and not await self.holds(permission, project)

    async def holds(self, permission: str, project: int) -> bool:
        """Whether our user certainly has a permission in a project now."""
        self._service.forget_me()
        self._lookups.forget()
        if (await self._service.me()).get("admin"):
            return True
        return any(permission in role.get("permissions", ()) for role in await self._roles_in(project))

    async def explained(
        self,
        refusal: RedmineRefused,
        kind: Kind,
        act: str,
        project: int | str | None,
        body: Mapping[str, Any] | None = None,
    ) -> RedmineRefused:
        """Add the reason to a refusal. Redmine gives none for a missing permission, module or closed project."""
        if refusal.explained or refusal.status_code not in (403, 422):
            return refusal
        # Explain only once, with or without a result.
        refusal.explained = True
        try:
            # An issue that our user may not add is refused as invalid, not as forbidden.
            may_lack = refusal.status_code == 403 or (kind is ISSUE and act == "create")
            if may_lack and (known := await self._lacking(refusal, kind, act, project)) is not None:
                return known
            if refusal.status_code == 422 and kind is ISSUE and refusal.reasons:
                facts = await self.facts(body or {}, project)
                if facts or act == "update":
                    return refusal.with_facts(facts) if facts else refusal
            record = await self._project(project)
            if record is not None and (state := _state(record, kind, act)) is not None:
                reason, hint = state
                return refusal.because(reason, hint)
            if refusal.status_code == 422:
                return refusal
            by_name = record is not None and not isinstance(project, int)
            known = await self._lacking(refusal, kind, act, record["id"]) if record is not None and by_name else None
            return known or await self._unknown(refusal)
        except DogubakoError:
            return refusal

    async def check_module(self, kind: Kind, project: int | str | None) -> None:
        """Raise if the module of a kind is off in a project: Redmine says then that nothing is there."""
        try:
            record = await self._project(project)
        except DogubakoError:
            return
        if record is not None and (state := _state(record, kind, "list")) is not None:
            reason, hint = state
            raise RedmineRefused(to("list", kind), reason, status=404, hint=hint).because(reason, hint)

    async def _lacking(
        self, refusal: RedmineRefused, kind: Kind, act: str, project: int | str | None
    ) -> RedmineRefused | None:
        """The refusal with the permission that our roles lack; None if they have it."""
        me = await self._service.me()
        name, permission = me.get("login"), kind.needs.get(act)
        if permission == ADMINISTRATOR:
            if me.get("admin"):
                return None
            hint = "Ask an administrator, or use a key of one."
            return refusal.because(f"only administrators may do this, and user '{name}' is none", hint)
        id_ = project if isinstance(project, int) else None
        if permission is None or (project is not None and id_ is None) or not await self.lacks(permission, id_):
            return None
        held = ", ".join(role["name"] for role in await self._roles_in(id_))
        reason = f"user '{name}' (role: {held}) lacks the permission {permission}"
        return refusal.because(reason, await self.who_might(permission))

    async def _unknown(self, refusal: RedmineRefused) -> RedmineRefused:
        name = (await self._service.me()).get("login")
        hint = "It may be private, its project archived, or the module switched off in the project."
        return refusal.because(f"user '{name}' may not do this", hint)

    async def facts(self, body: Mapping[str, Any], project: int | str | None, *, certain: bool = False) -> list[str]:
        """What is wrong with a version and an assignee that Redmine would not take, or did not.

        Before Redmine was asked, only what is `certain` counts: whether groups can have issues is a hidden setting.
        """
        facts: list[str] = []
        if not isinstance(project, int):
            return facts
        if version := body.get("fixed_version_id"):
            rows = {row["id"]: row for row in await self._lookups.rows_if_allowed(VERSION, project)}
            row = rows.get(version)
            if row is None:
                facts.append(f"version {version} is not a version of this project, nor shared with it")
            elif row.get("status") != "open":
                facts.append(f"version '{row['name']}' is {row.get('status')}")
        if assignee := body.get("assigned_to_id"):
            facts += await self._facts_of_assignee(int(assignee), project, certain=certain)
        return facts

    async def _facts_of_assignee(self, assignee: int, project: int, *, certain: bool) -> list[str]:
        members = await self._lookups.rows_if_allowed(MEMBERSHIP, project)
        own = [row for row in members if (row.get("user") or row.get("group") or {}).get("id") == assignee]
        if members and not own:
            return [f"user {assignee} is no member of this project"]
        name = (own[0].get("user") or own[0].get("group") or {}).get("name") if own else assignee
        if own and "group" in own[0]:
            return [] if certain else [f"'{name}' is a group, and this Redmine may not let groups have issues"]
        user = await self._lookups.record_if_allowed(USER, assignee)
        if user is None or user.get("status") == _LOCKED:
            return [f"user '{name}' is locked"]
        roles = [await self._lookups.record_if_allowed(ROLE, role["id"]) for one in own for role in one["roles"]]
        if roles and not any(role is None or role.get("assignable", True) for role in roles):
            return [f"user '{name}' has only roles to which no issue can be assigned"]
        return []

    async def who_might(self, permission: str) -> str:
        """A sentence with the roles that have a permission."""
        roles = [await self._lookups.record_if_allowed(ROLE, role["id"]) for role in await self._lookups.rows(ROLE)]
        names = [role["name"] for role in roles if role and permission in role.get("permissions", ())]
        if not names:
            return f"No role has the permission {permission}; an administrator can give it to one."
        return f"These roles have the permission {permission}: {', '.join(names)}."

    async def _roles_in(self, project: int | None) -> list[JsonObject]:
        """Our roles in a project; without one, all our roles."""
        memberships = (await self._service.me()).get("memberships", ())
        if project is not None:
            memberships = [one for one in memberships if one.get("project", {}).get("id") == project]
        ids = {role["id"] for one in memberships for role in one.get("roles", ())}
        ids |= {NON_MEMBER} if project is None or not ids else set()
        roles = [await self._lookups.record_if_allowed(ROLE, id_) for id_ in sorted(ids)]
        return [role for role in roles if role is not None]

    async def _project(self, project: int | str | None) -> JsonObject | None:
        if project is None:
            return None
        try:
            return await self._records.show(PROJECT, project, ("enabled_modules",))
        except RedmineRefused as refusal:
            if refusal.status_code != 403:
                raise
            me = await self._service.me()
            # For an administrator, only an archived project is inaccessible; for others also a private one.
            return {"id": project, "status": ARCHIVED} if me.get("admin") else None


def _state(project: JsonObject, kind: Kind, act: str) -> tuple[str, str] | None:
    if kind is PROJECT and act in _TO_ANY_PROJECT:
        return None
    if project.get("status") == CLOSED and act not in _READING:
        name = project.get("name") or project["id"]
        return f"project '{name}' is closed, nothing in it can be changed", "reopen_project opens it again."
    if project.get("status") == ARCHIVED:
        return "the project is archived", "unarchive_project brings it back."
    modules = [one.get("name") for one in project.get("enabled_modules") or ()]
    if kind.module is not None and "enabled_modules" in project and kind.module not in modules:
        name = project.get("name") or project["id"]
        hint = "update_project with enabled_module_names switches it on."
        return f"the module {kind.module} is switched off in project '{name}'", hint
    return None
