"""Compare the requested values with what Redmine has now, field by field."""

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from dogubako.packs.redmine.models import JsonObject
from dogubako.packs.redmine.names.field_values import written

# Where a field is read back, if not as `x` for `x`, or `x.id` for `x_id`.
_ELSEWHERE: Final = {
    "parent_issue_id": "parent",
    "parent_title": "parent",
    "default_assigned_to_id": "default_assignee",
    "enabled_module_names": "enabled_modules",
    "user_id": "user",
}
_LISTS_OF_IDS: Final = {
    "tracker_ids": "trackers",
    "role_ids": "roles",
    "watcher_user_ids": "watchers",
    "issue_custom_field_ids": "issue_custom_fields",
}

# Redmine does not return these, or other code checks them.
_UNSEEN: Final = (
    "password",
    "generate_password",
    "must_change_passwd",
    "send_information",
    "mail_notification",
    "notes",
    "private_notes",
    "custom_fields",
    "lock_version",
    "group_ids",
    "user_ids",
)

_EMPTY: Final[tuple[Any, ...]] = (None, "", [], {})
_LONGEST_VALUE: Final = 200
NOT_IN_TITLES: Final = str.maketrans("", "", ",./?;|:")

# Fields that change with every write.
_ALWAYS_MOVING: Final = (
    "updated_on",
    "created_on",
    "closed_on",
    "journals",
    "allowed_statuses",
    "attachments",
    "watchers",
    "total_estimated_hours",
    "total_spent_hours",
    "passwd_changed_on",
    "last_login_on",
    "changesets",
)

# Defaults that may be unexpected in a new record.
_NOTABLE: Final = ("assigned_to", "category", "fixed_version", "parent", "start_date", "due_date")


def ignored(requested: Mapping[str, Any], record: JsonObject) -> list[str]:
    """The names of the fields without their requested value."""
    plain = [field for field, value in requested.items() if field not in _UNSEEN and not _kept(field, value, record)]
    return plain + _ignored_custom_fields(requested.get("custom_fields") or (), record)


def _lacks_files(uploads: Collection[Mapping[str, Any]], record: JsonObject) -> bool:
    """Whether an upload is missing. A token begins with the id of its attachment; the name may be changed."""
    there = {str(one["id"]) for one in record.get("attachments") or ()}
    return any(str(upload["token"]).split(".")[0] not in there for upload in uploads)


def also_changed(requested: Mapping[str, Any], before: JsonObject, after: JsonObject) -> list[JsonObject]:
    """Changes that were not requested: made by Redmine's rules, or by another user meanwhile."""
    named = {place_of(field) for field in requested} | {"id", "custom_fields", *_ALWAYS_MOVING}
    fields = [field for field in {**before, **after} if field not in named]
    return [
        {"field": field, "from": _short(before.get(field)), "to": _short(after.get(field))}
        for field in fields
        if not _same(before.get(field), after.get(field))
    ] + _other_custom_fields({field["id"] for field in requested.get("custom_fields") or ()}, before, after)


def _other_custom_fields(named: Collection[int], before: JsonObject, after: JsonObject) -> list[JsonObject]:
    """Changes of other custom fields: another tracker removes fields and their values."""
    old, new = _custom_fields(before), _custom_fields(after)
    return [
        {"field": f"custom_fields[{id_}] {field['name']}", "from": _value(old.get(id_)), "to": _value(new.get(id_))}
        for id_, field in {**old, **new}.items()
        if id_ not in named and not _same_values(_value(old.get(id_)), _value(new.get(id_)))
    ]


def _custom_fields(record: JsonObject) -> dict[int, JsonObject]:
    return {field["id"]: field for field in record.get("custom_fields") or ()}


def _value(field: JsonObject | None) -> Any:
    return (field or {}).get("value")


def set_by_itself(requested: Collection[str], record: JsonObject) -> list[JsonObject]:
    """Values of a new record that were not requested, such as the assignee of a category."""
    named = {place_of(field) for field in requested}
    return [
        {"field": field, "to": _short(record[field])} for field in _NOTABLE if field not in named and record.get(field)
    ]


def _kept(field: str, value: Any, record: JsonObject) -> bool:
    if field == "uploads":
        return not _lacks_files(value, record)
    if field in _LISTS_OF_IDS:
        return _has_ids(field, value, record)
    if field == "parent_title":
        return _title(value) == _title((record.get("parent") or {}).get("title") or "")
    if field == "title" and "text" in record:
        return _title(value) == _title(record.get("title") or "")
    return _same(value, _value_in(field, record))


def _has_ids(field: str, requested: Any, record: JsonObject) -> bool:
    """Whether the ids are those requested. Groups may add roles, and there may be other watchers."""
    rows = record.get(_LISTS_OF_IDS[field]) or ()
    wanted, there = set(requested or ()), {row["id"] for row in rows}
    own = {row["id"] for row in rows if not row.get("inherited")}
    return wanted <= there and (field == "watcher_user_ids" or own <= wanted)


def _title(text: str) -> str:
    """A wiki title as Redmine writes it; it finds pages by any spelling."""
    return re.sub(r"\s+", "_", text.strip()).translate(NOT_IN_TITLES).casefold()


def _value_in(field: str, record: JsonObject) -> Any:
    if field == "enabled_module_names":
        return sorted(row["name"] for row in record.get("enabled_modules") or [])
    if field == "user_id":
        return (record.get("user") or record.get("group") or {}).get("id")
    if field.endswith("_id"):
        return (record.get(place_of(field)) or {}).get("id")
    return record.get(field)


def place_of(field: str) -> str:
    """The name under which a field is read back: `status` for `status_id`."""
    return _ELSEWHERE.get(field) or _LISTS_OF_IDS.get(field) or field.removesuffix("_id")


def _same(requested: Any, actual: Any) -> bool:
    if _is_empty(requested) or _is_empty(actual):
        return _is_empty(requested) and _is_empty(actual)
    if isinstance(requested, bool) or isinstance(actual, bool):
        return bool(requested == actual)
    if isinstance(requested, int | float) and isinstance(actual, int | float):
        # Redmine stores hours with two decimals.
        return abs(requested - actual) < 0.006
    if isinstance(requested, str) and isinstance(actual, str):
        return one_line_end(requested) == one_line_end(actual)
    if isinstance(requested, list) and isinstance(actual, list):
        return {str(one) for one in requested} == {str(one) for one in actual}
    if isinstance(requested, dict) and isinstance(actual, dict) and "id" in requested:
        return bool(requested["id"] == actual.get("id"))
    return bool(requested == actual)


def _is_empty(value: Any) -> bool:
    return value in _EMPTY or (isinstance(value, str) and not value.strip())


def one_line_end(text: str) -> str:
    """Normalise line ends: Redmine stores CRLF."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _ignored_custom_fields(requested: Collection[Mapping[str, Any]], record: JsonObject) -> list[str]:
    values = {field["id"]: field.get("value") for field in record.get("custom_fields") or []}
    return [
        f"custom_fields[{field['id']}]"
        for field in requested
        if not _same_values(written(field["value"]), values.get(field["id"]))
    ]


def _same_values(requested: Any, actual: Any) -> bool:
    return _as_texts(requested) == _as_texts(actual)


def _as_texts(value: Any) -> set[str]:
    values = value if isinstance(value, list) else [value]
    return {one_line_end(str(one)) for one in values if one is not None} - {""}


def _short(value: Any) -> Any:
    """A reference, a number or a word; of anything longer only its size."""
    if isinstance(value, dict):
        return {key: value[key] for key in ("id", "name") if key in value}
    if isinstance(value, list):
        return f"{len(value)} entries"
    if isinstance(value, str) and len(value) > _LONGEST_VALUE:
        return f"{len(value)} characters"
    return value
