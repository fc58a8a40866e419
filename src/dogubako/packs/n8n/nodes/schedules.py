"""Check when a Schedule Trigger runs. n8n publishes one whose cron text it cannot read, and never runs it.

The rules are those of the library that n8n uses: five or six fields, English names of months and days.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
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


def check_schedules(nodes: Sequence[JsonObject]) -> Iterator[Problem]:
    for node in nodes:
        rule = parameters_of(node).get("rule")
        rows = rule.get("interval") if isinstance(rule, Mapping) else None
        if node.get("type") != _SCHEDULE or not isinstance(rows, list):
            continue
        for index, row in enumerate(rows):
            if not isinstance(row, Mapping) or row.get("field") != "cronExpression":
                continue
            text, path = row.get("expression", ""), f"rule.interval[{index}].expression"
            fault = cron_fault(text) if isinstance(text, str) and not is_expression(text) else None
            if fault is not None:
                message = f"{quoted(path)} {fault}: n8n saves and publishes it, and never runs it."
                yield Problem(kind="wrongShape", node=str(node.get("name")), path=path, message=message, certain=False)


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
