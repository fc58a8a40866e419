"""Versions (milestones) of projects."""

from typing import Literal

from pydantic import Field

from dogubako.contract.output import Message
from dogubako.contract.tool import ToolArgs
from dogubako.packs.redmine.answers import Answered
from dogubako.packs.redmine.api import place, to
from dogubako.packs.redmine.errors import RedmineRefused
from dogubako.packs.redmine.formatters import view
from dogubako.packs.redmine.models import ISSUE, VERSION, JsonObject
from dogubako.packs.redmine.payloads import Bodies
from dogubako.packs.redmine.tools.base import (
    CustomFieldValues,
    Day,
    DeletingTool,
    ProjectId,
    ReadingTool,
    RecordArgs,
    WritingTool,
    changes,
    sent_arguments,
    with_unrequested,
)


class ListVersionsArgs(ToolArgs):
    project_id: ProjectId


class ListVersions(ReadingTool[ListVersionsArgs]):
    """List the versions of a project, also those that other projects share with it."""

    name = "list_versions"
    kind = VERSION
    act = "list"
    tags = ("projects", "versions")
    keywords = {
        "en": "when is the next release; milestones and sprints; roadmap; upcoming release dates; "
        "which milestones does a project have; list of releases; which releases are planned",
        "ja": "リリース いつ マイルストーン 予定 ロードマップ スプリント 次の 版 一覧 計画 バージョン リリースの予定",
    }

    async def work(self, args: ListVersionsArgs) -> Answered:
        project = await self.client.names.project(args.project_id)
        page = await self.client.records.page(VERSION, place("projects", project, "versions"))
        return self.answers.whole(VERSION, (view(row) for row in page.rows))


class ShowVersion(ReadingTool[RecordArgs]):
    """Show a version: state, due date, estimated and spent hours."""

    name = "show_version"
    kind = VERSION
    tags = ("projects", "versions")
    keywords = {
        "en": "progress of a release; how far is the milestone; deadline and hours left of a sprint; "
        "how far along is a release; what is left until the release; how far along is a release",
        "ja": "リリース 進み具合 進捗 残り 期日 マイルストーン どこまで 進んだ 状況 バージョン 詳細",
    }

    async def work(self, args: RecordArgs) -> Answered:
        return self.answers.record(VERSION, view(await self.client.records.show(VERSION, args.id)))


class VersionFields(ToolArgs):
    status: Literal["open", "locked", "closed"] | None = Field(None, description="Whether issues may go into it.")
    sharing: Literal["none", "descendants", "hierarchy", "tree", "system"] | None = Field(
        None, description="Which other projects may use it."
    )
    due_date: Day | None = Field(None, description="Due day; null for none.")
    description: str | None = Field(None, description="What it is about.")
    wiki_page_title: str | None = Field(None, description="Wiki page that goes with it; null for none.")
    custom_fields: CustomFieldValues = Field(default_factory=list, description="Custom fields of versions, by id.")


class CreateVersionArgs(VersionFields):
    project_id: ProjectId
    name: str = Field(min_length=1, max_length=60, description="Its name, for example '2.0'.")


class CreateVersion(WritingTool[CreateVersionArgs]):
    """Create a version in a project."""

    name = "create_version"
    kind = VERSION
    act = "create"
    tags = ("projects", "versions")
    keywords = {
        "en": "new milestone; plan a release; add a sprint; set a target date for a release",
        "ja": "マイルストーン リリース 予定 スプリント 新しい 版 目標 登録 計画 加える 追加 バージョン 作成",
    }

    async def work(self, args: CreateVersionArgs) -> Answered:
        project = await self.client.names.project(args.project_id)
        arguments = {key: value for key, value in sent_arguments(args, "project_id").items() if value is not None}
        fields = await self.client.names.custom_fields.of("version", lambda: self.client.lookups.rows(VERSION, project))
        body = await Bodies(self.client.names).of(arguments, project, fields)
        path = place("projects", project, "versions")
        outcome = await self.client.writing.create(VERSION, path, body, project=project)
        message = Message(en=f"Version {outcome.record['id']} was created", ja="バージョンを作成しました")
        return self.answers.record(VERSION, view(outcome.record), message=message)


class UpdateVersionArgs(RecordArgs, VersionFields):
    name: str | None = Field(None, min_length=1, max_length=60, description="A new name.")


class UpdateVersion(WritingTool[UpdateVersionArgs]):
    """Change a version: close it, move its due date, share it."""

    name = "update_version"
    kind = VERSION
    act = "update"
    tags = ("projects", "versions")
    keywords = {
        "en": "postpone a release; change the due date of a milestone; close a milestone; "
        "end a sprint; rename a version; push the release date back; postpone a release; "
        "a milestone is reached",
        "ja": "リリース 延期 遅らせる 期日 変える 締める マイルストーン ずらす 日程 完了にする リリース日 "
        "バージョン 更新 変更 延ばす",
    }

    async def work(self, args: UpdateVersionArgs) -> Answered:
        arguments = changes(args)
        before = await self.client.records.show(VERSION, args.id, operation=to("update", VERSION, args.id))
        project = before["project"]["id"]
        body = await Bodies(self.client.names).of(arguments, project, before.get("custom_fields") or [])
        outcome = await self.client.writing.update(VERSION, before, body, project=project)
        message = Message(en=f"Version {args.id} was changed", ja="バージョンを更新しました")
        return self.answers.record(VERSION, with_unrequested(view(outcome.record), outcome), message=message)


class DeleteVersion(DeletingTool[RecordArgs]):
    """Delete a version that no issue uses."""

    name = "delete_version"
    kind = VERSION
    tags = ("projects", "versions")
    keywords = {
        "en": "remove a milestone; drop a release or sprint that is not needed",
        "ja": "マイルストーン リリース 版 消す 削除 いらない スプリント バージョン",
    }

    def consequence(self, args: RecordArgs) -> str:
        return f"This would delete version {args.id} for good."

    async def foresee(self, args: RecordArgs) -> str:
        one = await self.client.records.show(VERSION, args.id, operation=to("delete", VERSION, args.id))
        return f"This would delete version {args.id} ({one['name']}) of project {one['project']['name']} for good."

    async def work(self, args: RecordArgs) -> Answered:
        one = await self.client.records.show(VERSION, args.id, operation=to("delete", VERSION, args.id))
        try:
            await self.client.writing.delete(VERSION, args.id, project=one["project"]["id"])
        except RedmineRefused as refusal:
            if refusal.status_code == 422 and not refusal.reasons:
                raise refusal.because(await self._in_use(one), "Give these issues another version first.") from refusal
            raise
        message = Message(en=f"Version {args.id} was deleted", ja="バージョンを削除しました")
        return self.answers.done(VERSION, {"id": args.id, "name": one["name"]}, message)

    async def _in_use(self, version: JsonObject) -> str:
        issues = await self.client.records.page(ISSUE, fixed_version_id=version["id"], status_id="*", limit=1)
        return f"the version is in use by {issues.total} issues" if issues.total else "the version is in use"


TOOLS = (ListVersions, ShowVersion, CreateVersion, UpdateVersion, DeleteVersion)
