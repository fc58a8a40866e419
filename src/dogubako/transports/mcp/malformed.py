"""Messages that cannot be read as they are: find their id, so that the refusal reaches its request."""

import json
import re
from typing import Any, Final

from dogubako.transports.mcp.protocol import (
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Refusal,
    is_request_id,
)

BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
# A client is told what it did wrong; it does not need megabytes of its own words for that.
LONGEST_METHOD: Final = 200
_CUT_METHOD: Final = 80
# Where clients write the id of a message: near its beginning, or at its very end.
_BEGINNING: Final = 8 * 1024
_END: Final = 1024

_HALF_CHARACTER: Final = Refusal(INVALID_REQUEST, "The message contains half a Unicode character.", None)
_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_ID_AT_END: Final = re.compile(
    rb'"id"\s*:\s*("(?:[^"\\]|\\.){0,200}"|-?[0-9]{1,30})\s*'
    rb'(?:,\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]{0,200}"\s*)*\}\s*\Z'
)
_decode_value = json.JSONDecoder().raw_decode


def refusal_of_content(message: Any, *, is_strict: bool) -> Refusal | None:
    """Why a decoded request is not handed on: an endless method, or half characters, which no strict JSON has."""
    if not isinstance(message, dict) or "id" not in message:
        return None
    method = message.get("method")
    if isinstance(method, str) and len(method) > LONGEST_METHOD:
        cut = method[:_CUT_METHOD].encode("utf-8", "replace").decode()
        return Refusal(METHOD_NOT_FOUND, f"Method not found: {cut}… ({len(method):,} characters)", None)
    return _HALF_CHARACTER if not is_strict and has_half_characters(message) else None


def half_characters_only_in_arguments(message: dict[str, Any]) -> bool:
    """Whether the rest can be read, so that the tool's own check can refuse the arguments."""
    params = message.get("params")
    if not isinstance(params, dict) or not has_half_characters(params.get("arguments")):
        return False
    rest = {key: value for key, value in params.items() if key != "arguments"}
    return not has_half_characters({**message, "params": rest})


def has_half_characters(value: Any) -> bool:
    """Whether a text or a name in it holds a lone surrogate."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    except (RecursionError, ValueError):
        return False
    return False


def readable_id(message: Any) -> str | int | None:
    """The id of a decoded request, if an answer can repeat it."""
    request_id = message.get("id") if isinstance(message, dict) else None
    return request_id if is_request_id(request_id) and not has_half_characters(request_id) else None


def find_request_id(line: bytes, end: bytes = b"") -> str | int | None:
    """The id of a request of which only the beginning can be read, or the end. Responses have none to answer to."""
    members = _members_at_start(line.removeprefix(BYTE_ORDER_MARK)[:_BEGINNING].decode("utf-8", "replace"))
    if "result" in members or "error" in members:
        return None
    if "id" not in members and (found := _ID_AT_END.search((end or line)[-_END:])) is not None:
        try:
            members["id"] = json.loads(found[1])
        except ValueError:
            return None
    return readable_id(members)


def _members_at_start(text: str) -> dict[str, Any]:
    """The members of the object, up to the first that is not complete."""
    members: dict[str, Any] = {}
    at = _after_blanks(text, 0)
    if text[at : at + 1] != "{":
        return members
    try:
        while text[at : at + 1] in ("{", ","):
            at = _after_blanks(text, at + 1)
            if text[at] != '"':
                break
            name, at = _decode_value(text, at)
            at = _after_blanks(text, at)
            value, after = _decode_value(text, _after_blanks(text, at + 1))
            at = _after_blanks(text, after)
            # A number at the end of what we have may go on.
            if text[at : at + 1] in (",", "}"):
                members[name] = value
    except (ValueError, IndexError, RecursionError):
        return members
    return members


def _after_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at
