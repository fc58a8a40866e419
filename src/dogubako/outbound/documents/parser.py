"""`DocumentParser`: have worker processes read documents and scale pictures."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol

import msgspec

from dogubako.contract.errors import ApiError
from dogubako.outbound.documents.document import DocumentKind
from dogubako.outbound.documents.picture_scaling import Picture
from dogubako.outbound.documents.worker import REPLIES, DocumentPart, DocumentRequest, PictureRequest, Reply
from dogubako.outbound.parsing.pool import PYTHON, WorkerPool
from dogubako.outbound.parsing.protocol import ParseFailure

_SECONDS: Final = 25.0
_SENTENCES: Final = {
    "time": "reading it takes too long",
    "memory": "reading it takes too much memory",
    "crash": "the parser failed on it",
}


class Performer(Protocol):
    """Performs requests: in worker processes, or, in tests of content, in this process."""

    async def run(self, request: msgspec.Struct, body: bytes | bytearray, seconds: float) -> Reply: ...


OpenPerformer = Callable[[], AbstractAsyncContextManager[Performer]]


def document_workers() -> WorkerPool[Reply]:
    """A pool of workers. No process is started before the first file."""
    return WorkerPool(command=(*PYTHON, "dogubako.outbound.documents.worker"), replies=REPLIES)


class DocumentParser:
    """Reads untrusted documents and pictures. ApiError for those that cannot be read within the limits."""

    def __init__(self, performer: Performer) -> None:
        self._performer = performer

    async def document(self, body: bytes, kind: DocumentKind, page: int, characters: int) -> DocumentPart:
        """The pages from this one on, as many as fit."""
        request = DocumentRequest(kind=kind, page=page, characters=characters)
        reply = await self._performer.run(request, body, _SECONDS)
        if isinstance(reply, DocumentPart):
            return reply
        raise _unreadable("file", reply)

    async def picture(self, body: bytes, most_tokens: int) -> Picture:
        """The picture, small enough for a model, and for this many tokens."""
        reply = await self._performer.run(PictureRequest(most_tokens=most_tokens), body, _SECONDS)
        if isinstance(reply, Picture):
            return reply
        raise _unreadable("picture", reply)


def _unreadable(noun: str, reply: Reply) -> ApiError:
    """The error for a failure; a reply of the wrong type is one too."""
    failure = reply if isinstance(reply, ParseFailure) else ParseFailure(reason="crash", cause=type(reply).__name__)
    reason = failure.message or _SENTENCES.get(failure.reason, _SENTENCES["crash"])
    hint = failure.hint or "save_to saves it to a folder."
    return ApiError(f"The {noun} could not be shown: {reason}.", hint=hint)
