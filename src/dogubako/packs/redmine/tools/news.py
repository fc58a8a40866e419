"""News of projects: create, change, delete."""

from pydantic import Field

from dogubako.contract.output import Message
from dogubako.contract.tool import ToolArgs
from dogubako.packs.redmine.answers import Answered
from dogubako.packs.redmine.api import missing, place, to
from dogubako.packs.redmine.formatters import view
from dogubako.packs.redmine.models import NEWS, JsonObject
from dogubako.packs.redmine.tools.base import (
    DeletingTool,
    ProjectId,
    RecordArgs,
    RedmineTool,
    WritingTool,
    changes,
    sent_arguments,
)


class CreateNewsArgs(ToolArgs):
    project_id: ProjectId
    title: str = Field(min_length=1, max_length=60, description="Title.")
    summary: str | None = Field(None, max_length=255, description="One sentence.")
    description: str = Field(min_length=1, description="Text, in the markup of this Redmine.")


class CreateNews(WritingTool[CreateNewsArgs]):
    """Publish news in a project."""

    name = "create_news"
    keywords = {
        "en": "announce something to the project; post an announcement; tell everybody in the team",
        "ja": "お知らせを書く 告知 発表 ニュースを投稿 周知 案内を出す",
    }
    kind = NEWS
    act = "create"
    tags = ("knowledge",)

    async def work(self, args: CreateNewsArgs) -> Answered:
        project = await self.client.names.project(args.project_id)
        body = {key: value for key, value in sent_arguments(args, "project_id").items() if value is not None}
        path = place("projects", project, "news")
        before = {row["id"] for row in (await self.client.records.page(NEWS, path, limit=1)).rows}
        await self.client.writing.sent("POST", path, to("create", NEWS), NEWS, "create", {"news": body}, project)
        # Redmine does not say which news it made: it is the newest one with this title.
        newest = (await self.client.records.page(NEWS, path, limit=5)).rows
        made = next((row for row in newest if row["id"] not in before and row.get("title") == args.title), None)
        if made is None:
            raise missing(to("create", NEWS), "It was sent; list_news shows whether it is there.")
        message = Message(en=f"News {made['id']} was created", ja="ニュースを作成しました")
        return self.answers.record(NEWS, view(made), message=message)


class UpdateNewsArgs(RecordArgs):
    title: str | None = Field(None, min_length=1, max_length=60, description="A new title.")
    summary: str | None = Field(None, max_length=255, description="A new summary; null for none.")
    description: str | None = Field(None, min_length=1, description="A new text.")


class UpdateNews(WritingTool[UpdateNewsArgs]):
    """Change news."""

    name = "update_news"
    keywords = {
        "en": "correct an announcement; change what was announced; fix a typo in a notice",
        "ja": "お知らせを直す 告知を修正 ニュースを変更 訂正 書き直す",
    }
    kind = NEWS
    act = "update"
    idempotent = True
    tags = ("knowledge",)

    async def work(self, args: UpdateNewsArgs) -> Answered:
        body = {key: "" if value is None else value for key, value in changes(args).items()}
        before = await _news(self, args.id)
        project = before["project"]["id"]
        operation = to("update", NEWS, args.id)
        await self.client.writing.sent(
            "PUT", place("news", args.id), operation, NEWS, "update", {"news": body}, project
        )
        after = await _news(self, args.id)
        await self.client.writing.check(NEWS, "update", body, after)
        message = Message(en=f"News {args.id} was changed", ja="ニュースを更新しました")
        return self.answers.record(NEWS, view(after), message=message)


class DeleteNews(DeletingTool[RecordArgs]):
    """Delete news for good, with its comments."""

    name = "delete_news"
    keywords = {
        "en": "take back an announcement; remove a notice; erase old company posts",
        "ja": "お知らせを消す 告知を取り消す ニュースを削除 撤回 古い案内を消去",
    }
    kind = NEWS
    tags = ("knowledge",)

    def consequence(self, args: RecordArgs) -> str:
        return f"This would delete news {args.id} for good, with its comments."

    async def foresee(self, args: RecordArgs) -> str:
        one = await _news(self, args.id)
        return f"This would delete news {args.id} ({one['title']}) for good, with its comments."

    async def work(self, args: RecordArgs) -> Answered:
        one = await _news(self, args.id)
        await self.client.writing.delete(NEWS, args.id, project=one["project"]["id"])
        message = Message(en=f"News {args.id} was deleted", ja="ニュースを削除しました")
        return self.answers.done(NEWS, {"id": args.id, "title": one["title"]}, message)


async def _news(tool: RedmineTool[RecordArgs] | RedmineTool[UpdateNewsArgs], id_: int) -> JsonObject:
    operation = to("show", NEWS, id_)
    answer = await tool.client.service.get(place("news", id_), operation)
    record: JsonObject = answer.get("news") or {}
    return record


TOOLS = (CreateNews, UpdateNews, DeleteNews)
