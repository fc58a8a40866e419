"""The endpoints that plain records in projects share: list, show, create, update, delete.

`RecordKind` declares the columns of a record and saves it. A subclass of `Records` declares names, permissions and
defaults, and says how a record is shown, saved and removed.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from dogubako_sandbox.redmine.custom_fields import checked_customs, save_customs
from dogubako_sandbox.redmine.request import DONE, ApiRequest, created, refuse
from dogubako_sandbox.redmine.store import Row, now_text

Endpoint = Callable[[ApiRequest], Any]
Route = tuple[str, str, Endpoint]


def as_given(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class RecordKind:
    """A kind of record: its table, the type of its custom fields, and the columns that a body may set."""

    table: str
    name: str
    columns: Mapping[str, Callable[[Any], Any]]

    def changes(self, body: Row) -> Row:
        """Return the columns that a body sets."""
        return {name: read(body[name]) for name, read in self.columns.items() if name in body}

    def save(self, req: ApiRequest, row: Row, body: Row, changes: Row, errors: Callable[[Row], list[str]]) -> Row:
        """Check and save a record with its custom fields; a row without an id is new. `errors` gets the changed row."""
        changed, table = {**row, **changes}, req.store[self.table]
        project_id = changed.get("id") if self.table == "projects" else changed.get("project_id")
        values, wrong = checked_customs(req, self.name, row, body, req.store["projects"].get(project_id))
        refuse([*wrong, *errors(changed)])
        if "id" not in row:
            row = table.add(**changed, created_on=now_text(), updated_on=now_text())
            save_customs(req.store, self.name, row, values)
        elif save_customs(req.store, self.name, row, values) or any(row.get(name) != changed[name] for name in changed):
            row.update(changed, updated_on=now_text())
        return row


class Records:
    """One kind of record that belongs to a project."""

    one: ClassVar[str]
    many: ClassVar[str]
    table: ClassVar[str]
    view: ClassVar[tuple[str, ...]]
    manage: ClassVar[tuple[str, ...]]
    defaults: ClassVar[Row] = {}

    def routes(self) -> Iterator[Route]:
        inside, alone = f"/projects/{{project_id}}/{self.many}", f"/{self.many}/{{id}}"
        yield "GET", inside, self.list_all
        yield "POST", inside, self.create
        yield "GET", alone, self.show
        yield "PUT", alone, self.update
        yield "DELETE", alone, self.delete

    def list_all(self, req: ApiRequest) -> Any:
        """Show all of them at once: these lists have a total_count but no pages."""
        rows = self.rows(req, req.project_for(*self.view))
        return {self.many: [self.shown(req, each) for each in rows], "total_count": len(rows)}

    def show(self, req: ApiRequest) -> Any:
        return {self.one: self.shown(req, self.found(req, *self.view), alone=True)}

    def create(self, req: ApiRequest) -> Any:
        project = req.project_for(*self.manage)
        row = self.save(req, {"project_id": project["id"], **self.defaults})
        return created({self.one: self.shown(req, row, alone=True)}, f"{req.base_url}/{self.many}/{row['id']}")

    def update(self, req: ApiRequest) -> Any:
        self.save(req, self.found(req, *self.manage))
        return DONE

    def delete(self, req: ApiRequest) -> Any:
        self.remove(req, self.found(req, *self.manage))
        return DONE

    def found(self, req: ApiRequest, *permissions: str) -> Row:
        row = req.row(self.table)
        req.need(req.store.project_of(row), *permissions)
        return row

    def rows(self, req: ApiRequest, project: Row) -> list[Row]:
        return sorted(req.store[self.table].where(project_id=project["id"]), key=lambda row: str(row["name"]))

    def save(self, req: ApiRequest, row: Row) -> Row:
        """Check and save a new or changed row."""
        raise NotImplementedError

    def shown(self, req: ApiRequest, row: Row, *, alone: bool = False) -> Row:
        raise NotImplementedError

    def remove(self, req: ApiRequest, row: Row) -> None:
        raise NotImplementedError
