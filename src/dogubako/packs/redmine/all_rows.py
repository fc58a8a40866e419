"""Read all rows of a list, several pages at once, for sums that must not miss a row."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

import anyio

from dogubako.contract.errors import ApiError, ApiErrorContext, DogubakoError, ValidationError
from dogubako.packs.redmine.api import MOST_PER_PAGE, RecordsApi, to
from dogubako.packs.redmine.models import ISSUE, JsonObject, Kind, Listing

# More would take minutes: a page of 100 issues takes a real Redmine about half a second.
MOST_ROWS: Final = 5_000
_AT_ONCE: Final = 4
_ATTEMPTS: Final = 3
_NARROW: Final = "Narrow it down: by project_id, a status, a version or a range of days."

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


class AllRows:
    """Reads lists to their end. Of each row only `fields` are kept."""

    def __init__(self, records: RecordsApi, kind: Kind, fields: Sequence[str]) -> None:
        self._records = records
        self._kind = kind
        self._fields = ("id", *fields)

    async def read(
        self, params: JsonObject, check: Callable[[list[JsonObject]], None] = lambda rows: None, most: int = MOST_ROWS
    ) -> list[JsonObject]:
        """Every row once. Raises if there are too many, or if the list changes all the time while it is read."""
        for _ in range(_ATTEMPTS):
            pages = await self._pages(params, check, most)
            rows = {row["id"]: row for page in pages for row in page.rows}
            # A row that was added or deleted meanwhile moves the others across the borders of pages.
            if {page.total for page in pages} == {len(rows)}:
                return list(rows.values())
        noun = self._kind.many.replace("_", " ")
        reason = f"{noun} were added or deleted all the time while they were counted"
        context = ApiErrorContext(operation=to("list", self._kind).name, error_details=reason)
        message, hint = f"Failed to list {noun}: {reason}", "Try again in a moment."
        raise ApiError(message, context=context, hint=hint, unreachable=True)

    async def _pages(
        self, params: JsonObject, check: Callable[[list[JsonObject]], None], most: int
    ) -> Sequence[Listing]:
        first = await self._page(params, check, 0)
        if first.total > most:
            raise too_many(first.total, most, self._kind)
        offsets = range(MOST_PER_PAGE, first.total, MOST_PER_PAGE)
        return [first, *await together(lambda offset: self._page(params, check, offset), offsets)]

    async def _page(self, params: JsonObject, check: Callable[[list[JsonObject]], None], offset: int) -> Listing:
        page = await self._records.page(self._kind, **params, limit=MOST_PER_PAGE, offset=offset)
        check(page.rows)
        kept = [{key: row[key] for key in self._fields if key in row} for row in page.rows]
        return Listing(rows=kept, total=page.total, offset=page.offset, limit=page.limit)


async def together(
    act: Callable[[ItemT], Awaitable[ResultT]], items: Sequence[ItemT], at_once: int = _AT_ONCE
) -> list[ResultT]:
    """The results of `act` for all items in their order; so many run at the same time. The first error is raised."""
    results: dict[int, ResultT] = {}
    failures: list[DogubakoError] = []
    limiter = anyio.CapacityLimiter(at_once)

    async def run(index: int, item: ItemT) -> None:
        async with limiter:
            try:
                results[index] = await act(item)
            except DogubakoError as error:
                failures.append(error)
                group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for index, item in enumerate(items):
            group.start_soon(run, index, item)
    if failures:
        raise failures[0]
    return [results[index] for index in range(len(items))]


async def issues_by_id(records: RecordsApi, ids: Sequence[int]) -> dict[int, JsonObject]:
    """Issues by their ids, a hundred with one request. Those that our user may not see are missing."""

    async def read(page: Sequence[int]) -> list[JsonObject]:
        wanted = ",".join(map(str, page))
        return (await records.page(ISSUE, issue_id=wanted, status_id="*", limit=MOST_PER_PAGE)).rows

    pages = [ids[start : start + MOST_PER_PAGE] for start in range(0, len(ids), MOST_PER_PAGE)]
    return {row["id"]: row for rows in await together(read, pages) for row in rows}


def too_many(total: int, most: int, kind: Kind) -> ValidationError:
    """A part of the rows must not be called the whole."""
    noun = kind.many.replace("_", " ")
    return ValidationError.of(
        "project_id", f"{total:,} {noun} match, and one call takes at most {most:,}", hint=_NARROW
    )
