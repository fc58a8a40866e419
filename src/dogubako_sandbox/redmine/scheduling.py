"""Derived dates: an issue moves after those that precede it, and a parent spans its children."""

from datetime import date, timedelta
from fractions import Fraction
from typing import Final

from dogubako_sandbox.redmine.journals import Detail, write_journal
from dogubako_sandbox.redmine.request import ApiRequest
from dogubako_sandbox.redmine.store import Row, Store, now_text, to_date
from dogubako_sandbox.redmine.trees import children_of, descendants_of, is_closed, leaves_of

_DAYS_OFF: Final = (6, 7)


def _next_working_day(day: date) -> date:
    while day.isoweekday() in _DAYS_OFF:
        day += timedelta(days=1)
    return day


def _working_days(first: date | None, last: date | None) -> int:
    """Count the working days from the first up to the last, without the last."""
    if first is None or last is None:
        return 0
    days = (first + timedelta(days=each) for each in range((last - first).days))
    return sum(day.isoweekday() not in _DAYS_OFF for day in days)


def _add_working_days(day: date, count: int) -> date:
    """Go on by whole weeks first, then day by day."""
    weeks, left = divmod(count, 7 - len(_DAYS_OFF))
    there = day + timedelta(weeks=weeks)
    while left > 0:
        there += timedelta(days=1)
        left -= there.isoweekday() not in _DAYS_OFF
    return _next_working_day(there) if count > 0 else day


def day_of(issue: Row, name: str) -> date | None:
    return to_date(issue[name]) if issue.get(name) else None


def _earliest_by(store: Store, relation: Row) -> date | None:
    """Return the first day that a precedence leaves to the issue that follows."""
    if relation["relation_type"] != "precedes" or relation.get("delay") is None:
        return None
    before = store["issues"].at(relation["issue_from_id"])
    last = day_of(before, "due_date") or day_of(before, "start_date")
    return _add_working_days(last, 1 + relation["delay"]) if last else None


def soonest_start(store: Store, issue: Row) -> date | None:
    """Return the first day that is left by all that precedes the issue or one of its parents."""
    rows = store["issue_relations"].where(issue_to_id=issue["id"]) if "id" in issue else []
    days = [_earliest_by(store, row) for row in rows]
    if issue.get("parent_id"):
        days.append(soonest_start(store, store["issues"].at(issue["parent_id"])))
    return max((day for day in days if day), default=None)


def reschedule_followers(req: ApiRequest, issue: Row, *, journal: bool) -> None:
    for relation in req.store["issue_relations"].where(issue_from_id=issue["id"]):
        apply_precedence(req, relation, journal=journal)


def apply_precedence(req: ApiRequest, relation: Row, *, journal: bool = True) -> Row | None:
    """Move the issue that follows; return the entry in its history, if there is one."""
    day = _earliest_by(req.store, relation)
    return _move_to(req, req.store["issues"].at(relation["issue_to_id"]), day, journal=journal) if day else None


def _move_to(req: ApiRequest, issue: Row, day: date, *, journal: bool) -> Row | None:
    """Let an issue start on this day and last as long as before; a parent moves with the issues below it."""
    start = day_of(issue, "start_date")
    if children_of(req.store, issue):
        for leaf in leaves_of(req.store, issue):
            begins = day_of(leaf, "start_date")
            if begins is None or begins == start or day > begins:
                _move_to(req, leaf, day, journal=False)
        return None
    if start == day:
        return None
    if start and start > day:
        day = max(soonest_start(req.store, issue) or day, day)
    return _set_dates(req, issue, _next_working_day(day), journal=journal)


def _set_dates(req: ApiRequest, issue: Row, start: date, *, journal: bool) -> Row | None:
    lasting = _working_days(day_of(issue, "start_date"), day_of(issue, "due_date"))
    changes = {"due_date": _add_working_days(start, lasting).isoformat(), "start_date": start.isoformat()}
    details: list[Detail] = [
        ("attr", name, issue.get(name), new) for name, new in changes.items() if issue.get(name) != new
    ]
    if not details and not journal:
        return None
    touch(issue, **changes)
    reschedule_followers(req, issue, journal=journal)
    derive_parents(req, issue.get("parent_id"))
    return write_journal(req, issue, details) if journal else None


def touch(issue: Row, **changes: object) -> None:
    """Save a change with what every saved change brings along."""
    issue.update(changes, updated_on=now_text(), lock_version=issue.get("lock_version", 0) + 1)


def derive_parents(req: ApiRequest, parent_id: int | None, *, was_parent: bool = False) -> None:
    """Give a parent the priority, dates and progress of its children, perhaps of none any more; and so on upwards."""
    parent = req.store["issues"].get(parent_id)
    if parent is None:
        return
    children = children_of(req.store, parent)
    derived = _derived(req.store, children) if was_parent or children else {}
    changes = {name: value for name, value in derived.items() if parent.get(name) != value}
    if changes:
        touch(parent, **changes)
        if {"start_date", "due_date"} & set(changes):
            reschedule_followers(req, parent, journal=False)
    derive_parents(req, parent.get("parent_id"))


def _derived(store: Store, children: list[Row]) -> Row:
    """Return the highest priority of the open children, the dates that span them, and their average progress."""
    open_ones = [store["enumerations"].at(each["priority_id"]) for each in children if not is_closed(store, each)]
    priorities = open_ones or store["enumerations"].where(type="IssuePriority", is_default=True)
    start = min((each["start_date"] for each in children if each.get("start_date")), default=None)
    due = max((each["due_date"] for each in children if each.get("due_date")), default=None)
    if start and due and due < start:
        start, due = due, start
    priority = max(priorities, key=lambda each: int(each["position"]))
    progress = {"done_ratio": _progress(store, children)} if children else {}
    return {"priority_id": priority["id"], "start_date": start, "due_date": due, **progress}


def _progress(store: Store, children: list[Row]) -> int:
    """Return the average of the children by their estimated hours; a closed one is done."""
    hours = [_estimated(store, each) for each in children]
    known = [each for each in hours if each > 0]
    average = sum(known, Fraction(0)) / len(known) if known else Fraction(1)
    done = Fraction(0)
    for child, estimate in zip(children, hours, strict=True):
        ratio = 100 if is_closed(store, child) else child.get("done_ratio") or 0
        done += (estimate if estimate > 0 else average) * ratio
    return int(done / (average * len(children)))


def _estimated(store: Store, issue: Row) -> Fraction:
    tree = [issue, *descendants_of(store, issue)]
    return sum((Fraction(str(each.get("estimated_hours") or 0)) for each in tree), Fraction(0))
