"""Categories of a project's issues: list, show, create, update, delete."""

from typing import Any

from dogubako.sandbox.redmine.asking import DONE, Answer, Ask, created, unprocessable
from dogubako.sandbox.redmine.casting import is_blank, to_number, to_text
from dogubako.sandbox.redmine.naming import named, person
from dogubako.sandbox.redmine.store import Row


def _shown(ask: Ask, row: Row) -> dict[str, Any]:
    assignee = person(ask.store, row.get("assigned_to_id"))
    return {
        "id": row["id"],
        "project": named(ask.store["projects"].at(row["project_id"])),
        "name": row["name"],
        **({"assigned_to": assignee} if assignee else {}),
    }


def list_categories(ask: Ask) -> dict[str, Any]:
    project = ask.project()
    ask.need(project, "manage_categories")
    rows = sorted(ask.store["issue_categories"].where(project_id=project["id"]), key=lambda row: str(row["name"]))
    return {"issue_categories": [_shown(ask, row) for row in rows], "total_count": len(rows)}


def _category(ask: Ask) -> Row:
    row = ask.row("issue_categories")
    ask.need(ask.store["projects"].at(row["project_id"]), "manage_categories")
    return row


def show_category(ask: Ask) -> dict[str, Any]:
    return {"issue_category": _shown(ask, _category(ask))}


def create_category(ask: Ask) -> Answer:
    project = ask.project()
    ask.need(project, "manage_categories")
    draft = _changed(ask, {"project_id": project["id"]})
    row = ask.store["issue_categories"].add(**draft)
    return created({"issue_category": _shown(ask, row)}, f"/issue_categories/{row['id']}")


def update_category(ask: Ask) -> Answer:
    row = _category(ask)
    row.update(_changed(ask, row))
    return DONE


def _changed(ask: Ask, row: Row) -> Row:
    asked = ask.params.get("issue_category")
    said = asked if isinstance(asked, dict) else {}
    draft = dict(row)
    if "name" in said:
        draft["name"] = to_text(said["name"])
    if "assigned_to_id" in said:
        draft["assigned_to_id"] = to_number(said["assigned_to_id"])
    wrong = _wrong(ask, draft)
    if wrong:
        raise unprocessable(*wrong)
    return draft


def _wrong(ask: Ask, draft: Row) -> list[str]:
    name = draft.get("name")
    if is_blank(name):
        return ["Name cannot be blank"]
    same = ask.store["issue_categories"].first(project_id=draft["project_id"], name=name)
    found = ["Name has already been taken"] if same and same["id"] != draft.get("id") else []
    return found + (["Name is too long (maximum is 60 characters)"] if len(str(name)) > 60 else [])


def delete_category(ask: Ask) -> Answer:
    """Its issues have no category afterwards, or the one that is named instead, if it is in the same project."""
    row = _category(ask)
    other = ask.store["issue_categories"].get(ask.params.get("reassign_to_id"))
    if other and other["project_id"] != row["project_id"]:
        other = None
    for issue in ask.store["issues"].where(category_id=row["id"]):
        issue["category_id"] = other["id"] if other else None
    ask.store["issue_categories"].remove(row)
    return DONE
