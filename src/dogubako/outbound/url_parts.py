"""Parts of a request's URL that come from a caller: quoted, and no longer than a server would take."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from dogubako.contract.errors import ValidationError

# Servers take 8 to 64 KB. Quoting a text of megabytes would keep the event loop, to no end.
LONGEST_URL: Final = 16 * 1024


def segment(part: str) -> str:
    """One segment of a path; nothing in it may lead elsewhere."""
    _check(len(part))
    safe = quote(part, safe="")
    # A dot alone would be resolved as "this folder" on the way.
    return safe.replace(".", "%2E") if set(part) <= {"."} else safe


def check_query(params: Mapping[str, Any]) -> None:
    """Refuse a query that is too long for a URL."""
    _check(sum(len(str(value)) for value in params.values()))


def _check(length: int) -> None:
    if length > LONGEST_URL:
        message = f"Invalid parameters: names, ids and filters of more than {LONGEST_URL:,} characters cannot be sent"
        raise ValidationError.of("parameters", message)
