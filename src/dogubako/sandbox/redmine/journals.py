"""The history of an issue: what is shown of it to whom, and how a change is written down."""

from typing import Any

from dogubako.sandbox.redmine.asking import Ask
from dogubako.sandbox.redmine.clock import now_text, shown_time
from dogubako.sandbox.redmine.custom_values import sees_field
from dogubako.sandbox.redmine.issue_access import sees_issue
from dogubako.sandbox.redmine.naming import person
from dogubako.sandbox.redmine.store import Row, Store
from dogubako.sandbox.redmine.visitor import Visitor

Detail = tuple[str, str, Any, Any]


def shown_journals(ask: Ask, issue: Row) -> list[dict[str, Any]]:
    """Oldest first; private notes for those who may see them, and nothing that has become empty."""
    project = ask.store["projects"].at(issue["project_id"])
    sees_private = ask.who.may("view_private_notes", project)
    rows = ask.store["journals"].where(journalized_id=issue["id"], journalized_type="Issue")
    shown = []
    for row in sorted(rows, key=lambda each: (each["created_on"], each["id"])):
        if not row.get("private_notes") or sees_private or row["user_id"] == ask.who.id:
            details = [each for each in _details(ask.store, row) if _sees_detail(ask, each, project)]
            if row.get("notes") or details:
                shown.append(_shown(ask.store, row, details))
    return shown


def _details(store: Store, journal: Row) -> list[Row]:
    return store["journal_details"].where(journal_id=journal["id"])


def _sees_detail(ask: Ask, detail: Row, project: Row) -> bool:
    if detail["property"] == "cf":
        field = ask.store["custom_fields"].get(detail["prop_key"])
        return field is not None and sees_field(ask.store, ask.who, field, project)
    if detail["property"] == "relation":
        other = ask.store["issues"].get(detail.get("value") or detail.get("old_value"))
        return other is not None and sees_issue(ask.store, ask.who, other)
    return True


def _shown(store: Store, row: Row, details: list[Row]) -> dict[str, Any]:
    user = person(store, row["user_id"])
    return {
        "id": row["id"],
        **({"user": user} if user else {}),
        "notes": row.get("notes"),
        "created_on": shown_time(row["created_on"]),
        "private_notes": bool(row.get("private_notes")),
        "details": [_shown_detail(each) for each in details],
    }


def _shown_detail(row: Row) -> dict[str, Any]:
    return {
        "property": row["property"],
        "name": row["prop_key"],
        "old_value": row.get("old_value"),
        "new_value": row.get("value"),
    }


def write_journal(
    store: Store, who: Visitor, issue: Row, details: list[Detail], notes: str = "", *, private: bool = False
) -> Row | None:
    """Write down what happened, if anything did. A private note goes into an entry of its own."""
    if not details and not notes.strip():
        return None
    is_private = private and bool(notes.strip())
    if is_private and details:
        _write(store, who, issue, details, None, private=False)
        details = []
    journal = _write(store, who, issue, details, notes, private=is_private)
    watch_what_one_changes(store, who, issue)
    return journal


def _write(store: Store, who: Visitor, issue: Row, details: list[Detail], notes: str | None, *, private: bool) -> Row:
    journal = store["journals"].add(
        journalized_id=issue["id"],
        journalized_type="Issue",
        user_id=who.id,
        notes=notes,
        created_on=now_text(),
        private_notes=int(private),
    )
    for detail in details:
        add_detail(store, journal, detail)
    return journal


def add_detail(store: Store, journal: Row, detail: Detail) -> None:
    kind, name, old, new = detail
    store["journal_details"].add(
        journal_id=journal["id"], property=kind, prop_key=str(name), old_value=as_text(old), value=as_text(new)
    )


def as_text(value: Any) -> str | None:
    """A value as the history keeps it."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(int(value))
    return str(value)


def watch_what_one_changes(store: Store, who: Visitor, issue: Row) -> None:
    """Whoever adds to an issue and may add watchers becomes one, unless a group of theirs watches already."""
    project = store["projects"].at(issue["project_id"])
    if not who.logged_in or not who.may("add_issue_watchers", project) or not _wants_to_watch(store, who):
        return
    rows = store["watchers"].where(watchable_type="Issue", watchable_id=issue["id"])
    if not any(who.is_or_belongs_to(row["user_id"]) for row in rows):
        store["watchers"].add(watchable_type="Issue", watchable_id=issue["id"], user_id=who.id)


def _wants_to_watch(store: Store, who: Visitor) -> bool:
    preference = store["user_preferences"].first(user_id=who.id)
    return preference is None or "issue_contributed_to" in (preference.get("others") or {}).get("auto_watch_on", ())
