"""What is wrong with an argument, in one sentence that names the field and what was expected of it."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from pydantic_core import ErrorDetails

from dogubako.contract.errors import ValidationErrorContext
from dogubako.contract.schema import type_name

# pydantic's names for "this is of another type", apart from those that end in `_type` or `_parsing`.
_TYPE_ERRORS = frozenset({"int_from_float", "is_instance_of", "none_required", "list_type", "dict_type"})
_SCHEMA_KEYWORD_TYPE = "type"


class Complaints:
    """Turns the findings of pydantic and of jsonschema-rs into our sentences."""

    def __init__(self, schema: Mapping[str, Any], prefix: str = "") -> None:
        self._schema = schema
        self._prefix = (prefix,) if prefix else ()

    def of_model(self, problem: ErrorDetails, received: Any) -> ValidationErrorContext:
        path = _real_path(problem["loc"], received)
        field, kind = self._dotted(path), problem["type"]
        if kind == "missing":
            return _missing(field)
        if kind == "extra_forbidden":
            return self._unknown(path)
        if kind.endswith(("_type", "_parsing")) or kind in _TYPE_ERRORS:
            return self._mistyped(path, problem["input"])
        return _refused(field, _without_value(problem["msg"], problem["input"]))

    def of_schema(self, problem: Any) -> ValidationErrorContext:
        path: Sequence[str | int] = tuple(problem.instance_path)
        keyword = problem.schema_path[-1] if problem.schema_path else ""
        kind = type(problem.kind).__name__.rsplit("_", 1)[-1]
        if kind == "Required":
            return _missing(self._dotted((*path, problem.kind.property)))
        if kind in ("AdditionalProperties", "UnevaluatedProperties"):
            return self._unknown((*path, problem.kind.unexpected[0]))
        if kind == "Type" or keyword == _SCHEMA_KEYWORD_TYPE:
            return self._mistyped(path, problem.instance)
        return _refused(self._dotted(path) or "parameters", problem.message)

    def _mistyped(self, path: Sequence[str | int], received: Any) -> ValidationErrorContext:
        field = self._dotted(path) or "parameters"
        expected = type_name(self._at(path))
        return ValidationErrorContext(
            field=field,
            message=f"Invalid type for parameter {field}: expected {expected}",
            expected_type=expected,
            received_type=_json_type(received),
        )

    def _unknown(self, path: Sequence[str | int]) -> ValidationErrorContext:
        # An argument's name is shown only where it cannot be a misplaced value.
        name = str(path[-1])
        near = get_close_matches(name[:64], list(self._at(path[:-1]).get("properties", {})), n=1)
        suggestion = f" (did you mean {near[0]}?)" if near else ""
        field = self._dotted((*path[:-1], name[:64]))
        return ValidationErrorContext(field=field, message=f"Unknown parameter: {field}{suggestion}")

    def _dotted(self, path: Sequence[str | int]) -> str:
        return ".".join(str(key) for key in (*self._prefix, *path))

    def _at(self, path: Sequence[str | int]) -> Mapping[str, Any]:
        """The schema of a field, as far down as it can be followed."""
        node: Any = self._schema
        for key in path:
            if isinstance(key, int):
                node = node.get("items", {})
            else:
                node = node.get("properties", {}).get(key) or node.get("additionalProperties") or {}
            if not isinstance(node, Mapping):
                return {}
        return node if isinstance(node, Mapping) else {}


def _missing(field: str) -> ValidationErrorContext:
    return ValidationErrorContext(field=field, message=f"Required parameter missing: {field}")


def _refused(field: str, constraint: str) -> ValidationErrorContext:
    constraint = constraint[:1].lower() + constraint[1:]
    return ValidationErrorContext(
        field=field, message=f"Invalid value for parameter {field}: {constraint}", constraint=constraint
    )


def _real_path(loc: Sequence[str | int], received: Any) -> tuple[str | int, ...]:
    """pydantic puts the names of union members into the path; what the caller did not write is not a field."""
    path: list[str | int] = []
    for position, key in enumerate(loc):
        known = isinstance(received, Mapping) and key in received
        known = known or (isinstance(received, list) and isinstance(key, int) and key < len(received))
        last = position == len(loc) - 1
        if known:
            received = received[key]
        elif not (last and isinstance(received, Mapping)):
            continue
        path.append(key)
    return tuple(path)


def _without_value(message: str, received: Any) -> str:
    """A check written by a tool's author may quote what it got; then only the fact remains."""
    quoted = str(received)
    if len(quoted) > 2 and quoted in message:
        return "the value is not allowed"
    return message.removeprefix("Value error, ")


def _json_type(value: Any) -> str:
    if value is None:
        return "null"
    names: dict[type, str] = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return names.get(type(value), "object")
