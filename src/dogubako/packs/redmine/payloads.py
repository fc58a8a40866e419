"""The body of a write: ids for names, days and custom field values as Redmine writes them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dogubako.packs.redmine.models import (
    ACTIVITY,
    CATEGORY,
    PRIORITY,
    ROLE,
    STATUS,
    TRACKER,
    VERSION,
    JsonObject,
    Kind,
)
from dogubako.packs.redmine.names.field_values import FieldValues
from dogubako.packs.redmine.names.names import Names

_NAMED: Final[Mapping[str, Kind]] = {
    "status_id": STATUS,
    "tracker_id": TRACKER,
    "priority_id": PRIORITY,
    "category_id": CATEGORY,
    "fixed_version_id": VERSION,
    "default_version_id": VERSION,
    "activity_id": ACTIVITY,
}
_LISTS: Final[Mapping[str, Kind]] = {"tracker_ids": TRACKER, "role_ids": ROLE}
_DAYS: Final = ("start_date", "due_date", "spent_on")
_PEOPLE: Final = ("assigned_to_id", "default_assigned_to_id", "user_id")


class Bodies:
    """Builds the body of a write."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._issue: int | None = None

    async def of(
        self,
        given: JsonObject,
        project: int | None,
        fields: Sequence[JsonObject] | None = None,
        issue: int | None = None,
    ) -> JsonObject:
        """The body. `fields` are the custom fields of an existing record, `issue` one whose form has them."""
        body: JsonObject = {}
        self._issue = issue
        for parameter, value in given.items():
            body[parameter] = await self._value(parameter, value, project, fields)
        return body

    async def _value(self, parameter: str, value: Any, project: int | None, fields: Sequence[JsonObject] | None) -> Any:
        if parameter == "custom_fields":
            return await self._custom_fields(value or (), project, fields)
        if parameter == "watcher_user_ids":
            return list(dict.fromkeys([await self._names.people.id_of(one, parameter, project) for one in value or ()]))
        if value is None:
            # A null leaves an assignee unchanged; an empty text removes it, and works for every other field.
            return ""
        if parameter in ("project_id", "parent_id"):
            return await self._names.project(value, parameter)
        if parameter in _PEOPLE:
            return await self._names.people.id_of(value, parameter, project)
        if parameter in _DAYS:
            return await self._names.days.day(value, parameter)
        if parameter in _NAMED:
            return await self._names.id_of(_NAMED[parameter], value, parameter, project)
        if parameter in _LISTS:
            return await self._names.ids_of(_LISTS[parameter], value, parameter)
        return value

    async def _custom_fields(
        self, given: Sequence[JsonObject], project: int | None, seen: Sequence[JsonObject] | None
    ) -> list[JsonObject]:
        fields = self._names.custom_fields
        ids = [
            await fields.id_of(one["id"] if one.get("id") is not None else one["name"], "custom_fields", project, seen)
            for one in given
        ]
        known = await fields.definitions(ids, project, self._issue) if ids else {}
        return [
            {"id": id_, "value": await FieldValues(self._names, id_, known.get(id_, {}), project).stored(one["value"])}
            for id_, one in zip(ids, given, strict=True)
        ]
