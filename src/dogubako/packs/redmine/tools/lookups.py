"""Small lists: statuses, trackers, priorities, roles, queries, custom fields."""

from pydantic import Field

from dogubako.contract.tool import NoArgs, ToolArgs
from dogubako.packs.redmine.answers import Answered
from dogubako.packs.redmine.formatters import view
from dogubako.packs.redmine.models import CUSTOM_FIELD, PRIORITY, QUERY, ROLE, STATUS, TRACKER
from dogubako.packs.redmine.names.custom_fields import NUMBERS
from dogubako.packs.redmine.tools.base import ProjectId, ReadingTool


class _LookupTool(ReadingTool[NoArgs]):
    """Reads a list again and shows all of it."""

    act = "list"
    tags = ("look-ups",)

    async def work(self, args: NoArgs) -> Answered:
        rows = await self.client.lookups.rows(self.kind, since=self.client.lookups.now())
        return self.answers.whole(self.kind, (view(row) for row in rows))


class ListIssueStatuses(_LookupTool):
    """List the statuses that issues can have. Which of them one may get next is in show_issue."""

    name = "list_issue_statuses"
    kind = STATUS
    keywords = {
        "en": "states a ticket can be in; stages such as new, in progress, done; possible statuses",
        "ja": "状態 ステータス 一覧 段階 進行中 種類 どんな チケットの",
    }


class ListTrackers(_LookupTool):
    """List trackers (bug, feature, …) and the fields that each uses."""

    name = "list_trackers"
    kind = TRACKER
    keywords = {
        "en": "types of tickets: bug, feature, support; kinds of tasks; which kinds of ticket can I create",
        "ja": "チケット 種類 種別 トラッカー 機能 どんな タイプ 一覧",
    }


class ListPriorities(_LookupTool):
    """List the priorities of issues."""

    name = "list_priorities"
    kind = PRIORITY
    keywords = {
        "en": "urgency levels; how important a ticket can be; high, normal, low; how urgent can a ticket be",
        "ja": "優先度 重要度 急ぎ 段階 一覧 種類 選べる 緊急度",
    }


class ListQueries(_LookupTool):
    """List saved queries, for query_id of list_issues."""

    name = "list_queries"
    kind = QUERY
    keywords = {
        "en": "saved filters for tickets; my stored searches; saved views",
        "ja": "保存 絞り込み 検索条件 フィルター クエリ 保存した ビュー カスタムクエリ 一覧",
    }


class ListRolesArgs(ToolArgs):
    permissions: bool = Field(False, description="Whether to show what each role may do.")


class ListRoles(ReadingTool[ListRolesArgs]):
    """List roles, with their permissions if asked."""

    name = "list_roles"
    kind = ROLE
    act = "list"
    tags = ("look-ups", "people")
    keywords = {
        "en": "what may a manager or developer do; permissions of a role; which rights exist; "
        "what may a reporter do; who is allowed to do what",
        "ja": "役割 権限 できること 許可 管理者 ロール 一覧 何ができる 種類",
    }

    async def work(self, args: ListRolesArgs) -> Answered:
        rows = await self.client.lookups.rows(ROLE, since=self.client.lookups.now())
        if args.permissions:
            rows = [await self.client.lookups.record_if_allowed(ROLE, row["id"]) or row for row in rows]
        return self.answers.whole(ROLE, (view(row) for row in rows))


class ListCustomFieldsArgs(ToolArgs):
    project_id: ProjectId | None = Field(None, description="Those that issues of this project have.")


class ListCustomFields(ReadingTool[ListCustomFieldsArgs]):
    """List custom fields. Administrators get all with their settings; others those of the issues that they see."""

    name = "list_custom_fields"
    kind = CUSTOM_FIELD
    act = "list"
    tags = ("look-ups",)
    keywords = {
        "en": "extra fields of tickets; additional attributes; our own columns",
        "ja": "独自 項目 カスタム 追加の欄 属性 フィールド 入力欄 カスタムフィールド 一覧",
    }

    async def work(self, args: ListCustomFieldsArgs) -> Answered:
        fields = self.client.names.custom_fields
        defined = await fields.defined() if args.project_id is None else None
        if defined is not None:
            return self.answers.whole(CUSTOM_FIELD, (view(row, without=_NOISE) for row in defined))
        project = None if args.project_id is None else await self.client.names.project(args.project_id)
        rows = await fields.learned(project)
        return self.answers.whole(
            CUSTOM_FIELD, (view(row, without=(NUMBERS,)) for row in rows), learned_from="the newest issues you can see"
        )


_NOISE = ("regexp", "min_length", "max_length", "searchable", "visible", "roles")

TOOLS = (ListIssueStatuses, ListTrackers, ListPriorities, ListRoles, ListQueries, ListCustomFields)
