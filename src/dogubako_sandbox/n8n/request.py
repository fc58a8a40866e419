"""A request to the sandbox's n8n: API key, scope, body and paging, checked as n8n does."""

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """The rest of a request after method, path, key and scope have been checked."""

    path: Mapping[str, str]
    query: Mapping[str, str]
    key: str = ""
    body: Any = None

    def says(self, name: str, *, default: str = "false") -> bool:
        """A flag in the query; n8n accepts only `true` for yes."""
        return self.query.get(name, default) == "true"


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A status other than 200, with its body."""

    status: int
    body: Any


class RefusedError(Exception):
    """n8n refuses. The messages are those of the real server; clients are tested against them."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def not_found() -> RefusedError:
    return RefusedError(404, "Not Found")


def one_of(query: Mapping[str, str], name: str, *values: str) -> str | None:
    """The value in the query, if it is one of those that n8n accepts."""
    value = query.get(name)
    if value is not None:
        check_word(value, f"request/query/{name}", values)
    return value


def check_word(value: str, place: str, values: tuple[str, ...]) -> None:
    if value not in values:
        expected = " | ".join(f"'{each}'" for each in values)
        raise RefusedError(400, f"{place} Invalid enum value. Expected {expected}, received '{value}'")


SANDBOX_KEY: Final = "sandbox-key"
NO_SCOPE_KEY: Final = "no-scope-key"

# Endpoints that every key may use.
ANY: Final = ""

_ALL: Final = (
    "credential:create",
    "credential:list",
    "credential:read",
    "dataTable:create",
    "dataTable:list",
    "dataTableRow:create",
    "dataTableRow:delete",
    "dataTableRow:read",
    "dataTableRow:update",
    "dataTableRow:upsert",
    "insights:read",
    "securityAudit:generate",
    "execution:delete",
    "execution:list",
    "execution:read",
    "tag:create",
    "tag:delete",
    "tag:list",
    "tag:update",
    "user:list",
    "workflow:create",
    "workflow:delete",
    "workflow:list",
    "workflow:read",
    "workflow:update",
    "workflowTags:update",
    "workflowTags:list",
    "workflow:activate",
    "workflow:deactivate",
    "execution:retry",
    "execution:stop",
)
_SCOPES: Final[Mapping[str, tuple[str, ...]]] = {SANDBOX_KEY: _ALL, NO_SCOPE_KEY: ("workflow:list", "workflow:read")}


def scopes_of(key: str) -> tuple[str, ...]:
    if key not in _SCOPES:
        raise RefusedError(401, "Unauthorized")
    return _SCOPES[key]


def check_scope(key: str, scope: str) -> None:
    if scope not in (*scopes_of(key), ANY):
        raise RefusedError(403, "Forbidden")


_USUAL, _MOST = 100, 250


def page_by_offset(items: Sequence[Any], query: Mapping[str, str]) -> dict[str, Any]:
    """The paging of workflows, tags, credentials and users."""
    position = _position(query)
    limit, start = position["limit"], int(position.get("offset", 0))
    following = _cursor(limit=limit, offset=start + limit) if start + limit < len(items) else None
    return {"data": list(items[start : start + limit]), "nextCursor": following}


def page_by_last_id(items: Sequence[dict[str, Any]], query: Mapping[str, str]) -> dict[str, Any]:
    """The paging of executions, newest first: a new one does not move the pages."""
    position = _position(query)
    older = [item for item in items if "lastId" not in position or int(item["id"]) < int(position["lastId"])]
    page = older[: position["limit"]]
    following = _cursor(lastId=str(page[-1]["id"]), limit=position["limit"]) if len(older) > len(page) else None
    return {"data": page, "nextCursor": following}


def _position(query: Mapping[str, str]) -> dict[str, Any]:
    """The content of the cursor, which has its own limit, or else of the query."""
    plain = {"limit": _whole(query.get("limit", "0")), "offset": query.get("offset", 0)}
    position = _opened(query["cursor"]) if "cursor" in query else plain
    # Zero or nothing means the default; too much is reduced silently.
    return {**position, "limit": min(int(position.get("limit", 0)) or _USUAL, _MOST)}


def _whole(limit: str) -> int:
    """Parse as JavaScript does: 1.5 is 1."""
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
