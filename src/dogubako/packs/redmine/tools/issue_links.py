"""Relations and watchers of issues."""

from typing import Literal

from pydantic import Field

from dogubako.contract.errors import NotFoundError
from dogubako.contract.output import Message
from dogubako.contract.tool import ToolArgs
from dogubako.packs.redmine.answers import Answered
from dogubako.packs.redmine.api import place, to
from dogubako.packs.redmine.errors import Undone
from dogubako.packs.redmine.formatters import view
from dogubako.packs.redmine.models import ISSUE, RELATION, JsonObject
from dogubako.packs.redmine.names.matching import IdOrName, absent
from dogubako.packs.redmine.tools.base import DeletingTool, ReadingTool, RecordArgs, WritingTool, sent_arguments
from dogubako.packs.redmine.tools.issues import related

RelationType = Literal[
    "relates", "duplicates", "duplicated", "blocks", "blocked", "precedes", "follows", "copied_to", "copied_from"
]
# Redmine stores one direction of each pair, and reverses the other.
_TURNED = {"duplicated": "duplicates", "blocked": "blocks", "follows": "precedes", "copied_from": "copied_to"}


class IssueRelationsArgs(ToolArgs):
    issue_id: int = Field(ge=1, description="Id of the issue.")


class ListIssueRelations(ReadingTool[IssueRelationsArgs]):
    """List the relations of an issue (blocks, precedes, duplicates, relates) with the state of the other issues."""

    name = "list_issue_relations"
    kind = RELATION
    act = "list"
    tags = ("issues", "relations")
    keywords = {
        "en": "what blocks this; linked tickets; dependencies of a task; is it a duplicate; "
        "what must be done first; what is blocking a ticket; what has to be done before it",
        "ja": "関連 つながり 依存 止めている ブロック 紐付いた チケット 何に 止められて 先に 関係 一覧 邪魔 "
        "待たせている",
    }

    async def work(self, args: IssueRelationsArgs) -> Answered:
        # The relations endpoint is refused to some users who may see the relations of the issue.
        issue = await self.client.records.show(ISSUE, args.issue_id, ("relations",))
        relations = [view(one) for one in issue.get("relations") or ()]
        return self.answers.whole(
            RELATION, await related(self.client.records, relations, args.issue_id), issue=args.issue_id
        )


class CreateIssueRelationArgs(IssueRelationsArgs):
    issue_to_id: int = Field(ge=1, description="Id of the other issue.")
    relation_type: RelationType = Field("relates", description="What the first issue does to the other.")
    delay: int | None = Field(None, ge=0, description="Days between the two, for precedes and follows.")


class CreateIssueRelation(WritingTool[CreateIssueRelationArgs]):
    """Relate two issues."""

    name = "create_issue_relation"
    kind = RELATION
    act = "create"
    tags = ("issues", "relations")
    keywords = {
        "en": "link two tickets; connect tasks; one blocks the other; depends on; "
        "mark as a duplicate of; set a dependency; must be done before; "
        "mark a ticket as blocked by another; say that one is a duplicate; "
        "one ticket can only begin when the other is finished; "
        "mark it as a duplicate of another; tie two tickets together",
        "ja": "関連付け 紐付け つなげる チケット同士 重複 依存 先に ブロック 関係 結ぶ 二つの 待つ 関連 チケット "
        "追加 同じ内容 印 終わるまで",
    }

    async def work(self, args: CreateIssueRelationArgs) -> Answered:
        issue = await self.client.records.show(ISSUE, args.issue_id, operation=to("create", RELATION))
        body = {"relation_type": args.relation_type, **sent_arguments(args, "issue_id")}
        operation = to("create", RELATION)
        answer = await self.client.writing.sent(
            "POST",
            place("issues", args.issue_id, "relations"),
            operation,
            RELATION,
            "create",
            {"relation": body},
            issue["project"]["id"],
        )
        made = (answer or {}).get("relation", {}).get("id", 0)
        record = await self.client.writing.read_back(RELATION, "create", made)
        await self.client.writing.check(RELATION, "create", _expected(args), record)
        message = Message(en="The issues are related now", ja="関連を追加しました")
        return self.answers.record(RELATION, view(record), message=message)


class DeleteIssueRelation(DeletingTool[RecordArgs]):
    """Delete a relation between two issues; the issues stay."""

    name = "delete_issue_relation"
    kind = RELATION
    keywords = {
        "en": "unlink two tickets; disconnect tasks; it is not a duplicate; remove a dependency; "
        "take the link between two tickets away",
        "ja": "紐付け 外す 解除 関連 消す つながり チケット同士 切る 依存",
    }
    tags = ("issues", "relations")

    def consequence(self, args: RecordArgs) -> str:
        return f"This would delete relation {args.id}; its issues stay."

    async def foresee(self, args: RecordArgs) -> str:
        one = await self.client.records.show(RELATION, args.id, operation=to("delete", RELATION, args.id))
        what = f"issue {one['issue_id']} {one['relation_type']} issue {one['issue_to_id']}"
        return f"This would delete relation {args.id} ({what}); the issues stay."

    async def work(self, args: RecordArgs) -> Answered:
        one = await self.client.records.show(RELATION, args.id, operation=to("delete", RELATION, args.id))
        await self.client.writing.delete(RELATION, args.id)
        message = Message(en=f"Relation {args.id} was deleted", ja="関連を削除しました")
        return self.answers.done(RELATION, view(one), message)


def _expected(args: CreateIssueRelationArgs) -> dict[str, object]:
    expected: dict[str, object] = {"relation_type": _TURNED.get(args.relation_type, args.relation_type)}
    return expected if args.delay is None else {**expected, "delay": args.delay}


class WatcherArgs(RecordArgs):
    user_id: IdOrName = Field(description="Who: id, login, name or 'me'.")


class _WatcherTool(WritingTool[WatcherArgs]):
    """Adds or removes a watcher. Redmine answers 204 in any case."""

    kind = ISSUE
    idempotent = True
    tags = ("issues",)

    async def changed(self, args: WatcherArgs, act: Literal["add", "remove"]) -> Answered:
        operation = to("watch", ISSUE, args.id)
        issue = await self.client.records.show(ISSUE, args.id, operation=operation)
        project = issue["project"]["id"]
        user = await self.client.names.people.id_of(args.user_id, "user_id", project)
        if act == "add":
            path, method, body = place("issues", args.id, "watchers"), "POST", {"user_id": user}
        else:
            path, method, body = place("issues", args.id, "watchers", user), "DELETE", None
        try:
            await self.client.writing.sent(method, path, operation, ISSUE, f"{act}_watcher", body, project)
        except NotFoundError:
            # The issue was just read, so the user is missing.
            raise absent("user", "user_id") from None
        return await self._answer(args, user, act)

    async def _answer(self, args: WatcherArgs, user: int, act: str) -> Answered:
        after = await self.client.writing.read_back(ISSUE, "update", args.id, ("watchers",))
        watchers = after.get("watchers")
        there = any(one["id"] == user for one in watchers or ())
        if watchers is not None and there != (act == "add"):
            reason = "the user does not exist or may not see the issue" if act == "add" else "the user still watches it"
            await self.client.writing.check(ISSUE, "update", {}, after, [Undone(field="user_id", reason=reason)])
        shown: JsonObject = {"id": args.id, "subject": after["subject"]}
        if watchers is None:
            # Without the permission to see watchers the result is unknown.
            shown["unverified"] = "Your role may not see the watchers, so the change could not be read back."
        else:
            shown["watchers"] = watchers
        message = Message(en=f"Watchers of issue {args.id}", ja="ウォッチャーを変更しました")
        return self.answers.record(ISSUE, shown, message=message)


class AddIssueWatcher(_WatcherTool):
    """Let somebody watch an issue."""

    name = "add_issue_watcher"
    act = "add_watcher"
    keywords = {
        "en": "keep somebody informed about a ticket; subscribe a colleague; let someone follow a bug; "
        "put in cc; notify a person of changes; put somebody on the watch list of a ticket; "
        "let a person get mails about a ticket; keep somebody posted; copy somebody in; "
        "cc a colleague",
        "ja": "通知 知らせる ウォッチャー 追加 見守る フォロー メールが行く チケット 共有 加える 購読 動きが届く "
        "ようにする",
    }

    async def work(self, args: WatcherArgs) -> Answered:
        return await self.changed(args, "add")


class RemoveIssueWatcher(_WatcherTool):
    """Let somebody no longer watch an issue."""

    name = "remove_issue_watcher"
    act = "remove_watcher"
    keywords = {
        "en": "stop sending mails about a ticket; unsubscribe from a bug; unfollow; take off the watch list",
        "ja": "通知 いらない 外す ウォッチャー 解除 やめる メールを止める 届かないように 購読 削除",
    }

    async def work(self, args: WatcherArgs) -> Answered:
        return await self.changed(args, "remove")


TOOLS = (AddIssueWatcher, RemoveIssueWatcher, ListIssueRelations, CreateIssueRelation, DeleteIssueRelation)
