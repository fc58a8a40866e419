"""News, files, and the search over everything."""

from typing import Final, Literal

from pydantic import Field, field_validator
from pydantic_core import PydanticKnownError

from dogubako.contract.metadata import ToolExample
from dogubako.contract.tool import ToolArgs
from dogubako.packs.redmine.api.records import to
from dogubako.packs.redmine.api.service import place
from dogubako.packs.redmine.formatters.answers import Answered
from dogubako.packs.redmine.formatters.views import view
from dogubako.packs.redmine.models import FILE, NEWS, SEARCH_RESULT, Json
from dogubako.packs.redmine.tools.arguments import Limit, Offset, ProjectId
from dogubako.packs.redmine.tools.base import ReadingTool, next_page

SearchKind = Literal["issues", "news", "documents", "changesets", "wiki_pages", "messages", "projects"]
_YES: Final = "1"


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
    keywords = {"ja": "ニュース 一覧"}

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
    keywords = {"ja": "ファイル 一覧"}

    async def work(self, args: ListFilesArgs) -> Answered:
        project = await self.client.names.project(args.project_id)
        page = await self.client.records.page(FILE, place("projects", project, "files"))
        rows = (view(row, without=("digest",)) for row in page.rows)
        return self.answers.whole(FILE, rows)


# Five words count.
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
        # Redmine finds nothing for single letters, and does not say so; one Han character is a word.
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
    keywords = {"ja": "検索 全文検索"}

    async def work(self, args: SearchRedmineArgs) -> Answered:
        path = place("search")
        if args.project_id is not None:
            path = place("projects", await self.client.names.project(args.project_id), "search")
        # To Redmine every value but an empty one means yes, "0" too.
        flags = {"all_words": _YES if args.all_words else "", "titles_only": _YES if args.titles_only else ""}
        flags |= {"open_issues": _YES if args.open_issues else ""} | dict.fromkeys(args.types, _YES)
        page = await self.client.records.page(
            SEARCH_RESULT,
            path,
            asked=to("search", SEARCH_RESULT),
            q=args.q,
            scope=args.scope,
            limit=args.limit,
            offset=args.offset,
            **flags,
        )
        rows = (_result(row) for row in page.rows)
        return self.answers.listing(SEARCH_RESULT, rows, page, next_page(self.name, args))


def _result(row: Json) -> Json:
    """An excerpt instead of the whole text: show_issue and show_wiki_page have that."""
    text = str(row.get("description") or "")
    excerpt = text if len(text) <= _LONGEST_EXCERPT else f"{text[:_LONGEST_EXCERPT]}…"
    return view({**{key: value for key, value in row.items() if key != "description"}, "excerpt": excerpt})


_LONGEST_EXCERPT: Final = 300

TOOLS = (ListNews, ListFiles, SearchRedmine)
