"""Check when a Schedule Trigger runs. n8n publishes one whose rule it cannot read, and never runs it.

The rules are those of the library that n8n uses: five or six fields, English names of months and days.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, Final

from dogubako.packs.n8n.nodes.display import is_expression
from dogubako.packs.n8n.nodes.problems import Problem, parameters_of, quoted

JsonObject = Mapping[str, Any]

_SCHEDULE: Final = "n8n-nodes-base.scheduleTrigger"
_FIELDS: Final = (
    ("second", 0, 59),
    ("minute", 0, 59),
    ("hour", 0, 23),
    ("day of the month", 1, 31),
    ("month", 1, 12),
    ("day of the week", 0, 7),
)
_MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec".split()  # noqa: SIM905 - it reads best so
_DAYS: Final = "sun mon tue wed thu fri sat".split()  # noqa: SIM905 - as above
_NAMES: Final = {name: str(number) for number, name in [*enumerate(_MONTHS, 1), *enumerate(_DAYS)]}
_PRESETS: Final = frozenset(
    f"@{one}"
    for one in ("yearly", "monthly", "weekly", "daily", "hourly", "minutely", "secondly", "weekdays", "weekends")
)
_LETTERS: Final = re.compile(r"[a-z]{1,3}")
_RANGE: Final = re.compile(r"([0-9]+)(?:-([0-9]+))?(?:/([0-9]+))?")


# Of a rule without a cron text: what n8n reads beside the step, with the lowest and the highest value.
_TIMES: Final[Mapping[str, Mapping[str, tuple[int, int]]]] = {
    "hours": {"triggerAtMinute": (0, 59)},
    "days": {"triggerAtHour": (0, 23), "triggerAtMinute": (0, 59)},
    "weeks": {"triggerAtHour": (0, 23), "triggerAtMinute": (0, 59)},
    "months": {"triggerAtDayOfMonth": (1, 31), "triggerAtHour": (0, 23), "triggerAtMinute": (0, 59)},
}
_HIGHEST_STEP: Final[Mapping[str, int]] = {"seconds": 59, "minutes": 59, "hours": 23, "days": 31}
# Since this version n8n refuses steps beyond the highest. Before it, a step of 0 minutes is taken for 1.
_STEPS_CHECKED_SINCE: Final = 1.3
_ONLY_ZERO: Final = ("hours", "days", "weeks", "months")


def check_schedules(nodes: Sequence[JsonObject]) -> Iterator[Problem]:
    for node in nodes:
        rule, version = parameters_of(node).get("rule"), node.get("typeVersion", 1)
        rows = rule.get("interval") if isinstance(rule, Mapping) else None
        if node.get("type") != _SCHEDULE or not isinstance(rows, list) or not isinstance(version, int | float):
            continue
        for index, row in enumerate(rows):
            for name, fault in _faults(row, version) if isinstance(row, Mapping) else ():
                path = f"rule.interval[{index}].{name}"
                message = f"{quoted(path)} {fault}: n8n saves and publishes it, and never runs it."
                yield Problem(kind="unknownOption", path=path, message=message, certain=False).of(str(node.get("name")))


def _faults(row: JsonObject, version: float) -> Iterator[tuple[str, str]]:
    """Names of values, and why n8n cannot work with them."""
    field = row.get("field", "days")
    if field == "cronExpression":
        text = row.get("expression", "")
        fault = cron_fault(text) if isinstance(text, str) and not is_expression(text) else None
        yield from [("expression", fault)] if fault is not None else ()
        return
    step = _number(row.get(f"{field}Interval"))
    if step is not None and (fault := _step_fault(str(field), step, version)):
        yield f"{field}Interval", fault
    for name, (low, high) in _TIMES.get(str(field), {}).items():
        value = _number(row.get(name))
        if value is not None and not (low <= value <= high and value == int(value)):
            yield name, f"has to be {low} to {high}"


def _step_fault(field: str, step: float, version: float) -> str | None:
    highest = _HIGHEST_STEP.get(field)
    if version >= _STEPS_CHECKED_SINCE and field != "weeks":
        if step < 1 or (highest is not None and step > highest):
            return f"has to be 1 to {highest}" if highest is not None else "has to be at least 1"
        return None
    never = step < 1 if field == "seconds" else step == 0 and field in _ONLY_ZERO
    return "has to be at least 1" if never else None


def _number(value: Any) -> float | None:
    """A number as n8n takes it, also from a text; None for an expression and everything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if isfinite(number) else None


def cron_fault(text: str) -> str | None:
    """Why n8n cannot read a cron text."""
    text = text.lower()
    if text in _PRESETS:
        return None
    for word in re.findall(r"[a-z]+", text):
        if not all(part in _NAMES for part in _LETTERS.findall(word)):
            return f"has {quoted(word)}, which no cron text has"
    units = _LETTERS.sub(lambda found: _NAMES[found[0]], text).split()
    if len(units) not in (5, 6):
        return f"has {len(units)} fields, and a cron text has 5 (minute hour day month weekday) or 6 (second first)"
    checked = zip(units, _FIELDS[-len(units) :], strict=True)
    return next((fault for unit, field in checked if (fault := _field_fault(unit, *field))), None)


def _field_fault(unit: str, name: str, low: int, high: int) -> str | None:
    for part in unit.split(","):
        found = _RANGE.fullmatch(part.replace("*", f"{low}-{high}"))
        if found is None or "*" in part[1:]:
            return f"has {quoted(part)} as {name}, which cannot be read"
        first, last, step = (None if one is None else int(one) for one in found.groups())
        assert first is not None
        if step == 0 or first < low or (last or first) > high or first > (last if last is not None else first):
            return f"has {quoted(part)} as {name}, which has to be {low} to {high}"
    return None
