"""Validate the parameters of conditions (IF, Filter, Switch) and of assignments (Set)."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dogubako.packs.n8n.nodes.display import is_expression
from dogubako.packs.n8n.nodes.problems import Problem, near_names, quoted

_ANYTHING: Final = ("exists", "notExists")
_SIZE: Final = ("empty", "notEmpty")
_EQUAL: Final = ("equals", "notEquals")
_ORDER: Final = ("gt", "lt", "gte", "lte")
_DATES: Final = ("after", "before", "afterOrEquals", "beforeOrEquals")
_LENGTHS: Final = ("lengthEquals", "lengthNotEquals", "lengthGt", "lengthLt", "lengthGte", "lengthLte")
_TEXT: Final = ("contains", "startsWith", "endsWith", "regex")
_NOT_TEXT: Final = ("notContains", "notStartsWith", "notEndsWith", "notRegex")
_OPERATIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "string": (*_ANYTHING, *_SIZE, *_EQUAL, *_TEXT, *_NOT_TEXT),
    "number": (*_ANYTHING, *_SIZE, *_EQUAL, *_ORDER),
    "dateTime": (*_ANYTHING, *_SIZE, *_EQUAL, *_DATES),
    "boolean": (*_ANYTHING, *_SIZE, *_EQUAL, "true", "false"),
    "array": (*_ANYTHING, *_SIZE, "contains", "notContains", *_LENGTHS),
    "object": (*_ANYTHING, *_SIZE),
}
_ALL_OPERATIONS: Final = frozenset(name for names in _OPERATIONS.values() for name in names)


def check_filter(value: Any, path: str) -> Iterator[Problem]:
    """`{conditions: [{leftValue, rightValue, operator: {type, operation}}], combinator}`."""
    conditions = value.get("conditions") if isinstance(value, Mapping) else None
    if is_expression(conditions) or value in ({}, None, ""):
        return
    if not isinstance(conditions, list):
        shape = "{conditions: [{leftValue, rightValue, operator: {type, operation}}], combinator: 'and' or 'or'}"
        yield Problem(kind="wrongShape", path=path, message=f"{quoted(path)} has to be {shape}.")
        return
    for index, condition in enumerate(conditions):
        if isinstance(condition, Mapping):
            yield from _check_operator(condition.get("operator"), f"{path}.conditions[{index}].operator")


def _check_operator(operator: Any, path: str) -> Iterator[Problem]:
    if is_expression(operator):
        return
    if not isinstance(operator, Mapping) or "operation" not in operator:
        message = f"{quoted(path)} has to be {{type: 'string', operation: 'equals'}} or the like."
        yield Problem(kind="wrongShape", path=path, message=message)
        return
    kind, operation = str(operator.get("type")), str(operator["operation"])
    known = _OPERATIONS.get(kind)
    if is_expression(operation) or kind == "any":
        return
    if known is None or operation not in known:
        # The value type may be one that came later. An operation of another type is told, but does not refuse.
        certain = operation not in _ALL_OPERATIONS
        names = known or tuple(_OPERATIONS)
        near = near_names(operation, known) if known else near_names(kind, _OPERATIONS)
        message = f"{quoted(path)}: n8n compares no {kind[:40]} like this. It may be: {', '.join(names)}."
        yield Problem(
            kind="unknownOption", path=path, message=message, near=near, certain=certain and known is not None
        )


def check_assignments(value: Any, path: str) -> Iterator[Problem]:
    """`{assignments: [{name, value, type}]}`."""
    if value in ({}, None, ""):
        return
    rows = value.get("assignments") if isinstance(value, Mapping) else None
    if is_expression(rows):
        return
    named = isinstance(rows, list) and all(isinstance(row, Mapping) and "name" in row for row in rows)
    if not named:
        message = f"{quoted(path)} has to be {{assignments: [{{name, value, type}}]}}."
        yield Problem(kind="wrongShape", path=path, message=message)
