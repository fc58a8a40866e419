"""The history of an issue: notes and changes, newest first, with names for Redmine's ids."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from dogubako.contract.errors import DogubakoError
from dogubako.packs.redmine.lookups import Lookups
from dogubako.packs.redmine.models import (
    CATEGORY,
    PRIORITY,
    PROJECT,
    STATUS,
    TRACKER,
    VERSION,
    JsonObject,
    Kind,
)
from dogubako.packs.redmine.names.field_values import Labels
from dogubako.packs.redmine.names.names import Names

_LONGEST_VALUE: Final = 200
_KINDS: Final[Mapping[str, Kind]] = {
    "status_id": STATUS,
    "tracker_id": TRACKER,
    "priority_id": PRIORITY,
    "fixed_version_id": VERSION,
    "category_id": CATEGORY,
    "project_id": PROJECT,
}


class History:
    """Formats journals of one issue."""

    def __init__(self, lookups: Lookups, names: Names, issue: JsonObject) -> None:
        self._lookups = lookups
        self._resolver = names
        self._issue = issue
        self._project: int | None = (issue.get("project") or {}).get("id")
        self._names: dict[str, dict[str, str]] = {}
        self._labels: dict[int, dict[str, str]] = {}

    async def page(self, limit: int, offset: int) -> JsonObject:
        """One page of the journals, counted from the newest."""
        journals = sorted(self._issue.get("journals") or (), key=lambda one: one["id"], reverse=True)
        shown = journals[offset : offset + limit]
        await self._read_people_and_labels([detail for one in shown for detail in one.get("details") or ()])
        rows = [await self._row(journal) for journal in shown]
        counted = {"total_count": len(journals), "offset": offset, "limit": limit, "order": "newest first"}
        return {**counted, "rows": rows}

    async def _read_people_and_labels(self, details: Sequence[JsonObject]) -> None:
        """Look up the ids of all shown changes together. Ids stay if this user may not see the names."""
        changed: dict[str, set[str]] = {}
        for detail in details:
            key = str(detail.get("name"))
            if detail.get("property") == "cf" or key == "assigned_to_id":
                values = {str(detail[side]) for side in ("old_value", "new_value") if detail.get(side)}
                changed.setdefault(key, set()).update(values)
        people = {int(one) for one in changed.pop("assigned_to_id", ()) if one.isdecimal()}
        stored = {int(key): values for key, values in changed.items() if key.isdecimal()}
        try:
            names = await self._resolver.people.names(people, self._project) if people else {}
            self._names["assigned_to_id"] = {str(id_): name for id_, name in names.items()}
            self._labels = await Labels(self._resolver, self._project).of(stored)
        except DogubakoError:
            return

    async def _row(self, journal: JsonObject) -> JsonObject:
        row: JsonObject = {"id": journal["id"], "user": journal.get("user"), "created_on": journal.get("created_on")}
        if journal.get("private_notes"):
            row["private"] = True
        if journal.get("notes"):
            row["notes"] = journal["notes"]
        if changes := [await self._change(detail) for detail in journal.get("details") or ()]:
            row["changes"] = changes
        return {key: value for key, value in row.items() if value is not None}

    async def _change(self, detail: JsonObject) -> JsonObject:
        field, old, new = str(detail.get("name")), detail.get("old_value"), detail.get("new_value")
        names: Mapping[str, str] = {}
        if detail.get("property") == "cf":
            names = self._labels.get(int(field), {}) if field.isdecimal() else {}
            field = self._custom_fields.get(field, f"cf_{field}")
        elif detail.get("property") in ("attachment", "relation"):
            field = f"{detail['property']} {field}"
        elif detail.get("property") == "attr":
            names = await self._names_of(field)
        change = {"field": field, "from": _named(old, names), "to": _named(new, names)}
        return {key: value for key, value in change.items() if value not in (None, "")}

    @cached_property
    def _custom_fields(self) -> dict[str, str]:
        return {str(one["id"]): one["name"] for one in self._issue.get("custom_fields") or ()}

    async def _names_of(self, field: str) -> dict[str, str]:
        if field in _KINDS and field not in self._names:
            self._names[field] = await self._read(_KINDS[field])
        return self._names.get(field, {})

    async def _read(self, kind: Kind) -> dict[str, str]:
        """Names by id. Ids stay if this user may not see the list."""
        try:
            rows = await self._lookups.rows(kind, self._project)
        except DogubakoError:
            return {}
        return {str(row.get("id")): str(row.get("name")) for row in rows}


async def written_changes(lookups: Lookups, names: Names, issue: JsonObject, body: Mapping[str, Any]) -> list[str]:
    """What a body would change in an issue, as people read it: `fixed_version: 1.0 → 1.1`."""
    fields: list[JsonObject] = issue.get("custom_fields") or []
    values = {one["id"]: one.get("value") for one in fields}
    details = [
        {"property": "cf", "name": str(one["id"]), "old_value": old, "new_value": new}
        for one in body.get("custom_fields") or ()
        for old, new in [(_joined(values.get(one["id"])), _joined(one["value"]))]
    ]
    for field, new in body.items():
        if field not in ("custom_fields", "notes"):
            place = "parent" if field == "parent_issue_id" else field.removesuffix("_id")
            old = issue.get(place)
            old = old.get("id") if isinstance(old, Mapping) else old
            details.append({"property": "attr", "name": field, "old_value": old, "new_value": new})
    shown = await History(lookups, names, {**issue, "journals": [{"id": 0, "details": details}]}).page(1, 0)
    changes = [one for one in shown["rows"][0].get("changes", ()) if one.get("from") != one.get("to")]
    return [f"{one['field'].removesuffix('_id')}: {_text(one.get('from'))} → {_text(one.get('to'))}" for one in changes]


def _joined(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, list) else value


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return str(value.get("name"))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "(none)" if value is None else str(value)


def _named(value: Any, names: Mapping[str, str]) -> Any:
    if value is None or value == "":
        return None
    text = str(value)
    if text in names:
        return {"id": text, "name": names[text]}
    if len(text) > _LONGEST_VALUE:
        return f"{text[:_LONGEST_VALUE]}… [{len(text) - _LONGEST_VALUE} more characters]"
    return text
