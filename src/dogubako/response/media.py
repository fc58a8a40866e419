"""Pictures, sounds, files and links as content blocks: whole, or a link, or an error; never half."""

import base64
from typing import Any, Final

from dogubako.contract.errors import AnswerTooLargeError
from dogubako.contract.output import Audio, Content, Embedded, Image, Link
from dogubako.response.blocks import block_cost
from dogubako.response.foreign_block import Mask, base64_of, holds_secret
from dogubako.response.plain import clean_text

_BASE64: Final = ("data", "blob")


def media_block(answer: Image | Audio | Embedded | Link, budget: int, mask: Mask) -> dict[str, Any]:
    """The block, or a link to the whole where the block is too large."""
    block = _clean(_block(answer), mask)
    if (tokens := block_cost(block)) > budget:
        return _clean(_stand_in(answer, tokens, budget), mask)
    check_bytes(base64_of(block), mask)
    return block


def check_bytes(encoded: str, mask: Mask) -> None:
    """A secret within base64 cannot be masked, so an answer with one does not leave."""
    if holds_secret(encoded, mask):
        raise ValueError("a tool returned bytes that contain a secret of this server")


def too_large(message: str) -> AnswerTooLargeError:
    return AnswerTooLargeError(message, hint="Ask for a smaller version, or for a link instead of the content.")


def _block(answer: Image | Audio | Embedded | Link) -> dict[str, Any]:
    match answer:
        case Link():
            named = {"title": answer.title, "description": answer.description, "size": answer.size}
            known = {key: value for key, value in named.items() if value is not None}
            return {"type": "resource_link", "uri": answer.uri, "name": answer.name} | known | _mime(answer)
        case Embedded(body=str(text)):
            resource: dict[str, Any] = {"uri": answer.uri, "text": text} | _mime(answer)
            return {"type": "resource", "resource": resource}
        case Embedded(body=bytes(blob)):
            resource = {"uri": answer.uri, "blob": base64.b64encode(blob).decode()} | _mime(answer)
            return {"type": "resource", "resource": resource}
        case Image() | Audio():
            kind = "image" if isinstance(answer, Image) else "audio"
            return {"type": kind, "data": base64.b64encode(answer.data).decode(), "mimeType": answer.mime_type}
    raise TypeError(f"a tool returned {type(answer).__name__}, which is no content")


def _stand_in(answer: Content, tokens: int, budget: int) -> dict[str, Any]:
    """Half a picture is no picture: show where the whole one is, or say that it does not fit."""
    uri = getattr(answer, "uri", None)
    if uri is None or isinstance(answer, Link):
        raise too_large(f"The answer needs about {tokens:,} tokens and the response budget is {budget:,}.")
    return {"type": "resource_link", "uri": uri, "name": uri.rsplit("/", 1)[-1] or uri} | _mime(answer)


def _mime(answer: Content) -> dict[str, str]:
    mime_type = getattr(answer, "mime_type", None)
    return {"mimeType": mime_type} if mime_type else {}


def _clean(block: dict[str, Any], mask: Mask) -> dict[str, Any]:
    """The texts of a block without secrets and half characters; base64 stays as it is."""
    return {key: _clean_value(key, value, mask) for key, value in block.items()}


def _clean_value(key: str, value: Any, mask: Mask) -> Any:
    if isinstance(value, dict):
        return _clean(value, mask)
    return mask(clean_text(value)) if isinstance(value, str) and key not in _BASE64 else value
