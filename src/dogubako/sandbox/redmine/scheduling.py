"""Dates that follow from others: what precedes an issue pushes it, and a parent spans its children."""

from datetime import date
from fractions import Fraction

from dogubako.sandbox.redmine.clock import now_text, to_date
from dogubako.sandbox.redmine.issue_tree import children_of, descendants_of, is_closed, is_leaf, leaves_of
from dogubako.sandbox.redmine.journals import Detail, write_journal
from dogubako.sandbox.redmine.store import Row, Store
from dogubako.sandbox.redmine.visitor import Visitor
from dogubako.sandbox.redmine.working_days import add_working_days, next_working_day, working_days_between


def day_of(issue: Row, name: str) -> date | None:
    return to_date(issue[name]) if issue.get(name) else None


def earliest_by(store: Store, relation: Row) -> date | None:
    """The first day that a precedence leaves to the issue that follows."""
    if relation["relation_type"] != "precedes" or relation.get("delay") is None:
        return None
    before = store["issues"].at(relation["issue_from_id"])
    last = day_of(before, "due_date") or day_of(before, "start_date")
    return add_working_days(store, last, 1 + relation["delay"]) if last else None


def soonest_start(store: Store, issue: Row) -> date | None:
    """By everything that precedes the issue or one of its parents."""
    rows = store["issue_relations"].where(issue_to_id=issue["id"]) if "id" in issue else []
    days = [earliest_by(store, row) for row in rows]
    if issue.get("parent_id") and store.setting("parent_issue_dates") == "derived":
        days.append(soonest_start(store, store["issues"].at(issue["parent_id"])))
    return max((day for day in days if day), default=None)


def reschedule_followers(store: Store, issue: Row, by: Visitor | None) -> None:
    for relation in store["issue_relations"].where(issue_from_id=issue["id"]):
        apply_precedence(store, relation, by)


def apply_precedence(store: Store, relation: Row, by: Visitor | None) -> Row | None:
    """Move what follows; the entry in its history, if there is one."""
    day = earliest_by(store, relation)
    return _move_to(store, store["issues"].at(relation["issue_to_id"]), day, by) if day else None


def _move_to(store: Store, issue: Row, day: date, by: Visitor | None) -> Row | None:
    """Start on this day and last as long as before; a parent is moved by moving what is below it."""
    start = day_of(issue, "start_date")
    if not is_leaf(store, issue) and store.setting("parent_issue_dates") == "derived":
        for leaf in leaves_of(store, issue):
            begins = day_of(leaf, "start_date")
            if begins is None or begins == start or day > begins:
                _move_to(store, leaf, day, None)
        return None
    if start == day:
        return None
    if start and start > day:
        day = max(soonest_start(store, issue) or day, day)
    return _set_dates(store, issue, next_working_day(store, day), by)


def _set_dates(store: Store, issue: Row, start: date, by: Visitor | None) -> Row | None:
    was_start, was_due = day_of(issue, "start_date"), day_of(issue, "due_date")
    lasting = working_days_between(store, was_start, was_due) if was_start and was_due else 0
    changes = {"due_date": add_working_days(store, start, lasting).isoformat(), "start_date": start.isoformat()}
    details: list[Detail] = [
        ("attr", name, issue.get(name), value) for name, value in changes.items() if issue.get(name) != value
    ]
    if not details and by is None:
        return None
    touch(issue, changes)
    reschedule_followers(store, issue, by)
    derive_parents(store, issue.get("parent_id"))
    return write_journal(store, by, issue, details) if by else None


def touch(issue: Row, changes: Row) -> None:
    """Save a change with everything that a saved change brings along."""
    issue.update(changes)
    issue["updated_on"] = now_text()
    issue["lock_version"] = issue.get("lock_version", 0) + 1


def derive_parents(store: Store, parent_id: int | None, *, was_parent: bool = False) -> None:
    """Give a parent the priority, dates and progress of its children, perhaps of none any more; and so on upwards."""
    parent = store["issues"].get(parent_id) if parent_id else None
    if parent is None:
        return
    derived = _derived(store, parent) if was_parent or not is_leaf(store, parent) else {}
    changes = {name: value for name, value in derived.items() if parent.get(name) != value}
    if changes:
        touch(parent, changes)
        if {"start_date", "due_date"} & set(changes):
            reschedule_followers(store, parent, None)
    derive_parents(store, parent.get("parent_id"))


def _derived(store: Store, parent: Row) -> Row:
    children = children_of(store, parent)
    found: Row = {}
    if store.setting("parent_issue_priority") == "derived":
        found["priority_id"] = _highest_priority(store, parent, children)
    if store.setting("parent_issue_dates") == "derived":
        found["start_date"] = min((each["start_date"] for each in children if each.get("start_date")), default=None)
        found["due_date"] = max((each["due_date"] for each in children if each.get("due_date")), default=None)
        if found["start_date"] and found["due_date"] and found["due_date"] < found["start_date"]:
            found["start_date"], found["due_date"] = found["due_date"], found["start_date"]
    if store.setting("parent_issue_done_ratio") == "derived" and children:
        found["done_ratio"] = _progress(store, children)
    return found


def _highest_priority(store: Store, parent: Row, children: list[Row]) -> int:
    """That of the open children; without any, the default."""
    of_open = [store["enumerations"].at(each["priority_id"]) for each in children if not is_closed(store, each)]
    if of_open:
        return int(max(of_open, key=lambda each: int(each["position"]))["id"])
    default = store["enumerations"].first(type="IssuePriority", is_default=True)
    return int(default["id"] if default else parent["priority_id"])


def _progress(store: Store, children: list[Row]) -> int:
    """The average of the children by their estimated hours; a closed one is done."""
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
