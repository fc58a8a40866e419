"""Who may see, change or delete a file: that depends on the record to which it belongs."""

from typing import Final

from dogubako.sandbox.redmine.issue_access import may_edit, sees_issue
from dogubako.sandbox.redmine.store import Row, Store
from dogubako.sandbox.redmine.visitor import Visitor

# The permission to see, to change and to delete files of a kind of record. Issues have rules of their own.
_PERMISSIONS: Final = {
    "Project": ("view_files", "manage_files", "manage_files"),
    "Version": ("view_files", "manage_files", "manage_files"),
    "WikiPage": ("view_wiki_pages", "edit_wiki_pages", "delete_wiki_pages_attachments"),
    "News": ("view_news", "manage_news", "manage_news"),
    "Document": ("view_documents", "edit_documents", "edit_documents"),
}
_SEE, _EDIT, _DELETE = range(3)


def sees_file(store: Store, who: Visitor, row: Row) -> bool:
    return _allowed(store, who, row, _SEE)


def may_edit_file(store: Store, who: Visitor, row: Row) -> bool:
    return _allowed(store, who, row, _EDIT)


def may_delete_file(store: Store, who: Visitor, row: Row) -> bool:
    return _allowed(store, who, row, _DELETE)


def _allowed(store: Store, who: Visitor, row: Row, act: int) -> bool:
    """A file without a record is its author's alone; administrators do not see it either."""
    kind, owner_id = row.get("container_type"), row.get("container_id")
    if not kind or owner_id is None:
        return who.logged_in and row.get("author_id") == who.id
    if kind == "CustomValue":
        value = store["custom_values"].get(owner_id) or {}
        kind, owner_id = value.get("customized_type"), value.get("customized_id")
    if kind == "Issue":
        return _allowed_by_issue(store, who, owner_id, act)
    project = _project_of(store, str(kind), owner_id)
    return project is not None and kind in _PERMISSIONS and who.may(_PERMISSIONS[kind][act], project)


def _allowed_by_issue(store: Store, who: Visitor, issue_id: object, act: int) -> bool:
    issue = store["issues"].get(issue_id)
    if issue is None or not sees_issue(store, who, issue):
        return False
    return act == _SEE or may_edit(store, who, issue)


def _project_of(store: Store, kind: str, owner_id: object) -> Row | None:
    if kind == "Project":
        return store["projects"].get(owner_id)
    if kind == "WikiPage":
        page = store["wiki_pages"].get(owner_id)
        owner = store["wikis"].get(page["wiki_id"]) if page else None
    else:
        table = {"Version": "versions", "News": "news", "Document": "documents"}.get(kind, "")
        owner = store[table].get(owner_id)
    return store["projects"].get(owner["project_id"]) if owner else None
