"""List tags and credentials, and find them by name."""

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from dogubako.contract.errors import NotFoundError, NotFoundErrorContext
from dogubako.contract.metadata import Effect
from dogubako.contract.output import Json, Message
from dogubako.contract.tool import NoArgs, RawTool, ToolArgs
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.nodes.problems import near_names, quoted

JsonObject = dict[str, Any]


class ListTags(RawTool[NoArgs, list[JsonObject], N8nClient]):
    """List all tags of workflows."""

    name = "list_tags"
    effect = Effect.READ
    tags = ("tags",)
    keywords = {
        "en": "which labels are used on automations; all tags of flows; which labels do I use on my flows",
        "ja": "ラベル タグ 一覧 印 フロー 使える 種類",
    }

    async def execute_core(self, args: NoArgs) -> list[JsonObject]:
        return await self.client.lookups.tags()

    def format_response(self, data: list[JsonObject], args: NoArgs, raw: bool) -> Json:
        shown = data if raw else [{"id": tag["id"], "name": tag["name"]} for tag in data]
        message = Message(en=f"{len(data)} tags", ja=f"タグ{len(data)}件")
        return Json(data={"tags": shown}, message=message, count=len(data))


class ListCredentials(RawTool[NoArgs, list[JsonObject], N8nClient]):
    """List credentials by id, name and type, to put them into nodes. What they hold stays in n8n."""

    name = "list_credentials"
    effect = Effect.READ
    tags = ("credentials",)
    keywords = {
        "en": "saved logins and accounts; which services are connected; "
        "stored passwords, api keys, tokens; is there a connection for a service; "
        "which logins are stored",
        "ja": "保存 ログイン 情報 アカウント 接続 APIキー 認証 登録済み パスワード 資格情報 つながっている "
        "認証情報 一覧 登録してある ログイン情報",
    }

    async def execute_core(self, args: NoArgs) -> list[JsonObject]:
        return await self.client.lookups.credentials()

    def format_response(self, data: list[JsonObject], args: NoArgs, raw: bool) -> Json:
        # If a version ever returns their contents, they are dropped here.
        safe = [{key: value for key, value in one.items() if key != "data"} for one in data]
        shown = safe if raw else [{key: one.get(key) for key in ("id", "name", "type", "updatedAt")} for one in safe]
        message = Message(en=f"{len(data)} credentials", ja=f"認証情報{len(data)}件")
        return Json(data={"credentials": shown}, message=message, count=len(data))


class GetCredentialSchemaArgs(ToolArgs):
    type: str = Field(min_length=1, max_length=128, description="Type of credential, for example httpBasicAuth.")


class GetCredentialSchema(RawTool[GetCredentialSchemaArgs, JsonObject, N8nClient]):
    """Show which fields a type of credential has."""

    name = "get_credential_schema"
    effect = Effect.READ
    tags = ("credentials",)
    keywords = {
        "en": "which fields does a login need; what to fill in for an account; "
        "what an api key or token connection requires; how to set up a credential",
        "ja": "認証 情報 項目 入力 何が必要 ログイン APIキー 設定 資格情報 種類 フィールド 形式 認証情報 スキーマ",
    }

    async def execute_core(self, args: GetCredentialSchemaArgs) -> JsonObject:
        return await self.client.lookups.credential_schema(args.type)

    def format_response(self, data: JsonObject, args: GetCredentialSchemaArgs, raw: bool) -> Json:
        message = Message(en="Credential schema", ja="認証情報のスキーマ")
        if raw:
            return Json(data=data, message=message)
        shown = {"required": data.get("required") or [], "properties": data.get("properties") or {}}
        return Json(data=shown, message=message)


def named(rows: Sequence[JsonObject], wanted: str, kind: str, hint: str) -> JsonObject:
    """The row with this name or id, or an error with similar names."""
    for one in rows:
        if wanted in (one.get("name"), one.get("id")):
            return one
    near = near_names(wanted, (str(one.get("name")) for one in rows))
    advice = f"Did you mean {' or '.join(near)}?" if near else hint
    context = NotFoundErrorContext(operation="find", resource_type=kind, resource_id=wanted[:100])
    raise NotFoundError(f"{kind} {quoted(wanted)} not found", context=context, hint=advice)


TOOLS = (ListTags, ListCredentials, GetCredentialSchema)
