"""What was asked for and what Redmine really has now, field by field."""

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from dogubako.packs.redmine.models import Json
from dogubako.packs.redmine.names.custom_fields import written

# Where a field is found again, when it is not `x` for `x`, or `x.id` for `x_id`.
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

# Redmine does not give these out again, or other checks look after them.
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
_NOT_IN_TITLES: Final = str.maketrans("", "", ",./?;|:")

# What changes by itself with every write.
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

# Defaults that somebody may not expect in a new record.
_NOTABLE: Final = ("assigned_to", "category", "fixed_version", "parent", "start_date", "due_date")


def ignored(asked: Mapping[str, Any], record: Json) -> list[str]:
    """Names of the fields that do not have the value they were given."""
    plain = [field for field, value in asked.items() if field not in _UNSEEN and not _kept(field, value, record)]
    return plain + _ignored_custom_fields(asked.get("custom_fields") or (), record)


def _lacks_files(uploads: Collection[Mapping[str, Any]], record: Json) -> bool:
    """A token begins with the id that the attachment will have; its name may be cleaned on the way."""
    there = {str(one["id"]) for one in record.get("attachments") or ()}
    return any(str(upload["token"]).split(".")[0] not in there for upload in uploads)


def also_changed(asked: Mapping[str, Any], before: Json, after: Json) -> list[Json]:
    """What is different although nobody asked for it: set by Redmine's rules, or by somebody else meanwhile."""
    named = {place_of(field) for field in asked} | {"id", "custom_fields", *_ALWAYS_MOVING}
    fields = [field for field in {**before, **after} if field not in named]
    return [
        {"field": field, "from": _short(before.get(field)), "to": _short(after.get(field))}
        for field in fields
        if not _same(before.get(field), after.get(field))
    ] + _other_custom_fields({field["id"] for field in asked.get("custom_fields") or ()}, before, after)


def _other_custom_fields(named: Collection[int], before: Json, after: Json) -> list[Json]:
    """Another tracker takes values away with its fields."""
    old, new = _custom_fields(before), _custom_fields(after)
    return [
        {"field": f"custom_fields[{id_}] {field['name']}", "from": _value(old.get(id_)), "to": _value(new.get(id_))}
        for id_, field in {**old, **new}.items()
        if id_ not in named and not _same_values(_value(old.get(id_)), _value(new.get(id_)))
    ]


def _custom_fields(record: Json) -> dict[int, Json]:
    return {field["id"]: field for field in record.get("custom_fields") or ()}


def _value(field: Json | None) -> Any:
    return (field or {}).get("value")


def set_by_itself(asked: Collection[str], record: Json) -> list[Json]:
    """What a new record has although nobody asked for it, like the assignee that comes with a category."""
    named = {place_of(field) for field in asked}
    return [
        {"field": field, "to": _short(record[field])} for field in _NOTABLE if field not in named and record.get(field)
    ]


def _kept(field: str, value: Any, record: Json) -> bool:
    if field == "uploads":
        return not _lacks_files(value, record)
    if field in _LISTS_OF_IDS:
        return _has_ids(field, value, record)
    if field == "parent_title":
        return _title(value) == _title((record.get("parent") or {}).get("title") or "")
    return _same(value, _found(field, record))


def _has_ids(field: str, asked: Any, record: Json) -> bool:
    """All that were asked for, and no others; roles may come from a group too, and people watch unasked."""
    rows = record.get(_LISTS_OF_IDS[field]) or ()
    wanted, there = set(asked or ()), {row["id"] for row in rows}
    own = {row["id"] for row in rows if not row.get("inherited")}
    return wanted <= there and (field == "watcher_user_ids" or own <= wanted)


def _title(text: str) -> str:
    """Redmine writes titles of wiki pages its own way, and finds them in any."""
    return re.sub(r"\s+", "_", text.strip()).translate(_NOT_IN_TITLES).casefold()


def _found(field: str, record: Json) -> Any:
    if field == "enabled_module_names":
        return sorted(row["name"] for row in record.get("enabled_modules") or [])
    if field == "user_id":
        return (record.get("user") or record.get("group") or {}).get("id")
    if field.endswith("_id"):
        return (record.get(place_of(field)) or {}).get("id")
    return record.get(field)


def place_of(field: str) -> str:
    """Under which name a field that is set is found again: `status` for `status_id`."""
    return _ELSEWHERE.get(field) or _LISTS_OF_IDS.get(field) or field.removesuffix("_id")


def _same(asked: Any, found: Any) -> bool:
    if _is_empty(asked) or _is_empty(found):
        return _is_empty(asked) and _is_empty(found)
    if isinstance(asked, bool) or isinstance(found, bool):
        return bool(asked == found)
    if isinstance(asked, int | float) and isinstance(found, int | float):
        # Redmine keeps hours with two decimals.
        return abs(asked - found) < 0.006
    if isinstance(asked, str) and isinstance(found, str):
        return one_line_end(asked) == one_line_end(found)
    if isinstance(asked, list) and isinstance(found, list):
        return {str(one) for one in asked} == {str(one) for one in found}
    if isinstance(asked, dict) and isinstance(found, dict) and "id" in asked:
        return bool(asked["id"] == found.get("id"))
    return bool(asked == found)


def _is_empty(value: Any) -> bool:
    return value in _EMPTY or (isinstance(value, str) and not value.strip())


def one_line_end(text: str) -> str:
    """Redmine stores every line end as CRLF."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _ignored_custom_fields(asked: Collection[Mapping[str, Any]], record: Json) -> list[str]:
    values = {field["id"]: field.get("value") for field in record.get("custom_fields") or []}
    return [
        f"custom_fields[{field['id']}]"
        for field in asked
        if not _same_values(written(field["value"]), values.get(field["id"]))
    ]


def _same_values(asked: Any, found: Any) -> bool:
    return _as_texts(asked) == _as_texts(found)


def _as_texts(value: Any) -> set[str]:
    values = value if isinstance(value, list) else [value]
    return {one_line_end(str(one)) for one in values if one is not None} - {""}


def _short(value: Any) -> Any:
    """A reference, a number or a word; of anything longer only its size matters here."""
    if isinstance(value, dict):
        return {key: value[key] for key in ("id", "name") if key in value}
    if isinstance(value, list):
        return f"{len(value)} entries"
    if isinstance(value, str) and len(value) > _LONGEST_VALUE:
        return f"{len(value)} characters"
    return value
