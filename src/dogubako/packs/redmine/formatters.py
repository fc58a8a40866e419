"""Redmine's records as answers: short views, and the XML form."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from dogubako.contract.output import XmlElement
from dogubako.packs.redmine.models import PROJECT_STATES, USER_STATES, JsonObject
from dogubako.response.xml import unwritable

# Short facts become attributes; everything else becomes an element.
_ATTRIBUTES: Final = (
    "id",
    "field",
    "total_count",
    "offset",
    "limit",
    "order",
    "is_closed",
    "is_default",
    "inherited",
    "private",
    "token",
)

# Singular forms that are not the plural without its "s".
_ONE_OF: Final = {
    "allowed_statuses": "status",
    "categories": "category",
    "changes": "change",
    "children": "issue",
    "custom_fields": "field",
    "enabled_modules": "module",
    "issue_categories": "issue_category",
    "issue_statuses": "issue_status",
    "issue_priorities": "issue_priority",
    "news": "news_item",
    "possible_values": "choice",
    "queries": "query",
    "time_entries": "time_entry",
    "time_entry_activities": "time_entry_activity",
    "values": "value",
    "watchers": "user",
    "also_changed": "change",
    "changed_meanwhile": "issue",
    "entries": "entry",
    "late": "issue",
    "refused": "issue",
}

# Long texts by other users. The answer's notice says what that means.
_WRITTEN_BY_PEOPLE: Final = ("description", "notes", "text", "comments", "summary", "excerpt")
_FREE: Final = ("subject", "title", "value", "label", "filename", "from", "to")


_SHORT: Final = frozenset({str, int, float, bool, type(None)})


def element(tag: str, value: Any) -> XmlElement:
    """Any plain data as one element."""
    if _is_short(value):
        return XmlElement(tag, {"untrusted": "true"} if tag in _WRITTEN_BY_PEOPLE else {}, _text(value))
    if not isinstance(value, list | tuple):
        return _of_mapping(tag, value)
    if value and all(map(_is_short, value)):
        return XmlElement(tag, {}, ", ".join(map(_text, value)))
    one = _ONE_OF.get(tag, tag.removesuffix("s"))
    return XmlElement(tag, {}, [element(one, item) for item in value])


def has_texts(root: XmlElement) -> bool:
    """Whether the element holds free text, which could contain instructions."""
    if root.tag in _WRITTEN_BY_PEOPLE or root.tag in _FREE:
        return True
    return not isinstance(root.children, str) and any(has_texts(child) for child in root.children)


def replaced_characters(root: XmlElement) -> int:
    """How many characters XML cannot represent; they are shown as U+FFFD."""
    found, waiting = 0, [root]
    while waiting:
        one = waiting.pop()
        found += sum([unwritable(value) for value in one.attributes.values() if isinstance(value, str)])
        if isinstance(one.children, str):
            found += unwritable(one.children)
        else:
            waiting += one.children
    return found


def _of_mapping(tag: str, value: Mapping[str, Any]) -> XmlElement:
    if tag == "field" and {"id", "name", "value"} <= set(value) <= {"id", "name", "value", "label"}:
        return XmlElement(tag, {}, list(_custom_field_element(value)))
    attributes = {key: value[key] for key in _ATTRIBUTES if key in value and _is_short(value[key])}
    rest = {key: item for key, item in value.items() if key not in attributes}
    if set(rest) == {"rows"}:
        return XmlElement(tag, attributes, element(tag, rest["rows"]).children)
    if set(rest) == {"name"}:
        return XmlElement(tag, attributes, _text(rest["name"]))
    return XmlElement(tag, attributes, [element(key, item) for key, item in rest.items()])


def _custom_field_element(field: Mapping[str, Any]) -> Iterator[XmlElement]:
    yield XmlElement("id", {}, _text(field["id"]))
    yield XmlElement("name", {}, _text(field["name"]))
    value = field.get("value")
    for one in value if isinstance(value, list) else [value]:
        yield XmlElement("value", {}, _text(one))
    if "label" in field:
        yield XmlElement("label", {}, _text(field["label"]))


def _is_short(value: Any) -> bool:
    # To ask for a mapping takes long, and most values are texts and numbers.
    return type(value) in _SHORT or not isinstance(value, Mapping | list | tuple)


def _text(value: Any) -> str:
    if type(value) is str:
        return value if "\r" not in value else value.replace("\r\n", "\n").replace("\r", "\n")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    # XML does this anyway; done here, so that a continued answer counts the same characters.
    return "" if value is None else str(value).replace("\r\n", "\n").replace("\r", "\n")


_EMPTY: tuple[Any, ...] = (None, "", [], {})

# Shown only if true.
_SILENT_WHEN_FALSE = ("is_closed", "is_default", "is_private", "multiple", "inherited", "inherit_members")


# Redmine may not know its own URL; show_attachment gets a file by its id.
_NEVER_SHOWN = ("content_url", "thumbnail_url")


def view(record: Mapping[str, Any], *, without: Collection[str] = ()) -> JsonObject:
    """Every field with a value, in Redmine's order."""
    hidden = (*_NEVER_SHOWN, *without)
    shown = {key: _value(key, value) for key, value in record.items() if key not in hidden}
    return {key: value for key, value in shown.items() if value or not _says_nothing(key, value)}


def _says_nothing(key: str, value: Any) -> bool:
    return not value and (value in _EMPTY or (value is False and key in _SILENT_WHEN_FALSE))


def chosen(record: JsonObject, fields: Collection[str], custom_fields: Collection[int]) -> JsonObject:
    """Only the requested fields, and the id."""
    kept = {key: value for key, value in record.items() if key == "id" or key in fields}
    if custom_fields and "custom_fields" not in fields:
        named = [field for field in record.get("custom_fields", ()) if field["id"] in custom_fields]
        kept |= {"custom_fields": named} if named else {}
    return kept


def issue_view(record: Mapping[str, Any], *, without: Collection[str] = ()) -> JsonObject:
    """The view of an issue, without totals that repeat its own values."""
    shown = view(record, without=without)
    for total in ("estimated_hours", "spent_hours"):
        if shown.get(f"total_{total}") == shown.get(total, 0):
            shown.pop(f"total_{total}", None)
    return shown


def project_view(record: Mapping[str, Any]) -> JsonObject:
    return view({**record, "status": _state(record.get("status"), PROJECT_STATES)})


def user_view(record: Mapping[str, Any]) -> JsonObject:
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


def _custom_field(field: Mapping[str, Any]) -> JsonObject | None:
    """A custom field with a value, else None; list_custom_fields lists all fields."""
    value = field.get("value")
    if "value" in field and value in _EMPTY:
        return None
    return {key: field[key] for key in ("id", "name", "value", "label") if key in field}
