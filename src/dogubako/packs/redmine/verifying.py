"""What was asked for and what Redmine really has now, field by field."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from dogubako.packs.redmine.models import Json
from dogubako.packs.redmine.names.custom_fields import written

# Where a field is found again, when it is not `x` for `x`, or `x.id` for `x_id`.
_ELSEWHERE: Final = {"parent_issue_id": "parent", "default_assigned_to_id": "default_assignee", "user_id": "user"}
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


def also_changed(asked: Collection[str], before: Json, after: Json) -> list[Json]:
    """What is different although nobody asked for it: set by Redmine's rules, or by somebody else meanwhile."""
    named = {place_of(field) for field in asked}
    fields = [field for field in {**before, **after} if field not in named and field not in _ALWAYS_MOVING]
    return [
        {"field": field, "from": _short(before.get(field)), "to": _short(after.get(field))}
        for field in fields
        if field not in ("id", "custom_fields") and not _same(before.get(field), after.get(field))
    ]


def set_by_itself(asked: Collection[str], record: Json) -> list[Json]:
    """What a new record has although nobody asked for it, like the assignee that comes with a category."""
    named = {place_of(field) for field in asked}
    return [
        {"field": field, "to": _short(record[field])} for field in _NOTABLE if field not in named and record.get(field)
    ]


def _kept(field: str, value: Any, record: Json) -> bool:
    if field == "uploads":
        return not _lacks_files(value, record)
    return _same(value, _found(field, record))


def _found(field: str, record: Json) -> Any:
    if field in _LISTS_OF_IDS:
        rows = record.get(_LISTS_OF_IDS[field]) or []
        return sorted({row["id"] for row in rows if not row.get("inherited")})
    if field == "enabled_module_names":
        return sorted(row["name"] for row in record.get("enabled_modules") or [])
    if field == "parent_title":
        return (record.get("parent") or {}).get("title")
    if field == "user_id":
        return (record.get("user") or record.get("group") or {}).get("id")
    if field.endswith("_id"):
        return (record.get(place_of(field)) or {}).get("id")
    return record.get(field)


def place_of(field: str) -> str:
    """Under which name a field that is set is found again: `status` for `status_id`."""
    return _ELSEWHERE.get(field) or _LISTS_OF_IDS.get(field) or field.removesuffix("_id")


def _same(asked: Any, found: Any) -> bool:
    if asked in (None, "", [], {}) or found in (None, "", [], {}):
        return asked in (None, "", [], {}) and found in (None, "", [], {})
    if isinstance(asked, bool) or isinstance(found, bool):
        return bool(asked == found)
    if isinstance(asked, int | float) and isinstance(found, int | float):
        # Redmine keeps hours with two decimals.
        return abs(asked - found) < 0.006
    if isinstance(asked, str) and isinstance(found, str):
        return _plain(asked) == _plain(found)
    if isinstance(asked, list) and isinstance(found, list):
        return sorted(asked, key=str) == sorted(found, key=str)
    if isinstance(asked, dict) and isinstance(found, dict) and "id" in asked:
        return bool(asked["id"] == found.get("id"))
    return bool(asked == found)


def _plain(text: str) -> str:
    """Redmine stores line ends as CRLF."""
    return text.replace("\r\n", "\n").strip()


def _ignored_custom_fields(asked: Collection[Mapping[str, Any]], record: Json) -> list[str]:
    values = {field["id"]: field.get("value") for field in record.get("custom_fields") or []}
    return [
        f"custom_fields[{field['id']}]"
        for field in asked
        if not _same_values(written(field["value"]), values.get(field["id"]))
    ]


def _same_values(asked: Any, found: Any) -> bool:
    return _as_texts(asked) == _as_texts(found)


def _as_texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return sorted(_plain(str(one)) for one in values if one not in (None, ""))


def _short(value: Any) -> Any:
    """A reference, a number or a word; of anything longer only its size matters here."""
    if isinstance(value, dict):
        return {key: value[key] for key in ("id", "name") if key in value}
    if isinstance(value, list):
        return f"{len(value)} entries"
    return value
