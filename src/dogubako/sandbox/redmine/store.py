"""Everything this Redmine remembers: tables of rows, as in its database. A column without a value may be missing."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

Row = dict[str, Any]

# Tables that are long, and the column by which they are nearly always asked for.
_INDEXED: Final = {
    "custom_values": "customized_id",
    "journals": "journalized_id",
    "journal_details": "journal_id",
}
# Redmine's migrations have made some tables so that no id is ever given again, and others not.
_IDS_ONCE: Final = frozenset(
    {"tokens", "enabled_modules", "member_roles", "issue_relations", "watchers", "wikis", "news", "custom_values"}
)
# What an administrator has not changed is not in the table of settings.
_SETTINGS: Final[Mapping[str, Any]] = {
    "attachment_max_size": "5120",
    "cross_project_issue_relations": "0",
    "cross_project_subtasks": "tree",
    "default_projects_public": "1",
    "display_subprojects_issues": "1",
    "issue_done_ratio": "issue_field",
    "issue_group_assignment": "0",
    "parent_issue_dates": "derived",
    "parent_issue_done_ratio": "derived",
    "parent_issue_priority": "derived",
    "search_results_per_page": "10",
    "time_entry_list_defaults": {},
    "user_format": "firstname_lastname",
}


def to_id(value: object) -> int:
    """A number as Ruby's to_i reads it from a text: its digits at the start, else 0."""
    if isinstance(value, bool | float | int):
        return int(value)
    text = str(value if value is not None else "").strip()
    sign = -1 if text.startswith("-") else 1
    digits = ""
    for letter in text.lstrip("+-"):
        if not letter.isascii() or not letter.isdigit():
            break
        digits += letter
    return sign * int(digits or 0)


class Table:
    """Rows by id, in the order in which they were made. Join tables get ids too, of no meaning."""

    def __init__(self, rows: Iterable[Row], indexed: str | None = None, *, ids_once: bool = False) -> None:
        self._rows: dict[int, Row] = {}
        self._indexed = indexed
        self._ids_once = ids_once
        self._index: dict[Any, dict[int, Row]] = {}
        self._last = 0
        for row in rows:
            self._keep(row)

    def __iter__(self) -> Iterator[Row]:
        return iter(list(self._rows.values()))

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, row_id: object) -> Row | None:
        """The row with this id, which may also be written as a text."""
        return self._rows.get(to_id(row_id))

    def at(self, row_id: object) -> Row:
        """The row with this id that has to exist."""
        return self._rows[to_id(row_id)]

    def where(self, **columns: Any) -> list[Row]:
        """All rows with exactly these values; a missing column is None."""
        asked = columns.get(self._indexed or "")
        rows = self._rows.values() if asked is None else self._index.get(asked, {}).values()
        return [row for row in rows if all(row.get(name) == value for name, value in columns.items())]

    def first(self, **columns: Any) -> Row | None:
        return next(iter(self.where(**columns)), None)

    def add(self, **columns: Any) -> Row:
        """A new row with the next id; that of the newest row is given again once it is removed."""
        row: Row = {"id": self._last + 1, **columns}
        self._keep(row)
        return row

    def remove(self, row: Row) -> None:
        self._rows.pop(row["id"], None)
        if row["id"] == self._last and not self._ids_once:
            self._last = max(self._rows, default=0)
        if self._indexed:
            self._index.get(row.get(self._indexed), {}).pop(row["id"], None)

    def remove_where(self, **columns: Any) -> None:
        for row in self.where(**columns):
            self.remove(row)

    def _keep(self, row: Row) -> None:
        row.setdefault("id", self._last + 1)
        self._rows[row["id"]] = row
        self._last = max(self._last, row["id"])
        if self._indexed:
            self._index.setdefault(row.get(self._indexed), {})[row["id"]] = row


class Store:
    """One running Redmine: `store["issues"].get(3)`."""

    def __init__(self, world: Mapping[str, list[Row]]) -> None:
        self._tables = {name: _table(name, rows) for name, rows in world.items()}

    def __getitem__(self, name: str) -> Table:
        return self._tables.setdefault(name, _table(name, ()))

    def setting(self, name: str) -> Any:
        row = self["settings"].first(name=name)
        return row.get("value") if row else _SETTINGS.get(name)


def _table(name: str, rows: Iterable[Row]) -> Table:
    return Table(rows, _INDEXED.get(name), ids_once=name in _IDS_ONCE)
