"""The tables of the sandbox's Redmine, and the values in them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from typing import Any, Final

_FALSE: Final = {"0", "f", "F", "false", "FALSE", "off", "OFF", "False"}
_PLAIN_HOURS: Final = re.compile(r"(\d+(?:[.,]\d+)?)h?")
_CLOCK: Final = re.compile(r"(\d+):(\d+)")
_HOURS_AND_MINUTES: Final = re.compile(r"(?:(\d+)\s*(?:h|hours?))?\s*(?:(\d+)\s*(?:m|min)?)?", re.IGNORECASE)


def to_id(value: object) -> int:
    """Read a number as Ruby's to_i does: the digits at the start of a text, else 0."""
    if isinstance(value, bool | float | int):
        return int(value)
    digits = re.match(r"\s*([+-]*)([0-9]*)", str(value if value is not None else ""))
    assert digits is not None
    return (-1 if digits[1].startswith("-") else 1) * int(digits[2] or 0)


def is_blank(value: object) -> bool:
    """Tell whether Rails takes a value for no value at all."""
    return value is None or value is False or value in ([], {}) or not str(value).strip()


def to_number(value: Any) -> int | None:
    """Read a column of whole numbers; an empty text is no number."""
    return None if value is None or (isinstance(value, str) and not value.strip()) else to_id(value)


def to_truth(value: Any) -> bool:
    return value is not None and value != "" and str(value) not in _FALSE


def to_text(value: Any) -> str | None:
    if value is None:
        return None
    return ("t" if value else "f") if isinstance(value, bool) else str(value)


def to_list(value: Any) -> list[Any]:
    """Take one value or many."""
    return value if isinstance(value, list) else [value]


def to_date(value: object) -> date | None:
    """Read a day as YYYY-MM-DD; anything else is none."""
    text = str(value).strip()
    try:
        return date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None


def to_hours(value: Any) -> Any:
    """Read 1.5, "1,5", "1:30", "1h30" or "90m"; what is no number of hours stays as it is."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if plain := _PLAIN_HOURS.fullmatch(text):
        return float(plain[1].replace(",", "."))
    if clock := _CLOCK.fullmatch(text):
        return int(clock[1]) + int(clock[2]) / 60
    if words := _HOURS_AND_MINUTES.fullmatch(text):
        return int(words[1] or 0) + int(words[2] or 0) / 60 if text else None
    try:
        return float(text)
    except ValueError:
        return text


def too_long(label: str, value: object, longest: int) -> list[str]:
    if value is None or len(str(value)) <= longest:
        return []
    return [f"{label} is too long (maximum is {longest} characters)"]


def ascii_lower(text: str) -> str:
    """Lower only ASCII letters: the database compares no others without case."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


def today() -> date:
    return datetime.now(UTC).date()


def now_text() -> str:
    """Return the time as a column of the database holds it."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")


def shown_time(column: str | None) -> str | None:
    """Write a time as the API does: UTC, whole seconds."""
    return None if column is None else f"{column[:10]}T{column[11:19]}Z"


Row = dict[str, Any]

# Long tables, and the column by which nearly all requests ask for their rows.
_INDEXED: Final = {"custom_values": "customized_id", "journals": "journalized_id", "journal_details": "journal_id"}
# Redmine's migrations made some tables so that an id is never used again, and others not.
_IDS_ONCE: Final = frozenset(
    {"tokens", "enabled_modules", "member_roles", "issue_relations", "watchers", "wikis", "news", "custom_values"}
)
# The table of settings has only what an administrator has changed.
_SETTINGS: Final[Mapping[str, Any]] = {"attachment_max_size": "5120"}


class Table:
    """Rows by id, in the order in which they were added. Join tables get ids too, without a meaning."""

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

    def get(self, row_id: object) -> Row | None:
        """Return the row with this id (a number or a text), or None; None is the id of no row."""
        return self._rows.get(to_id(row_id))

    def at(self, row_id: object) -> Row:
        """Return the row with this id, which has to exist."""
        return self._rows[to_id(row_id)]

    def where(self, **columns: Any) -> list[Row]:
        """Return all rows with exactly these values; a missing column is None."""
        wanted = columns.get(self._indexed or "")
        rows = self._rows.values() if wanted is None else self._index.get(wanted, {}).values()
        return [row for row in rows if all(row.get(name) == value for name, value in columns.items())]

    def first(self, **columns: Any) -> Row | None:
        return next(iter(self.where(**columns)), None)

    def ids(self, column: str, **columns: Any) -> set[Any]:
        """Return the values of one column of all rows with these values; useful for join tables."""
        return {row[column] for row in self.where(**columns)}

    def by_position(self) -> list[Row]:
        return sorted(self._rows.values(), key=lambda row: row.get("position") or 0)

    def add(self, **columns: Any) -> Row:
        """Add a row with the next id; most tables use the id of the newest row again once it is removed."""
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
    """All tables of one running Redmine: `store["issues"].get(3)`."""

    def __init__(self, world: Mapping[str, list[Row]]) -> None:
        self._tables = {name: _table(name, rows) for name, rows in world.items()}

    def __getitem__(self, name: str) -> Table:
        return self._tables.setdefault(name, _table(name, ()))

    def project_of(self, row: Row) -> Row:
        return self["projects"].at(row["project_id"])

    def setting(self, name: str) -> Any:
        row = self["settings"].first(name=name)
        return row.get("value") if row else _SETTINGS.get(name)

    def remove_parts(self, kind: str, row_id: int) -> None:
        """Remove files, custom values and watchers of a record ("Issue", "Project", "News")."""
        self["attachments"].remove_where(container_type=kind, container_id=row_id)
        self["custom_values"].remove_where(customized_id=row_id, customized_type=kind)
        self["watchers"].remove_where(watchable_type=kind, watchable_id=row_id)


def _table(name: str, rows: Iterable[Row]) -> Table:
    return Table(rows, _INDEXED.get(name), ids_once=name in _IDS_ONCE)
