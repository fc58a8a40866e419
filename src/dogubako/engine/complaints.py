"""What is wrong with an argument, in one sentence that names the field and what was expected of it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any, NamedTuple, get_args

from pydantic_core import ErrorDetails
from pydantic_core.core_schema import ErrorType

from dogubako.contract.errors import ValidationError, ValidationErrorContext
from dogubako.contract.schema import type_name
from dogubako.engine.quoting import Told

# pydantic's names for "this is of another type", apart from those that end in `_type` or `_parsing`.
_TYPE_ERRORS = frozenset({"int_from_float", "is_instance_of", "none_required"})

# pydantic's own sentences tell what it wanted. A check written by a tool's author may quote what it got.
_TELL_NO_VALUE = frozenset(get_args(ErrorType)) - {"value_error", "assertion_error"}

_NOT_ALLOWED = "the value is not allowed"

_LONGEST_NAME = 64
_LONGEST_PATH = 200
_MOST_SHOWN = 20
# A sentence, with its suggestion, is made for so many findings at most. Several may be about one field.
MOST_EXAMINED = 100

Path = Sequence[str | int]


class Complaint(NamedTuple):
    """What is wrong with one field. Its sentence is made only if it is shown."""

    field: str
    explain: Callable[[], ValidationErrorContext]

    @classmethod
    def of(cls, field: str, message: str) -> "Complaint":
        """One whose sentence is known already."""
        return cls(field, partial(ValidationErrorContext, field=field, message=message))


def collected(complaints: Iterable[Complaint], *, is_whole: bool = True) -> ValidationError:
    """One error for all fields: each said once, and a flood cut short. `is_whole` says that these are all."""
    shown: dict[str, ValidationErrorContext] = {}
    others: set[str] = set()
    for number, complaint in enumerate(complaints):
        if len(shown) < _MOST_SHOWN and number < MOST_EXAMINED:
            context = complaint.explain()
            shown.setdefault(context.message, context)
        else:
            others.add(complaint.field)
    others -= {context.field for context in shown.values()}
    if not is_whole:
        return ValidationError(list(shown.values()), hint="Many more fields are wrong too.")
    return ValidationError(list(shown.values()), hint=f"{len(others)} more fields are wrong too." if others else None)


class Complaints:
    """Turns the findings of pydantic and of jsonschema-rs into our sentences."""

    def __init__(self, schema: Mapping[str, Any], prefix: str = "") -> None:
        self._schema = schema
        self._prefix = (prefix,) if prefix else ()

    def of_model(self, problems: Iterable[ErrorDetails], received: Any) -> Iterator[Complaint]:
        """What pydantic found."""
        told = Told(received)
        for problem in problems:
            path = _real_path(problem["loc"], received, missing=problem["type"] == "missing")
            yield Complaint(self._dotted(path), partial(self._explain_model, problem, path, told))

    def of_schema(self, problems: Iterable[Any]) -> Iterator[Complaint]:
        """What jsonschema-rs found."""
        for problem in problems:
            kind = type(problem.kind).__name__.rsplit("_", 1)[-1]
            path: Path = tuple(problem.instance_path)
            if kind == "Required":
                path = (*path, problem.kind.property)
                yield Complaint(self._dotted(path), partial(self._missing, path))
            elif kind in ("AdditionalProperties", "UnevaluatedProperties"):
                for name in problem.kind.unexpected:
                    yield Complaint(self._dotted((*path, name)), partial(self._unknown, (*path, name)))
            else:
                yield Complaint(self._dotted(path), partial(self._explain_schema, problem, kind, path))

    def _explain_model(self, problem: ErrorDetails, path: Path, told: Told) -> ValidationErrorContext:
        kind, said = problem["type"], problem["msg"]
        if kind == "missing":
            return self._missing(path)
        if kind == "extra_forbidden":
            return self._unknown(path)
        if kind == "union_tag_invalid":
            return self._refused(path, _expected_tags(problem))
        if kind.endswith(("_type", "_parsing")) or kind in _TYPE_ERRORS:
            return self._mistyped(path, problem["input"] if "input" in problem else told.at(path))
        if kind not in _TELL_NO_VALUE and told.is_quoted_in(said):
            return self._refused(path, _NOT_ALLOWED)
        return self._refused(path, said.removeprefix("Value error, ").removeprefix("Assertion failed, "))

    def _explain_schema(self, problem: Any, kind: str, path: Path) -> ValidationErrorContext:
        if kind == "Type":
            return self._mistyped(path, problem.instance)
        if kind == "PropertyNames":
            return self._refused(path, "a name in it is not allowed")
        if kind == "FalseSchema":
            return self._refused(path, "nothing is allowed here")
        return self._refused(path, problem.message)

    def _missing(self, path: Path) -> ValidationErrorContext:
        field = self._dotted(path)
        return ValidationErrorContext(field=field, message=f"Required parameter missing: {field}")

    def _refused(self, path: Path, constraint: str) -> ValidationErrorContext:
        field = self._dotted(path)
        # `URL scheme …` keeps its capitals.
        constraint = constraint if constraint[1:2].isupper() else constraint[:1].lower() + constraint[1:]
        message = f"Invalid value for parameter {field}: {constraint}"
        return ValidationErrorContext(field=field, message=message, constraint=constraint)

    def _mistyped(self, path: Path, received: Any) -> ValidationErrorContext:
        expected, found, schema = type_name(self._at(path)), _json_type(received), self._at(path)
        if expected == found and "format" in schema:
            return self._refused(path, f"must be a {expected} of format {schema['format']}")
        field = self._dotted(path)
        return ValidationErrorContext(
            field=field,
            message=f"Invalid type for parameter {field}: expected {expected}",
            expected_type=expected,
            received_type=found,
        )

    def _unknown(self, path: Path) -> ValidationErrorContext:
        name = str(path[-1])[:_LONGEST_NAME]
        near = get_close_matches(name, list(self._at(path[:-1]).get("properties", {})), n=1)
        suggestion = f" (did you mean {near[0]}?)" if near else ""
        field = self._dotted(path)
        return ValidationErrorContext(field=field, message=f"Unknown parameter: {field}{suggestion}")

    def _dotted(self, path: Path) -> str:
        # The caller wrote these names, and may have written a very long one, or very many.
        dotted = ".".join(str(key)[:_LONGEST_NAME] for key in (*self._prefix, *path)) or "parameters"
        return dotted if len(dotted) <= _LONGEST_PATH else f"{dotted[:_LONGEST_PATH]}…"

    def _at(self, path: Path) -> Mapping[str, Any]:
        """The schema of a field, as far down as it can be followed."""
        node: Mapping[str, Any] = self._schema
        for key in path:
            members = (node, *node.get("anyOf", ()), *node.get("oneOf", ()))
            node = next((found for one in members if (found := _child(one, key))), {})
        return node


def _child(node: Any, key: str | int) -> Mapping[str, Any]:
    if not isinstance(node, Mapping):
        return {}
    if isinstance(key, int):
        first = node.get("prefixItems", ())
        found = first[key] if key < len(first) else node.get("items")
    else:
        found = node.get("properties", {}).get(key) or node.get("additionalProperties")
    return found if isinstance(found, Mapping) else {}


def _real_path(loc: Path, received: Any, *, missing: bool) -> Path:
    """pydantic puts the names of union members into the path; what the caller did not write is not a field."""
    path: list[str | int] = []
    for position, key in enumerate(loc):
        known = isinstance(received, Mapping) and key in received
        known = known or (isinstance(received, list) and isinstance(key, int) and key < len(received))
        if known:
            received = received[key]
        elif not (missing and position == len(loc) - 1):
            continue
        path.append(key)
    return path


def _expected_tags(problem: ErrorDetails) -> str:
    """pydantic's own sentence quotes the tag that it got."""
    context = problem.get("ctx")
    return f"{context['discriminator']} should be one of {context['expected_tags']}" if context else _NOT_ALLOWED


def _json_type(value: Any) -> str:
    if value is None:
        return "null"
    names: dict[type, str] = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return names.get(type(value), "object")
