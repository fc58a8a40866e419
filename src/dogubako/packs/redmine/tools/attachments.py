"""Upload a file, show one as text, pages or image, or save it."""

from base64 import b64decode
from binascii import Error as Base64Error
from typing import Final, Literal

from pydantic import Field

from dogubako.contract.errors import AnswerTooLargeError, ValidationError
from dogubako.contract.offload import offload
from dogubako.contract.output import Content, Deferred, Image, Message, Mixed, example_call
from dogubako.contract.tool import ToolArgs
from dogubako.outbound.bounds import Bound
from dogubako.outbound.documents.document import document_kind
from dogubako.outbound.documents.texts import TEXT_ENDINGS, ending_of, read_text
from dogubako.outbound.http import Operation
from dogubako.packs.redmine.api import SAVED_FILE, SHOWN_FILE, place, to
from dogubako.packs.redmine.errors import RedmineRefused
from dogubako.packs.redmine.formatters import view
from dogubako.packs.redmine.models import ATTACHMENT, JsonObject, Kind
from dogubako.packs.redmine.tools.base import ReadingTool, RecordArgs, WritingTool

UPLOAD: Final = Kind(noun="upload", one="upload", many="uploads")
_LARGEST: Final = 100 * 1024 * 1024
_PICTURES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/tiff")
_PICTURE_ENDINGS: Final = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "bmp": "image/bmp",
    "tif": "image/tiff",
    "tiff": "image/tiff",
}
# What Redmine stores if the browser does not know better.
_UNKNOWN_TYPES: Final = ("", "application/octet-stream", "binary/octet-stream", "application/vnd.ms-excel")
_DETAILS_TOKENS: Final = 500
_SMALLEST_PICTURE_TOKENS: Final = 100
_NO_VIEW: Final = (
    "It is neither text nor a picture. save_to saves it to a folder, show_as: 'text' shows its bytes as text."
)
# A character of Japanese costs up to two tokens in the estimate.
_TOKENS_PER_CHARACTER: Final = 2
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
    keywords = {
        "en": "attach a file; add a screenshot or picture to a ticket; send a document or log; "
        "put a file on the tracker",
        "ja": "添付 付ける ファイル 写真 画像 送る アップロード 画面 チケットに 添える 載せる 添付ファイル",
    }

    async def work(self, args: UploadAttachmentArgs) -> Content | Deferred:
        body, filename = await self._content(args), _filename(args)
        operation = Operation(name="upload file", resource_type="File", resource_id=filename)
        try:
            made = await self.client.service.upload(body, filename, operation)
        except RedmineRefused as refusal:
            if refusal.status_code in (413, 422):
                # Redmine gives the reason in its user's language; it is nearly always the size.
                hint = f"The file has {len(body):,} bytes; an administrator sets how large attachments may be."
                raise refusal.because("; ".join(refusal.reasons) or "the file is too large", hint) from refusal
            raise
        shown: JsonObject = {
            "id": made.get("id"),
            "token": made.get("token"),
            "filename": filename,
            "filesize": len(body),
        }
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
        "auto",
        description="auto: text, pictures and documents (PDF, xlsx, docx), of others the details; or one of these.",
    )
    page: int = Field(1, ge=1, le=1_000_000, description="Where to begin in a long file: page, sheet or part.")
    save_to: str | None = Field(
        None,
        min_length=1,
        description="Save it under this path, below a folder of DOGUBAKO_FILES, instead of showing it.",
    )


class ShowAttachment(ReadingTool[ShowAttachmentArgs]):
    """Show a file: text in any encoding, PDF, Excel, Word, a picture; or save it to a folder, never overwriting."""

    name = "show_attachment"
    kind = ATTACHMENT
    tags = ("knowledge", "files")
    keywords = {
        "en": "open an attached file; look at a screenshot or picture on a ticket; "
        "download a pdf or log; read the attachment; what does the attached spreadsheet say",
        "ja": "添付 ファイル 開く 画像 写真 中身 読む ダウンロード 見る 付いている スクリーンショット "
        "添付ファイル 表示 PDF エクセル 文字化け エクセルに何が書いてある",
    }

    async def work(self, args: ShowAttachmentArgs) -> Content | Deferred:
        record = await self.client.records.show(ATTACHMENT, args.id)
        shown = view(record)
        if args.save_to is not None:
            saved = await self.client.folders.save(args.save_to, await self._read(record), parameter="save_to")
            message = Message(en="The file was saved", ja="ファイルを保存しました")
            return self.answers.record(ATTACHMENT, {**shown, "saved_to": str(saved)}, message=message)
        way = _way(record) if args.show_as == "auto" else args.show_as
        if way == "image":
            return await self._picture(record, shown)
        if way == "text":
            return await self._text(args, record, shown)
        return self.answers.record(ATTACHMENT, shown if args.show_as == "details" else {**shown, "hint": _NO_VIEW})

    async def _picture(self, record: JsonObject, shown: JsonObject) -> Content | Deferred:
        if _content_type(record) not in _PICTURES:
            message = "Invalid value for parameter show_as: the file is no picture that can be shown"
            raise ValidationError.of("show_as", message, hint=f"These can: {', '.join(_PICTURES)}.")
        most_tokens = self.context.responses.max_tokens - _DETAILS_TOKENS
        if most_tokens < _SMALLEST_PICTURE_TOKENS:
            raise AnswerTooLargeError(
                "A picture does not fit the response budget.", hint="save_to saves it to a folder."
            )
        picture = await self.client.documents.picture(await self._read(record, SHOWN_FILE), most_tokens)
        size = {"width": picture.original_width, "height": picture.original_height}
        if (picture.width, picture.height) != (picture.original_width, picture.original_height):
            size["shown_width"], size["shown_height"] = picture.width, picture.height
        image = Image(data=picture.data, mime_type=picture.mime_type)
        return Mixed(parts=[self.answers.record_now(ATTACHMENT, {**shown, **size}), image])

    async def _text(self, args: ShowAttachmentArgs, record: JsonObject, shown: JsonObject) -> Content | Deferred:
        """The text from a page on: as many pages as fit."""
        body, name = await self._read(record, SHOWN_FILE), str(record.get("filename") or "")
        characters = self.context.responses.max_tokens // _TOKENS_PER_CHARACTER
        kind = document_kind(_content_type(record), name, body)
        if kind is not None:
            part = await self.client.documents.document(body, kind, args.page, characters)
            facts: JsonObject = {"title": part.title} if part.title else {}
            return self._pages(args, {**shown, **facts}, part.text, part.unit, part.shown, part.pages)
        read = await offload(read_text, body, name, args.page, characters)
        plain = body.isascii() and read.decoded.encoding == "UTF-8"
        facts = {} if plain else {"encoding": read.decoded.encoding if read.decoded.known else "unknown"}
        facts |= {"encoding_note": read.decoded.note} if read.decoded.note else {}
        return self._pages(args, {**shown, **facts}, read.text, "part", read.shown, read.parts)

    def _pages(
        self, args: ShowAttachmentArgs, shown: JsonObject, text: str, unit: str, count: int, total: int
    ) -> Content | Deferred:
        """The answer with the text, and the call that shows what follows."""
        if not count and args.page > 1:
            message = f"Invalid value for parameter page: the file has {total:,} {unit}{'s' if total != 1 else ''}"
            raise ValidationError.of("page", message)
        facts: JsonObject = {} if total <= 1 else {"page": args.page, f"{unit}s": total}
        following = args.page + count
        if following <= total:
            how = {"show_as": args.show_as} if args.show_as != "auto" else {}
            facts["next"] = example_call(self.name, id=args.id, page=following, **how)
        return self.answers.record(ATTACHMENT, {**shown, **facts, "text": text})

    async def _read(self, record: JsonObject, at_most: Bound = SAVED_FILE) -> bytes:
        operation = to("download", ATTACHMENT, record["id"])
        # Our own URL: the record has the URL that Redmine believes to have.
        path = place("attachments", "download", record["id"], str(record["filename"])).removesuffix(".json")
        return await self.client.service.download(path, operation, at_most)


def _content_type(record: JsonObject) -> str:
    """The type that Redmine gives a file, or that of its ending: Redmine stores what the browser said."""
    stated = str(record.get("content_type") or "").lower()
    by_name = _PICTURE_ENDINGS.get(ending_of(str(record.get("filename") or "")))
    return by_name if by_name and stated in _UNKNOWN_TYPES else stated


def _way(record: JsonObject) -> str:
    content_type, name = _content_type(record), str(record.get("filename") or "")
    if content_type in _PICTURES:
        return "image"
    if document_kind(content_type, name) is not None:
        return "text"
    is_text = content_type.startswith("text/") or content_type in _TEXTS
    return "text" if is_text or (ending_of(name) in TEXT_ENDINGS and content_type in _UNKNOWN_TYPES) else "details"


def _filename(args: UploadAttachmentArgs) -> str:
    if args.filename is not None:
        return args.filename
    if args.path is not None:
        return args.path.replace("\\", "/").rsplit("/", 1)[-1]
    raise ValidationError.of("filename", "Required parameter missing: filename")


TOOLS = (UploadAttachment, ShowAttachment)
