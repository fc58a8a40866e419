"""Who belongs to a project, in which roles."""

from pydantic import Field

from dogubako.contract.errors import ValidationError
from dogubako.contract.output import Message
from dogubako.contract.tool import ToolArgs
from dogubako.packs.redmine.api.records import to
from dogubako.packs.redmine.api.service import place
from dogubako.packs.redmine.client import RedmineClient
from dogubako.packs.redmine.formatters.answers import Answered
from dogubako.packs.redmine.formatters.views import view
from dogubako.packs.redmine.models import MEMBERSHIP, ROLE, Json
from dogubako.packs.redmine.names.matching import IdOrName
from dogubako.packs.redmine.tools.arguments import Limit, Offset, ProjectId, RecordArgs
from dogubako.packs.redmine.tools.base import DeletingTool, ReadingTool, WritingTool, next_page, told


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
    keywords = {"ja": "メンバー 一覧 ロール"}

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
    keywords = {"ja": "メンバー 追加"}

    async def work(self, args: CreateMembershipArgs) -> Answered:
        project = await self.client.names.project(args.project_id)
        user = await self.client.names.people.id_of(args.user_id, "user_id", project)
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
    keywords = {"ja": "メンバー ロール 変更"}

    async def work(self, args: UpdateMembershipArgs) -> Answered:
        before = await self.client.records.show(MEMBERSHIP, args.id, asked=to("update", MEMBERSHIP, args.id))
        body = {"role_ids": await roles(self.client, args.role_ids)}
        outcome = await self.client.writing.update(MEMBERSHIP, before, body, project=before["project"]["id"])
        message = Message(en=f"Membership {args.id} was changed", ja="メンバーのロールを変更しました")
        return self.answers.record(MEMBERSHIP, told(view(outcome.record), outcome), message=message)


class DeleteMembership(DeletingTool[RecordArgs]):
    """Take somebody out of a project."""

    name = "delete_membership"
    kind = MEMBERSHIP
    tags = ("projects", "people")
    keywords = {"ja": "メンバー 削除"}

    def consequence(self, args: RecordArgs) -> str:
        return f"This would delete membership {args.id}: the member could no longer work in the project."

    async def foresee(self, args: RecordArgs) -> str:
        one = await self.client.records.show(MEMBERSHIP, args.id, asked=to("delete", MEMBERSHIP, args.id))
        who = (one.get("user") or one.get("group") or {}).get("name")
        return f"This would take {who} out of project {one['project']['name']}, with all roles there."

    async def work(self, args: RecordArgs) -> Answered:
        one = await self.client.records.show(MEMBERSHIP, args.id, asked=to("delete", MEMBERSHIP, args.id))
        if any(role.get("inherited") for role in one.get("roles") or ()):
            message = "Invalid value for parameter id: these roles come from a group or a parent project"
            raise ValidationError.of(
                "id", message, hint="Delete the membership of the group, or take the user out of it."
            )
        await self.client.writing.delete(MEMBERSHIP, args.id, project=one["project"]["id"])
        message_ = Message(en=f"Membership {args.id} was deleted", ja="メンバーを削除しました")
        return self.answers.done(MEMBERSHIP, view(one), message_)


async def roles(client: RedmineClient, given: list[IdOrName]) -> list[int]:
    """Ids of roles that exist: at an unknown one Redmine answers 422 and takes all roles away."""
    ids = await client.names.ids_of(ROLE, given, "role_ids")
    known: list[Json] = await client.lookups.rows(ROLE)
    if not set(ids) <= {role["id"] for role in known}:
        message = "Invalid value for parameter role_ids: there is no such role"
        raise ValidationError.of("role_ids", message, hint="list_roles has the ids.")
    return sorted(set(ids))


TOOLS = (ListMemberships, CreateMembership, UpdateMembership, DeleteMembership)
