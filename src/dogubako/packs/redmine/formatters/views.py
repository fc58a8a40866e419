"""Records as an agent needs them: nothing empty, states by name, custom fields in one form."""

from collections.abc import Collection, Mapping
from typing import Any

from dogubako.packs.redmine.models import PROJECT_STATES, USER_STATES, Json

_EMPTY: tuple[Any, ...] = (None, "", [], {})

# Worth a word only where they hold.
_SILENT_WHEN_FALSE = ("is_closed", "is_default", "is_private", "multiple", "inherited", "inherit_members")


# Addresses as Redmine believes them to be; show_attachment gets a file by its id.
_NEVER_SHOWN = ("content_url", "thumbnail_url")


def view(record: Mapping[str, Any], *, without: Collection[str] = ()) -> Json:
    """Everything that has a value, in Redmine's own order."""
    hidden = (*_NEVER_SHOWN, *without)
    shown = {key: _value(key, value) for key, value in record.items() if key not in hidden}
    return {key: value for key, value in shown.items() if value or not _says_nothing(key, value)}


def _says_nothing(key: str, value: Any) -> bool:
    return not value and (value in _EMPTY or (value is False and key in _SILENT_WHEN_FALSE))


def chosen(record: Json, fields: Collection[str], custom_fields: Collection[int]) -> Json:
    """Only what was asked for; the id always."""
    kept = {key: value for key, value in record.items() if key == "id" or key in fields}
    if custom_fields and "custom_fields" not in fields:
        named = [field for field in record.get("custom_fields", ()) if field["id"] in custom_fields]
        kept |= {"custom_fields": named} if named else {}
    return kept


def issue_view(record: Mapping[str, Any], *, without: Collection[str] = ()) -> Json:
    """Without totals that only repeat, as those of an issue without children do."""
    shown = view(record, without=without)
    for total in ("estimated_hours", "spent_hours"):
        if shown.get(f"total_{total}") == shown.get(total, 0):
            shown.pop(f"total_{total}", None)
    return shown


def project_view(record: Mapping[str, Any]) -> Json:
    return view({**record, "status": _state(record.get("status"), PROJECT_STATES)})


def user_view(record: Mapping[str, Any]) -> Json:
    return view({**record, "status": _state(record.get("status"), USER_STATES)})


def _state(number: Any, names: Mapping[int, str]) -> Any:
    return {"id": number, "name": names[number]} if number in names else number


def _value(key: str, value: Any) -> Any:
    if key == "custom_fields" and isinstance(value, list):
        return [shown for field in value if isinstance(field, dict) and (shown := _custom_field(field))]
    if isinstance(value, dict):
        return view(value)
    if isinstance(value, list):
        return [view(one) if isinstance(one, dict) else one for one in value]
    return value


def _custom_field(field: Mapping[str, Any]) -> Json | None:
    """One that has no value says nothing; which ones there are is told by list_custom_fields."""
    value = field.get("value")
    if "value" in field and value in _EMPTY:
        return None
    return {key: field[key] for key in ("id", "name", "value") if key in field}
