"""Custom fields of all kinds of records: which there are, their values, how they are shown, checked and saved.

A record's values are `{field id: value}`: a text, a list of texts for a field with many values, None for none.
"""

import re
from typing import Any, Final

from dogubako_sandbox.redmine.permissions import ACTIVE
from dogubako_sandbox.redmine.request import ApiRequest, applying
from dogubako_sandbox.redmine.store import Row, Store, to_date, to_id, to_list
from dogubako_sandbox.redmine.trees import shared_versions

Values = dict[int, Any]

# Values of users and groups are kept under the name of what both of them are.
_KEPT_AS: Final = {"User": "Principal", "Group": "Principal"}
_FLOAT: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_WORD: Final = re.compile(r"[a-zA-Z\d]+")


def fields_of(store: Store, kind: str) -> list[Row]:
    """Return all custom fields of a kind of record ("Issue", "Project", "User"), in their order."""
    return sorted(store["custom_fields"].where(type=f"{kind}CustomField"), key=lambda each: each["position"])


def project_fields(store: Store, project: Row) -> list[Row]:
    """Return the custom fields for issues of a project: those for all, and its own."""
    own = store["custom_fields_projects"].ids("custom_field_id", project_id=project["id"])
    return [field for field in fields_of(store, "Issue") if field.get("is_for_all") or field["id"] in own]


def issue_fields(store: Store, issue: Row) -> list[Row]:
    """Return the fields of an issue: those of the project that its tracker has too."""
    project = store["projects"].get(issue.get("project_id"))
    if project is None or issue.get("tracker_id") is None:
        return []
    of_tracker = store["custom_fields_trackers"].ids("custom_field_id", tracker_id=issue["tracker_id"])
    return [field for field in project_fields(store, project) if field["id"] in of_tracker]


def visible_issue_fields(req: ApiRequest, issue: Row) -> list[Row]:
    project = req.store["projects"].get(issue.get("project_id"))
    return [field for field in issue_fields(req.store, issue) if req.user.sees_field(field, project)]


def visible_fields(req: ApiRequest, kind: str, project: Row | None) -> list[Row]:
    return [each for each in fields_of(req.store, kind) if req.user.sees_field(each, project)]


def values_of(store: Store, kind: str, row_id: int, fields: list[Row]) -> Values:
    saved: dict[int, list[Any]] = {}
    for row in store["custom_values"].where(customized_id=row_id, customized_type=_KEPT_AS.get(kind, kind)):
        saved.setdefault(row["custom_field_id"], []).append(row.get("value"))
    return {each["id"]: _as_kept(each, saved.get(each["id"], [])) for each in fields}


def _as_kept(field: Row, saved: list[Any]) -> Any:
    return saved if field.get("multiple") else next(iter(saved), None)


def empty_values(fields: list[Row]) -> Values:
    """Return the values of a new record; none of the recorded fields has a default."""
    return {each["id"]: _as_kept(each, []) for each in fields}


def shown_values(fields: list[Row], values: Values) -> list[Row]:
    return [_shown(field, values.get(field["id"])) for field in fields]


def _shown(field: Row, value: Any) -> Row:
    if isinstance(value, list):
        value = [each for each in value if each not in (None, "")]
    many = {"multiple": True} if field.get("multiple") else {}
    return {"id": field["id"], "name": field["name"], **many, "value": value}


def custom_part(req: ApiRequest, kind: str, row: Row, project: Row | None = None) -> Row:
    """Show the custom fields of a record, or nothing when it has none that this user sees."""
    fields = visible_fields(req, kind, project) if row.get("type") != "AnonymousUser" else []
    return {"custom_fields": shown_values(fields, values_of(req.store, kind, row["id"], fields))} if fields else {}


def checked_customs(req: ApiRequest, kind: str, row: Row, body: Row, project: Row | None) -> tuple[Values, list[str]]:
    """Return the values after a request, and the sentences about those that are wrong; a new record has no id."""
    fields = visible_fields(req, kind, project)
    was = values_of(req.store, kind, row["id"], fields) if "id" in row else empty_values(fields)
    values = changed_values(fields, was, body)
    return values, custom_errors(req.store, fields, values, was, project)


def save_customs(store: Store, kind: str, row: Row, values: Values) -> bool:
    """Keep these values, and those of fields that the user does not see; tell whether any of them is new."""
    before = values_of(store, kind, row["id"], fields_of(store, kind))
    after = {**before, **values}
    save_values(store, kind, row["id"], after)
    return before != after


def changed_values(fields: list[Row], values: Values, body: Row) -> Values:
    """Return the values after a request. Fields that the record does not have are ignored."""
    wanted: Values = {}
    listed = body.get("custom_fields")
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and each.get("id") and "value" in each:
            wanted[to_id(each["id"])] = each["value"]
    changes = {
        each["id"]: _as_set(each, values.get(each["id"]), wanted[each["id"]]) for each in fields if each["id"] in wanted
    }
    return {**values, **changes}


def _as_set(field: Row, was: Any, value: Any) -> Any:
    if field["field_format"] == "attachment":
        # Of files, only the one that is there may stay.
        return value if was and value == was else ""
    if isinstance(value, list):
        texts = [_text(each) for each in value]
        return list(dict.fromkeys(each for each in texts if each)) or [""]
    return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def find_by_token(store: Store, token: object) -> Row | None:
    """Find an uploaded file that belongs to no record yet; a token works once."""
    number, _, digest = str(token).partition(".")
    row = store["attachments"].get(number) if number.isdigit() else None
    return row if row and row["digest"] == digest and row.get("container_id") is None else None


def custom_errors(store: Store, fields: list[Row], values: Values, was: Values, project: Row | None) -> list[str]:
    """Return one sentence per wrong value, in the order of the fields. What was there before may stay."""
    sentences = []
    for field in fields:
        reasons = _reasons(store, field, values.get(field["id"]), was.get(field["id"]), project)
        sentences += [f"{humanized(field['name'])} {reason}" for reason in reasons]
    return sentences


def humanized(name: str) -> str:
    """Write the name of a field as Rails does at the beginning of a sentence: in small letters after the first."""
    small = _WORD.sub(lambda match: match.group().lower(), name.replace("_", " ").strip())
    return small[:1].upper() + small[1:]


def _reasons(store: Store, field: Row, value: Any, was: Any, project: Row | None) -> list[str]:
    values = [each for each in to_list(value) if each not in (None, "")]
    kind = field["field_format"]
    reasons = []
    if kind in ("list", "enumeration", "user", "version"):
        known = _choices(store, field, project) | set(to_list(was))
        reasons = [] if set(values) <= known else ["is not included in the list"]
    elif kind not in ("attachment", "bool"):
        reasons = [reason for each in values for reason in _wrong_text(field, kind, str(each))]
    if not reasons and isinstance(value, list) and not field.get("multiple"):
        reasons = ["is invalid"]
    return list(dict.fromkeys(reasons))


def _choices(store: Store, field: Row, project: Row | None) -> set[Any]:
    match field["field_format"]:
        case "list":
            return set(field.get("possible_values") or ())
        case "enumeration":
            rows = store["custom_field_enumerations"].where(custom_field_id=field["id"])
            return {str(row["id"]) for row in rows if row.get("active")}
        case "user":
            return {str(each) for each in active_members(store, project)} if project else set()
    return {str(each["id"]) for each in shared_versions(store, project)} if project else set()


def active_members(store: Store, project: Row) -> set[int]:
    users = [store["users"].at(each["user_id"]) for each in store["members"].where(project_id=project["id"])]
    return {each["id"] for each in users if each["type"] == "User" and each.get("status") == ACTIVE}


def _wrong_text(field: Row, kind: str, text: str) -> list[str]:
    if kind == "date":
        return [] if to_date(text) else ["is not a valid date"]
    longest = field.get("max_length") or len(text)
    reasons = {
        "is invalid": field.get("regexp") and not re.search(field["regexp"], text),
        f"is too long (maximum is {longest} characters)": len(text) > longest,
        "is not a number": kind == "int" and not re.fullmatch(r"[+-]?\d+", text.strip()),
    }
    wrong_float = kind == "float" and not _FLOAT.fullmatch(text.strip())
    return [*applying(reasons), *(["is invalid"] if wrong_float else [])]


def save_values(store: Store, kind: str, row_id: int, values: Values) -> None:
    """Keep exactly these values; a field without a value keeps an empty row, as in the database."""
    kept_as = _KEPT_AS.get(kind, kind)
    for row in store["custom_values"].where(customized_id=row_id, customized_type=kept_as):
        if row["custom_field_id"] not in values:
            store["custom_values"].remove(row)
    for field_id, value in values.items():
        own = {"customized_type": kept_as, "customized_id": row_id, "custom_field_id": field_id}
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
        store["attachments"].remove_where(id=to_id(was))
