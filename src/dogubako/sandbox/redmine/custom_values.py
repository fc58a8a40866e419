"""Custom fields of any kind of record: which there are, their values, how they are shown, changed and saved.

A record's values are kept as `{field id: value}`: a text, a list of texts for a field with many values, None for none.
"""

from typing import Any

from dogubako.sandbox.redmine.store import Row, Store, to_id
from dogubako.sandbox.redmine.visitor import Visitor

Values = dict[int, Any]


def fields_of(store: Store, kind: str) -> list[Row]:
    """All custom fields of a kind of record ("Issue", "Project", "User", "TimeEntry", "Version"), in their order."""
    return sorted(store["custom_fields"].where(type=f"{kind}CustomField"), key=lambda each: each["position"])


def sees_field(store: Store, who: Visitor, field: Row, project: Row | None) -> bool:
    """A field may be for some roles only."""
    if field.get("visible") or who.admin:
        return True
    allowed = {link["role_id"] for link in store["custom_fields_roles"].where(custom_field_id=field["id"])}
    return project is not None and any(role["id"] in allowed for role in who.roles_in(project))


def values_of(store: Store, kind: str, row_id: int, fields: list[Row]) -> Values:
    saved: dict[int, list[Any]] = {}
    for row in store["custom_values"].where(customized_id=row_id, customized_type=kind):
        saved.setdefault(row["custom_field_id"], []).append(row.get("value"))
    return {field["id"]: _as_kept(field, saved.get(field["id"], [])) for field in fields}


def _as_kept(field: Row, saved: list[Any]) -> Any:
    if field.get("multiple"):
        return saved
    return saved[0] if saved else None


def default_values(fields: list[Row]) -> Values:
    """What a new record has when nothing is said."""
    return {field["id"]: _default(field) for field in fields}


def _default(field: Row) -> Any:
    value = field.get("default_value") or None
    return ([value] if value else []) if field.get("multiple") else value


def shown_values(fields: list[Row], values: Values) -> list[dict[str, Any]]:
    return [_shown(field, values.get(field["id"])) for field in fields]


def _shown(field: Row, value: Any) -> dict[str, Any]:
    shown = {"id": field["id"], "name": field["name"]}
    if field.get("multiple"):
        shown["multiple"] = True
    if isinstance(value, list):
        value = [each for each in value if each not in (None, "")]
    return {**shown, "value": value}


def asked_values(body: dict[str, Any]) -> dict[int, Any]:
    """What a body says about custom fields, in either of the two ways that Redmine takes."""
    asked: dict[int, Any] = {}
    given = body.get("custom_fields")
    for each in given if isinstance(given, list) else ():
        if isinstance(each, dict) and each.get("id") and "value" in each:
            asked[to_id(each["id"])] = each["value"]
    by_id = body.get("custom_field_values")
    for name, value in by_id.items() if isinstance(by_id, dict) else ():
        asked[to_id(name)] = value
    return asked


def changed_values(store: Store, fields: list[Row], values: Values, asked: dict[int, Any]) -> Values:
    """The values after a request. Fields that the record does not have are left out without a word."""
    known = {field["id"]: field for field in fields}
    changes = {
        each: _as_set(store, known[each], values.get(each), value) for each, value in asked.items() if each in known
    }
    return {**values, **changes}


def _as_set(store: Store, field: Row, was: Any, value: Any) -> Any:
    if field["field_format"] == "attachment":
        return _attachment_id(store, was, value)
    if isinstance(value, list):
        texts = [_text(each) for each in value]
        return list(dict.fromkeys(each for each in texts if each)) or [""]
    return _text(value)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _attachment_id(store: Store, was: Any, value: Any) -> Any:
    """A new file by the token of its upload; the old one by its number. False is a token of no use."""
    token = value.get("token") if isinstance(value, dict) else None
    if token:
        row = find_by_token(store, token)
        return str(row["id"]) if row else False
    return str(value) if was and str(value) == was else ""


def save_values(store: Store, kind: str, row_id: int, values: Values) -> None:
    """Keep exactly these values; a field without a value keeps an empty row, as in the database."""
    for row in store["custom_values"].where(customized_id=row_id, customized_type=kind):
        if row["custom_field_id"] not in values:
            store["custom_values"].remove(row)
    for field_id, value in values.items():
        own = {"customized_type": kind, "customized_id": row_id, "custom_field_id": field_id}
        if isinstance(value, list):
            _save_many(store, own, value or [None])
        else:
            _save_one(store, own, value)


def _save_many(store: Store, own: Row, values: list[Any]) -> None:
    table = store["custom_values"]
    rows = {row.get("value"): row for row in table.where(**own)}
    for value, row in rows.items():
        if value not in values:
            table.remove(row)
    for value in values:
        if value not in rows:
            table.add(**own, value=value)


def _save_one(store: Store, own: Row, value: Any) -> None:
    table = store["custom_values"]
    row, *others = table.where(**own) or [table.add(**own, value=None)]
    for each in others:
        table.remove(each)
    was, row["value"] = row.get("value"), value
    if was != value and store["custom_fields"].at(own["custom_field_id"])["field_format"] == "attachment":
        _exchange_files(store, row, was, value)


def _exchange_files(store: Store, row: Row, was: Any, value: Any) -> None:
    """A new file belongs to its value from now on, and the old one is gone."""
    new, old = store["attachments"].get(value), store["attachments"].get(was)
    if new:
        new["container_type"], new["container_id"] = "CustomValue", row["id"]
    if old:
        store["attachments"].remove(old)


def find_by_token(store: Store, token: object) -> Row | None:
    """An uploaded file that belongs to nothing yet; a token works once."""
    number, _, digest = str(token).partition(".")
    row = store["attachments"].get(number) if number.isdigit() else None
    return row if row and row["digest"] == digest and row.get("container_id") is None else None
