"""The history of an issue: what it shows to whom, and how a change is written into it."""

from typing import Any

from dogubako_sandbox.redmine.request import DONE, ApiRequest, not_found
from dogubako_sandbox.redmine.serializers import person, present, times
from dogubako_sandbox.redmine.store import Row, is_blank, now_text, to_truth

# Property, name, old value, new value.
Detail = tuple[str, str, Any, Any]


def visible_journals(req: ApiRequest, issue: Row) -> list[Row]:
    """Return the entries that the user sees, the oldest first: private notes need a permission."""
    project = req.store.project_of(issue)
    rows = req.store["journals"].where(journalized_id=issue["id"], journalized_type="Issue")
    seen = [row for row in rows if req.user.sees_journal(row, project)]
    return sorted(seen, key=lambda each: (each["created_on"], each["id"]))


def shown_journals(req: ApiRequest, issue: Row) -> list[Row]:
    """Show the entries without hidden details; an entry that would be empty is left out."""
    project, shown = req.store.project_of(issue), []
    for row in visible_journals(req, issue):
        details = req.store["journal_details"].where(journal_id=row["id"])
        details = [each for each in details if _sees_detail(req, each, project)]
        if row.get("notes") or details:
            shown.append(_shown(req, row, details))
    return shown


def _sees_detail(req: ApiRequest, detail: Row, project: Row) -> bool:
    if detail["property"] == "cf":
        field = req.store["custom_fields"].get(detail["prop_key"])
        return field is not None and req.user.sees_field(field, project)
    if detail["property"] == "relation":
        other = req.store["issues"].get(detail.get("value") or detail.get("old_value"))
        return other is not None and req.user.sees_issue(other)
    return True


def _shown(req: ApiRequest, row: Row, details: list[Row]) -> Row:
    return {
        "id": row["id"],
        **present(user=person(req.store, row["user_id"])),
        "notes": row.get("notes"),
        **times(row, "created_on"),
        "private_notes": bool(row.get("private_notes")),
        "details": [
            {
                "property": each["property"],
                "name": each["prop_key"],
                "old_value": each.get("old_value"),
                "new_value": each.get("value"),
            }
            for each in details
        ],
    }


def update_journal(req: ApiRequest) -> Any:
    """Change the note of an entry; one without a note and without changes is removed."""
    journal = req.row("journals")
    issue = req.store["issues"].at(journal["journalized_id"])
    project = req.store.project_of(issue)
    if not (req.user.sees_issue(issue) and req.user.sees_journal(journal, project)):
        raise not_found()
    own = journal["user_id"] == req.user.id and req.user.may("edit_own_issue_notes", project)
    req.check(req.user.may("edit_issue_notes", project) or own)
    body = req.lenient_body("journal")
    if "notes" in body:
        journal["notes"] = body["notes"]
    if "private_notes" in body and req.user.may("set_notes_private", project):
        journal["private_notes"] = to_truth(body["private_notes"])
    if is_blank(journal.get("notes")) and not req.store["journal_details"].where(journal_id=journal["id"]):
        req.store["journals"].remove(journal)
    return DONE


def write_journal(
    req: ApiRequest, issue: Row, details: list[Detail], notes: str = "", *, private: bool = False
) -> Row | None:
    """Write what happened, if anything did. A private note goes into an entry of its own."""
    if not details and not notes.strip():
        return None
    is_private = private and bool(notes.strip())
    if is_private and details:
        write_entry(req, issue["id"], details, None)
        details = []
    journal = write_entry(req, issue["id"], details, notes, private=is_private)
    _watch(req, issue)
    return journal


def write_entry(
    req: ApiRequest, issue_id: int, details: list[Detail], notes: str | None, *, private: bool = False
) -> Row:
    journal = req.store["journals"].add(
        journalized_id=issue_id,
        journalized_type="Issue",
        user_id=req.user.id,
        notes=notes,
        created_on=now_text(),
        private_notes=private,
    )
    for detail in details:
        add_detail(req, journal, detail)
    return journal


def add_detail(req: ApiRequest, journal: Row, detail: Detail) -> None:
    kind, name, *values = detail
    old, new = (None if each is None else str(int(each) if isinstance(each, bool) else each) for each in values)
    req.store["journal_details"].add(journal_id=journal["id"], property=kind, prop_key=name, old_value=old, value=new)


def _watch(req: ApiRequest, issue: Row) -> None:
    """Let a user who adds to an issue and may add watchers watch it, unless a group of the user does already."""
    if req.user.logged_in and req.user.may("add_issue_watchers", req.store.project_of(issue)):
        rows = req.store["watchers"].where(watchable_type="Issue", watchable_id=issue["id"])
        if not any(req.user.is_or_belongs_to(row["user_id"]) for row in rows):
            req.store["watchers"].add(watchable_type="Issue", watchable_id=issue["id"], user_id=req.user.id)
