"""Users and groups."""

from datetime import datetime
from typing import Final, Literal

from pydantic import Field, SecretStr

from dogubako.contract.output import Message
from dogubako.contract.tool import NoArgs, ToolArgs
from dogubako.packs.redmine.answers import Answered
from dogubako.packs.redmine.api import place, to
from dogubako.packs.redmine.formatters import user_view, view
from dogubako.packs.redmine.models import GROUP, USER, USER_STATES, JsonObject
from dogubako.packs.redmine.names.matching import IdOrName
from dogubako.packs.redmine.payloads import Bodies
from dogubako.packs.redmine.tools.base import (
    CustomFieldValues,
    DeletingTool,
    Limit,
    Offset,
    ReadingTool,
    RecordArgs,
    WritingTool,
    changes,
    next_page,
    sent_arguments,
    with_unrequested,
)

UserState = Literal["active", "registered", "locked"]
_NUMBERS: Final = {name: number for number, name in USER_STATES.items()}


class ListUsersArgs(ToolArgs):
    status: Literal["active", "registered", "locked", "*"] = Field("active", description="Which; '*' for all.")
    name: str | None = Field(None, min_length=1, description="Only with this in name, login or mail.")
    group_id: int | None = Field(None, ge=1, description="Only of this group.")
    limit: Limit = 25
    offset: Offset = 0


class ListUsers(ReadingTool[ListUsersArgs]):
    """List users (administrators only; list_memberships shows who is in a project)."""

    name = "list_users"
    kind = USER
    act = "list"
    tags = ("people",)
    keywords = {
        "en": "who has an account; all people; employees and colleagues; find a person or a login; "
        "user directory; all accounts; everybody who can log in",
        "ja": "人 一覧 利用者 アカウント 社員 登録されている 誰 探す ユーザー 全員 名簿",
    }

    async def work(self, args: ListUsersArgs) -> Answered:
        # An empty status means all; Redmine's "*" would match nobody.
        state = "" if args.status == "*" else _NUMBERS[args.status]
        page = await self.client.records.page(
            USER, status=state, name=args.name, group_id=args.group_id, limit=args.limit, offset=args.offset
        )
        return self.answers.listing(USER, (user_view(row) for row in page.rows), page, next_page(self.name, args))


class ShowUserArgs(ToolArgs):
    id: IdOrName = Field(description="Who: id, login, name or 'me'.")


class ShowUser(ReadingTool[ShowUserArgs]):
    """Show a user, with groups and memberships as far as you may see them."""

    name = "show_user"
    kind = USER
    tags = ("people",)
    keywords = {
        "en": "email address of a colleague; how to contact a person; details of one user; "
        "which groups is somebody in; what groups is a person in; tell me about a person",
        "ja": "さん メールアドレス 連絡先 詳細 人 利用者 所属 ユーザー プロフィール この人",
    }

    async def work(self, args: ShowUserArgs) -> Answered:
        id_ = await self.client.names.people.id_of(args.id, "id")
        record = await self.client.records.show(USER, id_, ("memberships", "groups"))
        return self.answers.record(USER, user_view(record))


class ShowCurrentUser(ReadingTool[NoArgs]):
    """Show whose key this server has: login, roles, today's date there, the markup and the house rules."""

    name = "show_current_user"
    kind = USER
    tags = ("people",)
    keywords = {
        "en": "who am I; my account; logged in as; am I an admin; my own rights",
        "ja": "自分 私 誰 ログイン 権限 管理者 確認 アカウント として 私は 自分自身 現在のユーザー",
    }

    async def work(self, args: NoArgs) -> Answered:
        self.client.service.forget_me()
        shown = user_view(await self.client.service.me())
        now = datetime.now(await self.client.names.days.zone())
        facts = {"today": now.strftime("%Y-%m-%d (%A)"), "time_zone": now.strftime("UTC%z")}
        markup = await self.client.names.forms.markup()
        facts |= {"markup": markup} if markup else {}
        facts |= {"house_rules": self.client.rules} if self.client.rules else {}
        return self.answers.record(USER, {**shown, **facts})


class UserFields(ToolArgs):
    admin: bool | None = Field(None, description="Whether the user is an administrator.")
    must_change_passwd: bool | None = Field(None, description="Whether a new password is asked for at the next login.")
    mail_notification: Literal["all", "selected", "only_my_events", "only_assigned", "only_owner", "none"] | None = (
        Field(None, description="What mail the user gets.")
    )
    custom_fields: CustomFieldValues = Field(default_factory=list, description="Custom fields of users, by id.")


class CreateUserArgs(UserFields):
    login: str = Field(min_length=1, max_length=60, description="Login name.")
    firstname: str = Field(min_length=1, max_length=30, description="First name.")
    lastname: str = Field(min_length=1, max_length=255, description="Last name.")
    mail: str = Field(min_length=3, description="Mail address.")
    password: SecretStr | None = Field(None, description="Password; without one Redmine makes one (generate_password).")


class CreateUser(WritingTool[CreateUserArgs]):
    """Create a user (administrators only)."""

    name = "create_user"
    kind = USER
    act = "create"
    tags = ("people",)
    keywords = {
        "en": "new account for an employee; create a login; sign up a person; register a colleague; onboard a new hire",
        "ja": "新しい アカウント 作る 新入社員 登録 ログイン 利用者 入社 ユーザー 発行 用意 作成",
    }

    async def work(self, args: CreateUserArgs) -> Answered:
        arguments = {key: value for key, value in sent_arguments(args, "password").items() if value is not None}
        fields = await self.client.names.custom_fields.of("user", self._nobody)
        body = await Bodies(self.client.names).of(arguments, None, fields)
        secret = {"password": args.password.get_secret_value()} if args.password else {"generate_password": True}
        outcome = await self.client.writing.create(USER, place("users"), {**body, **secret})
        message = Message(en=f"User {outcome.record['id']} was created", ja="ユーザーを作成しました")
        return self.answers.record(USER, user_view(outcome.record), message=message)

    async def _nobody(self) -> list[JsonObject]:
        # Users who cannot list the fields cannot create users either.
        return []


class UpdateUserArgs(RecordArgs, UserFields):
    login: str | None = Field(None, min_length=1, max_length=60, description="Another login name.")
    firstname: str | None = Field(None, min_length=1, max_length=30, description="Another first name.")
    lastname: str | None = Field(None, min_length=1, max_length=255, description="Another last name.")
    mail: str | None = Field(None, min_length=3, description="Another mail address.")
    status: UserState | None = Field(None, description="active, registered or locked.")


class UpdateUser(WritingTool[UpdateUserArgs]):
    """Change a user, or lock one out (administrators only)."""

    name = "update_user"
    kind = USER
    act = "update"
    tags = ("people",)
    keywords = {
        "en": "lock an account; block someone from logging in; reset a password; "
        "change the name or email of a person; disable a login; "
        "somebody is leaving, lock the account; shut somebody out who quit; "
        "stop a person from logging in",
        "ja": "アカウント 止める 入れない ロック 無効 パスワード 再設定 名前 変更 ユーザー 使えないように 停止 "
        "改姓 更新 使えなくする ログインできない 退職者",
    }

    async def work(self, args: UpdateUserArgs) -> Answered:
        arguments = changes(args)
        before = await self.client.records.show(USER, args.id, operation=to("update", USER, args.id))
        body = await Bodies(self.client.names).of(arguments, None, before.get("custom_fields") or [])
        if args.status is not None:
            body["status"] = _NUMBERS[args.status]
        outcome = await self.client.writing.update(USER, before, body)
        message = Message(en=f"User {args.id} was changed", ja="ユーザーを更新しました")
        return self.answers.record(USER, with_unrequested(user_view(outcome.record), outcome), message=message)


class DeleteUser(DeletingTool[RecordArgs]):
    """Delete a user for good (administrators only). What the user wrote stays, as by Anonymous."""

    name = "delete_user"
    kind = USER
    tags = ("people",)
    keywords = {
        "en": "remove an account for good; erase the login of an ex-employee; the person left the company",
        "ja": "アカウント 消す 削除 退職 辞めた 利用者 ユーザー やめた人",
    }

    def consequence(self, args: RecordArgs) -> str:
        return (
            f"This would delete user {args.id} for good: issues, notes and time entries stay, but as by Anonymous. "
            "update_user with status 'locked' only locks the user out."
        )

    async def foresee(self, args: RecordArgs) -> str:
        one = await self.client.records.show(USER, args.id, operation=to("delete", USER, args.id))
        return f"{one['login']} ({one['firstname']} {one['lastname']}): {self.consequence(args)}"

    async def work(self, args: RecordArgs) -> Answered:
        one = await self.client.records.show(USER, args.id, operation=to("delete", USER, args.id))
        await self.client.writing.delete(USER, args.id)
        message = Message(en=f"User {args.id} was deleted", ja="ユーザーを削除しました")
        return self.answers.done(USER, {"id": args.id, "login": one["login"]}, message)


class ListGroups(ReadingTool[NoArgs]):
    """List groups (administrators only)."""

    name = "list_groups"
    kind = GROUP
    act = "list"
    tags = ("people",)
    keywords = {
        "en": "which user groups exist; teams and departments of users",
        "ja": "グループ 班 部署 チーム 一覧 どんな 組織",
    }

    async def work(self, args: NoArgs) -> Answered:
        page = await self.client.records.page(GROUP)
        return self.answers.whole(GROUP, (view(row) for row in page.rows))


class ShowGroup(ReadingTool[RecordArgs]):
    """Show a group with its users and memberships."""

    name = "show_group"
    kind = GROUP
    tags = ("people",)
    keywords = {
        "en": "who belongs to a group; members of a department",
        "ja": "グループ 班 誰がいる 所属 メンバー 部署 詳細",
    }

    async def work(self, args: RecordArgs) -> Answered:
        return self.answers.record(
            GROUP, view(await self.client.records.show(GROUP, args.id, ("users", "memberships")))
        )


TOOLS = (ListUsers, ShowUser, ShowCurrentUser, CreateUser, UpdateUser, DeleteUser, ListGroups, ShowGroup)
