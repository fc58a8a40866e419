"""Pages and the opaque cursors between them: an offset for most lists, the last id for executions."""

import base64
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from dogubako.sandbox.n8n.asking import RefusedError

_USUAL, _MOST = 100, 250


def page_by_offset(items: Sequence[Any], query: Mapping[str, str]) -> dict[str, Any]:
    """The form in which workflows, tags, credentials and users are listed."""
    asked = _position(query)
    limit, start = asked["limit"], int(asked.get("offset", 0))
    following = _cursor(limit=limit, offset=start + limit) if start + limit < len(items) else None
    return {"data": list(items[start : start + limit]), "nextCursor": following}


def page_by_last_id(items: Sequence[dict[str, Any]], query: Mapping[str, str]) -> dict[str, Any]:
    """The form in which executions are listed, newest first: a new one does not move the pages."""
    asked = _position(query)
    older = [item for item in items if "lastId" not in asked or int(item["id"]) < int(asked["lastId"])]
    page = older[: asked["limit"]]
    following = _cursor(lastId=str(page[-1]["id"]), limit=asked["limit"]) if len(older) > len(page) else None
    return {"data": page, "nextCursor": following}


def _position(query: Mapping[str, str]) -> dict[str, Any]:
    """What the cursor holds, which has its own limit, or else what the query says."""
    plain = {"limit": _whole(query.get("limit", "0")), "offset": query.get("offset", 0)}
    asked = _opened(query["cursor"]) if "cursor" in query else plain
    # Nothing means the usual number; too much is cut without a word.
    return {**asked, "limit": min(int(asked.get("limit", 0)) or _USUAL, _MOST)}


def _whole(limit: str) -> int:
    """Read as JavaScript reads it: 1.5 is 1."""
    number = re.match(r"-?\d+", limit)
    if number is None:
        raise RefusedError(400, "request/query/limit Param `limit` must be a valid integer")
    if int(number[0]) < 0:
        raise RefusedError(400, "request/query/limit Param `limit` must be a non-negative integer")
    return int(number[0])


def _cursor(**position: Any) -> str:
    return base64.b64encode(json.dumps(position, separators=(",", ":")).encode()).decode()


def _opened(cursor: str) -> dict[str, Any]:
    try:
        return dict(json.loads(base64.b64decode(cursor, validate=True)))
    except (ValueError, TypeError) as error:
        raise RefusedError(400, "An invalid cursor was provided") from error
