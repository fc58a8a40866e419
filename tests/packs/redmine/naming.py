"""Every kind of thing that people name: a call that names one, where its id arrives, and how Redmine keeps it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pytest

from dogubako_sandbox.redmine.store import Row

from .wired import Wire

_FULL_WIDTH: Final = {number: number + 0xFEE0 for number in range(0x21, 0x7F)}


@dataclass(frozen=True, kw_only=True)
class Naming:
    """One kind. `call` names a thing, `arrived` finds what was sent for it."""

    noun: str
    parameter: str
    call: Callable[[Any], tuple[str, Mapping[str, Any]]]
    arrived: Callable[[Wire], Any]
    name: str
    id: int
    table: str
    # How a row of this kind is told from its neighbours in the same table.
    like: Mapping[str, Any]
    column: str = "name"

    def row(self, wire: Wire) -> Row:
        return wire.store[self.table].at(self.id)

    def add(self, wire: Wire, name: str) -> int:
        """Another one of this kind, made behind everybody's back."""
        copied = {key: value for key, value in self.row(wire).items() if key not in ("id", "identifier")}
        made = wire.store[self.table].add(**{**copied, **self.like, self.column: name})
        return int(made["id"])


def listed(parameter: str, **others: Any) -> Callable[[Any], tuple[str, Mapping[str, Any]]]:
    return lambda name: ("list_issues", {"limit": 1, **others, parameter: name})


def in_query(parameter: str, path: str = "/issues") -> Callable[[Wire], Any]:
    return lambda wire: int(wire.query(path)[parameter])


def odd_spellings(name: str) -> list[str]:
    """The same name as people may write it."""
    return [name.upper(), name.lower(), f"  {name.replace(' ', '   ')}\t", name.translate(_FULL_WIDTH)]


def _custom_field(name: Any) -> tuple[str, Mapping[str, Any]]:
    which = {"id": name} if isinstance(name, int) else {"name": name}
    return "list_issues", {"limit": 1, "custom_fields": [{**which, "value": "Safari"}]}


_STATUS = Naming(
    noun="status",
    parameter="status_id",
    call=listed("status_id"),
    arrived=in_query("status_id"),
    name="In Progress",
    id=2,
    table="issue_statuses",
    like={},
)
_TRACKER = Naming(
    noun="tracker",
    parameter="tracker_id",
    call=listed("tracker_id"),
    arrived=in_query("tracker_id"),
    name="Feature",
    id=2,
    table="trackers",
    like={},
)
_PRIORITY = Naming(
    noun="priority",
    parameter="priority_id",
    call=listed("priority_id"),
    arrived=in_query("priority_id"),
    name="Urgent",
    id=4,
    table="enumerations",
    like={"type": "IssuePriority"},
)
_VERSION = Naming(
    noun="version",
    parameter="fixed_version_id",
    call=listed("fixed_version_id", project_id=1),
    arrived=in_query("fixed_version_id"),
    name="2.0",
    id=2,
    table="versions",
    like={"project_id": 1},
)
_CATEGORY = Naming(
    noun="category",
    parameter="category_id",
    call=lambda name: ("update_issue", {"id": 6, "category_id": name}),
    arrived=lambda wire: wire.body("PUT")["issue"]["category_id"],
    name="Search",
    id=2,
    table="issue_categories",
    like={"project_id": 1},
)
_ACTIVITY = Naming(
    noun="activity",
    parameter="activity_id",
    call=lambda name: ("list_time_entries", {"limit": 1, "activity_id": name}),
    arrived=in_query("activity_id", "/time_entries"),
    name="Development",
    id=9,
    table="enumerations",
    like={"type": "TimeEntryActivity"},
)
_ROLE = Naming(
    noun="role",
    parameter="role_ids",
    call=lambda name: ("update_membership", {"id": 5, "role_ids": [name]}),
    arrived=lambda wire: wire.body("PUT")["membership"]["role_ids"][0],
    name="Developer",
    id=4,
    table="roles",
    like={"builtin": 0},
)
_QUERY = Naming(
    noun="query",
    parameter="query_id",
    call=listed("query_id"),
    arrived=in_query("query_id"),
    name="Open bugs",
    id=8,
    table="queries",
    like={},
)
_PROJECT = Naming(
    noun="project",
    parameter="project_id",
    call=listed("project_id"),
    arrived=in_query("project_id"),
    name="Web Shop",
    id=1,
    table="projects",
    like={"identifier": "another"},
)
_USER = Naming(
    noun="user",
    parameter="assigned_to_id",
    call=listed("assigned_to_id"),
    arrived=in_query("assigned_to_id"),
    name="manager",
    id=9,
    table="users",
    like={"type": "User"},
    column="login",
)
_GROUP = Naming(
    noun="user",
    parameter="assigned_to_id",
    call=listed("assigned_to_id"),
    arrived=in_query("assigned_to_id"),
    name="Support Team",
    id=12,
    table="users",
    like={"type": "Group"},
    column="lastname",
)
_FIELD = Naming(
    noun="custom field",
    parameter="custom_fields",
    call=_custom_field,
    arrived=lambda wire: next(int(key[3:]) for key in wire.query("/issues") if key.startswith("cf_")),
    name="Browser",
    id=3,
    table="custom_fields",
    like={},
)
EVERY_KIND: Final = [
    pytest.param(_STATUS, id="status"),
    pytest.param(_TRACKER, id="tracker"),
    pytest.param(_PRIORITY, id="priority"),
    pytest.param(_VERSION, id="version"),
    pytest.param(_CATEGORY, id="category"),
    pytest.param(_ACTIVITY, id="activity"),
    pytest.param(_ROLE, id="role"),
    pytest.param(_QUERY, id="query"),
    pytest.param(_PROJECT, id="project"),
    pytest.param(_USER, id="user"),
    pytest.param(_GROUP, id="group"),
    pytest.param(_FIELD, id="custom field"),
]
