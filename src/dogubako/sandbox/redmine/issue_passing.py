"""Which issues a filter lets through."""

import re
from collections.abc import Callable
from typing import Final

from dogubako.sandbox.redmine.asking import Ask
from dogubako.sandbox.redmine.custom_values import sees_field
from dogubako.sandbox.redmine.filters import Filter, matches
from dogubako.sandbox.redmine.issue_tree import ancestors_of, children_of, descendants_of
from dogubako.sandbox.redmine.relation_rules import TYPES
from dogubako.sandbox.redmine.store import Row, to_id

_PEOPLE: Final = ("assigned_to_id", "author_id", "watcher_id", "updated_by", "last_updated_by")


def passes(ask: Ask, each: Filter, issue: Row) -> bool:
    """Whether an issue is what a filter wants."""
    if each.name in _PEOPLE and "me" in each.values:
        each = _with_me(ask, each)
    special = _SPECIAL.get(each.name)
    if special:
        return special(ask, each, issue)
    if each.name.startswith("cf_"):
        return _passes_custom(ask, each, issue)
    if each.kind == "relation":
        return _passes_relation(ask, each, issue)
    return matches(each, issue.get(each.name))


def _with_me(ask: Ask, each: Filter) -> Filter:
    """`me` is whoever asks, with the groups where a group could stand as well; a stranger is nobody."""
    mine = [str(ask.who.id)] if ask.who.logged_in else ["0"]
    if ask.who.logged_in and each.name in ("assigned_to_id", "watcher_id"):
        mine += [str(group) for group in ask.who.group_ids]
    values = (*(value for value in each.values if value != "me"), *mine)
    return Filter(name=each.name, kind=each.kind, operator=each.operator, values=values)


def _passes_status(ask: Ask, each: Filter, issue: Row) -> bool:
    if each.operator not in ("o", "c"):
        return matches(each, issue["status_id"])
    status = ask.store["issue_statuses"].at(issue["status_id"])
    return bool(status.get("is_closed")) == (each.operator == "c")


def _passes_custom(ask: Ask, each: Filter, issue: Row) -> bool:
    field = ask.store["custom_fields"].at(each.name.removeprefix("cf_"))
    project = ask.store["projects"].at(issue["project_id"])
    if field["field_format"] == "user" and "me" in each.values:
        values = tuple(str(ask.who.id) if value == "me" else value for value in each.values)
        each = Filter(name=each.name, kind=each.kind, operator=each.operator, values=values)
    wants = Filter(name=each.name, kind=each.kind, operator="=", values=each.values) if each.operator == "!" else each
    rows = ask.store["custom_values"].where(
        customized_id=issue["id"], customized_type="Issue", custom_field_id=field["id"]
    )
    values_there = [row.get("value") for row in rows] or [None]
    found = any(matches(wants, value, custom=True) for value in values_there)
    return (found and sees_field(ask.store, ask.who, field, project)) != (each.operator == "!")


def _ids_in(each: Filter) -> set[int]:
    return {int(number) for number in re.findall(r"\d+", each.values[0])} if each.values else set()


def _passes_parent(ask: Ask, each: Filter, issue: Row) -> bool:
    match each.operator:
        case "=":
            return bool(issue.get("parent_id") in _ids_in(each))
        case "~":
            return to_id(each.values[0]) in {above["id"] for above in ancestors_of(ask.store, issue)}
    return matches(each, issue.get("parent_id"))


def _passes_child(ask: Ask, each: Filter, issue: Row) -> bool:
    match each.operator:
        case "=":
            return bool(_ids_in(each) & {child["id"] for child in children_of(ask.store, issue)})
        case "~":
            return to_id(each.values[0]) in {below["id"] for below in descendants_of(ask.store, issue)}
    return bool(children_of(ask.store, issue)) == (each.operator == "*")


def _passes_id(ask: Ask, each: Filter, issue: Row) -> bool:
    return bool(issue["id"] in _ids_in(each)) if each.operator == "=" else matches(each, issue["id"])


def _passes_updated(ask: Ask, each: Filter, issue: Row) -> bool:
    if each.operator in ("*", "!*"):
        return bool(issue["updated_on"] != issue["created_on"]) == (each.operator == "*")
    return matches(each, issue["updated_on"])


def _passes_private(ask: Ask, each: Filter, issue: Row) -> bool:
    wanted = {value != "0" for value in each.values}
    return (bool(issue.get("is_private")) in wanted) == (each.operator == "=")


def _passes_watcher(ask: Ask, each: Filter, issue: Row) -> bool:
    """Others as watchers can be asked for only where one may see them."""
    project = ask.store["projects"].at(issue["project_id"])
    rows = ask.store["watchers"].where(watchable_type="Issue", watchable_id=issue["id"])
    watching = {str(row["user_id"]) for row in rows} & set(each.values)
    if not ask.who.may("view_issue_watchers", project):
        watching &= {"0", str(ask.who.id)}
    return bool(watching) == (each.operator == "=")


def _passes_spent(ask: Ask, each: Filter, issue: Row) -> bool:
    hours = round(sum(entry["hours"] for entry in ask.store["time_entries"].where(issue_id=issue["id"])), 2)
    if each.operator in ("*", "!*"):
        return bool(hours > 0) == (each.operator == "*")
    return matches(each, hours)


def _notes_seen(ask: Ask, issue: Row) -> list[Row]:
    project = ask.store["projects"].at(issue["project_id"])
    rows = ask.store["journals"].where(journalized_id=issue["id"], journalized_type="Issue")
    sees_all = ask.who.may("view_private_notes", project)
    return [row for row in rows if sees_all or not row.get("private_notes") or row["user_id"] == ask.who.id]


def _passes_notes(ask: Ask, each: Filter, issue: Row) -> bool:
    plain = Filter(name=each.name, kind=each.kind, operator=each.operator.removeprefix("!"), values=each.values)
    found = any(matches(plain, row.get("notes")) for row in _notes_seen(ask, issue))
    return found != each.operator.startswith("!")


def _passes_updated_by(ask: Ask, each: Filter, issue: Row) -> bool:
    found = any(str(row["user_id"]) in each.values for row in _notes_seen(ask, issue))
    return found != (each.operator == "!")


def _passes_last_updated_by(ask: Ask, each: Filter, issue: Row) -> bool:
    last = max(_notes_seen(ask, issue), key=lambda row: row["id"], default=None)
    return (last is not None and str(last["user_id"]) in each.values) != (each.operator == "!")


def _passes_attachment(ask: Ask, each: Filter, issue: Row) -> bool:
    rows = ask.store["attachments"].where(container_type="Issue", container_id=issue["id"])
    if each.operator in ("*", "!*"):
        return bool(rows) == (each.operator == "*")
    plain = Filter(name=each.name, kind=each.kind, operator=each.operator.removeprefix("!"), values=each.values)
    return any(matches(plain, row["filename"]) for row in rows) != each.operator.startswith("!")


def _passes_project_status(ask: Ask, each: Filter, issue: Row) -> bool:
    return matches(each, ask.store["projects"].at(issue["project_id"])["status"])


def _passes_version(ask: Ask, each: Filter, issue: Row) -> bool:
    """By the state or the date of the target version; no version is not in any state."""
    version = ask.store["versions"].get(issue["fixed_version_id"]) if issue.get("fixed_version_id") else None
    if version is None:
        return each.operator == ("!" if each.name.endswith("status") else "!*")
    return matches(each, version.get("status" if each.name.endswith("status") else "effective_date"))


def _passes_relation(ask: Ask, each: Filter, issue: Row) -> bool:
    other = to_id(each.values[0]) if each.values else 0
    others = [there for kind, there in _related(ask, issue) if kind == each.name]
    match each.operator:
        case "*" | "!*":
            return bool(others) == (each.operator == "*")
        case "=" | "!":
            return (other in others) == (each.operator == "=")
    return bool(others)


def _related(ask: Ask, issue: Row) -> list[tuple[str, int]]:
    found = []
    for row in ask.store["issue_relations"]:
        if row["issue_from_id"] == issue["id"]:
            found.append((row["relation_type"], row["issue_to_id"]))
        elif row["issue_to_id"] == issue["id"]:
            found.append((TYPES[row["relation_type"]], row["issue_from_id"]))
    return found


_SPECIAL: Final[dict[str, Callable[[Ask, Filter, Row], bool]]] = {
    "status_id": _passes_status,
    "parent_id": _passes_parent,
    "child_id": _passes_child,
    "issue_id": _passes_id,
    "updated_on": _passes_updated,
    "is_private": _passes_private,
    "watcher_id": _passes_watcher,
    "spent_time": _passes_spent,
    "notes": _passes_notes,
    "updated_by": _passes_updated_by,
    "last_updated_by": _passes_last_updated_by,
    "attachment": _passes_attachment,
    "project.status": _passes_project_status,
    "fixed_version.status": _passes_version,
    "fixed_version.due_date": _passes_version,
}
