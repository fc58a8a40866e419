"""Credentials, tags, the security audit and insights."""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final, Literal

from pydantic import Field, SecretStr

from dogubako.contract.errors import ApiError, NotFoundError
from dogubako.contract.metadata import Effect, ToolExample
from dogubako.contract.output import Guidance, Json, Message, example_call
from dogubako.contract.tool import BaseTool, ToolArgs
from dogubako.packs.n8n.call_headers import masked_error
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.nodes.problems import near_names
from dogubako.packs.n8n.tools.lookups import named

JsonObject = dict[str, Any]
# n8n's words for a type without a test. It gives no other sign of it.
_NO_TEST: Final = "No testing function found for this credential."
# Types for any service, which n8n cannot test; and those that work only after somebody has signed in, in n8n.
_WITHOUT_TEST: Final = frozenset({"jwtAuth", "crypto", "totpApi"})
_GENERAL: Final = re.compile(r"http[A-Za-z]{1,40}Auth")
_AFTER_SIGN_IN: Final = ("oauth1api", "oauth2api")
_GENERAL_TYPES: Final = (
    *("httpHeaderAuth", "httpBasicAuth", "httpBearerAuth", "httpDigestAuth", "httpQueryAuth", "httpCustomAuth"),
    *("httpSslAuth", "jwtAuth", "oAuth1Api", "oAuth2Api"),
)
_TYPE_ENDINGS: Final = ("Api", "OAuth2Api")
_REFUSED: Final = 400
_LISTED: Final = 20
_COUNTED: Final = (
    "n8n counts what its triggers started, neither runs by hand nor sub-workflows, and adds it up about once an hour: "
    "newer executions are in list_executions only."
)


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
            if error.status_code == _REFUSED:
                error.hint = await self._hint(args.type, data)
            secrets = [one.get_secret_value() for one in args.data.values() if isinstance(one, SecretStr)]
            raise masked_error(error, secrets) from None
        shown = {key: made.get(key) for key in ("id", "name", "type")}
        message = Message(en="Credential created", ja="認証情報を作成しました")
        if not _may_be_tested(args.type):
            return Json(data=shown, message=message)
        example = example_call("test_credential", id=str(made["id"]))
        return Json(data=shown, message=message, guidance=Guidance(message="See whether it works.", example=example))

    async def _hint(self, kind: str, data: Iterable[str]) -> str | None:
        """What the instance would take instead: its fields of this type, or types with a similar name."""
        try:
            schema = await self.client.lookups.credential_schema(kind)
        except NotFoundError:
            return await self._near_types(kind)
        except ApiError:
            return None
        fields = schema.get("properties")
        known = [name for name, one in (fields if isinstance(fields, Mapping) else {}).items() if not _is_notice(one)]
        near = dict.fromkeys(one for name in data if name not in known for one in near_names(name, known)[:1])
        advice = f"Did you mean {' and '.join(near)}? " if near else ""
        required = ", ".join(map(str, schema.get("required") or ())) or "none"
        listed = ", ".join(known[:_LISTED]) or "none"
        example = example_call("get_credential_schema", type=kind)
        return f"{advice}The fields of {kind} are {listed}; required: {required}. See {example}."

    async def _near_types(self, kind: str) -> str:
        """n8n does not list its types, but tells of each whether it is there."""
        try:
            used = [str(one.get("type")) for one in await self.client.lookups.credentials()]
        except ApiError:
            used = []
        endings = [f"{kind}{ending}" for ending in _TYPE_ENDINGS if not kind.endswith(ending)]
        found = []
        for one in dict.fromkeys((*near_names(kind, [*used, *_GENERAL_TYPES]), *endings)):
            with suppress(NotFoundError, ApiError):
                await self.client.lookups.credential_schema(one)
                found.append(one)
        advice = f"did you mean {' or '.join(found)}?" if found else "list_credentials shows types that are in use."
        return f"n8n has no credential type of this name; {advice}"


def _is_notice(field: Any) -> bool:
    """A text for people in a form of n8n."""
    return isinstance(field, Mapping) and field.get("type") == "notice"


def _may_be_tested(kind: str) -> bool:
    return not (kind in _WITHOUT_TEST or _GENERAL.fullmatch(kind) or kind.lower().endswith(_AFTER_SIGN_IN))


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
        reason = str(found.get("message") or "")[:500]
        if reason == _NO_TEST:
            told = "n8n has no test for credentials of this type. A workflow that uses it shows whether it works."
            message = Message(en="It cannot be tested", ja="この種類の認証情報は確認できません")
            return Json(data={"id": args.id, "works": None, "reason": told}, message=message)
        works = found.get("status") == "OK"
        data = {"id": args.id, "works": works, **({"reason": reason} if reason else {})}
        en, ja = (
            ("The credential works", "認証情報は有効です") if works else ("It did not work", "確認できませんでした")
        )
        return Json(data=data, message=Message(en=en, ja=ja))


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
        tag = named(await self.client.lookups.tags(), args.tag, "Tag", "list_tags shows them.")
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
        tag = named(await self.client.lookups.tags(), args.tag, "Tag", "list_tags shows them.")
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
            data = {"period": "the last 7 days", "insights": found, "note": _COUNTED}
            return Json(data=data, message=Message(en="Insights of the last 7 days", ja="過去7日間のインサイト"))
        reports = await self.client.administration.audit()
        risks = [section for report in reports.values() for section in _sections(report)]
        message = Message(en=f"{len(risks)} risks", ja=f"リスク{len(risks)}件")
        return Json(data={"risks": risks}, message=message, count=len(risks))


def _sections(report: Any) -> Iterable[JsonObject]:
    """The sections of one report, with their places."""
    for section in (report.get("sections") or ()) if isinstance(report, Mapping) else ():
        kept = {key: section.get(key) for key in ("title", "recommendation", "location") if section.get(key)}
        yield {"risk": report.get("risk"), **kept}


TOOLS = (
    CreateCredential,
    TestCredential,
    RenameTag,
    DeleteTag,
    GetInstanceReport,
)
