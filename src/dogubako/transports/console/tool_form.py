"""A form made from a tool's JSON Schema, and the arguments that a filled form stands for.

Plain values get a field of their own kind. Arrays of plain values take one value per line. Whatever is nested deeper
takes JSON.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from dogubako.transports.console.page import Form

Control = Literal["text", "area", "number", "checkbox", "select", "choices", "lines", "json", "date", "url", "email"]

PREFIX: Final = "arg."
# The console asks in its own way before it destroys something.
CONFIRM: Final = "confirm"
_LONG_TEXT: Final = 200
_LONG_NAMES: Final = re.compile(r"(text|body|content|description|notes?|comments?|message|html|markdown|code|sql)$")
_FORMATS: Final[Mapping[str, Control]] = {"date": "date", "uri": "url", "email": "email"}
_PLAIN: Final = frozenset({"string", "integer", "number"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """One argument as a field of the form."""

    name: str
    label: str
    control: Control
    type: str
    required: bool
    description: str
    default: Any
    options: tuple[Any, ...]
    minimum: float | None
    maximum: float | None
    step: str | None
    pattern: str | None
    schema: Mapping[str, Any]

    @property
    def key(self) -> str:
        return f"{PREFIX}{self.name}"


def fields_of(schema: Mapping[str, Any]) -> list[Field]:
    """The fields of a tool, required ones first."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    required = set(schema.get("required", ()))
    fields = [_field(name, one, required=name in required) for name, one in properties.items() if name != CONFIRM]
    return sorted(fields, key=lambda field: not field.required)


def _field(name: str, schema: Mapping[str, Any], *, required: bool) -> Field:
    inner = _without_null(schema)
    kind = inner.get("type") if isinstance(inner.get("type"), str) else ""
    control, options = _control(name, inner, str(kind))
    return Field(
        name=name,
        label=str(schema.get("title") or name),
        control=control,
        type=type_in_words(inner),
        required=required,
        description=str(schema.get("description") or inner.get("description") or ""),
        default=schema.get("default"),
        options=options,
        minimum=_number(inner.get("minimum")),
        maximum=_number(inner.get("maximum")),
        step="1" if kind == "integer" else "any" if kind == "number" else None,
        pattern=inner.get("pattern") if isinstance(inner.get("pattern"), str) else None,
        schema=inner,
    )


def _without_null(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of the value itself, where it may also be null."""
    for key in ("anyOf", "oneOf"):
        others = [one for one in schema.get(key, ()) if isinstance(one, Mapping) and one.get("type") != "null"]
        if len(others) == 1:
            return {**{name: value for name, value in schema.items() if name != key}, **others[0]}
    kind = schema.get("type")
    if isinstance(kind, list) and len(others := [one for one in kind if one != "null"]) == 1:
        return {**schema, "type": others[0]}
    return schema


def _control(name: str, schema: Mapping[str, Any], kind: str) -> tuple[Control, tuple[Any, ...]]:
    if isinstance(options := schema.get("enum"), list) and options:
        return "select", tuple(options)
    if kind == "boolean":
        return "checkbox", ()
    if kind in ("integer", "number"):
        return "number", ()
    if kind == "string":
        return _text_control(name, schema), ()
    if kind == "array":
        items = schema.get("items")
        items = items if isinstance(items, Mapping) else {}
        if isinstance(options := items.get("enum"), list) and options:
            return "choices", tuple(options)
        return ("lines" if items.get("type") in _PLAIN else "json"), ()
    kinds = {one.get("type") for one in schema.get("anyOf", ()) if isinstance(one, Mapping)} - {"null"}
    return ("text" if kinds and kinds <= _PLAIN else "json"), ()


def _text_control(name: str, schema: Mapping[str, Any]) -> Control:
    if (control := _FORMATS.get(str(schema.get("format")))) is not None:
        return control
    longest = schema.get("maxLength")
    long = isinstance(longest, int) and longest > _LONG_TEXT
    return "area" if _LONG_NAMES.search(name.lower()) and (longest is None or long) else "text"


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def type_in_words(schema: Mapping[str, Any]) -> str:
    """The type for people: `string`, `list of integer`, `one of 3`."""
    if isinstance(options := schema.get("enum"), list):
        return f"one of {len(options)}"
    kind = schema.get("type")
    if isinstance(kind, list):
        return " or ".join(map(str, kind))
    if kind == "array":
        items = schema.get("items")
        return f"list of {type_in_words(items)}" if isinstance(items, Mapping) and items else "list"
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), list):
            return " or ".join(dict.fromkeys(type_in_words(one) for one in schema[key] if isinstance(one, Mapping)))
    return str(kind or "any")


def filled(fields: Sequence[Field], arguments: Mapping[str, Any]) -> dict[str, str | list[str]]:
    """What stands in each field for these arguments; a list for choices."""
    values: dict[str, str | list[str]] = {}
    for field in fields:
        value = arguments.get(field.name)
        if field.control == "choices":
            values[field.name] = [_as_text(one) for one in value] if isinstance(value, list) else []
        elif value is None:
            values[field.name] = ""
        elif field.control == "lines" and isinstance(value, list):
            values[field.name] = "\n".join(map(_as_text, value))
        elif field.control == "json":
            values[field.name] = json.dumps(value, indent=2, ensure_ascii=False, default=str)
        else:
            values[field.name] = _as_text(value)
    return values


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def arguments_of(fields: Sequence[Field], form: Form) -> tuple[dict[str, Any], dict[str, str]]:
    """The arguments that the form stands for, and the fields that hold no valid JSON.

    A value that is not what the schema wants is passed on as it is: the tool's own validation has the words for it.
    """
    arguments: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for field in fields:
        try:
            given, value = _value(field, form.get(field.key, []))
        except ValueError:
            wrong[field.name] = "json"
            continue
        if given:
            arguments[field.name] = value
    return arguments, wrong


def _value(field: Field, sent: Sequence[str]) -> tuple[bool, Any]:
    """Whether the field is filled, and its value. ValueError for what is no JSON."""
    first = sent[0] if sent else ""
    if field.control == "checkbox":
        return bool(sent) or field.required or field.default is True, bool(sent)
    if field.control == "choices":
        return bool(sent) or field.required, [_option(field, one) for one in sent]
    if not first.strip():
        return False, None
    if field.control == "select":
        return True, _option(field, first)
    if field.control == "number":
        return True, _as_number(first.strip())
    if field.control == "lines":
        items = field.schema.get("items", {})
        rows = [row for row in first.split("\n") if row.strip()]
        return True, rows if items.get("type") == "string" else [_as_number(row.strip()) for row in rows]
    if field.control == "json":
        return True, json.loads(first)
    return True, _plain_of_several(field.schema, first)


def _plain_of_several(schema: Mapping[str, Any], text: str) -> Any:
    """A number where the schema also allows numbers, else the text itself."""
    kinds = {one.get("type") for one in schema.get("anyOf", ()) if isinstance(one, Mapping)}
    return _as_number(text.strip()) if kinds & {"integer", "number"} else text


def _option(field: Field, text: str) -> Any:
    """The option that is written like this; anything else is passed on."""
    return next((one for one in field.options if _as_text(one) == text), text)


def _as_number(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text
