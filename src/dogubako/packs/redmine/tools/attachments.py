"""Files: send one, and look at one as text, as a picture, or save it."""

from base64 import b64decode
from binascii import Error as Base64Error
from typing import Final, Literal

from pydantic import Field

from dogubako.contract.errors import AnswerTooLargeError, ValidationError
from dogubako.contract.offload import offload_if_large
from dogubako.contract.output import Content, Deferred, Image, Message, Mixed
from dogubako.contract.tool import ToolArgs
from dogubako.outbound.bounds import Bound
from dogubako.outbound.http import Asked
from dogubako.packs.redmine.api.records import to
from dogubako.packs.redmine.api.service import SAVED_FILE, SHOWN_FILE, place
from dogubako.packs.redmine.errors import RedmineRefused
from dogubako.packs.redmine.formatters.views import view
from dogubako.packs.redmine.models import ATTACHMENT, Json, Kind
from dogubako.packs.redmine.tools.arguments import RecordArgs
from dogubako.packs.redmine.tools.base import ReadingTool, WritingTool

UPLOAD: Final = Kind(noun="upload", one="upload", many="uploads")
_LARGEST: Final = 100 * 1024 * 1024
_PICTURES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
_DETAILS_TOKENS: Final = 400
_NO_VIEW: Final = (
    "It is neither text nor a picture. save_to saves it to a folder, show_as: 'text' shows its bytes as text."
)
_TOO_LARGE: Final = "The picture is too large to be shown. save_to saves it to a folder."
_TEXTS: Final = (
    "application/json",
    "application/xml",
    "application/x-yaml",
    "application/javascript",
    "message/rfc822",
)


class UploadAttachmentArgs(ToolArgs):
    path: str | None = Field(None, min_length=1, description="A file below a folder of DOGUBAKO_FILES.")
    text: str | None = Field(None, description="The content, as text.")
    base64: str | None = Field(None, description="The content, base64.")
    filename: str | None = Field(None, min_length=1, max_length=255, description="Its name; that of path without it.")


class UploadAttachment(WritingTool[UploadAttachmentArgs]):
    """Send a file to Redmine. It waits there until update_issue or create_issue attaches it."""

    name = "upload_attachment"
    kind = UPLOAD
    act = "create"
    tags = ("knowledge", "files")
    keywords = {"ja": "添付ファイル アップロード"}

    async def work(self, args: UploadAttachmentArgs) -> Content | Deferred:
        body, filename = await self._content(args), _filename(args)
        asked = Asked(operation="upload file", resource_type="File", resource_id=filename)
        try:
            made = await self.client.service.upload(body, filename, asked)
        except RedmineRefused as refusal:
            if refusal.status_code in (413, 422):
                # Redmine says why in the language of its user; the size is what it is nearly always about.
                hint = f"The file has {len(body):,} bytes; an administrator sets how large attachments may be."
                raise refusal.because("; ".join(refusal.reasons) or "the file is too large", hint) from refusal
            raise
        shown: Json = {"id": made.get("id"), "token": made.get("token"), "filename": filename, "filesize": len(body)}
        use = "Give token and filename to update_issue or create_issue, in uploads."
        message = Message(en="The file waits to be attached", ja="ファイルをアップロードしました")
        return self.answers.record(UPLOAD, {**shown, "attach_with": use}, message=message)

    async def _content(self, args: UploadAttachmentArgs) -> bytes:
        if sum(one is not None for one in (args.path, args.text, args.base64)) != 1:
            raise ValidationError.of("path", "Give exactly one of path, text and base64")
        if args.path is not None:
            return await self.client.folders.read(args.path, _LARGEST)
        if args.text is not None:
            return args.text.encode()
        try:
            return b64decode(args.base64 or "", validate=True)
        except (Base64Error, ValueError):
            raise ValidationError.of("base64", "Invalid value for parameter base64: it is not base64") from None


class ShowAttachmentArgs(RecordArgs):
    show_as: Literal["auto", "text", "image", "details"] = Field(
        "auto", description="auto: text and pictures as they are, of others the details; or one of these."
    )
    save_to: str | None = Field(
        None,
        min_length=1,
        description="Save it under this path, below a folder of DOGUBAKO_FILES, instead of showing it.",
    )


class ShowAttachment(ReadingTool[ShowAttachmentArgs]):
    """Show a file: as text, as a picture, or save it to a folder. Nothing is ever overwritten."""

    name = "show_attachment"
    kind = ATTACHMENT
    tags = ("knowledge", "files")
    keywords = {"ja": "添付ファイル 表示 ダウンロード 画像"}

    async def work(self, args: ShowAttachmentArgs) -> Content | Deferred:
        record = await self.client.records.show(ATTACHMENT, args.id)
        shown = view(record)
        if args.save_to is not None:
            saved = await self.client.folders.save(args.save_to, await self._read(record), parameter="save_to")
            message = Message(en="The file was saved", ja="ファイルを保存しました")
            return self.answers.record(ATTACHMENT, {**shown, "saved_to": str(saved)}, message=message)
        way = _way(str(record.get("content_type") or "")) if args.show_as == "auto" else args.show_as
        if way == "image":
            return await self._picture(args, record, shown)
        if way == "text":
            body = await self._read(record, SHOWN_FILE)
            return self.answers.record(ATTACHMENT, {**shown, "text": await offload_if_large(body, _decoded, body)})
        return self.answers.record(ATTACHMENT, shown if args.show_as == "details" else {**shown, "hint": _NO_VIEW})

    async def _picture(self, args: ShowAttachmentArgs, record: Json, shown: Json) -> Content | Deferred:
        kind = str(record.get("content_type") or "")
        if kind not in _PICTURES:
            message = "Invalid value for parameter show_as: the file is no picture that can be shown"
            raise ValidationError.of("show_as", message, hint=f"These can: {', '.join(_PICTURES)}.")
        if not self._fits(record):
            if args.show_as == "auto":
                return self.answers.record(ATTACHMENT, {**shown, "hint": _TOO_LARGE})
            raise AnswerTooLargeError(
                f"The picture has {record['filesize']:,} bytes, which does not fit the response budget.",
                hint="save_to saves it to a folder.",
            )
        data = await self._read(record, SHOWN_FILE)
        return Mixed(parts=[self.answers.record_now(ATTACHMENT, shown), Image(data=data, mime_type=kind)])

    def _fits(self, record: Json) -> bool:
        """Whether it makes sense to fetch a picture: a character of base64 is a token, nearly."""
        size = record.get("filesize")
        return not isinstance(size, int) or size * 4 // 3 + _DETAILS_TOKENS <= self.context.responses.max_tokens

    async def _read(self, record: Json, at_most: Bound = SAVED_FILE) -> bytes:
        asked = to("download", ATTACHMENT, record["id"])
        # Our own address: the one in the record is what Redmine believes its own to be.
        path = place("attachments", "download", record["id"], str(record["filename"])).removesuffix(".json")
        return await self.client.service.download(path, asked, at_most)


def _way(content_type: str) -> str:
    if content_type in _PICTURES:
        return "image"
    return "text" if content_type.startswith("text/") or content_type in _TEXTS else "details"


def _decoded(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        return body.decode("latin-1")


def _filename(args: UploadAttachmentArgs) -> str:
    if args.filename is not None:
        return args.filename
    if args.path is not None:
        return args.path.replace("\\", "/").rsplit("/", 1)[-1]
    raise ValidationError.of("filename", "Required parameter missing: filename")


TOOLS = (UploadAttachment, ShowAttachment)
