"""Read, write and delete rows of data tables. What is overwritten or deleted is in the answer, or it stays."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, Literal

import msgspec
from pydantic import Field

from dogubako.contract.errors import AnswerTooLargeError, ApiError, ValidationError
from dogubako.contract.metadata import Effect
from dogubako.contract.output import Json, Message, example_call
from dogubako.contract.tool import BaseTool, ToolArgs
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.data_tables import (
    columns_of,
    differences,
    listed_columns,
    selected,
    shown_rows,
    values_for,
)
from dogubako.packs.n8n.formatters.truncation import small_json, tokens_of
from dogubako.packs.n8n.tools.lookups import named

JsonObject = dict[str, Any]
Where = dict[str, Any]
_MOST_FORESEEN: Final = 5
# Pages that are looked through for a row that meets a condition which n8n cannot compare.
_MOST_PAGES: Final = 20
_WHERE: Final = "Values by column, or comparisons: {'city': 'Kobe', 'age': {'gte': 18}}."


class ReadDataTableArgs(ToolArgs):
    table: str | None = Field(None, description="Name or id. Without it: a list of all tables with their columns.")
    where: Where = Field(default_factory=dict, description=_WHERE)
    search: str | None = Field(None, description="Only rows with this text.")
    limit: int = Field(50, ge=1, le=250, description="How many at most.")
    cursor: str | None = Field(None, description="Where the page before ended.")


class ReadDataTable(BaseTool[ReadDataTableArgs, N8nClient]):
    """List n8n's data tables, or read rows of one."""

    name = "read_data_table"
    effect = Effect.READ
    tags = ("data tables",)
    keywords = {
        "en": "look up stored records; show rows of a table in n8n; which tables are there; "
        "what is in a table; list the customers of a table",
        "ja": "データテーブル 行 一覧 表 レコード 検索 中身 テーブルの中身",
    }

    async def execute(self, args: ReadDataTableArgs) -> Json:
        tables = await self.client.administration.tables()
        if args.table is None:
            shown = [{"id": one.get("id"), "name": one.get("name"), "columns": columns_of(one)} for one in tables]
            message = Message(en=f"{len(tables)} data tables", ja=f"データテーブル{len(tables)}件")
            return Json(data={"tables": shown}, message=message, count=len(tables))
        table = _table(tables, args.table)
        async with _columns_told(table):
            rows, cursor = await self._page(table, args)
        data = {"table": table.get("name"), "rows": shown_rows(rows, table), "nextCursor": cursor}
        message = Message(en=f"{len(rows)} rows", ja=f"{len(rows)}行")
        return Json(data=data, message=message, count=len(rows))

    async def _page(self, table: JsonObject, args: ReadDataTableArgs) -> tuple[list[JsonObject], str | None]:
        """The next rows that are meant. A page of n8n may have none of them."""
        selection = selected(args.where, table)
        query = {"filter": selection.filter if args.where else None, "search": args.search, "limit": args.limit}
        rows: list[JsonObject] = []
        cursor = args.cursor
        for _ in range(_MOST_PAGES):
            page = await self.client.administration.rows(str(table["id"]), cursor=cursor, **query)
            rows, cursor = [one for one in page["data"] if selection.meets(one)], page.get("nextCursor")
            if rows or not cursor:
                break
        return rows, cursor


class WriteDataTableArgs(ToolArgs):
    table: str = Field(min_length=1, description="Name or id.")
    action: Literal["insert", "update", "upsert"] = Field(description="upsert inserts if no row meets where.")
    rows: list[JsonObject] = Field(
        min_length=1, max_length=100, description="Values by column; one row but for insert."
    )
    where: Where = Field(default_factory=dict, description="Rows to change, as in read_data_table.")
    dryRun: bool = Field(False, description="Show what an update or upsert would change.")


class WriteDataTable(BaseTool[WriteDataTableArgs, N8nClient]):
    """Insert, update or upsert rows of a data table. The answer has the rows as they are now."""

    name = "write_data_table"
    effect = Effect.WRITE
    tags = ("data tables",)
    keywords = {
        "en": "add a record; change stored rows; save values in a table of n8n; put a new row in; "
        "change the value of a row",
        "ja": "データテーブル 行 追加 更新 レコード 保存 書き込む 一行足す 値を変える",
    }

    async def execute(self, args: WriteDataTableArgs) -> Json:
        if args.action != "insert" and (not args.where or len(args.rows) != 1):
            raise ValidationError.of(
                "where", f"Required parameter missing: where. To {args.action}, give it and one row"
            )
        if args.action == "insert" and (args.where or args.dryRun):
            raise ValidationError.of(
                "where", "Invalid value for parameter where: insert takes neither where nor dryRun"
            )
        table = _table(await self.client.administration.tables(), args.table)
        values = values_for(args.rows, table)
        async with _columns_told(table):
            if args.action != "insert":
                return await self._change(table, args, values[0])
            rows = await self.client.administration.insert(str(table["id"]), values)
        return _changed_rows(table, rows, differences(args.rows, rows, table))

    async def _change(self, table: JsonObject, args: WriteDataTableArgs, values: JsonObject) -> Json:
        """Update or upsert. Only a preview tells what the rows were."""
        ask, table_id = self.client.administration, str(table["id"])
        selection = selected(args.where, table)
        body = {"filter": selection.filter, "data": values, "dryRun": True}
        planned = await ask.change(table_id, args.action, body)
        overwritten = [one for one in planned if one.get("dryRunState") == "before" and one.get("id") is not None]
        condition = selection.filter_for(overwritten)
        if condition is None:
            return await self._of_none(table, args, values)
        meant = [one for one in overwritten if selection.meets(one)]
        before = _before(meant, values)
        self._check_kept(before, len(meant))
        if args.dryRun:
            kept = {one["id"] for one in meant}
            rows = [one for one in planned if not overwritten or one.get("id") in kept]
            return _changed_rows(table, rows, dry_run=True)
        rows = await ask.change(table_id, args.action, {**body, "filter": condition, "dryRun": False})
        return _changed_rows(table, rows, differences(args.rows, rows, table), before=before)

    async def _of_none(self, table: JsonObject, args: WriteDataTableArgs, values: JsonObject) -> Json:
        """No row meets the conditions, although n8n would change some."""
        if args.action == "update":
            return _changed_rows(table, [], dry_run=args.dryRun)
        if args.dryRun:
            return _changed_rows(table, [{**values, "id": 0, "dryRunState": "after"}], dry_run=True)
        rows = await self.client.administration.insert(str(table["id"]), [values])
        return _changed_rows(table, rows, differences(args.rows, rows, table))

    def _check_kept(self, before: Sequence[JsonObject], count: int) -> None:
        """What is overwritten must be in the answer. The rows as they are now can be read again."""
        if tokens_of(before) > self.context.responses.max_tokens // 2:
            message = (
                f"What {count} rows have now would not fit into the answer, and would be lost: nothing was changed."
            )
            raise AnswerTooLargeError(message, hint="Change fewer at once: bound where by id, for example.")


class DeleteDataTableRowsArgs(ToolArgs):
    table: str = Field(min_length=1, description="Name or id.")
    where: Where = Field(min_length=1, description="Rows to delete, as in read_data_table.")


class DeleteDataTableRows(BaseTool[DeleteDataTableRowsArgs, N8nClient]):
    """Delete rows of a data table for good. The answer has the deleted rows."""

    name = "delete_data_table_rows"
    effect = Effect.DESTROY
    tags = ("data tables",)
    keywords = {
        "en": "remove stored records; delete rows from a table of n8n; throw out old rows",
        "ja": "データテーブル 行 削除 レコード 消す",
    }

    def consequence(self, args: DeleteDataTableRowsArgs) -> str:
        return "This would delete the rows of the data table that meet the conditions, for good."

    async def foresee(self, args: DeleteDataTableRowsArgs) -> str:
        rows = (await self._planned(args))[2]
        shown = f": {msgspec.json.encode(small_json(rows[:_MOST_FORESEEN])).decode()}" if rows else ""
        more = ", …" if len(rows) > _MOST_FORESEEN else ""
        return f"This would delete {len(rows)} rows for good{shown}{more}."

    async def execute(self, args: DeleteDataTableRowsArgs) -> Json:
        table, condition, _ = await self._planned(args)
        rows: list[JsonObject] = []
        if condition is not None:
            rows = await self.client.administration.delete_rows(str(table["id"]), condition, dry_run=False)
        return _changed_rows(table, rows)

    async def _planned(self, args: DeleteDataTableRowsArgs) -> tuple[JsonObject, JsonObject | None, list[JsonObject]]:
        """The table, the filter for exactly the rows that are meant, and these rows, which an answer can hold."""
        table = _table(await self.client.administration.tables(), args.table)
        selection = selected(args.where, table)
        async with _columns_told(table):
            found = await self.client.administration.delete_rows(str(table["id"]), selection.filter, dry_run=True)
        # A preview may have each row twice: as it is, and as nothing.
        found = [one for one in found if one.get("dryRunState") in (None, "before")]
        meant = [{key: one[key] for key in one if key != "dryRunState"} for one in found if selection.meets(one)]
        rows = shown_rows(sorted(meant, key=lambda one: one.get("id") or 0), table)
        self._check_kept(args, rows)
        return table, selection.filter_for(found), rows

    def _check_kept(self, args: DeleteDataTableRowsArgs, rows: Sequence[JsonObject]) -> None:
        """Refuse to delete more than the answer can show: it is the only place where the rows are afterwards."""
        room = self.context.responses.max_tokens * 9 // 10 - 200
        fitting = 0
        for row in rows:
            room -= tokens_of(row) + 1
            if room < 0:
                break
            fitting += 1
        if fitting == len(rows):
            return
        hint = "One row alone is too large: read it, and delete it in n8n's editor."
        if fitting:
            own = args.where.get("id")
            bound = {**(own if isinstance(own, dict) else {}), "lte": rows[fitting - 1]["id"]}
            example = example_call(self.name, table=args.table, where={**args.where, "id": bound})
            hint = f"Delete them in parts; this would take the first {fitting}: {example}"
        message = f"{len(rows)} rows do not fit into the answer, and would be lost: nothing was deleted."
        raise AnswerTooLargeError(message, hint=hint)


def _before(rows: Sequence[JsonObject], values: Mapping[str, Any]) -> list[JsonObject]:
    """What the changed columns had, and which rows had it."""
    groups: dict[bytes, JsonObject] = {}
    for row in rows:
        had = {name: row.get(name) for name in values}
        group = groups.setdefault(msgspec.json.encode(had), {"values": had, "ids": []})
        group["ids"].append(row.get("id"))
    return list(groups.values())


def _changed_rows(
    table: JsonObject,
    rows: Sequence[JsonObject],
    changed: Sequence[JsonObject] = (),
    *,
    before: Sequence[JsonObject] = (),
    dry_run: bool = False,
) -> Json:
    """What was, or would be, changed. A preview has each row as it is and as it would be."""
    count = sum(row.get("dryRunState") != "before" for row in rows)
    en, ja = (f"{count} rows would change", f"{count}行が変わります") if dry_run else (f"{count} rows", f"{count}行")
    told = {"before": before, "differences": changed}
    data = {
        "table": table.get("name"),
        "dryRun": dry_run,
        **{key: list(one) for key, one in told.items() if one},
        "rows": shown_rows(rows, table),
    }
    return Json(data=data, message=Message(en=en, ja=ja))


def _table(tables: Sequence[JsonObject], wanted: str) -> JsonObject:
    return named(tables, wanted, "Data table", "read_data_table without table lists them.")


@asynccontextmanager
async def _columns_told(table: JsonObject) -> AsyncIterator[None]:
    """Add the columns to what n8n says of a wrong value."""
    try:
        yield
    except ApiError as error:
        if error.status_code == 400:
            error.hint = f"The columns of the table: {listed_columns(table)}."
        raise


TOOLS = (ReadDataTable, WriteDataTable, DeleteDataTableRows)
