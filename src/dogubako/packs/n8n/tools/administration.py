"""Data tables, credentials, tags, the security audit and insights."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec
from pydantic import Field, SecretStr

from dogubako.contract.errors import ApiError, NotFoundError, NotFoundErrorContext, ValidationError
from dogubako.contract.metadata import Effect, ToolExample
from dogubako.contract.output import Guidance, Json, Message, example_call
from dogubako.contract.tool import BaseTool, ToolArgs
from dogubako.packs.n8n.call_headers import masked_error
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.formatters.truncation import small_json
from dogubako.packs.n8n.nodes.problems import near_names, quoted

JsonObject = dict[str, Any]
Where = dict[str, Any]
_MOST_FORESEEN: Final = 5
_CONDITIONS: Final = ("eq", "neq", "like", "ilike", "gt", "gte", "lt", "lte")
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
            shown = [_table_row(one) for one in tables]
            message = Message(en=f"{len(tables)} data tables", ja=f"データテーブル{len(tables)}件")
            return Json(data={"tables": shown}, message=message, count=len(tables))
        table = _named(tables, args.table)
        query = {"filter": _all_of(args.where) if args.where else None, "search": args.search}
        page = await self.client.administration.rows(str(table["id"]), limit=args.limit, cursor=args.cursor, **query)
        data = {"table": table.get("name"), "rows": page["data"], "nextCursor": page.get("nextCursor")}
        message = Message(en=f"{len(page['data'])} rows", ja=f"{len(page['data'])}行")
        return Json(data=data, message=message, count=len(page["data"]))


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
        table = _named(await self.client.administration.tables(), args.table)
        table_id = str(table["id"])
        if args.action == "insert":
            rows = await self.client.administration.insert(table_id, args.rows)
        else:
            body = {"filter": _all_of(args.where), "data": args.rows[0], "dryRun": args.dryRun}
            rows = await self.client.administration.change(table_id, args.action, body)
        return _changed_rows(table, rows, dry_run=args.dryRun)


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
        found = (await self._delete(args, dry_run=True))[1]
        rows = [{key: one[key] for key in one if key != "dryRunState"} for one in found if _is_as_it_is(one)]
        shown = f": {msgspec.json.encode(small_json(rows[:_MOST_FORESEEN])).decode()}" if rows else ""
        more = ", …" if len(rows) > _MOST_FORESEEN else ""
        return f"This would delete {len(rows)} rows for good{shown}{more}."

    async def execute(self, args: DeleteDataTableRowsArgs) -> Json:
        return _changed_rows(*await self._delete(args, dry_run=False), dry_run=False)

    async def _delete(self, args: DeleteDataTableRowsArgs, *, dry_run: bool) -> tuple[JsonObject, list[JsonObject]]:
        table = _named(await self.client.administration.tables(), args.table)
        rows = await self.client.administration.delete_rows(str(table["id"]), _all_of(args.where), dry_run=dry_run)
        return table, rows


def _is_as_it_is(row: JsonObject) -> bool:
    """Whether a row of a preview is one that is there, and not what it would become."""
    return row.get("dryRunState") in (None, "before")


def _changed_rows(table: JsonObject, rows: Sequence[JsonObject], *, dry_run: bool) -> Json:
    """What was, or would be, changed. A preview has each row as it is and as it would be."""
    count = sum(row.get("dryRunState") != "before" for row in rows)
    en, ja = (f"{count} rows would change", f"{count}行が変わります") if dry_run else (f"{count} rows", f"{count}行")
    return Json(data={"table": table.get("name"), "dryRun": dry_run, "rows": rows}, message=Message(en=en, ja=ja))


class CreateCredentialArgs(ToolArgs):
    name: str = Field(min_length=1, max_length=128, description="Its name in n8n.")
    type: str = Field(min_length=1, max_length=128, description="Type, for example httpHeaderAuth.")
    data: dict[str, SecretStr | bool | int | float] = Field(
        description="Its fields, as get_credential_schema lists them. They go to n8n and are never shown."
    )


class CreateCredential(BaseTool[CreateCredentialArgs, N8nClient]):
    """Create a credential in n8n. What it holds is never shown again, by n8n or by this tool."""

    name = "create_credential"
    effect = Effect.WRITE
    tags = ("credentials",)
    keywords = {
        "en": "store a login or an API key in n8n; add a secret for a service; "
        "save a password or key so that flows can use it",
        "ja": "認証情報 作成 登録 ログイン APIキー 秘密 キーを登録 パスワードを保存",
    }

    async def execute(self, args: CreateCredentialArgs) -> Json:
        data = {key: one.get_secret_value() if isinstance(one, SecretStr) else one for key, one in args.data.items()}
        body = {"name": args.name, "type": args.type, "data": data}
        try:
            made = await self.client.administration.create_credential(body)
        except ApiError as error:
            secrets = [one.get_secret_value() for one in args.data.values() if isinstance(one, SecretStr)]
            raise masked_error(error, secrets) from None
        shown = {key: made.get(key) for key in ("id", "name", "type")}
        example = example_call("test_credential", id=str(made["id"]))
        message = Message(en="Credential created", ja="認証情報を作成しました")
        return Json(data=shown, message=message, guidance=Guidance(message="See whether it works.", example=example))


class TestCredentialArgs(ToolArgs):
    id: str = Field(min_length=1, max_length=64, description="Credential id, as list_credentials shows it.")


class TestCredential(BaseTool[TestCredentialArgs, N8nClient]):
    """Let n8n try a credential at its service. Not every type has a test."""

    name = "test_credential"
    effect = Effect.READ
    tags = ("credentials",)
    keywords = {
        "en": "does a stored login still work; try an API key of n8n; is the password still right",
        "ja": "認証情報 テスト 確認 有効 使える ログイン まだ使えるか",
    }

    async def execute(self, args: TestCredentialArgs) -> Json:
        found = await self.client.administration.test_credential(args.id)
        works = found.get("status") == "OK"
        data = {"id": args.id, "works": works, "reason": str(found.get("message") or "")[:500] or None}
        en, ja = (
            ("The credential works", "認証情報は有効です") if works else ("It did not work", "確認できませんでした")
        )
        return Json(data={key: one for key, one in data.items() if one is not None}, message=Message(en=en, ja=ja))


class RenameTagArgs(ToolArgs):
    tag: str = Field(min_length=1, description="Name or id.")
    name: str = Field(min_length=1, max_length=24, description="The new name.")


class RenameTag(BaseTool[RenameTagArgs, N8nClient]):
    """Rename a tag of workflows."""

    name = "rename_tag"
    keywords = {
        "en": "give a label another name; correct a misspelt label; call it differently",
        "ja": "ラベル名を変える タグの名前 改名 名称変更 付け替え 直す",
    }
    effect = Effect.WRITE
    idempotent = True
    tags = ("tags",)

    async def execute(self, args: RenameTagArgs) -> Json:
        tag = _named(await self.client.lookups.tags(), args.tag, "Tag", "list_tags shows them.")
        now = await self.client.administration.rename_tag(str(tag["id"]), args.name)
        data = {"id": tag["id"], "name": now.get("name")}
        return Json(data=data, message=Message(en="Tag renamed", ja="タグの名前を変更しました"))


class DeleteTagArgs(ToolArgs):
    tag: str = Field(min_length=1, description="Name or id.")


class DeleteTag(BaseTool[DeleteTagArgs, N8nClient]):
    """Delete a tag. Workflows that have it lose it."""

    name = "delete_tag"
    keywords = {
        "en": "remove a label from all flows; get rid of an old label; clean up labels",
        "ja": "ラベルを消す タグを削除 不要なラベル 整理 片付け 取り除く",
    }
    effect = Effect.DESTROY
    tags = ("tags",)

    def consequence(self, args: DeleteTagArgs) -> str:
        return "This would delete the tag, and take it from all workflows that have it."

    async def execute(self, args: DeleteTagArgs) -> Json:
        tag = _named(await self.client.lookups.tags(), args.tag, "Tag", "list_tags shows them.")
        await self.client.administration.delete_tag(str(tag["id"]))
        data = {"id": tag["id"], "name": tag.get("name"), "deleted": True}
        return Json(data=data, message=Message(en="Tag deleted", ja="タグを削除しました"))


class GetInstanceReportArgs(ToolArgs):
    report: Literal["insights", "audit"] = Field(
        description="Counts and failure rate of executions, or a security audit."
    )


class GetInstanceReport(BaseTool[GetInstanceReportArgs, N8nClient]):
    """Report on the whole instance: how executions went (insights), or security risks (audit)."""

    name = "get_instance_report"
    effect = Effect.READ
    tags = ("instance",)
    examples = (ToolExample(description="How often do runs fail?", parameters={"report": "insights"}),)
    keywords = {
        "en": "how many runs failed lately; failure rate and time saved; "
        "security risks of the instance; how healthy is our n8n as a whole; "
        "how is the server doing; any security holes",
        "ja": "監査 統計 インサイト レポート 失敗率 件数 リスク セキュリティ 全体 調子 健康 様子 穴",
    }

    async def execute(self, args: GetInstanceReportArgs) -> Json:
        if args.report == "insights":
            found = await self.client.administration.insights()
            return Json(data={"insights": found}, message=Message(en="Insights", ja="インサイト"))
        reports = await self.client.administration.audit()
        risks = [section for report in reports.values() for section in _sections(report)]
        message = Message(en=f"{len(risks)} risks", ja=f"リスク{len(risks)}件")
        return Json(data={"risks": risks}, message=message, count=len(risks))


def _sections(report: Any) -> Iterable[JsonObject]:
    """The sections of one report, with their places."""
    for section in (report.get("sections") or ()) if isinstance(report, Mapping) else ():
        kept = {key: section.get(key) for key in ("title", "recommendation", "location") if section.get(key)}
        yield {"risk": report.get("risk"), **kept}


def _named(rows: Sequence[JsonObject], wanted: str, kind: str = "Data table", hint: str = "") -> JsonObject:
    """The row with this name or id, or an error with similar names."""
    for one in rows:
        if wanted in (one.get("name"), one.get("id")):
            return one
    near = near_names(wanted, (str(one.get("name")) for one in rows))
    advice = f"Did you mean {' or '.join(near)}?" if near else hint or "read_data_table without table lists them."
    context = NotFoundErrorContext(operation="find", resource_type=kind, resource_id=wanted[:100])
    raise NotFoundError(f"{kind} {quoted(wanted)} not found", context=context, hint=advice)


def _all_of(where: Where) -> JsonObject:
    """n8n's form of a filter. A plain value means equality."""
    filters = []
    for column, wanted in where.items():
        comparisons = wanted if isinstance(wanted, dict) else {"eq": wanted}
        if not comparisons or not set(comparisons) <= set(_CONDITIONS):
            listed = ", ".join(_CONDITIONS)
            raise ValidationError.of("where", f"Invalid value for parameter where: comparisons are {listed}")
        filters += [{"columnName": column, "condition": how, "value": one} for how, one in comparisons.items()]
    return {"type": "and", "filters": filters}


def _table_row(table: Mapping[str, Any]) -> JsonObject:
    columns = sorted(table.get("columns") or (), key=lambda one: one.get("index", 0))
    return {
        "id": table.get("id"),
        "name": table.get("name"),
        "columns": {str(one.get("name")): one.get("type") for one in columns},
    }


TOOLS = (
    ReadDataTable,
    WriteDataTable,
    DeleteDataTableRows,
    CreateCredential,
    TestCredential,
    RenameTag,
    DeleteTag,
    GetInstanceReport,
)
