"""Small lists that nearly every call needs: read once, kept for a minute, read anew when a name is not in them."""

import time
from collections.abc import Awaitable, Callable
from typing import Final

from dogubako.contract.errors import DogubakoError
from dogubako.packs.redmine.api.records import RecordsApi, rows_of, to
from dogubako.packs.redmine.api.service import RedmineService, place
from dogubako.packs.redmine.models import (
    ACTIVITY,
    CATEGORY,
    MEMBERSHIP,
    PRIORITY,
    PROJECT,
    QUERY,
    ROLE,
    STATUS,
    TRACKER,
    VERSION,
    Json,
    Kind,
)

_KEPT_SECONDS: Final = 60.0
NON_MEMBER: Final = 1

_EVERYWHERE: Final = {
    STATUS: place("issue_statuses"),
    TRACKER: place("trackers"),
    PRIORITY: place("enumerations", "issue_priorities"),
    ACTIVITY: place("enumerations", "time_entry_activities"),
    ROLE: place("roles"),
}
_PAGED: Final = {QUERY: place("queries"), PROJECT: place("projects")}
_IN_A_PROJECT: Final = {VERSION: "versions", CATEGORY: "issue_categories", MEMBERSHIP: "memberships"}


class Lookups:
    """Lists of one Redmine, as our user sees them."""

    def __init__(self, service: RedmineService) -> None:
        self._service = service
        self._records = RecordsApi(service)
        self._kept: dict[str, tuple[float, list[Json]]] = {}

    async def rows(self, kind: Kind, project: int | str | None = None, *, fresh: bool = False) -> list[Json]:
        """All rows of a kind; those of a project where the kind belongs to one."""
        key = f"{kind.many} {project if kind in _IN_A_PROJECT else ''}"
        return await self.remembered(key, lambda: self._read(kind, project), fresh=fresh)

    async def remembered(
        self, key: str, read: Callable[[], Awaitable[list[Json]]], *, fresh: bool = False
    ) -> list[Json]:
        """What `read` found not long ago, or finds now."""
        until, found = self._kept.get(key, (0.0, []))
        if fresh or time.monotonic() >= until:
            found = await read()
            self._kept[key] = (time.monotonic() + _KEPT_SECONDS, found)
        return found

    async def role(self, id_: int) -> Json | None:
        """A role with its permissions; nothing where this user may not see it."""

        async def read() -> list[Json]:
            try:
                return [await self._records.show(ROLE, id_)]
            except DogubakoError:
                return []

        found = await self.remembered(f"role {id_}", read)
        return found[0] if found else None

    def forget(self) -> None:
        """After a write that changes one of these lists."""
        self._kept.clear()

    async def _read(self, kind: Kind, project: int | str | None) -> list[Json]:
        if kind in _IN_A_PROJECT:
            if project is None:
                raise LookupError(f"{kind.many} belong to a project")
            return await self._records.all(kind, place("projects", project, _IN_A_PROJECT[kind]))
        if kind is PROJECT:
            # Without a word about the state Redmine leaves out closed projects.
            return await self._records.all(kind, _PAGED[kind], status="1|5")
        if kind in _PAGED:
            return await self._records.all(kind, _PAGED[kind])
        return rows_of(await self._service.get(_EVERYWHERE[kind], to("list", kind)), kind)
