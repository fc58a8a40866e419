"""From arguments to what Redmine wants to be sent: ids for names, its own way to say "nothing"."""

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
    Json,
    Kind,
)
from dogubako.packs.redmine.names.field_values import stored
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
_PEOPLE: Final = ("assigned_to_id", "default_assigned_to_id", "user_id")


class Bodies:
    """Builds the body of a write."""

    def __init__(self, names: Names) -> None:
        self._names = names

    async def of(self, given: Json, project: int | None, fields: Sequence[Json] | None = None) -> Json:
        """The body. `fields` are the custom fields of the record, where it exists already."""
        body: Json = {}
        for parameter, value in given.items():
            body[parameter] = await self._value(parameter, value, project, fields)
        return body

    async def _value(self, parameter: str, value: Any, project: int | None, fields: Sequence[Json] | None) -> Any:
        if parameter == "custom_fields":
            return [await self._custom_field(one, project, fields) for one in value or ()]
        if parameter == "watcher_user_ids":
            return list(dict.fromkeys([await self._names.people.id_of(one, parameter, project) for one in value or ()]))
        if value is None:
            # A null leaves an assignee as it is; an empty text takes it away, and works for everything else too.
            return ""
        if parameter in ("project_id", "parent_id"):
            return await self._names.project(value, parameter)
        if parameter in _PEOPLE:
            return await self._names.people.id_of(value, parameter, project)
        if parameter in _NAMED:
            return await self._names.id_of(_NAMED[parameter], value, parameter, project)
        if parameter in _LISTS:
            return await self._names.ids_of(_LISTS[parameter], value, parameter)
        return value

    async def _custom_field(self, given: Json, project: int | None, seen: Sequence[Json] | None) -> Json:
        which = given.get("id") if given.get("id") is not None else given.get("name")
        assert which is not None
        id_ = await self._names.custom_fields.id_of(which, "custom_fields", project, seen)
        field = await self._names.custom_fields.definition(id_)
        return {"id": id_, "value": await stored(self._names, field, given.get("value"), project)}
