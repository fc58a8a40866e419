"""What surrounds workflows: tags and credentials."""

from typing import Any

from pydantic import Field

from dogubako.contract.metadata import Effect
from dogubako.contract.output import Message, Output
from dogubako.contract.raw_tool import RawTool
from dogubako.contract.tool import NoArgs, ToolArgs
from dogubako.packs.n8n.client import N8nClient

Json = dict[str, Any]


class ListTags(RawTool[NoArgs, list[Json], N8nClient]):
    """List all tags of workflows."""

    name = "list_tags"
    effect = Effect.READ
    tags = ("tags",)
    keywords = {"ja": "タグ 一覧"}

    async def execute_core(self, args: NoArgs) -> list[Json]:
        return await self.client.lookups.tags()

    def format_response(self, data: list[Json], raw: bool) -> Output:
        shown = data if raw else [{"id": tag["id"], "name": tag["name"]} for tag in data]
        message = Message(en=f"{len(data)} tags", ja=f"タグ{len(data)}件")
        return Output(data={"tags": shown}, message=message, count=len(data))


class ListCredentials(RawTool[NoArgs, list[Json], N8nClient]):
    """List credentials by id, name and type, to put them into nodes. What they hold stays in n8n."""

    name = "list_credentials"
    effect = Effect.READ
    tags = ("credentials",)
    keywords = {"ja": "認証情報 一覧"}

    async def execute_core(self, args: NoArgs) -> list[Json]:
        return await self.client.lookups.credentials()

    def format_response(self, data: list[Json], raw: bool) -> Output:
        # Should a version ever hand out what they hold, it must not go further than here.
        safe = [{key: value for key, value in one.items() if key != "data"} for one in data]
        shown = safe if raw else [{key: one.get(key) for key in ("id", "name", "type", "updatedAt")} for one in safe]
        message = Message(en=f"{len(data)} credentials", ja=f"認証情報{len(data)}件")
        return Output(data={"credentials": shown}, message=message, count=len(data))


class GetCredentialSchemaArgs(ToolArgs):
    type: str = Field(min_length=1, max_length=128, description="Type of credential, for example httpBasicAuth.")


class GetCredentialSchema(RawTool[GetCredentialSchemaArgs, Json, N8nClient]):
    """Show which fields a type of credential has."""

    name = "get_credential_schema"
    effect = Effect.READ
    tags = ("credentials",)
    keywords = {"ja": "認証情報 スキーマ"}

    async def execute_core(self, args: GetCredentialSchemaArgs) -> Json:
        return await self.client.lookups.credential_schema(args.type)

    def format_response(self, data: Json, raw: bool) -> Output:
        message = Message(en="Credential schema", ja="認証情報のスキーマ")
        if raw:
            return Output(data=data, message=message)
        shown = {"required": data.get("required") or [], "properties": data.get("properties") or {}}
        return Output(data=shown, message=message)


TOOLS = (ListTags, ListCredentials, GetCredentialSchema)
