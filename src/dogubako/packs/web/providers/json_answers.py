"""The JSON of search engines, which are strangers."""

from typing import Any, Final

import msgspec

from dogubako.contract.errors import JsonParseError
from dogubako.outbound.bounds import Bound
from dogubako.packs.web.wire import MAX_PAGE_BYTES

# No engine writes longer texts or longer lists; whoever does would keep the event loop busy with them.
LONGEST_TEXT: Final = 20_000
MOST_ENTRIES: Final = 200
_BOUND: Final = Bound(most_bytes=MAX_PAGE_BYTES, most_values=50_000)


def read_object(body: bytes) -> dict[str, Any]:
    """The object that an API answers with, whatever content type it came with."""
    if not _BOUND.allows_values_of(body):
        raise JsonParseError("more values than anybody needs")
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise JsonParseError(str(error)) from error
    if not isinstance(found, dict):
        raise JsonParseError("not an object")
    return found


def plain_text(value: Any) -> str:
    """A string in one line, and nothing for anything else."""
    return " ".join(value[:LONGEST_TEXT].split()) if isinstance(value, str) else ""
