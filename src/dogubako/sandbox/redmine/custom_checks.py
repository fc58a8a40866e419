"""Which values a custom field takes, and the sentences with which others are refused."""

import re
from typing import Any

from dogubako.sandbox.redmine.clock import to_date
from dogubako.sandbox.redmine.custom_values import Values
from dogubako.sandbox.redmine.sharing import shared_versions
from dogubako.sandbox.redmine.store import Row, Store

_WORD = re.compile(r"[a-zA-Z\d]+")


def complaints(store: Store, fields: list[Row], values: Values, was: Values, project: Row | None) -> list[str]:
    """One sentence per wrong value, in the order of the fields. What was there before may stay."""
    found = []
    for field in fields:
        reasons = _reasons(store, field, values.get(field["id"]), was.get(field["id"]), project)
        found += [f"{humanized(field['name'])} {reason}" for reason in reasons]
    return found


def humanized(name: str) -> str:
    """The name of a field as Rails puts it at the beginning of a sentence: in small letters after the first."""
    spaced = name.replace("_", " ").strip()
    small = _WORD.sub(lambda match: match.group().lower(), spaced)
    return small[:1].upper() + small[1:]


def _reasons(store: Store, field: Row, value: Any, was: Any, project: Row | None) -> list[str]:
    values = [each for each in (value if isinstance(value, list) else [value]) if each not in (None, "")]
    reasons = _wrong(store, field, values, was, project)
    if not reasons and isinstance(value, list) and not field.get("multiple"):
        reasons = ["is invalid"]
    if not reasons and field.get("is_required") and not values:
        reasons = ["cannot be blank"]
    return list(dict.fromkeys(reasons))


def _wrong(store: Store, field: Row, values: list[Any], was: Any, project: Row | None) -> list[str]:
    kind = field["field_format"]
    if kind in ("list", "enumeration", "user", "version"):
        known = _choices(store, field, project) | set(was if isinstance(was, list) else [was])
        return [] if set(values) <= known else ["is not included in the list"]
    if kind == "attachment":
        return ["is invalid"] if False in values else []
    if kind == "bool":
        return []
    return [reason for each in values for reason in _wrong_text(field, kind, str(each))]


def _choices(store: Store, field: Row, project: Row | None) -> set[Any]:
    match field["field_format"]:
        case "list":
            return set(field.get("possible_values") or ())
        case "enumeration":
            rows = store["custom_field_enumerations"].where(custom_field_id=field["id"])
            return {str(row["id"]) for row in rows if row.get("active")}
        case "user":
            return {str(each) for each in members_of(store, project, field)} if project else set()
    wanted = [each for each in (field.get("format_store") or {}).get("version_status") or () if each]
    versions = shared_versions(store, project) if project else []
    return {str(each["id"]) for each in versions if not wanted or each.get("status") in wanted}


def members_of(store: Store, project: Row, field: Row) -> set[int]:
    """The active members that a field for people offers, perhaps of some roles only."""
    roles = {int(each) for each in (field.get("format_store") or {}).get("user_role") or () if each}
    found = set()
    for member in store["members"].where(project_id=project["id"]):
        user = store["users"].at(member["user_id"])
        theirs = {link["role_id"] for link in store["member_roles"].where(member_id=member["id"])}
        if user["type"] == "User" and user.get("status") == 1 and (not roles or roles & theirs):
            found.add(user["id"])
    return found


def _wrong_text(field: Row, kind: str, text: str) -> list[str]:
    if kind == "date":
        return [] if to_date(text) else ["is not a valid date"]
    reasons = _wrong_length(field, text)
    if kind == "int" and not re.fullmatch(r"[+-]?\d+", text.strip()):
        reasons.append("is not a number")
    if kind == "float" and not _is_float(text):
        reasons.append("is invalid")
    return reasons


def _wrong_length(field: Row, text: str) -> list[str]:
    reasons = []
    if field.get("regexp") and not re.search(field["regexp"], text):
        reasons.append("is invalid")
    shortest, longest = field.get("min_length"), field.get("max_length")
    if shortest and len(text) < shortest:
        reasons.append(f"is too short (minimum is {shortest} characters)")
    if longest and len(text) > longest:
        reasons.append(f"is too long (maximum is {longest} characters)")
    return reasons


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.strip().lower().lstrip("+-") not in ("nan", "inf", "infinity")
