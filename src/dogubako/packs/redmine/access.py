"""Why Redmine said no: which permission is missing, which roles have it, what state the project is in."""

from typing import Final

from dogubako.contract.errors import DogubakoError
from dogubako.packs.redmine.api.records import RecordsApi
from dogubako.packs.redmine.api.service import RedmineService
from dogubako.packs.redmine.errors import RedmineRefused
from dogubako.packs.redmine.lookups import NON_MEMBER, Lookups
from dogubako.packs.redmine.models import ADMINISTRATOR, ARCHIVED, CLOSED, PROJECT, ROLE, Json, Kind

_READING: Final = ("show", "list")
# What can be done to a project in any state.
_TO_ANY_PROJECT: Final = ("close", "reopen", "archive", "unarchive", "delete")


class Access:
    """What our user may do."""

    def __init__(self, service: RedmineService, lookups: Lookups) -> None:
        self._service = service
        self._lookups = lookups
        self._records = RecordsApi(service)

    async def lacks(self, permission: str, project: int | None) -> bool:
        """Whether it is certain that our user does not have a permission in a project."""
        me = await self._service.me()
        if me.get("admin"):
            return False
        if permission == ADMINISTRATOR:
            return True
        roles = [role for role in await self._roles_in(project) if "permissions" in role]
        return bool(roles) and not any(permission in role["permissions"] for role in roles)

    async def holds(self, permission: str, project: int) -> bool:
        """Whether it is certain, at this moment, that our user has a permission in a project."""
        self._service.forget_me()
        self._lookups.forget()
        if (await self._service.me()).get("admin"):
            return True
        return any(permission in role.get("permissions", ()) for role in await self._roles_in(project))

    async def explained(
        self, refusal: RedmineRefused, kind: Kind, act: str, project: int | str | None
    ) -> RedmineRefused:
        """A refusal in words. Redmine has none for a missing permission or a closed project, so we look around."""
        if refusal.explained or refusal.status_code not in (403, 422):
            return refusal
        # Once is enough, whatever is found.
        refusal.explained = True
        try:
            found = await self._project(project)
            if found is not None and (state := _state(found, kind, act)) is not None:
                reason, hint = state
                return refusal.because(reason, hint)
            if refusal.status_code == 422:
                return refusal
            return await self._lacking(refusal, kind, act, found["id"] if found else None)
        except DogubakoError:
            return refusal

    async def _lacking(self, refusal: RedmineRefused, kind: Kind, act: str, project: int | None) -> RedmineRefused:
        me = await self._service.me()
        name, permission = me.get("login"), kind.needs.get(act)
        if permission == ADMINISTRATOR:
            hint = "Ask an administrator, or use a key of one."
            return refusal.because(f"only administrators may do this, and user '{name}' is none", hint)
        if permission is None or not await self.lacks(permission, project):
            hint = "It may be private, its project archived, or the module switched off in the project."
            return refusal.because(f"user '{name}' may not do this", hint)
        held = ", ".join(role["name"] for role in await self._roles_in(project))
        reason = f"user '{name}' (role: {held}) lacks the permission {permission}"
        return refusal.because(reason, await self.who_might(permission))

    async def who_might(self, permission: str) -> str:
        """Which roles have a permission, as a sentence."""
        roles = [await self._lookups.record_if_allowed(ROLE, role["id"]) for role in await self._lookups.rows(ROLE)]
        names = [role["name"] for role in roles if role and permission in role.get("permissions", ())]
        if not names:
            return f"No role has the permission {permission}; an administrator can give it to one."
        return f"These roles have the permission {permission}: {', '.join(names)}."

    async def _roles_in(self, project: int | None) -> list[Json]:
        """Our roles in a project; without one, all that we have anywhere."""
        memberships = (await self._service.me()).get("memberships", ())
        if project is not None:
            memberships = [one for one in memberships if one.get("project", {}).get("id") == project]
        ids = {role["id"] for one in memberships for role in one.get("roles", ())}
        ids |= {NON_MEMBER} if project is None or not ids else set()
        roles = [await self._lookups.record_if_allowed(ROLE, id_) for id_ in sorted(ids)]
        return [role for role in roles if role is not None]

    async def _project(self, project: int | str | None) -> Json | None:
        if project is None:
            return None
        try:
            return await self._records.show(PROJECT, project)
        except RedmineRefused as refusal:
            if refusal.status_code != 403:
                raise
            me = await self._service.me()
            # To an administrator only an archived project is closed; to others also one that is private.
            return {"id": project, "status": ARCHIVED} if me.get("admin") else None


def _state(project: Json, kind: Kind, act: str) -> tuple[str, str] | None:
    if kind is PROJECT and act in _TO_ANY_PROJECT:
        return None
    if project.get("status") == CLOSED and act not in _READING:
        name = project.get("name") or project["id"]
        return f"project '{name}' is closed, nothing in it can be changed", "reopen_project opens it again."
    if project.get("status") == ARCHIVED:
        return "the project is archived", "unarchive_project brings it back."
    return None
