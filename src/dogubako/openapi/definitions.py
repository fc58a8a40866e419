"""Turn an operation into the definition of a tool: name, schema of flat arguments, and how each of them is sent."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from dogubako.openapi.operations import Body, Operation, Parameter
from dogubako.openapi.schema import Schema

# Where a definition keeps how it is called. Clients never see it.
REQUEST: Final = "dogubako/request"
FIELDS: Final = "fields"
FIELDS_SCHEMA: Final[Schema] = {
    "type": "array",
    "items": {"type": "string"},
    "description": "Only these fields of the answer, such as items.id.",
}
_LONGEST_NAME: Final = 64
_LONGEST_ARGUMENT: Final = 64
_LONGEST_DESCRIPTION: Final = 2_000
_NOT_IN_A_NAME: Final = re.compile(r"[^A-Za-z0-9_-]+")
_NOT_IN_AN_ARGUMENT: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_READS: Final = frozenset({"get", "head"})


class SentArgument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How one argument is sent. `place` is also `body` (the whole body) or `field` (a property of it)."""

    name: str
    place: str
    style: str = "form"
    explode: bool = True
    allow_reserved: bool = False
    is_json: bool = False
    is_file: bool = False
    # Sent as it is, and not an argument of the tool.
    fixed: Any = None


class RequestPlan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a tool becomes a request."""

    method: str
    path: str
    arguments: dict[str, SentArgument]
    body: str = ""
    media_type: str = ""
    security: tuple[tuple[str, ...], ...] = ()
    base: str = ""
    # Used where the caller names no fields.
    fields: tuple[str, ...] = ()
    # Whether the call names the method and the path itself: `generic.py`.
    generic: bool = False
    # Patterns of the paths that such a call may name; all without one.
    paths: tuple[str, ...] = ()


def definitions_of(
    operations: Sequence[Operation], bases: Mapping[int, str], tokens: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The definitions of all tools, with unique and stable names.

    `bases` has the address of each operation, and `tokens` where a security scheme gets a token.
    """
    names = _names(operations)
    return [_definition(one, names[index], bases[index], tokens) for index, one in enumerate(operations)]


def _names(operations: Sequence[Operation]) -> list[str]:
    """A name for each operation. Of equal ones, all but the first by path and method are numbered."""
    wanted = [_name(one) for one in operations]
    taken, names = Counter(wanted), list(wanted)
    for name in [one for one, count in taken.items() if count > 1]:
        same = sorted((one.path, one.method, index) for index, one in enumerate(operations) if wanted[index] == name)
        for number, (_, _, index) in enumerate(same[1:], start=2):
            while (numbered := f"{name[: _LONGEST_NAME - 1 - len(str(number))]}_{number}") in names:
                number += 1  # noqa: PLW2901 - another operation has that name already
            names[index] = numbered
    return names


def _name(operation: Operation) -> str:
    name = _NOT_IN_A_NAME.sub("_", operation.operation_id).strip("_-")
    if not name or not name[0].isalpha():
        readable = operation.path.replace("{", "by_").replace("}", "")
        name = _NOT_IN_A_NAME.sub("_", f"{operation.method}_{readable.lstrip('/')}").strip("_-")
    return name[:_LONGEST_NAME]


def _definition(operation: Operation, name: str, base: str, tokens: Mapping[str, str]) -> dict[str, Any]:
    properties, required, sent = _arguments(operation)
    if operation.method == "get" and FIELDS not in properties:
        properties[FIELDS] = FIELDS_SCHEMA
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    plan = RequestPlan(
        method=operation.method,
        path=operation.path,
        arguments=sent,
        body=operation.body.kind if operation.body else "",
        media_type=operation.body.media_type if operation.body else "",
        security=operation.security,
        base=base,
    )
    return {
        "name": name,
        "description": _description(operation, base, tokens),
        "inputSchema": schema | ({"required": required} if required else {}),
        "annotations": annotations_of(operation.method),
        "_meta": {REQUEST: msgspec.to_builtins(plan)},
    }


def annotations_of(method: str) -> dict[str, bool]:
    """What a method says of the effect of a request."""
    return {
        "readOnlyHint": method in _READS,
        "destructiveHint": method == "delete",
        "idempotentHint": method in {*_READS, "put", "delete"},
    }


def _description(operation: Operation, base: str, tokens: Mapping[str, str]) -> str:
    """What it does, and which request it makes: a change of either has to be approved."""
    texts = dict.fromkeys(text for text in (operation.summary, operation.description) if text)
    words = "\n".join(texts)[:_LONGEST_DESCRIPTION]
    marks = "Deprecated. " if operation.deprecated else ""
    request = f"{operation.method.upper()} {base}{operation.path}"
    # A list shows the first line: without words it is the request.
    return f"{marks}{words}{chr(10) if words else ''}{request}{tokens_from(operation.security, tokens)}"


def tokens_from(security: Sequence[Sequence[str]], tokens: Mapping[str, str]) -> str:
    """Where a request gets its token: a part of what is approved, because the client's secret is sent there."""
    needed = dict.fromkeys(tokens[name] for group in security for name in group if name in tokens)
    return f" with a token of {', '.join(needed)}" if needed else ""


def _arguments(operation: Operation) -> tuple[dict[str, Schema], list[str], dict[str, SentArgument]]:
    properties: dict[str, Schema] = {}
    sent: dict[str, SentArgument] = {}
    required: list[str] = []

    def add(wanted: str, schema: Schema, argument: SentArgument, *, is_required: bool) -> None:
        name = _free(wanted, argument.place, properties)
        properties[name], sent[name] = schema, argument
        if is_required:
            required.append(name)

    for one in operation.parameters:
        add(one.name, _described(one), _sent(one), is_required=one.required)
    body = operation.body
    if body is None:
        return properties, required, sent
    if _is_flat(body, set(properties)):
        needed = set(body.schema.get("required", [])) if body.required else set()
        for name, schema in body.schema["properties"].items():
            is_file = body.kind == "multipart" and schema.get("format") == "binary"
            argument = SentArgument(name=name, place="field", is_file=is_file)
            add(name, _as_path(schema) if is_file else schema, argument, is_required=name in needed)
    else:
        is_file = body.kind == "bytes"
        schema = _as_path(body.schema) if is_file else body.schema
        if body.description and "description" not in schema:
            schema = {**schema, "description": body.description}
        add("body", schema, SentArgument(name="body", place="body", is_file=is_file), is_required=body.required)
    return properties, required, sent


def _free(wanted: str, place: str, taken: Mapping[str, Any]) -> str:
    """A name that clients accept and that no other argument has."""
    name = _NOT_IN_AN_ARGUMENT.sub("_", wanted)[:_LONGEST_ARGUMENT] or place
    if name in taken:
        name = f"{name[: _LONGEST_ARGUMENT - len(place) - 1]}_{place}"
    number = 2
    while name in taken:
        name, number = f"{name[: _LONGEST_ARGUMENT - 4]}_{number}", number + 1
    return name


def _described(one: Parameter) -> Schema:
    return {**one.schema, "description": one.description} if one.description else one.schema


def _sent(one: Parameter) -> SentArgument:
    return SentArgument(
        name=one.name,
        place=one.place,
        style=one.style,
        explode=one.explode,
        allow_reserved=one.allow_reserved,
        is_json=one.is_json,
    )


def _is_flat(body: Body, taken: set[str]) -> bool:
    """Whether the properties of the body can be arguments of their own."""
    properties = body.schema.get("properties")
    if not isinstance(properties, dict) or not properties or body.kind in ("text", "bytes"):
        return False
    unclear = {"oneOf", "anyOf", "allOf", "not"} & body.schema.keys()
    # Others than the described ones can only be given in a body as a whole.
    open_ended = (
        isinstance(body.schema.get("additionalProperties"), dict) or body.schema.get("additionalProperties") is True
    )
    is_object = body.schema.get("type", "object") == "object"
    return is_object and not unclear and not open_ended and not (taken & properties.keys())


def _as_path(schema: Schema) -> Schema:
    text = schema.get("description", "")
    note = "Path of a file in the folders of DOGUBAKO_FILES."
    return {"type": "string", "description": f"{text} {note}".strip()}
