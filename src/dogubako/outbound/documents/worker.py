"""The worker process for documents and pictures: requests, replies, and how they are performed."""

from typing import Final

import msgspec

from dogubako.outbound.documents.document import Document, DocumentError, DocumentKind
from dogubako.outbound.documents.office import read_docx, read_xlsx
from dogubako.outbound.documents.pdf import read_pdf
from dogubako.outbound.documents.picture_scaling import Picture, scaled_picture
from dogubako.outbound.parsing.process import serve
from dogubako.outbound.parsing.protocol import ParseFailure, sendable

READERS: Final = {"pdf": read_pdf, "xlsx": read_xlsx, "docx": read_docx}


class DocumentRequest(msgspec.Struct, frozen=True, kw_only=True, tag="document"):
    """Read a document from a page on: as many pages as fit, and at least one."""

    kind: DocumentKind
    page: int
    characters: int


class PictureRequest(msgspec.Struct, frozen=True, kw_only=True, tag="picture"):
    """Scale a picture to what a model can see, and to this many tokens."""

    most_tokens: int


class DocumentPart(msgspec.Struct, frozen=True, kw_only=True, tag="document"):
    """The text of `shown` pages out of `pages`. Empty after the last page."""

    title: str
    unit: str
    page: int
    shown: int
    pages: int
    text: str


Request = DocumentRequest | PictureRequest
Reply = DocumentPart | Picture | ParseFailure

REQUESTS: Final = msgspec.msgpack.Decoder(Request)
REPLIES: Final = msgspec.msgpack.Decoder(Reply)


def perform(request: Request, body: bytes) -> Reply:
    """Parse. May take unlimited time and memory: call it only under limits."""
    try:
        match request:
            case DocumentRequest():
                return _part(READERS[request.kind](body), request)
            case PictureRequest():
                return scaled_picture(body, request.most_tokens)
    except DocumentError as error:
        return ParseFailure(
            reason="refused", cause=sendable(error.cause), message=sendable(error.message), hint=error.hint
        )
    except MemoryError as error:
        return ParseFailure(reason="memory", cause=type(error).__name__)


def _part(document: Document, request: DocumentRequest) -> DocumentPart:
    texts: list[str] = []
    for number in range(request.page, document.count + 1):
        text = document.page(number)
        if texts and sum(map(len, texts)) + len(text) > request.characters:
            break
        texts.append(f"## Page {number}\n\n{text}" if document.unit == "page" else text)
    return DocumentPart(
        title=sendable(document.title, 200),
        unit=document.unit,
        page=request.page,
        shown=len(texts),
        pages=document.count,
        text="\n\n".join(texts),
    )


def load() -> None:
    """Import slow modules before the first request."""
    for name in ("pypdf", "openpyxl", "docx", "PIL.Image"):
        # An extra that is missing is reported when a file needs it.
        try:
            __import__(name)
        except ImportError:
            continue


if __name__ == "__main__":
    serve(perform, REQUESTS, load)
