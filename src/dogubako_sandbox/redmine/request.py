"""One request as the endpoints see it, the answers that are not a plain 200, and the errors of Redmine and Rails."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from dogubako_sandbox.redmine.permissions import CurrentUser, allows
from dogubako_sandbox.redmine.store import Row, Store, to_id

DEFAULT_LIMIT: Final = 25
LARGEST_LIMIT: Final = 100


class RefusedError(Exception):
    """Redmine refuses the request. Most refusals have an empty body; those of the validation have sentences."""

    def __init__(self, status: int, errors: list[str] | None = None) -> None:
        super().__init__(f"{status} {errors}")
        self.status = status
        self.errors = errors


class BrokenError(Exception):
    """Rails, not Redmine, answers: 400, 404 or 500 for what Redmine does not expect."""

    def __init__(self, status: int) -> None:
        super().__init__(str(status))
        self.status = status


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """An answer other than 200 with JSON: `body` is written as JSON, `content` as it is."""

    status: int = 200
    body: Any = None
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


DONE: Final = Answer(status=204)


def created(body: Any, location: str) -> Answer:
    return Answer(status=201, body=body, headers={"location": location})


def not_found() -> RefusedError:
    return RefusedError(404)


def forbidden() -> RefusedError:
    return RefusedError(403)


def refuse(sentences: list[str]) -> None:
    """Raise 422 with the sentences of the validation, if there are any."""
    if sentences:
        raise RefusedError(422, sentences)


def applying(sentences: Mapping[str, object]) -> list[str]:
    """Return the sentences whose condition is true."""
    return [sentence for sentence, applies in sentences.items() if applies]


def find_project(store: Store, wanted: object) -> Row | None:
    """Find a project by its id (digits only) or by its identifier."""
    text = str(wanted if wanted is not None else "")
    if text.isascii() and text.isdigit():
        return store["projects"].get(text)
    return store["projects"].first(identifier=text) if text else None


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiRequest:
    """A request whose method, path and key are known."""

    store: Store
    user: CurrentUser
    path: Mapping[str, str]
    # Query and body together, as Rails merges them.
    params: Mapping[str, Any]
    raw: bytes = b""
    content_type: str = ""
    accepts: str = ""
    base_url: str = ""

    def text(self, name: str) -> str:
        """Return a parameter as a text; empty when there is none."""
        value = self.params.get(name)
        return "" if value is None else str(value)

    def includes(self, word: str) -> bool:
        """Tell whether `include=a,b` has this word."""
        return word in (each.strip() for each in self.text("include").split(","))

    def body(self, name: str, *, required: bool = False) -> Row:
        """Return the object under this name; a text or a number in its place breaks Redmine."""
        value = self.params.get(name)
        if (value is None and required) or not isinstance(value or {}, dict):
            raise BrokenError(500)
        return value or {}

    def lenient_body(self, name: str) -> Row:
        """Return the object under this name; for some records anything else counts as nothing."""
        value = self.params.get(name)
        return value if isinstance(value, dict) else {}

    def page(self) -> tuple[int, int]:
        """Return offset and limit, with Redmine's reading of numbers that make no sense."""
        wanted = to_id(self.params.get("limit"))
        limit = DEFAULT_LIMIT if wanted < 1 else min(wanted, LARGEST_LIMIT)
        page_offset = (to_id(self.params.get("page")) - 1) * limit
        offset = max(to_id(self.params["offset"]) if self.text("offset").strip() else page_offset, 0)
        # The database cannot count any further.
        if offset >= 2**63:
            raise BrokenError(500)
        return offset, limit

    def page_of(self, name: str, rows: list[Row], show: Callable[[Row], Any]) -> Row:
        """Return one page of a list, with total_count, offset and limit."""
        offset, limit = self.page()
        shown = [show(row) for row in rows[offset : offset + limit]]
        return {name: shown, "total_count": len(rows), "offset": offset, "limit": limit}

    def has_project(self) -> bool:
        return bool(self.path.get("project_id") or self.text("project_id").strip())

    def project(self, name: str = "project_id") -> Row:
        """Return the project of the path, or else of the parameters; 404 when there is none."""
        found = find_project(self.store, self.path.get(name) or self.params.get(name))
        if found is None:
            raise not_found()
        return found

    def project_for(self, *permissions: str) -> Row:
        project = self.project()
        self.need(project, *permissions)
        return project

    def project_or_all(self, *permissions: str) -> Row | None:
        """Return the project, or None for all projects, when the user may do one of these there or anywhere."""
        if self.has_project():
            return self.project_for(*permissions)
        if not any(self.user.may_somewhere(each) for each in permissions):
            raise self.denied()
        return None

    def row(self, table: str, name: str = "id") -> Row:
        """Return the row that the path names; 404 when there is none."""
        found = self.store[table].get(self.path.get(name))
        if found is None:
            raise not_found()
        return found

    def visible_issue(self, name: str = "id") -> Row:
        """Return the issue of the path; a user who may not see it is refused, not told that it does not exist."""
        issue = self.row("issues", name)
        self.check(self.user.sees_issue(issue))
        return issue

    def need(self, project: Row, *permissions: str) -> None:
        """Refuse a user without any of these permissions; 401 only if a login could help."""
        if not any(self.user.may(each, project) for each in permissions):
            raise self.denied() if any(allows(self.store, project, each) for each in permissions) else forbidden()

    def check(self, allowed: bool) -> None:
        if not allowed:
            raise self.denied()

    def denied(self) -> RefusedError:
        """Return 403 for users, 401 without a valid key."""
        return forbidden() if self.user.logged_in else RefusedError(401)


def body_params(raw: bytes, content_type: str) -> Row:
    """Read a JSON body; a body of another type is not read at all."""
    if content_type.partition(";")[0].strip().lower() != "application/json" or not raw.strip():
        return {}
    try:
        body = json.loads(raw.decode())
    except ValueError as error:
        raise BrokenError(400) from error
    return body if isinstance(body, dict) else {"_json": body}
