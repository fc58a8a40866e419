"""One request as the endpoints see it, and all ways to answer that are not a plain 200."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from dogubako.sandbox.redmine.store import Row, Store, to_id
from dogubako.sandbox.redmine.visitor import Visitor, allows

DEFAULT_LIMIT: Final = 25
LONGEST_PAGE: Final = 100


class RefusedError(Exception):
    """Redmine says no. Most refusals have an empty body; those of the validation have sentences."""

    def __init__(self, status: int, errors: list[str] | None = None) -> None:
        super().__init__(f"{status} {errors}")
        self.status = status
        self.errors = errors


class BrokenError(Exception):
    """What Redmine did not expect: an answer 400 or 500 of the framework around it."""

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """What is left of a request when method, path and key have been looked at."""

    store: Store
    who: Visitor
    path: Mapping[str, str]
    # Query and body together; `a[]=1` is a list and `a[b]=1` an object, as Rails reads them.
    params: Mapping[str, Any]
    raw: bytes = b""
    content_type: str = ""
    accepts: str = ""
    base_url: str = ""

    def text(self, name: str) -> str:
        """A parameter as a text; empty when there is none."""
        value = self.params.get(name)
        return "" if value is None else str(value)

    def includes(self, word: str) -> bool:
        """Whether `include=a,b` asks for it."""
        asked = self.params.get("include")
        words = asked if isinstance(asked, list) else str(asked or "").split(",")
        return word in (str(each).strip() for each in words)

    def given(self, name: str) -> dict[str, Any]:
        """The object under this name in the body; empty when there is none."""
        value = self.params.get(name)
        if value is None or value == "":
            return {}
        if not isinstance(value, dict):
            raise BrokenError(500)
        return value

    def page(self) -> tuple[int, int]:
        """Offset and limit, with Redmine's own idea of numbers that make no sense."""
        asked = to_id(self.params.get("limit"))
        limit = DEFAULT_LIMIT if asked < 1 else min(asked, LONGEST_PAGE)
        if self.text("offset").strip():
            offset = max(to_id(self.params["offset"]), 0)
        else:
            offset = max((to_id(self.params.get("page")) - 1) * limit, 0)
        # The database cannot count any further.
        if offset >= 2**63:
            raise BrokenError(500)
        return offset, limit

    def project(self, name: str = "project_id") -> Row:
        """The project of the path (or else of the parameters), by number or identifier; 404 when there is none."""
        found = find_project(self.store, self.path.get(name) or self.params.get(name))
        if found is None:
            raise not_found()
        return found

    def row(self, table: str, name: str = "id") -> Row:
        """The row that the path names; 404 when there is none."""
        found = self.store[table].get(self.path.get(name))
        if found is None:
            raise not_found()
        return found

    def need(self, project: Row, *permissions: str) -> None:
        """One of these permissions; a stranger is asked to log in, unless nobody at all could do it."""
        if self.who.may_any(permissions, project):
            return
        if not any(allows(self.store, project, each) for each in permissions):
            raise forbidden()
        raise self.denied()

    def need_admin(self) -> None:
        if not self.who.admin:
            raise self.denied()

    def need_login(self) -> None:
        if not self.who.logged_in:
            raise self.denied()

    def denied(self) -> RefusedError:
        """403 for those we know, 401 for strangers."""
        return forbidden() if self.who.logged_in else RefusedError(401)


def find_project(store: Store, asked: object) -> Row | None:
    """A text of digits only is a number, anything else an identifier."""
    text = str(asked if asked is not None else "")
    if text.isascii() and text.isdigit():
        return store["projects"].get(text)
    return store["projects"].first(identifier=text) if text else None


def not_found() -> RefusedError:
    return RefusedError(404)


def forbidden() -> RefusedError:
    return RefusedError(403)


def unprocessable(*sentences: str) -> RefusedError:
    return RefusedError(422, list(sentences))


def created(body: Any, location: str) -> Answer:
    return Answer(status=201, body=body, headers={"location": location})


def page_of(ask: Ask, name: str, rows: list[Row], show: Any) -> dict[str, Any]:
    """One page of a list: total_count, offset and limit behind the records."""
    offset, limit = ask.page()
    shown = [show(row) for row in rows[offset : offset + limit]]
    return {name: shown, "total_count": len(rows), "offset": offset, "limit": limit}
