"""The files area of projects, and deleting files wherever they are attached."""

from pydantic import Field

from dogubako.contract.output import Message
from dogubako.contract.tool import ToolArgs
from dogubako.packs.redmine.answers import Answered
from dogubako.packs.redmine.api import missing, place, to
from dogubako.packs.redmine.formatters import view
from dogubako.packs.redmine.models import ATTACHMENT, FILE, VERSION
from dogubako.packs.redmine.names.matching import IdOrName
from dogubako.packs.redmine.tools.base import DeletingTool, ProjectId, RecordArgs, Upload, WritingTool


class AddFileArgs(ToolArgs):
    project_id: ProjectId
    upload: Upload = Field(description="The file, as upload_attachment returned it.")
    version_id: IdOrName | None = Field(None, description="Version that it belongs to, by id or name.")


class AddFile(WritingTool[AddFileArgs]):
    """Add a file that upload_attachment has sent to the files area of a project."""

    name = "add_file"
    keywords = {
        "en": "upload a release to the project's downloads; offer a download; put a document into the files area",
        "ja": "ファイルを置く アップロード 配布 ダウンロード用 リリース物 資料を登録",
    }
    kind = FILE
    act = "create"
    tags = ("knowledge", "files")

    async def work(self, args: AddFileArgs) -> Answered:
        project = await self.client.names.project(args.project_id)
        body = args.upload.as_sent()
        if args.version_id is not None:
            body["version_id"] = await self.client.names.id_of(VERSION, args.version_id, "version_id", project)
        path, operation = place("projects", project, "files"), to("create", FILE)
        await self.client.writing.sent("POST", path, operation, FILE, "create", {"file": body}, project)
        # A token begins with the id of its file.
        id_ = args.upload.token.split(".")[0]
        rows = (await self.client.records.page(FILE, path)).rows
        made = next((row for row in rows if str(row["id"]) == id_), None)
        if made is None:
            raise missing(operation, "It was sent, but list_files does not show it.")
        message = Message(en=f"File {made['id']} was added", ja="ファイルを追加しました")
        return self.answers.record(FILE, view(made, without=("digest",)), message=message)


class DeleteAttachment(DeletingTool[RecordArgs]):
    """Delete a file for good: of an issue, a wiki page, news or the files area."""

    name = "delete_attachment"
    keywords = {
        "en": "remove an uploaded file; get rid of a wrong document; take a picture off a ticket",
        "ja": "添付を消す ファイルを削除 画像を消す 間違ったファイル 外す 資料を取り除く",
    }
    kind = ATTACHMENT
    tags = ("knowledge", "files")

    def consequence(self, args: RecordArgs) -> str:
        return f"This would delete attachment {args.id} for good."

    async def foresee(self, args: RecordArgs) -> str:
        one = await self.client.records.show(ATTACHMENT, args.id, operation=to("delete", ATTACHMENT, args.id))
        return f"This would delete attachment {args.id} ({one['filename']}, {one['filesize']:,} bytes) for good."

    async def work(self, args: RecordArgs) -> Answered:
        one = await self.client.records.show(ATTACHMENT, args.id, operation=to("delete", ATTACHMENT, args.id))
        await self.client.writing.delete(ATTACHMENT, args.id)
        message = Message(en=f"Attachment {args.id} was deleted", ja="添付ファイルを削除しました")
        return self.answers.done(ATTACHMENT, {"id": args.id, "filename": one["filename"]}, message)


TOOLS = (AddFile, DeleteAttachment)
