"""Turn errors of pydantic and jsonschema-rs into messages that name the field and what was expected."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property, partial
from typing import Any, NamedTuple, get_args

from pydantic_core import ErrorDetails
from pydantic_core.core_schema import ErrorType

from dogubako.contract.errors import ValidationError, ValidationErrorContext
from dogubako.contract.schema import type_name

_WORD = re.compile(r"\w+")

# Shorter words are found in every sentence; longer ones are hardly there by chance.
_TELLING_LENGTH = 8

# A sentence that is longer, or data that has more, is not looked through: the answer is then yes.
_LONGEST_SENTENCE = 2_000
_MOST_CHARACTERS = 200_000
_MOST_VALUES = 5_000


def quotes(sentence: str, received: Any) -> bool:
    """Detect whether an error message echoes a value that the caller sent.

    It rather says yes once too often: then a caller reads a plainer sentence.
    """
    return Told(received).is_quoted_in(sentence)


class Told:
    """Received data, whose words are collected once and looked for in several messages."""

    def __init__(self, received: Any) -> None:
        self._received = received

    def at(self, path: Sequence[str | int]) -> Any:
        """The value in this place, which has to be there."""
        value = self._received
        for key in path:
            value = value[key]
        return value

    def is_quoted_in(self, sentence: str) -> bool:
        """Tell whether a message quotes this data."""
        if len(sentence) > _LONGEST_SENTENCE or self._words is None:
            return True
        sentence = sentence.casefold()
        words = set(_WORD.findall(sentence))
        return self._words.are_in(sentence, words)

    @cached_property
    def _words(self) -> "_Words | None":
        """The words to look for, or None if there are too many."""
        values: set[str] = set()
        characters = 0
        for value in _values(self._received):
            values.add(value.casefold())
            characters += len(value)
            if characters > _MOST_CHARACTERS or len(values) > _MOST_VALUES:
                return None
        return _Words(values)


class _Words:
    """The words of some values."""

    def __init__(self, values: set[str]) -> None:
        self._long_values = [value for value in values if len(value) >= _TELLING_LENGTH]
        self._telling: set[str] = set()
        self._heard: set[frozenset[str]] = set()
        for value in values:
            heard = frozenset(_WORD.findall(value))
            self._heard.add(heard)
            self._telling.update(word for word in heard if len(word) >= _TELLING_LENGTH or not word.isalpha())
        self._heard.discard(frozenset())

    def are_in(self, sentence: str, words: set[str]) -> bool:
        return (
            not self._telling.isdisjoint(words)
            or any(heard <= words for heard in self._heard)
            or any(value in sentence for value in self._long_values)
        )


def _values(received: Any) -> Iterator[str]:
    if isinstance(received, Mapping):
        for value in received.values():
            yield from _values(value)
    elif isinstance(received, list | tuple):
        for value in received:
            yield from _values(value)
    elif received is not None and not isinstance(received, bool):
        yield str(received)


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
    """What is wrong with one field. Its message is made only if it is shown."""

    field: str
    explain: Callable[[], ValidationErrorContext]

    @classmethod
    def of(cls, field: str, message: str) -> "Complaint":
        """One whose sentence is known already."""
        return cls(field, partial(ValidationErrorContext, field=field, message=message))


def collected(complaints: Iterable[Complaint], *, is_whole: bool = True) -> ValidationError:
    """One error for all fields: each named once, and a bounded number. `is_whole` says that these are all."""
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


class ValidationMessages:
    """Turns the errors of pydantic and jsonschema-rs into our messages."""

    def __init__(self, schema: Mapping[str, Any], prefix: str = "") -> None:
        self._schema = schema
        self._prefix = (prefix,) if prefix else ()

    def of_model(self, problems: Iterable[ErrorDetails], received: Any) -> Iterator[Complaint]:
        """Convert the errors of pydantic."""
        told = Told(received)
        known = list(problems)
        # A list whose elements are wrong counts as empty; that is no fault of its own.
        wrong_inside = {tuple(problem["loc"][:depth]) for problem in known for depth in range(len(problem["loc"]))}
        for problem in known:
            if problem["type"] == "too_short" and tuple(problem["loc"]) in wrong_inside:
                continue
            path = _real_path(problem["loc"], received, missing=problem["type"] == "missing")
            yield Complaint(self._dotted(path), partial(self._explain_model, problem, path, told))

    def of_schema(self, problems: Iterable[Any]) -> Iterator[Complaint]:
        """Convert the errors of jsonschema-rs."""
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
