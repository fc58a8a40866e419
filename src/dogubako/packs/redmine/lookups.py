"""Small lists that most calls need, cached for a minute and read again when a name is missing."""

import math
import time
from collections.abc import Awaitable, Callable
from typing import Final

from dogubako.contract.errors import NotFoundError
from dogubako.packs.redmine.api import RecordsApi, RedmineService, place, rows_of, to
from dogubako.packs.redmine.errors import RedmineRefused
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
    JsonObject,
    Kind,
)

_KEPT_SECONDS: Final = 60.0
_FORBIDDEN: Final = 403
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
        self._kept: dict[str, tuple[float, list[JsonObject]]] = {}

    def now(self) -> float:
        """The current time, for `since`."""
        return time.monotonic()

    async def rows(
        self, kind: Kind, project: int | str | None = None, *, since: float | None = None
    ) -> list[JsonObject]:
        """All rows of a kind, or those of a project if the kind belongs to projects."""
        key = f"{kind.many} {project if kind in _IN_A_PROJECT else ''}"
        return await self.remembered(key, lambda: self._read(kind, project), since=since)

    async def remembered(
        self, key: str, read: Callable[[], Awaitable[list[JsonObject]]], *, since: float | None = None
    ) -> list[JsonObject]:
        """The cached result of `read`, if it is recent and not older than `since`; otherwise a new one."""
        begun = self.now()
        read_at, rows = self._kept.get(key, (-math.inf, []))
        if begun >= read_at + _KEPT_SECONDS or (since is not None and read_at < since):
            rows = await read()
            self._kept[key] = (begun, rows)
        return rows

    async def rows_if_allowed(self, kind: Kind, project: int, *, since: float | None = None) -> list[JsonObject]:
        """Like `rows`, but empty if this user may not see them. Other errors are raised."""
        try:
            return await self.rows(kind, project, since=since)
        except NotFoundError:
            return []
        except RedmineRefused as refusal:
            if refusal.status_code != _FORBIDDEN:
                raise
            return []

    async def record_if_allowed(self, kind: Kind, id_: int) -> JsonObject | None:
        """One record, for example a role with its permissions, or None if this user may not see it."""

        async def read() -> list[JsonObject]:
            try:
                return [await self._records.show(kind, id_)]
            except NotFoundError:
                return []
            except RedmineRefused as refusal:
                if refusal.status_code != _FORBIDDEN:
                    raise
                return []

        records = await self.remembered(f"{kind.one} {id_}", read)
        return records[0] if records else None

    def forget(self) -> None:
        """Clear the cache after a write that changes one of these lists."""
        self._kept.clear()

    async def _read(self, kind: Kind, project: int | str | None) -> list[JsonObject]:
        if kind in _IN_A_PROJECT:
            if project is None:
                raise LookupError(f"{kind.many} belong to a project")
            if kind is CATEGORY:
                # The list itself needs the permission to manage categories; the project shows them to everybody.
                record = await self._records.show(PROJECT, project, (CATEGORY.many,))
                return rows_of(record, CATEGORY)
            return await self._records.all(kind, place("projects", project, _IN_A_PROJECT[kind]))
        if kind is PROJECT:
            # Without a status Redmine omits closed projects.
            return await self._records.all(kind, _PAGED[kind], status="1|5")
        if kind in _PAGED:
            return await self._records.all(kind, _PAGED[kind])
        return rows_of(await self._service.get(_EVERYWHERE[kind], to("list", kind)), kind)
