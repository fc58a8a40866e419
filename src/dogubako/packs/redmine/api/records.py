"""Lists and single records of any kind, read as Redmine's API gives them out."""

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import unquote

from dogubako.contract.errors import NotFoundError
from dogubako.outbound.http import Asked
from dogubako.packs.redmine.api.service import RedmineService, missing, place, unlike_redmine
from dogubako.packs.redmine.models import PROJECT, WIKI_PAGE, Json, Kind, Listing

MOST_PER_PAGE: Final = 100
_MOST_PAGES: Final = 20


def to(act: str, kind: Kind, id_: str | int | None = None) -> Asked:
    """What we are about to do, for messages and the log: `update issue`."""
    named = str(id_) if id_ is not None else None
    return Asked(
        operation=f"{act} {kind.many.replace('_', ' ') if act == 'list' else kind.noun}",
        resource_type=kind.label,
        resource_id=named,
    )


class RecordsApi:
    """What all kinds of records have in common."""

    def __init__(self, service: RedmineService) -> None:
        self.service = service

    async def page(self, kind: Kind, path: str | None = None, *, asked: Asked | None = None, **params: Any) -> Listing:
        """One page of a list, with the totals that Redmine counted."""
        asked = asked or to("list", kind)
        try:
            answer = await self.service.get(path or place(kind.many), asked, **params)
        except NotFoundError:
            raise _of_nothing(asked, kind, path or "", params) from None
        rows = rows_of(answer, kind)
        _check_length(rows, answer, params.get("limit"), kind)
        return Listing(
            rows=rows,
            # A search for one letter has no total, and lists that are never paged do not count.
            total=answer.get("total_count") if isinstance(answer.get("total_count"), int) else len(rows),  # type: ignore[arg-type]
            offset=answer.get("offset") or 0,
            limit=answer.get("limit") or max(len(rows), 1),
        )

    async def all(self, kind: Kind, path: str | None = None, **params: Any) -> list[Json]:
        """Every row of a list that is known to be small, page by page."""
        rows: list[Json] = []
        for _ in range(_MOST_PAGES):
            page = await self.page(kind, path, limit=MOST_PER_PAGE, offset=len(rows), **params)
            rows += page.rows
            if not page.rows or len(rows) >= page.total:
                break
        return rows

    async def show(
        self,
        kind: Kind,
        id_: str | int,
        include: Sequence[str] = (),
        *,
        path: str | None = None,
        asked: Asked | None = None,
    ) -> Json:
        """One record whole. Who looks for one that is not there learns where to find the ids."""
        asked = asked or to("show", kind, id_)
        params = {"include": ",".join(include)} if include else {}
        try:
            answer = await self.service.get(path or place(kind.many, id_), asked, **params)
        except NotFoundError:
            raise missing(asked, kind.finder) from None
        record = answer.get(kind.one)
        if not isinstance(record, dict):
            raise unlike_redmine(asked, f"it has no '{kind.one}'")
        return record


def _of_nothing(asked: Asked, kind: Kind, path: str, params: Json) -> NotFoundError:
    """Lists are always there; the project that one was asked of may not be."""
    parts = path.split("/")
    project = params.get("project_id") or (unquote(parts[2]) if parts[:2] == ["", "projects"] else None)
    if project is None:
        return missing(asked)
    named = Asked(operation=asked.operation, resource_type=PROJECT.label, resource_id=str(project))
    return missing(named, f"{PROJECT.finder} Or it has no wiki." if kind is WIKI_PAGE else PROJECT.finder)


def _check_length(rows: Sequence[Json], answer: Json, limit: int | None, kind: Kind) -> None:
    """A page with more rows than were asked for is none of Redmine's. A list that it never pages names no limit."""
    if limit is not None and "limit" in answer and len(rows) > limit:
        said = f"it has {len(rows):,} {kind.many.replace('_', ' ')} where {limit:,} were asked for"
        raise unlike_redmine(to("list", kind), said)


def rows_of(answer: Json, kind: Kind) -> list[Json]:
    """The rows of a list; what is no object is no row, and an answer without a list is not "none"."""
    rows = answer.get(kind.many)
    if not isinstance(rows, list):
        raise unlike_redmine(to("list", kind), f"it has no '{kind.many}'")
    return [row for row in rows if isinstance(row, dict)]
