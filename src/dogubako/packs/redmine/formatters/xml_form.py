"""The same data as XML: ids as attributes, references as `<status id="2">In Progress</status>`."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dogubako.contract.output import XmlElement
from dogubako.response.xml import unwritable

# Short facts about an element; everything else is an element of its own.
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

# What one of several is called, where cutting off an "s" would not do.
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
}

# Long texts that other people wrote. The answer's notice says what that means.
_WRITTEN_BY_PEOPLE: Final = ("description", "notes", "text", "comments", "summary", "excerpt")
_FREE: Final = ("subject", "title", "value", "filename", "from", "to")


def element(tag: str, value: Any) -> XmlElement:
    """Any plain data as one element."""
    if isinstance(value, Mapping):
        return _of_mapping(tag, value)
    if isinstance(value, list | tuple):
        if value and all(_is_short(item) for item in value):
            return XmlElement(tag, {}, ", ".join(_text(item) for item in value))
        one = _ONE_OF.get(tag, tag.removesuffix("s"))
        return XmlElement(tag, {}, [element(one, item) for item in value])
    attributes = {"untrusted": "true"} if tag in _WRITTEN_BY_PEOPLE else {}
    return XmlElement(tag, attributes, _text(value))


def has_texts(root: XmlElement) -> bool:
    """Whether anything in it is free text, which could try to give orders."""
    if root.tag in _WRITTEN_BY_PEOPLE or root.tag in _FREE:
        return True
    return not isinstance(root.children, str) and any(has_texts(child) for child in root.children)


def replaced_characters(root: XmlElement) -> int:
    """How many characters cannot be written and will be shown as U+FFFD."""
    return sum(unwritable(text) for text in _texts(root))


def _of_mapping(tag: str, value: Mapping[str, Any]) -> XmlElement:
    if tag == "field" and set(value) == {"id", "name", "value"}:
        return XmlElement(tag, {}, list(_custom_field(value)))
    attributes = {key: value[key] for key in _ATTRIBUTES if key in value and _is_short(value[key])}
    rest = {key: item for key, item in value.items() if key not in attributes}
    if set(rest) == {"rows"}:
        return XmlElement(tag, attributes, element(tag, rest["rows"]).children)
    if set(rest) == {"name"}:
        return XmlElement(tag, attributes, _text(rest["name"]))
    return XmlElement(tag, attributes, [element(key, item) for key, item in rest.items()])


def _custom_field(field: Mapping[str, Any]) -> Iterator[XmlElement]:
    yield XmlElement("id", {}, _text(field["id"]))
    yield XmlElement("name", {}, _text(field["name"]))
    value = field.get("value")
    for one in value if isinstance(value, list) else [value]:
        yield XmlElement("value", {}, _text(one))


def _is_short(value: Any) -> bool:
    return not isinstance(value, Mapping | list | tuple)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    # Written so in XML anyway; done here, whoever reads on after a cut counts the same characters as we do.
    return "" if value is None else str(value).replace("\r\n", "\n").replace("\r", "\n")


def _texts(root: XmlElement) -> Iterator[str]:
    yield from (value for value in root.attributes.values() if isinstance(value, str))
    if isinstance(root.children, str):
        yield root.children
        return
    for child in root.children:
        yield from _texts(child)
