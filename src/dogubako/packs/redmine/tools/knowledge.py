"""News, files, and full-text search."""

import re
from typing import Final, Literal

from pydantic import Field, field_validator
from pydantic_core import PydanticKnownError

from dogubako.contract.metadata import ToolExample
from dogubako.contract.tool import ToolArgs
from dogubako.packs.redmine.answers import Answered
from dogubako.packs.redmine.api import place, to
from dogubako.packs.redmine.formatters import view
from dogubako.packs.redmine.models import FILE, ISSUE, NEWS, SEARCH_RESULT, JsonObject, Listing
from dogubako.packs.redmine.tools.base import Limit, Offset, ProjectId, ReadingTool, next_page

SearchKind = Literal["issues", "news", "documents", "changesets", "wiki_pages", "messages", "projects"]
_YES: Final = "1"
_ISSUE_NUMBER: Final = re.compile(r"#(\d{1,9})", re.ASCII)


class ListNewsArgs(ToolArgs):
    project_id: ProjectId | None = Field(None, description="Only of this project.")
    limit: Limit = 25
    offset: Offset = 0


class ListNews(ReadingTool[ListNewsArgs]):
    """List news, newest first."""

    name = "list_news"
    kind = NEWS
    act = "list"
    tags = ("knowledge",)
    keywords = {
        "en": "announcements; what is new in the project; latest news of the company; anything announced lately",
        "ja": "お知らせ ニュース 最近 新着 告知 発表 一覧",
    }

    async def work(self, args: ListNewsArgs) -> Answered:
        path = place("news")
        if args.project_id is not None:
            path = place("projects", await self.client.names.project(args.project_id), "news")
        page = await self.client.records.page(NEWS, path, limit=args.limit, offset=args.offset)
        return self.answers.listing(NEWS, (view(row) for row in page.rows), page, next_page(self.name, args))


class ListFilesArgs(ToolArgs):
    project_id: ProjectId


class ListFiles(ReadingTool[ListFilesArgs]):
    """List the files that a project offers for download; show_attachment reads one."""

    name = "list_files"
    kind = FILE
    act = "list"
    tags = ("knowledge",)
    keywords = {
        "en": "downloads of a project; files people can download; released packages",
        "ja": "ダウンロード 資料 ファイル 配布 一覧 配布物 公開ファイル",
    }

    async def work(self, args: ListFilesArgs) -> Answered:
        project = await self.client.names.project(args.project_id)
        page = await self.client.records.page(FILE, place("projects", project, "files"))
        rows = (view(row, without=("digest",)) for row in page.rows)
        return self.answers.whole(FILE, rows)


# Redmine uses only five words.
_LONGEST_QUESTION: Final = 2_000


class SearchRedmineArgs(ToolArgs):
    q: str = Field(min_length=1, description="Words to look for; five count.")
    project_id: ProjectId | None = Field(None, description="Only in this project.")
    scope: Literal["all", "my_projects", "subprojects"] | None = Field(
        None, description="Everywhere, in your projects, or in the project with its subprojects."
    )
    types: tuple[SearchKind, ...] = Field((), description="Only among these; without it everywhere.")
    all_words: bool = Field(True, description="Whether all words must be there, or any.")
    titles_only: bool = Field(False, description="Whether only titles are looked at.")
    open_issues: bool = Field(False, description="Whether closed issues are left out.")
    limit: Limit = 25
    offset: Offset = 0

    @field_validator("q")
    @classmethod
    def _has_a_word(cls, value: str) -> str:
        if len(value) > _LONGEST_QUESTION:
            raise PydanticKnownError("string_too_long", {"max_length": _LONGEST_QUESTION})
        # Redmine silently finds nothing for single letters; one Han character is a word.
        if not any(len(word) > 1 or not word.isascii() for word in value.split()):
            raise ValueError("needs a word of at least two characters")
        return value


class SearchRedmine(ReadingTool[SearchRedmineArgs]):
    """Search issues, wiki pages, news, messages, documents and projects for words."""

    name = "search_redmine"
    kind = SEARCH_RESULT
    act = "list"
    tags = ("knowledge", "search")
    examples = (ToolExample(description="Everything about a topic", parameters={"q": "checkout umlauts"}),)
    keywords = {
        "en": "find anything about a topic in our tracker; full text search; "
        "where did we talk about it; tickets and pages that mention a word; "
        "find every ticket and page about a word; did anyone ever write about something; "
        "has this come up before",
        "ja": "探す 検索 どこ 話 書いた 見つける 社内 キーワード 言葉 出てくる 文書 横断 全文検索 誰か書いた "
        "話は出たか",
    }

    async def work(self, args: SearchRedmineArgs) -> Answered:
        path = place("search")
        if args.project_id is not None:
            path = place("projects", await self.client.names.project(args.project_id), "search")
        if (numbered := _ISSUE_NUMBER.fullmatch(args.q.strip())) and not args.offset:
            return await self._by_number(args, int(numbered[1]))
        # Redmine takes every value but an empty one for yes, "0" too.
        flags = {"all_words": _YES if args.all_words else "", "titles_only": _YES if args.titles_only else ""}
        flags |= {"open_issues": _YES if args.open_issues else ""} | dict.fromkeys(args.types, _YES)
        page = await self.client.records.page(
            SEARCH_RESULT,
            path,
            operation=to("search", SEARCH_RESULT),
            q=args.q,
            scope=args.scope,
            limit=args.limit,
            offset=args.offset,
            **flags,
        )
        rows = (_result(row) for row in page.rows)
        return self.answers.listing(SEARCH_RESULT, rows, page, next_page(self.name, args))

    async def _by_number(self, args: SearchRedmineArgs, number: int) -> Answered:
        """The issue that `#325` names. Redmine's own page goes there too; its API does not."""
        page = await self.client.records.page(ISSUE, issue_id=number, status_id="*", limit=1)
        results = [
            {
                "id": row["id"],
                "title": f"{row['tracker']['name']} #{row['id']} ({row['status']['name']}): {row['subject']}",
                "type": "issue",
                "description": row.get("description"),
                "datetime": row.get("created_on"),
            }
            for row in page.rows
        ]
        found = Listing(rows=results, total=len(results), offset=0, limit=args.limit)
        return self.answers.listing(SEARCH_RESULT, [_result(row) for row in results], found, next_page(self.name, args))


def _result(row: JsonObject) -> JsonObject:
    """An excerpt instead of the whole text, which show_issue and show_wiki_page have."""
    text = str(row.get("description") or "")
    excerpt = text if len(text) <= _LONGEST_EXCERPT else f"{text[:_LONGEST_EXCERPT]}…"
    return view({**{key: value for key, value in row.items() if key != "description"}, "excerpt": excerpt})


_LONGEST_EXCERPT: Final = 300

TOOLS = (ListNews, ListFiles, SearchRedmine)
