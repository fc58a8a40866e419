"""Wiki pages: list, read, write, delete. Redmine keeps every version of a page."""

from typing import Final

from pydantic import Field

from dogubako.contract.errors import ApiError, NotFoundError, ValidationError
from dogubako.contract.output import Message
from dogubako.contract.tool import ToolArgs
from dogubako.packs.redmine.answers import Answered
from dogubako.packs.redmine.api import missing, place, to
from dogubako.packs.redmine.client import RedmineClient
from dogubako.packs.redmine.errors import RedmineRefused
from dogubako.packs.redmine.formatters import view
from dogubako.packs.redmine.models import WIKI_PAGE, JsonObject
from dogubako.packs.redmine.tools.base import DeletingTool, ProjectId, ReadingTool, Uploads, WritingTool
from dogubako.packs.redmine.verification import NOT_IN_TITLES

_MOVED: Final = 302


class ListWikiPagesArgs(ToolArgs):
    project_id: ProjectId


class ListWikiPages(ReadingTool[ListWikiPagesArgs]):
    """List the wiki pages of a project: titles, parents, versions."""

    name = "list_wiki_pages"
    kind = WIKI_PAGE
    act = "list"
    tags = ("knowledge", "wiki")
    keywords = {
        "en": "which documentation exists; list of articles and manuals; "
        "table of contents of the wiki; do we have documentation about something; "
        "all pages of the wiki; what documentation do we have",
        "ja": "手順書 説明 ページ 一覧 目次 ドキュメント 資料 記事 どんな 文書 Wiki",
    }

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
    keywords = {
        "en": "read an article; open the guide or manual; what does the documentation say; "
        "earlier text of a page; instructions; what was decided in the meeting; read the guide; "
        "how do I install it, by our wiki",
        "ja": "ページ 開く 読む 手順 説明 記事 ドキュメント 案内 以前の 手順書 マニュアル 読みたい Wiki 表示",
    }

    async def work(self, args: ShowWikiPageArgs) -> Answered:
        page = await read_page(self.client, await self.client.names.project(args.project_id), args.title, args.version)
        return self.answers.record(WIKI_PAGE, view(page))


class SaveWikiPageArgs(WikiPageArgs):
    text: str | None = Field(
        None, min_length=1, description="The whole text, in the markup of this Redmine; without it the text stays."
    )
    new_title: str | None = Field(None, min_length=1, max_length=255, description="Rename the page to this.")
    uploads: Uploads = Field(default_factory=list, description="Files that upload_attachment has sent.")
    comments: str | None = Field(None, max_length=1024, description="What was changed, for the page's history.")
    parent_title: str | None = Field(None, min_length=1, description="Page that it belongs below.")
    version: int | None = Field(
        None, ge=1, description="The version that you have read; if somebody changed it since, nothing is written."
    )


class SaveWikiPage(WritingTool[SaveWikiPageArgs]):
    """Create a wiki page, write a new version, rename it or attach files. Old versions stay in its history."""

    name = "save_wiki_page"
    kind = WIKI_PAGE
    act = "save"
    idempotent = True
    tags = ("knowledge", "wiki")
    keywords = {
        "en": "write documentation; put down notes or minutes; add an article or how-to; edit a page; "
        "fix a guide; publish text in the wiki; correct the instructions; "
        "add a page to our documentation; correct something on a page; "
        "change a number in the guide",
        "ja": "書く 議事録 手順書 メモ 記事 直す 編集 説明 ページ 残す 誤字 ドキュメント 書き込む 更新 "
        "マニュアル Wiki 作成 ページを直す 電話番号",
    }

    async def work(self, args: SaveWikiPageArgs) -> Answered:
        project = await self.client.names.project(args.project_id)
        before = await self._before(project, args.title)
        body = await self._body(args, before)
        current = args.version or (before or {}).get("version")
        sent = {**body, "version": current} if current else body
        operation = to("save", WIKI_PAGE, args.title)
        path = place("projects", project, "wiki", stored_title(args.title))
        try:
            await self.client.writing.sent("PUT", path, operation, WIKI_PAGE, "save", {"wiki_page": sent}, project)
        except RedmineRefused as refusal:
            if refusal.status_code == 409:
                hint = "Nothing was written. Read the page again with show_wiki_page and save with its version."
                raise refusal.because("somebody else has changed the page since that version", hint) from refusal
            if refusal.status_code == 422 and not refusal.reasons and args.new_title:
                raise refusal.because("there is a page of the new title already") from refusal
            if refusal.status_code == 422 and not refusal.reasons and args.parent_title:
                raise refusal.because("there is no such page to be its parent, or it is below it") from refusal
            raise
        return await self._answer(args, project, before, body)

    async def _body(self, args: SaveWikiPageArgs, before: JsonObject | None) -> JsonObject:
        """The page to write. Redmine wants the text even if only the title changes."""
        if before is None and (args.text is None or args.new_title is not None):
            raise missing(to("save", WIKI_PAGE, args.title), f"Give text to create it. {WIKI_PAGE.finder}")
        body = args.model_dump(include={"text", "comments", "parent_title"}, exclude_none=True)
        body.setdefault("text", (before or {}).get("text"))
        if args.uploads:
            body["uploads"] = [one.as_sent() for one in args.uploads]
        return {**body, "title": stored_title(args.new_title, "new_title")} if args.new_title else body

    async def _before(self, project: int, title: str) -> JsonObject | None:
        try:
            return await read_page(self.client, project, title)
        except NotFoundError:
            return None

    async def _answer(
        self, args: SaveWikiPageArgs, project: int, before: JsonObject | None, body: JsonObject
    ) -> Answered:
        path = place("projects", project, "wiki", stored_title(args.new_title or args.title))
        after = await self.client.writing.read_back(WIKI_PAGE, "save", args.title, ("attachments",), path=path)
        same_version = before is not None and before.get("version") == after.get("version")
        unchanged = same_version and not args.uploads and not args.new_title
        # An unchanged text creates no new version, and its comment is lost.
        requested = {key: value for key, value in body.items() if not (same_version and key == "comments")}
        await self.client.writing.check(WIKI_PAGE, "save", requested, {"id": args.title, **after})
        result = "is unchanged" if unchanged else "was saved" if before else "was created"
        message = Message(en=f"Wiki page '{after['title']}' {result}", ja="Wikiページを保存しました")
        shown = {key: value for key, value in view(after).items() if key != "text"}
        return self.answers.record(WIKI_PAGE, shown, message=message)


class DeleteWikiPage(DeletingTool[WikiPageArgs]):
    """Delete a wiki page with all its versions. Pages below it stay."""

    name = "delete_wiki_page"
    kind = WIKI_PAGE
    tags = ("knowledge", "wiki")
    keywords = {
        "en": "remove an outdated article; throw away a documentation page",
        "ja": "ページ 消す 削除 古い 説明 記事 ドキュメント 手順書 捨てる Wiki",
    }

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


def stored_title(title: str, parameter: str = "title") -> str:
    """The title without the characters that Redmine drops: "リリースノート 1.4" is kept as "リリースノート_14"."""
    stored = title.translate(NOT_IN_TITLES).strip()
    if not stored:
        message = f"Invalid value for parameter {parameter}: Redmine drops all of its characters"
        raise ValidationError.of(parameter, message, hint=WIKI_PAGE.finder)
    return stored


async def read_page(client: RedmineClient, project: int, title: str, version: int | None = None) -> JsonObject:
    """A page as Redmine has it, with its attachments."""
    parts = ("projects", project, "wiki", stored_title(title), *(() if version is None else (version,)))
    try:
        return await client.records.show(WIKI_PAGE, title, ("attachments",), path=place(*parts))
    except ApiError as error:
        if error.status_code != _MOVED:
            raise
        # Redmine redirects an old title to the new page, but to the HTML one.
        hint = "It has got another title: list_wiki_pages has the titles."
        raise missing(to("show", WIKI_PAGE, title), hint) from error


TOOLS = (ListWikiPages, ShowWikiPage, SaveWikiPage, DeleteWikiPage)
