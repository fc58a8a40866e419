"""How Redmine reads a filter: which operator it sees in a text, and whether it would use it or forget about it."""

import re
from datetime import date
from typing import Final

_CHOICE: Final = ("=", "!")
_OPTION: Final = ("=", "!", "!*", "*")
_TEXT: Final = ("~", "!~", "^", "$", "!*", "*")
_SPANS: Final = ("t", "ld", "w", "lw", "l2w", "m", "lm", "y")
_PAST: Final = ("=", ">=", "<=", "><", ">t-", "<t-", "><t-", "t-", *_SPANS, "!*", "*")
_DATE: Final = (*_PAST, "<t+", ">t+", "><t+", "t+", "nd", "nw", "nm")
_OPERATORS: Final = {
    "status_id": ("o", "=", "!", "c", "*"),
    "tracker_id": _CHOICE,
    "priority_id": _CHOICE,
    "activity_id": _CHOICE,
    "assigned_to_id": _OPTION,
    "user_id": _OPTION,
    "fixed_version_id": _OPTION,
    "subject": _TEXT,
    "created_on": _PAST,
    "updated_on": _PAST,
    "spent_on": _PAST,
    "due_date": _DATE,
}
_WITHOUT_VALUES: Final = ("o", "c", "!*", "*", "nd", "nw", "nm", *_SPANS)
_DAY: Final = re.compile(r"(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}:\d{2}Z)?", re.ASCII)


def seen(parameter: str, expression: str) -> tuple[str, list[str]]:
    """Operator and values, as Redmine's own reading goes: the last operator in sorted order that begins any line."""
    for operator in sorted(_OPERATORS[parameter], reverse=True):
        if found := re.search(rf"^{re.escape(operator)}(.*)$", expression, re.MULTILINE):
            return operator, _split(found[1]) if found[1].strip() else [""]
    return "=", _split(expression)


def is_used(parameter: str, expression: str) -> bool:
    """Whether every part of the expression counts. A blank or wrong value makes Redmine refuse or forget it."""
    operator, values = seen(parameter, expression)
    if operator in _WITHOUT_VALUES:
        # What stands behind such an operator is not looked at.
        return values == [""] or expression in ("open", "closed")
    if not values or not all(value.strip() for value in values):
        return False
    if parameter == "subject":
        return len(values) == 1 and (operator == "=" or "\n" not in expression)
    if parameter.endswith("_id"):
        return all(value == "me" or value.isdecimal() for value in values)
    if "t" in operator:
        return len(values) == 1 and values[0].isdecimal()
    return len(values) == (2 if operator == "><" else 1) and all(_is_a_day(value) for value in values)


def _split(text: str) -> list[str]:
    return text.split("|")


def _is_a_day(text: str) -> bool:
    if not (found := _DAY.fullmatch(text)):
        return False
    try:
        date.fromisoformat(found[1])
    except ValueError:
        return False
    return True
