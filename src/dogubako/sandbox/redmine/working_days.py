"""Days on which people work: every day but Saturday and Sunday, unless a setting says otherwise."""

from datetime import date, timedelta

from dogubako.sandbox.redmine.store import Store


def _days_off(store: Store) -> set[int]:
    said = store.setting("non_working_week_days")
    return {int(each) for each in said} if said is not None else {6, 7}


def next_working_day(store: Store, day: date) -> date:
    """This day, or the first after it on which people work."""
    off = _days_off(store)
    while day.isoweekday() in off:
        day += timedelta(days=1)
    return day


def working_days_between(store: Store, first: date, last: date) -> int:
    """How many working days there are from the first up to the last, without the last."""
    off = _days_off(store)
    days = (first + timedelta(days=each) for each in range(max((last - first).days, 0)))
    return sum(day.isoweekday() not in off for day in days)


def add_working_days(store: Store, day: date, count: int) -> date:
    """Whole weeks first, then what is left day by day."""
    if count <= 0:
        return day
    off = _days_off(store)
    weeks, left = divmod(count, 7 - len(off))
    there = day + timedelta(weeks=weeks)
    while left > 0:
        there += timedelta(days=1)
        left -= there.isoweekday() not in off
    return next_working_day(store, there)
