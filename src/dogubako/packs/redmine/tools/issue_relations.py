"""How issues depend on each other."""

from typing import Literal

from pydantic import Field

from dogubako.contract.output import Message
from dogubako.contract.tool import ToolArgs
from dogubako.packs.redmine.api.records import to
from dogubako.packs.redmine.api.service import place
from dogubako.packs.redmine.formatters.answers import Answered
from dogubako.packs.redmine.formatters.views import view
from dogubako.packs.redmine.models import ISSUE, RELATION
from dogubako.packs.redmine.tools.arguments import RecordArgs
from dogubako.packs.redmine.tools.base import DeletingTool, ReadingTool, WritingTool, given

RelationType = Literal[
    "relates", "duplicates", "duplicated", "blocks", "blocked", "precedes", "follows", "copied_to", "copied_from"
]
# Redmine keeps one direction of each pair, and turns the other round.
_TURNED = {"duplicated": "duplicates", "blocked": "blocks", "follows": "precedes", "copied_from": "copied_to"}


class IssueRelationsArgs(ToolArgs):
    issue_id: int = Field(ge=1, description="Id of the issue.")


class ListIssueRelations(ReadingTool[IssueRelationsArgs]):
    """List the relations of an issue: blocks, precedes, duplicates, relates."""

    name = "list_issue_relations"
    kind = RELATION
    act = "list"
    tags = ("issues", "relations")
    keywords = {"ja": "関連 チケット 一覧"}

    async def work(self, args: IssueRelationsArgs) -> Answered:
        # The list of its own is refused to some who may see the relations of the issue.
        issue = await self.client.records.show(ISSUE, args.issue_id, ("relations",))
        return self.answers.whole(RELATION, (view(one) for one in issue.get("relations") or ()), issue=args.issue_id)


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
    keywords = {"ja": "関連 チケット 追加"}

    async def work(self, args: CreateIssueRelationArgs) -> Answered:
        issue = await self.client.records.show(ISSUE, args.issue_id, asked=to("create", RELATION))
        body = {"relation_type": args.relation_type, **given(args, "issue_id")}
        asked = to("create", RELATION)
        answer = await self.client.writing.sent(
            "POST",
            place("issues", args.issue_id, "relations"),
            asked,
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
    tags = ("issues", "relations")

    def consequence(self, args: RecordArgs) -> str:
        return f"This would delete relation {args.id}; its issues stay."

    async def foresee(self, args: RecordArgs) -> str:
        one = await self.client.records.show(RELATION, args.id, asked=to("delete", RELATION, args.id))
        what = f"issue {one['issue_id']} {one['relation_type']} issue {one['issue_to_id']}"
        return f"This would delete relation {args.id} ({what}); the issues stay."

    async def work(self, args: RecordArgs) -> Answered:
        one = await self.client.records.show(RELATION, args.id, asked=to("delete", RELATION, args.id))
        await self.client.writing.delete(RELATION, args.id)
        message = Message(en=f"Relation {args.id} was deleted", ja="関連を削除しました")
        return self.answers.done(RELATION, view(one), message)


def _expected(args: CreateIssueRelationArgs) -> dict[str, object]:
    expected: dict[str, object] = {"relation_type": _TURNED.get(args.relation_type, args.relation_type)}
    return expected if args.delay is None else {**expected, "delay": args.delay}


TOOLS = (ListIssueRelations, CreateIssueRelation, DeleteIssueRelation)
