"""Validate the parameters of conditions (IF, Filter, Switch) and of assignments (Set)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from dogubako.packs.n8n.nodes.display import is_expression
from dogubako.packs.n8n.nodes.problems import Problem, near_names, quoted
from dogubako.packs.n8n.nodes.value_types import NAMES, in_words, takes

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


_COMBINATORS: Final = ("and", "or")
_UNARY: Final = frozenset({*_ANYTHING, *_SIZE, "true", "false"})
# What the right side of an operation with lists is, where it is no list.
_RIGHT_TYPES: Final[Mapping[str, str]] = {
    **dict.fromkeys(_LENGTHS, "number"),
    **dict.fromkeys(("contains", "notContains"), "any"),
}
_TYPES: Final = "it has to be string, number, boolean, array or object"
_FAILS: Final = "n8n saves it, and fails when it runs the node."
# n8n stops at the first condition that decides.
_MAY_FAIL: Final = "n8n saves it, and fails when it comes to this condition."


def check_filter(value: Any, path: str) -> Iterator[Problem]:
    """`{conditions: [{leftValue, rightValue, operator: {type, operation}}], combinator}`."""
    conditions = value.get("conditions") if isinstance(value, Mapping) else None
    if is_expression(conditions) or value in ({}, None, ""):
        return
    if not isinstance(conditions, list):
        shape = "{conditions: [{leftValue, rightValue, operator: {type, operation}}], combinator: 'and' or 'or'}"
        yield Problem(kind="wrongShape", path=path, message=f"{quoted(path)} has to be {shape}.")
        return
    yield from _check_combinator(value.get("combinator"), f"{path}.combinator")
    options = value.get("options")
    modes = _modes(options if isinstance(options, Mapping) else {})
    for index, condition in enumerate(conditions):
        if isinstance(condition, Mapping):
            place = f"{path}.conditions[{index}]"
            problems = list(_check_operator(condition.get("operator"), f"{place}.operator"))
            yield from problems or _check_sides(condition, place, modes, _MAY_FAIL if index else _FAILS)


def _check_combinator(value: Any, path: str) -> Iterator[Problem]:
    """n8n takes every other text for false, whatever the conditions are."""
    if isinstance(value, str) and value not in _COMBINATORS and not is_expression(value):
        message = f"{quoted(path)} has to be {' or '.join(map(quoted, _COMBINATORS))}: n8n takes all else for false."
        near = tuple(one for one in _COMBINATORS if one == value.strip().lower())
        yield Problem(kind="unknownOption", path=path, message=message, near=near)


def _modes(options: Mapping[str, Any]) -> list[tuple[bool, float]]:
    """In which ways n8n may convert the values of a condition: strictly or not, and by which of its rules."""
    strictness, version = options.get("typeValidation"), options.get("version")
    stricts = [strictness == "strict"] if strictness in ("strict", "loose") else [True, False]
    return [
        (strict, rules) for strict in stricts for rules in ([version] if isinstance(version, int | float) else [1, 3])
    ]


def _check_sides(
    condition: Mapping[str, Any], path: str, modes: Sequence[tuple[bool, float]], then: str
) -> Iterator[Problem]:
    """Written values that n8n cannot compare. What an expression gives is known only when it runs."""
    operator = condition.get("operator")
    if not isinstance(operator, Mapping) or is_expression(operator.get("type")):
        return
    kind, operation = str(operator.get("type")), str(operator.get("operation"))
    for side, wanted in (("leftValue", kind), ("rightValue", str(operator.get("rightType") or kind))):
        value = condition.get(side)
        if is_expression(value) or is_expression(wanted) or (side == "rightValue" and operator.get("singleValue")):
            continue
        if all(_compares(wanted, value, strict, rules) is False for strict, rules in modes):
            advice = _advice(operation, kind, operator) if side == "rightValue" else ""
            has = f"{quoted(f'{path}.{side}')} is {in_words(value)}, and n8n compares {NAMES.get(wanted, wanted)} here"
            yield Problem(kind="wrongShape", path=f"{path}.{side}", message=f"{has}: {advice}{then}", certain=False)


def _compares(kind: str, value: Any, strict: bool, rules: float) -> bool | None:
    if kind == "boolean" and not strict:
        return True
    if kind == "number" and rules >= 3 and (value == [] or (isinstance(value, str) and not value.strip())):
        return True
    return takes(kind, value, strict=strict)


def _advice(operation: str, kind: str, operator: Mapping[str, Any]) -> str:
    if operation in _UNARY:
        return "the operator needs 'singleValue': true. "
    if kind == "array" and "rightType" not in operator and operation in _RIGHT_TYPES:
        return f"the operator needs 'rightType': '{_RIGHT_TYPES[operation]}'. "
    return ""


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


def check_assignments(value: Any, path: str, *, converted: bool | None) -> Iterator[Problem]:
    """`{assignments: [{name, value, type}]}`. `converted`: the node fails where a value is not of its type.

    It is None where nothing is known of how the node uses the types.
    """
    if value in ({}, None, ""):
        return
    rows = value.get("assignments") if isinstance(value, Mapping) else None
    if is_expression(rows):
        return
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) and "name" in row for row in rows):
        message = f"{quoted(path)} has to be {{assignments: [{{name, value, type}}]}}."
        yield Problem(kind="wrongShape", path=path, message=message)
        return
    for index, row in enumerate(rows if converted is not None else ()):
        yield from _check_assignment(row, f"{path}.assignments[{index}]", converted=bool(converted))


def _check_assignment(row: Mapping[str, Any], path: str, *, converted: bool) -> Iterator[Problem]:
    wanted, value = row.get("type"), row.get("value")
    if wanted is None and value is not None:
        message = f"{quoted(f'{path}.type')} is missing: {_TYPES}. {_FAILS}"
        yield Problem(kind="missingParameter", path=f"{path}.type", message=message)
    if converted and isinstance(wanted, str) and not is_expression(value) and takes(wanted, value) is False:
        has = f"{quoted(f'{path}.value')} is {in_words(value)}, and the field has to be {NAMES[wanted]}"
        yield Problem(kind="wrongShape", path=f"{path}.value", message=f"{has}: {_FAILS}", certain=False)
