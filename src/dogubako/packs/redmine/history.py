"""What happened to an issue: notes and changes, newest first, with names where Redmine keeps ids."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

from dogubako.contract.errors import DogubakoError
from dogubako.packs.redmine.lookups import Lookups
from dogubako.packs.redmine.models import (
    CATEGORY,
    MEMBERSHIP,
    PRIORITY,
    PROJECT,
    STATUS,
    TRACKER,
    VERSION,
    Json,
    Kind,
)

_LONGEST_VALUE: Final = 200
_KINDS: Final[Mapping[str, Kind]] = {
    "status_id": STATUS,
    "tracker_id": TRACKER,
    "priority_id": PRIORITY,
    "fixed_version_id": VERSION,
    "category_id": CATEGORY,
    "assigned_to_id": MEMBERSHIP,
    "project_id": PROJECT,
}


class History:
    """Reads journals of one issue."""

    def __init__(self, lookups: Lookups, issue: Json) -> None:
        self._lookups = lookups
        self._issue = issue
        self._names: dict[str, dict[str, str]] = {}

    async def page(self, limit: int, offset: int) -> Json:
        """So many of the journals, counted from the newest."""
        journals = sorted(self._issue.get("journals") or (), key=lambda one: one["id"], reverse=True)
        rows = [await self._row(journal) for journal in journals[offset : offset + limit]]
        counted = {"total_count": len(journals), "offset": offset, "limit": limit, "order": "newest first"}
        return {**counted, "rows": rows}

    async def _row(self, journal: Json) -> Json:
        row: Json = {"id": journal["id"], "user": journal.get("user"), "created_on": journal.get("created_on")}
        if journal.get("private_notes"):
            row["private"] = True
        if journal.get("notes"):
            row["notes"] = journal["notes"]
        if changes := [await self._change(detail) for detail in journal.get("details") or ()]:
            row["changes"] = changes
        return {key: value for key, value in row.items() if value is not None}

    async def _change(self, detail: Json) -> Json:
        field, old, new = str(detail.get("name")), detail.get("old_value"), detail.get("new_value")
        if detail.get("property") == "cf":
            field = self._custom_fields.get(field, f"cf_{field}")
        elif detail.get("property") in ("attachment", "relation"):
            field = f"{detail['property']} {field}"
        known = await self._known(field) if detail.get("property") == "attr" else {}
        change = {"field": field, "from": _named(old, known), "to": _named(new, known)}
        return {key: value for key, value in change.items() if value not in (None, "")}

    @cached_property
    def _custom_fields(self) -> dict[str, str]:
        return {str(one["id"]): one["name"] for one in self._issue.get("custom_fields") or ()}

    async def _known(self, field: str) -> dict[str, str]:
        if field not in _KINDS:
            return {}
        if field not in self._names:
            self._names[field] = await self._read(_KINDS[field])
        return self._names[field]

    async def _read(self, kind: Kind) -> dict[str, str]:
        """Names by id. A list that this user may not see leaves the ids as they are."""
        try:
            rows = await self._lookups.rows(kind, (self._issue.get("project") or {}).get("id"))
        except DogubakoError:
            return {}
        if kind is MEMBERSHIP:
            rows = [row.get("user") or row.get("group") or {} for row in rows]
            rows += [self._issue[role] for role in ("author", "assigned_to") if self._issue.get(role)]
        return {str(row.get("id")): str(row.get("name")) for row in rows}


def _named(value: Any, known: Mapping[str, str]) -> Any:
    if value is None or value == "":
        return None
    text = str(value)
    if text in known:
        return {"id": text, "name": known[text]}
    if len(text) > _LONGEST_VALUE:
        return f"{text[:_LONGEST_VALUE]}… [{len(text) - _LONGEST_VALUE} more characters]"
    return text
