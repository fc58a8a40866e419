"""The initial data: world.json, recorded from a real Redmine, and the computed rows of the project `bulk`.

The project has 120 issues with every custom field, and one issue with 500 journal entries. The seed of the real Redmine
(scripts/redmine_seed.rb) makes these rows by a pattern, so world.json has the first of each kind and the sandbox
computes the others; scripts/record_redmine.py checks that they are equal to those of the real one.
"""

from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from dogubako_sandbox.redmine.store import Row, Store

World = dict[str, list[Row]]

WORLD: Final = Path(__file__).with_name("world.json")
_START: Final = datetime(2026, 9, 1, 8)
_ADMIN, _KIM1 = 1, 10
_ISSUES, _FIRST_ISSUE = 120, 20
_FIRST_FILE, _FIRST_VALUE, _VALUES_EACH = 7, 347, 19
_JOURNALS, _FIRST_JOURNAL, _FIRST_DETAIL = 500, 12, 15
_NEW, _CLOSED = 1, 5
_AREAS: Final = ("Cart", "Payment", "Shipping")
_BROWSERS: Final = ("Chrome", "Firefox", "Safari", "Edge & <IE>")


def seeded_store(recording: Path = WORLD) -> Store:
    """Return a new copy of a recorded world. Ours gets its computed rows; tests bring another one."""
    return Store(msgspec.json.decode(_encoded_world(recording), type=World))


@cache
def _encoded_world(recording: Path) -> bytes:
    """Encode the world once: decoding it is the fastest way to copy it."""
    world = msgspec.json.decode(recording.read_bytes(), type=World)
    for table, rows in computed_rows(world).items() if recording == WORLD else ():
        world[table] = sorted([*world[table], *rows], key=lambda row: int(row["id"]))
    return msgspec.json.encode(world)


def computed_rows(world: World) -> World:
    """Compute the rows of the project `bulk` from the first of each kind."""
    issue, file = _row(world, "issues", _FIRST_ISSUE), _row(world, "attachments", _FIRST_FILE)
    values = [row for row in world["custom_values"] if row["customized_id"] == _FIRST_ISSUE]
    values = [row for row in values if row["customized_type"] == "Issue"]
    comment, change = (_row(world, "journals", _FIRST_JOURNAL + n) for n in (0, 1))
    details = [_row(world, "journal_details", _FIRST_DETAIL + n) for n in (0, 1)]
    return {
        "issues": [_issue(issue, n) for n in range(1, _ISSUES)],
        "custom_values": [_value(row, n) for n in range(1, _ISSUES) for row in values],
        "attachments": [_file(file, n) for n in range(1, _ISSUES)],
        "journals": [_journal(change if n % 2 else comment, n) for n in range(2, _JOURNALS)],
        "journal_details": [_detail(row, n) for n in range(1, _JOURNALS // 2) for row in details],
    }


def _row(world: World, table: str, number: int) -> Row:
    return next(row for row in world[table] if row["id"] == number)


def _time(hours: int, *, days: int = 0) -> str:
    return str(_START + timedelta(days=days, hours=hours))


def _issue(first: Row, n: int) -> Row:
    number, is_closed = _FIRST_ISSUE + n, n % 12 == 11
    changing = {
        "id": number,
        "root_id": number,
        "subject": f"Bulk issue {n + 1:04}",
        "description": first["description"].replace("row 1:", f"row {n + 1}:"),
        "tracker_id": n % 3 + 1,
        "priority_id": n % 3 + 1,
        "status_id": _CLOSED if is_closed else _NEW,
        "assigned_to_id": None if n % 4 else _KIM1,
        "created_on": _time(number),
        "updated_on": _time(number),
        "closed_on": _time(number) if is_closed else None,
    }
    return {name: value for name, value in {**first, **changing}.items() if value is not None}


def _value(first: Row, n: int) -> Row:
    """Compute a custom value; fields with several values differ by the place of the row."""
    several = first["id"] - _FIRST_VALUE - 15
    by_field: dict[int, Any] = {
        1: f"Open row {n + 1}.\nCompare.",
        2: f"Customer {n % 9 + 1}",
        3: _BROWSERS[n % 4],
        4: _AREAS[(n + several) % 3],
        7: date(2027, 1, 1) + timedelta(days=n),
        8: n % 13,
        9: n / 4,
        10: n % 2,
        11: f"https://support.example.test/t?id={n + 1}",
        13: n % 3 + 1,
        14: _FIRST_FILE + n,
        15: f"{n + 1}00 EUR",
    }
    value = str(by_field.get(first["custom_field_id"], first["value"]))
    return {**first, "id": first["id"] + n * _VALUES_EACH, "customized_id": _FIRST_ISSUE + n, "value": value}


def _file(first: Row, n: int) -> Row:
    number, owner = _FIRST_FILE + n, first["container_id"] + n * _VALUES_EACH
    return {**first, "id": number, "container_id": owner, "created_on": _time(number)}


def _journal(first: Row, n: int) -> Row:
    """Compute an entry of the long history; comments and changes take turns."""
    number = _FIRST_JOURNAL + n
    changing: Row = {"id": number, "created_on": _time(number, days=10)}
    if n % 2 == 0:
        changing["user_id"] = (_KIM1, _ADMIN)[n // 2 % 2]
        changing["notes"] = f"Comment {n + 1}: still there, seen again with order {5000 + n}."
    return {**first, **changing}


def _detail(first: Row, n: int) -> Row:
    """Compute the n-th change of the priority (1, 2, 3, 1, …) or of the progress (10, 20, …, 100, 10, …)."""
    old, new = (str(each % 3 + 1 if first["prop_key"] == "priority_id" else each % 10 * 10 + 10) for each in (n - 1, n))
    return {
        **first,
        "id": first["id"] + 2 * n,
        "journal_id": first["journal_id"] + 2 * n,
        "old_value": old,
        "value": new,
    }
