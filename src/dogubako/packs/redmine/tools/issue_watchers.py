"""Who is told of changes of an issue."""

from typing import Literal

from pydantic import Field

from dogubako.contract.errors import NotFoundError
from dogubako.contract.output import Message
from dogubako.packs.redmine.api.records import to
from dogubako.packs.redmine.api.service import place
from dogubako.packs.redmine.errors import Undone
from dogubako.packs.redmine.formatters.answers import Answered
from dogubako.packs.redmine.models import ISSUE, Json
from dogubako.packs.redmine.names.matching import IdOrName, absent
from dogubako.packs.redmine.tools.arguments import RecordArgs
from dogubako.packs.redmine.tools.base import WritingTool


class WatcherArgs(RecordArgs):
    user_id: IdOrName = Field(description="Who: id, login, name or 'me'.")


class _WatcherTool(WritingTool[WatcherArgs]):
    """Adds or removes; Redmine answers 204 to both, whatever happened."""

    kind = ISSUE
    idempotent = True
    tags = ("issues",)

    async def changed(self, args: WatcherArgs, act: Literal["add", "remove"]) -> Answered:
        asked = to("watch", ISSUE, args.id)
        issue = await self.client.records.show(ISSUE, args.id, asked=asked)
        project = issue["project"]["id"]
        user = await self.client.names.people.id_of(args.user_id, "user_id", project)
        if act == "add":
            path, method, body = place("issues", args.id, "watchers"), "POST", {"user_id": user}
        else:
            path, method, body = place("issues", args.id, "watchers", user), "DELETE", None
        try:
            await self.client.writing.sent(method, path, asked, ISSUE, f"{act}_watcher", body, project)
        except NotFoundError:
            # The issue has just been seen, so it is the user whom Redmine misses.
            raise absent("user", "user_id") from None
        return await self._answer(args, user, act)

    async def _answer(self, args: WatcherArgs, user: int, act: str) -> Answered:
        after = await self.client.writing.read_back(ISSUE, "update", args.id, ("watchers",))
        watchers = after.get("watchers")
        there = any(one["id"] == user for one in watchers or ())
        if watchers is not None and there != (act == "add"):
            reason = "the user does not exist or may not see the issue" if act == "add" else "the user still watches it"
            await self.client.writing.check(ISSUE, "update", {}, after, [Undone(field="user_id", reason=reason)])
        shown: Json = {"id": args.id, "subject": after["subject"]}
        if watchers is None:
            # Who may not see watchers cannot know; saying "done" would be a guess.
            shown["unverified"] = "Your role may not see the watchers, so the change could not be read back."
        else:
            shown["watchers"] = watchers
        message = Message(en=f"Watchers of issue {args.id}", ja="ウォッチャーを変更しました")
        return self.answers.record(ISSUE, shown, message=message)


class AddIssueWatcher(_WatcherTool):
    """Let somebody watch an issue."""

    name = "add_issue_watcher"
    act = "add_watcher"
    keywords = {"ja": "ウォッチャー 追加"}

    async def work(self, args: WatcherArgs) -> Answered:
        return await self.changed(args, "add")


class RemoveIssueWatcher(_WatcherTool):
    """Let somebody no longer watch an issue."""

    name = "remove_issue_watcher"
    act = "remove_watcher"
    keywords = {"ja": "ウォッチャー 削除"}

    async def work(self, args: WatcherArgs) -> Answered:
        return await self.changed(args, "remove")


TOOLS = (AddIssueWatcher, RemoveIssueWatcher)
