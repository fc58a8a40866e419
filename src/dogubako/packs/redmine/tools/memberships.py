"""Members of projects, and their roles."""

from pydantic import Field

from dogubako.contract.errors import ValidationError
from dogubako.contract.output import Message
from dogubako.contract.tool import ToolArgs
from dogubako.packs.redmine.answers import Answered
from dogubako.packs.redmine.api import place, to
from dogubako.packs.redmine.client import RedmineClient
from dogubako.packs.redmine.formatters import view
from dogubako.packs.redmine.models import MEMBERSHIP, ROLE, JsonObject
from dogubako.packs.redmine.names.matching import IdOrName
from dogubako.packs.redmine.tools.base import (
    DeletingTool,
    Limit,
    Offset,
    ProjectId,
    ReadingTool,
    RecordArgs,
    WritingTool,
    next_page,
    with_unrequested,
)


class ListMembershipsArgs(ToolArgs):
    project_id: ProjectId
    limit: Limit = 25
    offset: Offset = 0


class ListMemberships(ReadingTool[ListMembershipsArgs]):
    """List who belongs to a project, users and groups, with their roles."""

    name = "list_memberships"
    kind = MEMBERSHIP
    act = "list"
    tags = ("projects", "people")
    keywords = {
        "en": "who is on the team; who works on a project; people who have access; "
        "staff and participants of a project; all the people in a project; who works on it; "
        "people of a project",
        "ja": "誰がいる チーム メンバー 参加者 担当者 一覧 案件 プロジェクト 担当できる人 関わっている "
        "参加している ロール メンバーは誰",
    }

    async def work(self, args: ListMembershipsArgs) -> Answered:
        project = await self.client.names.project(args.project_id)
        path = place("projects", project, "memberships")
        page = await self.client.records.page(MEMBERSHIP, path, limit=args.limit, offset=args.offset)
        return self.answers.listing(MEMBERSHIP, (view(row) for row in page.rows), page, next_page(self.name, args))


class CreateMembershipArgs(ToolArgs):
    project_id: ProjectId
    user_id: IdOrName = Field(description="User or group: id, login, name or 'me'.")
    role_ids: list[IdOrName] = Field(min_length=1, description="Roles, by id or name.")


class CreateMembership(WritingTool[CreateMembershipArgs]):
    """Make a user or a group a member of a project."""

    name = "create_membership"
    kind = MEMBERSHIP
    act = "create"
    tags = ("projects", "people")
    keywords = {
        "en": "give someone access to a project; add a person to the team; invite a colleague; "
        "let someone in; join a project; let a group into a project; "
        "add somebody as a developer; a new colleague joins the project; "
        "let a person see the project",
        "ja": "参加 入れる 追加 メンバー チーム 招待 権限 案件 加える 参加させる 新人 プロジェクト 見られる",
    }

    async def work(self, args: CreateMembershipArgs) -> Answered:
        project = await self.client.names.project(args.project_id)
        user = await self.client.names.people.id_of(args.user_id, "user_id", project, anywhere=True)
        body = {"user_id": user, "role_ids": await roles(self.client, args.role_ids)}
        path = place("projects", project, "memberships")
        outcome = await self.client.writing.create(MEMBERSHIP, path, body, project=project)
        message = Message(en=f"Membership {outcome.record['id']} was created", ja="メンバーを追加しました")
        return self.answers.record(MEMBERSHIP, view(outcome.record), message=message)


class UpdateMembershipArgs(RecordArgs):
    role_ids: list[IdOrName] = Field(min_length=1, description="All roles that it is to have, by id or name.")


class UpdateMembership(WritingTool[UpdateMembershipArgs]):
    """Change the roles of a member. Roles that come from a group stay."""

    name = "update_membership"
    kind = MEMBERSHIP
    act = "update"
    idempotent = True
    tags = ("projects", "people")
    keywords = {
        "en": "change someone's role in a project; give more rights; promote a member; "
        "other role for a member; make somebody a manager in a project; "
        "somebody becomes a developer",
        "ja": "役割 権限 変える 昇格 メンバー 変更 ロール 管理者にする",
    }

    async def work(self, args: UpdateMembershipArgs) -> Answered:
        before = await self.client.records.show(MEMBERSHIP, args.id, operation=to("update", MEMBERSHIP, args.id))
        body = {"role_ids": await roles(self.client, args.role_ids)}
        outcome = await self.client.writing.update(MEMBERSHIP, before, body, project=before["project"]["id"])
        message = Message(en=f"Membership {args.id} was changed", ja="メンバーのロールを変更しました")
        return self.answers.record(MEMBERSHIP, with_unrequested(view(outcome.record), outcome), message=message)


class DeleteMembership(DeletingTool[RecordArgs]):
    """Take somebody out of a project."""

    name = "delete_membership"
    kind = MEMBERSHIP
    tags = ("projects", "people")
    keywords = {
        "en": "remove someone from a project; kick out of the team; take away access; "
        "a person left the team; somebody left, take them off the project",
        "ja": "外す メンバー 抜ける 追い出す 権限 取り上げる チームから 案件から プロジェクトから 退職 異動 削除 "
        "抜けたので外す",
    }

    def consequence(self, args: RecordArgs) -> str:
        return f"This would delete membership {args.id}: the member could no longer work in the project."

    async def foresee(self, args: RecordArgs) -> str:
        one = await self.client.records.show(MEMBERSHIP, args.id, operation=to("delete", MEMBERSHIP, args.id))
        who = (one.get("user") or one.get("group") or {}).get("name")
        return f"This would take {who} out of project {one['project']['name']}, with all roles there."

    async def work(self, args: RecordArgs) -> Answered:
        one = await self.client.records.show(MEMBERSHIP, args.id, operation=to("delete", MEMBERSHIP, args.id))
        if any(role.get("inherited") for role in one.get("roles") or ()):
            message = "Invalid value for parameter id: these roles come from a group or a parent project"
            raise ValidationError.of(
                "id", message, hint="Delete the membership of the group, or take the user out of it."
            )
        await self.client.writing.delete(MEMBERSHIP, args.id, project=one["project"]["id"])
        message_ = Message(en=f"Membership {args.id} was deleted", ja="メンバーを削除しました")
        return self.answers.done(MEMBERSHIP, view(one), message_)


async def roles(client: RedmineClient, value: list[IdOrName]) -> list[int]:
    """Ids of existing roles: for an unknown one Redmine answers 422 and removes all roles."""
    ids = await client.names.ids_of(ROLE, value, "role_ids")
    existing: list[JsonObject] = await client.lookups.rows(ROLE)
    if not set(ids) <= {role["id"] for role in existing}:
        message = "Invalid value for parameter role_ids: there is no such role"
        raise ValidationError.of("role_ids", message, hint="list_roles has the ids.")
    return sorted(set(ids))


TOOLS = (ListMemberships, CreateMembership, UpdateMembership, DeleteMembership)
