"""Times of a Schedule Trigger that n8n publishes and never runs."""

from typing import Any

import pytest

from dogubako.packs.n8n.nodes.schedules import check_schedules

from .checked import node


def faults(version: float, **row: Any) -> list[str]:
    rule = {"rule": {"interval": [{"field": "hours"}, row]}}
    found = list(check_schedules([node("Clock", "scheduleTrigger", version, parameters=rule)]))
    assert not any(one.certain for one in found)
    return [f"{one.path} {one.message}" for one in found]


@pytest.mark.parametrize(
    ("version", "row", "says"),
    [
        (1.2, {"field": "seconds", "secondsInterval": 0}, "secondsInterval' has to be at least 1"),
        (1.2, {"field": "seconds", "secondsInterval": -1}, "secondsInterval' has to be at least 1"),
        (1.3, {"field": "minutes", "minutesInterval": 0}, "minutesInterval' has to be 1 to 59"),
        (1.3, {"field": "seconds", "secondsInterval": 90}, "secondsInterval' has to be 1 to 59"),
        (1.3, {"field": "hours", "hoursInterval": "30"}, "hoursInterval' has to be 1 to 23"),
        (1.3, {"field": "months", "monthsInterval": 0}, "monthsInterval' has to be at least 1"),
        (1.2, {"field": "hours", "hoursInterval": 0}, "hoursInterval' has to be at least 1"),
        (1.3, {"field": "weeks", "weeksInterval": 0}, "weeksInterval' has to be at least 1"),
        (1.2, {"field": "days", "triggerAtHour": 5, "triggerAtMinute": 75}, "triggerAtMinute' has to be 0 to 59"),
        (1.2, {"triggerAtHour": 25}, "triggerAtHour' has to be 0 to 23"),
        (1.1, {"field": "hours", "triggerAtMinute": -1}, "triggerAtMinute' has to be 0 to 59"),
        (1.1, {"field": "days", "triggerAtMinute": 5.5}, "triggerAtMinute' has to be 0 to 59"),
        (1.2, {"field": "months", "triggerAtDayOfMonth": 40}, "triggerAtDayOfMonth' has to be 1 to 31"),
        (1.2, {"field": "months", "triggerAtDayOfMonth": 0}, "triggerAtDayOfMonth' has to be 1 to 31"),
        (1.2, {"field": "cronExpression", "expression": "0 25 * * *"}, "expression' has '25' as hour"),
    ],
)
def test_a_time_that_never_comes_is_told(version: float, row: dict[str, Any], says: str) -> None:
    (found,) = faults(version, **row)

    assert found.startswith("rule.interval[1].")
    assert says in found


@pytest.mark.parametrize(
    ("version", "row"),
    [
        (1.3, {}),
        (1.3, {"field": "seconds", "secondsInterval": 59}),
        (1.2, {"field": "minutes", "minutesInterval": 0}),
        (1.2, {"field": "minutes", "minutesInterval": 90}),
        (1.2, {"field": "hours", "hoursInterval": 30}),
        (1.3, {"field": "days", "triggerAtHour": 0, "triggerAtMinute": 59}),
        (1.3, {"field": "months", "triggerAtDayOfMonth": 31, "triggerAtMinute": "30"}),
        (1.3, {"field": "minutes", "minutesInterval": "={{ 5 }}"}),
        (1.3, {"field": "days", "triggerAtDayOfMonth": 40, "secondsInterval": 0}),
        (1.3, {"field": "weeks", "triggerAtDay": [1, 5], "triggerAtMinute": None}),
        (1.3, {"field": "hours", "hoursInterval": "NaN"}),
        (1.2, {"field": "cronExpression", "expression": "*/5 * * * *"}),
    ],
)
def test_a_good_time_is_left_alone(version: float, row: dict[str, Any]) -> None:
    assert faults(version, **row) == []
