"""Find what an issue would lose in another project: versions, categories and people that do not exist there."""

from collections.abc import Mapping
from typing import Any

from dogubako.packs.redmine.lookups import Lookups
from dogubako.packs.redmine.models import MEMBERSHIP, VERSION, JsonObject
from dogubako.packs.redmine.names.field_values import Labels
from dogubako.packs.redmine.names.names import Names

Cleared = dict[str, JsonObject]


class Fit:
    """Compares an issue with the project that it is to be copied into."""

    def __init__(self, lookups: Lookups, names: Names) -> None:
        self._lookups = lookups
        self._names = names

    async def cleared(self, issue: JsonObject, target: int) -> Cleared:
        """The values that the project cannot take, by the field of the request. Redmine would refuse the copy."""
        found: Cleared = {}
        if category := issue.get("category"):
            found["category_id"] = _lost("category", category, "a category belongs to its project")
        if (version := issue.get("fixed_version")) and version["id"] not in await self._versions(target):
            found["fixed_version_id"] = _lost("fixed_version", version, "the version is not open there, nor shared")
        if (assignee := issue.get("assigned_to")) and assignee["id"] not in await self._members(target):
            found["assigned_to_id"] = _lost("assigned_to", assignee, "the assignee is no member there")
        return found | await self._custom_fields(issue, target)

    async def _custom_fields(self, issue: JsonObject, target: int) -> Cleared:
        values = {one["id"]: _texts(one.get("value")) for one in issue.get("custom_fields") or ()}
        coded = {id_: texts for id_, texts in values.items() if texts and all(one.isdecimal() for one in texts)}
        home = issue["project"]["id"]
        fields = await self._names.custom_fields.definitions(coded, home, issue["id"]) if coded else {}
        named = {one["id"]: one["name"] for one in issue.get("custom_fields") or ()}
        labels = await Labels(self._names, home, issue["id"]).of(coded)
        found: Cleared = {}
        for id_, field in fields.items():
            form = field.get("field_format")
            if form not in ("user", "version"):
                continue
            there = await self._members(target) if form == "user" else await self._versions(target)
            if lost := [one for one in coded[id_] if int(one) not in there]:
                names = ", ".join(labels.get(id_, {}).get(one, one) for one in lost)
                reason = f"this {form} is not in the target project"
                found[f"cf_{id_}"] = {"field": named[id_], "from": names, "reason": reason}
        return found

    async def _versions(self, project: int) -> set[int]:
        rows = await self._lookups.rows_if_allowed(VERSION, project)
        return {row["id"] for row in rows if row.get("status") == "open"}

    async def _members(self, project: int) -> set[int]:
        rows = await self._lookups.rows_if_allowed(MEMBERSHIP, project)
        return {int((row.get("user") or row.get("group") or {"id": 0})["id"]) for row in rows}


def with_cleared(body: JsonObject, cleared: Cleared) -> JsonObject:
    """The request with empty values for what was cleared, unless the caller gave others."""
    given = {one["id"] for one in body.get("custom_fields") or ()}
    custom_ids = [int(field.removeprefix("cf_")) for field in cleared if field.startswith("cf_")]
    emptied = [{"id": id_, "value": ""} for id_ in custom_ids if id_ not in given]
    for field in [*cleared]:
        if field in body or (field.startswith("cf_") and int(field.removeprefix("cf_")) in given):
            del cleared[field]
    plain = {field: "" for field in cleared if not field.startswith("cf_")}
    custom = {"custom_fields": [*(body.get("custom_fields") or ()), *emptied]} if emptied else {}
    return {**body, **plain, **custom}


def _lost(field: str, reference: Mapping[str, Any], reason: str) -> JsonObject:
    return {"field": field, "from": {"id": reference["id"], "name": reference.get("name")}, "reason": reason}


def _texts(value: Any) -> list[str]:
    return [str(one) for one in (value if isinstance(value, list) else [value]) if one not in (None, "")]
