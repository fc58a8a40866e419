"""Small lists that nearly every call needs: read once, kept for a minute, read anew when a name is not in them."""

import math
import time
from collections.abc import Awaitable, Callable
from typing import Final

from dogubako.contract.errors import NotFoundError
from dogubako.packs.redmine.api.records import RecordsApi, rows_of, to
from dogubako.packs.redmine.api.service import RedmineService, place
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
    Json,
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
        self._kept: dict[str, tuple[float, list[Json]]] = {}

    def now(self) -> float:
        """A moment that `since` may name."""
        return time.monotonic()

    async def rows(self, kind: Kind, project: int | str | None = None, *, since: float | None = None) -> list[Json]:
        """All rows of a kind; those of a project where the kind belongs to one."""
        key = f"{kind.many} {project if kind in _IN_A_PROJECT else ''}"
        return await self.remembered(key, lambda: self._read(kind, project), since=since)

    async def remembered(
        self, key: str, read: Callable[[], Awaitable[list[Json]]], *, since: float | None = None
    ) -> list[Json]:
        """What `read` found not long ago, and with `since` not before that moment; or finds now."""
        begun = self.now()
        read_at, found = self._kept.get(key, (-math.inf, []))
        if begun >= read_at + _KEPT_SECONDS or (since is not None and read_at < since):
            found = await read()
            self._kept[key] = (begun, found)
        return found

    async def rows_if_allowed(self, kind: Kind, project: int, *, since: float | None = None) -> list[Json]:
        """As `rows`; nothing where this user may not look. Any other trouble is not taken for that."""
        try:
            return await self.rows(kind, project, since=since)
        except NotFoundError:
            return []
        except RedmineRefused as refusal:
            if refusal.status_code != _FORBIDDEN:
                raise
            return []

    async def record_if_allowed(self, kind: Kind, id_: int) -> Json | None:
        """One record, a role with its permissions for example; nothing where this user may not see it."""

        async def read() -> list[Json]:
            try:
                return [await self._records.show(kind, id_)]
            except NotFoundError:
                return []
            except RedmineRefused as refusal:
                if refusal.status_code != _FORBIDDEN:
                    raise
                return []

        found = await self.remembered(f"{kind.one} {id_}", read)
        return found[0] if found else None

    def forget(self) -> None:
        """After a write that changes one of these lists."""
        self._kept.clear()

    async def _read(self, kind: Kind, project: int | str | None) -> list[Json]:
        if kind in _IN_A_PROJECT:
            if project is None:
                raise LookupError(f"{kind.many} belong to a project")
            if kind is CATEGORY:
                # The list of its own is for those who manage categories; the project tells them to everybody.
                found = await self._records.show(PROJECT, project, (CATEGORY.many,))
                return rows_of(found, CATEGORY)
            return await self._records.all(kind, place("projects", project, _IN_A_PROJECT[kind]))
        if kind is PROJECT:
            # Without a word about the state Redmine leaves out closed projects.
            return await self._records.all(kind, _PAGED[kind], status="1|5")
        if kind in _PAGED:
            return await self._records.all(kind, _PAGED[kind])
        return rows_of(await self._service.get(_EVERYWHERE[kind], to("list", kind)), kind)
