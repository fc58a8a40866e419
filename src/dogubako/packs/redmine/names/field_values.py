"""Values of custom fields as Redmine keeps them: ids for people and versions, values for labels."""

from collections.abc import Mapping
from typing import Any

from dogubako.contract.errors import ValidationError
from dogubako.packs.redmine.models import VERSION
from dogubako.packs.redmine.names.custom_fields import value_named, written
from dogubako.packs.redmine.names.names import Names


async def stored(
    names: Names, field: Mapping[str, Any], given: Any, project: int | None, parameter: str = "custom_fields"
) -> Any:
    """What to write for `given`. Of a field nothing may be known: then it is taken as it is."""
    value = await _by_id(names, field, value_named(field, given), project, parameter)
    if isinstance(value, list) and field and not field.get("multiple"):
        message = f"Invalid value for parameter {parameter}: this field takes one value only"
        raise ValidationError.of(parameter, message)
    return written(value)


async def alternatives(names: Names, field: Mapping[str, Any], given: Any, project: int | None) -> list[str]:
    """Values that a filter may find, none of them for "empty"."""
    value = written(await _by_id(names, field, value_named(field, given), project, "custom_fields"))
    values = value if isinstance(value, list) else [value]
    return [one for one in values if one]


async def _by_id(names: Names, field: Mapping[str, Any], value: Any, project: int | None, parameter: str) -> Any:
    if isinstance(value, list):
        return [await _by_id(names, field, one, project, parameter) for one in value]
    if value in (None, ""):
        return value
    if field.get("field_format") == "user":
        return await names.people.id_of(value, parameter, project)
    if field.get("field_format") == "version":
        return await names.id_of(VERSION, value, parameter, project)
    return value
