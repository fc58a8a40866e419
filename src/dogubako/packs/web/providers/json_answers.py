"""The JSON of search engines, which are strangers."""

from typing import Any, Final

import msgspec

from dogubako.contract.errors import JsonParseError
from dogubako.outbound.bounds import Bound
from dogubako.packs.web.wire import MAX_PAGE_BYTES

_BOUND: Final = Bound(most_bytes=MAX_PAGE_BYTES, most_values=200_000)


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
