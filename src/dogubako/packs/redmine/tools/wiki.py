"""Wiki pages: list, read, write, delete. Redmine keeps every version of a page."""

from typing import Final

from pydantic import Field

from dogubako.contract.errors import ApiError, NotFoundError
from dogubako.contract.output import Message
from dogubako.contract.tool import ToolArgs
from dogubako.packs.redmine.api.records import to
from dogubako.packs.redmine.api.service import missing, place
from dogubako.packs.redmine.client import RedmineClient
from dogubako.packs.redmine.errors import RedmineRefused
from dogubako.packs.redmine.formatters.answers import Answered
from dogubako.packs.redmine.formatters.views import view
from dogubako.packs.redmine.models import WIKI_PAGE, Json
from dogubako.packs.redmine.tools.arguments import ProjectId
from dogubako.packs.redmine.tools.base import DeletingTool, ReadingTool, WritingTool

_MOVED: Final = 302


class ListWikiPagesArgs(ToolArgs):
    project_id: ProjectId


class ListWikiPages(ReadingTool[ListWikiPagesArgs]):
    """List the wiki pages of a project: titles, parents, versions."""

    name = "list_wiki_pages"
    kind = WIKI_PAGE
    act = "list"
    tags = ("knowledge", "wiki")
    keywords = {"ja": "Wiki ページ 一覧"}

    async def work(self, args: ListWikiPagesArgs) -> Answered:
        project = await self.client.names.project(args.project_id)
        page = await self.client.records.page(WIKI_PAGE, place("projects", project, "wiki", "index"))
        return self.answers.whole(WIKI_PAGE, (view(row) for row in page.rows))


class WikiPageArgs(ToolArgs):
    project_id: ProjectId
    title: str = Field(min_length=1, max_length=255, description="Title of the page, as list_wiki_pages has it.")


class ShowWikiPageArgs(WikiPageArgs):
    version: int | None = Field(None, ge=1, description="An older version of it.")


class ShowWikiPage(ReadingTool[ShowWikiPageArgs]):
    """Show a wiki page, also as it was before."""

    name = "show_wiki_page"
    kind = WIKI_PAGE
    tags = ("knowledge", "wiki")
    keywords = {"ja": "Wiki ページ 表示"}

    async def work(self, args: ShowWikiPageArgs) -> Answered:
        page = await read_page(self.client, await self.client.names.project(args.project_id), args.title, args.version)
        return self.answers.record(WIKI_PAGE, view(page))


class SaveWikiPageArgs(WikiPageArgs):
    text: str = Field(min_length=1, description="The whole text of the page, in the markup of this Redmine.")
    comments: str | None = Field(None, max_length=1024, description="What was changed, for the page's history.")
    parent_title: str | None = Field(None, min_length=1, description="Page that it belongs below.")
    version: int | None = Field(
        None, ge=1, description="The version that you have read; if somebody changed it since, nothing is written."
    )


class SaveWikiPage(WritingTool[SaveWikiPageArgs]):
    """Create a wiki page, or write a new version of it. The version before stays in its history."""

    name = "save_wiki_page"
    kind = WIKI_PAGE
    act = "save"
    idempotent = True
    tags = ("knowledge", "wiki")
    keywords = {"ja": "Wiki ページ 作成 更新"}

    async def work(self, args: SaveWikiPageArgs) -> Answered:
        project = await self.client.names.project(args.project_id)
        before = await self._before(project, args.title)
        body = args.model_dump(exclude={"project_id", "title", "version"}, exclude_none=True)
        current = args.version or (before or {}).get("version")
        sent = {**body, "version": current} if current else body
        asked = to("save", WIKI_PAGE, args.title)
        path = place("projects", project, "wiki", args.title)
        try:
            await self.client.writing.sent("PUT", path, asked, WIKI_PAGE, "save", {"wiki_page": sent}, project)
        except RedmineRefused as refusal:
            if refusal.status_code == 409:
                hint = "Nothing was written. Read the page again with show_wiki_page and save with its version."
                raise refusal.because("somebody else has changed the page since that version", hint) from refusal
            if refusal.status_code == 422 and not refusal.reasons and args.parent_title:
                raise refusal.because("there is no such page to be its parent, or it is below it") from refusal
            raise
        return await self._answer(args, project, before, body)

    async def _before(self, project: int, title: str) -> Json | None:
        try:
            return await read_page(self.client, project, title)
        except NotFoundError:
            return None

    async def _answer(self, args: SaveWikiPageArgs, project: int, before: Json | None, body: Json) -> Answered:
        path = place("projects", project, "wiki", args.title)
        after = await self.client.writing.read_back(WIKI_PAGE, "save", args.title, ("attachments",), path=path)
        unchanged = before is not None and before.get("version") == after.get("version")
        # A text that was there already makes no new version, and its comment is lost.
        asked = {key: value for key, value in body.items() if not (unchanged and key == "comments")}
        await self.client.writing.check(WIKI_PAGE, "save", asked, {"id": args.title, **after})
        said = "is unchanged" if unchanged else "was saved" if before else "was created"
        message = Message(en=f"Wiki page '{after['title']}' {said}", ja="Wikiページを保存しました")
        shown = {key: value for key, value in view(after).items() if key != "text"}
        return self.answers.record(WIKI_PAGE, shown, message=message)


class DeleteWikiPage(DeletingTool[WikiPageArgs]):
    """Delete a wiki page with all its versions. Pages below it stay."""

    name = "delete_wiki_page"
    kind = WIKI_PAGE
    tags = ("knowledge", "wiki")
    keywords = {"ja": "Wiki ページ 削除"}

    def consequence(self, args: WikiPageArgs) -> str:
        return "This would delete the wiki page for good, with all its versions and attachments. Pages below it stay."

    async def foresee(self, args: WikiPageArgs) -> str:
        page = await read_page(self.client, await self.client.names.project(args.project_id), args.title)
        versions = f"all its versions ({page['version']}) and attachments ({len(page.get('attachments') or ())})"
        return f"This would delete wiki page '{page['title']}' for good, with {versions}. Pages below it stay."

    async def work(self, args: WikiPageArgs) -> Answered:
        project = await self.client.names.project(args.project_id)
        page = await read_page(self.client, project, args.title)
        path = place("projects", project, "wiki", page["title"])
        await self.client.writing.delete(WIKI_PAGE, page["title"], path=path, project=project)
        message = Message(en=f"Wiki page '{page['title']}' was deleted", ja="Wikiページを削除しました")
        return self.answers.done(WIKI_PAGE, {"title": page["title"]}, message)


async def read_page(client: RedmineClient, project: int, title: str, version: int | None = None) -> Json:
    """A page as Redmine has it, with its attachments."""
    parts = ("projects", project, "wiki", title, *(() if version is None else (version,)))
    try:
        return await client.records.show(WIKI_PAGE, title, ("attachments",), path=place(*parts))
    except ApiError as error:
        if error.status_code != _MOVED:
            raise
        # Redmine sends whoever asks for an old title to the new page, but to the one for people.
        hint = "It has got another title: list_wiki_pages has the titles."
        raise missing(to("show", WIKI_PAGE, title), hint) from error


TOOLS = (ListWikiPages, ShowWikiPage, SaveWikiPage, DeleteWikiPage)
