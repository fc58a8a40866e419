"""What goes with a deleted project: nearly everything that knows its number."""

from typing import Final

from dogubako.sandbox.redmine.store import Row, Store
from dogubako.sandbox.redmine.wiki_pages import remove_page

_TABLES: Final = (
    "enabled_modules",
    "projects_trackers",
    "custom_fields_projects",
    "issue_categories",
    "time_entries",
    "queries",
    "documents",
    "boards",
)
_WITH_FILES: Final = {"News": "news", "Version": "versions", "Issue": "issues"}


def remove_project(store: Store, project: Row) -> None:
    number = project["id"]
    for member in store["members"].where(project_id=number):
        store["member_roles"].remove_where(member_id=member["id"])
        store["members"].remove(member)
    for kind, table in _WITH_FILES.items():
        for row in store[table].where(project_id=number):
            if kind == "Issue":
                _forget_issue(store, row["id"])
            _forget(store, kind, row["id"])
            store[table].remove(row)
    for wiki in store["wikis"].where(project_id=number):
        for page in store["wiki_pages"].where(wiki_id=wiki["id"]):
            remove_page(store, page)
        store["wikis"].remove(wiki)
    for table in _TABLES:
        store[table].remove_where(project_id=number)
    _forget(store, "Project", number)
    store["projects"].remove(project)


def _forget(store: Store, kind: str, number: int) -> None:
    store["attachments"].remove_where(container_type=kind, container_id=number)
    store["custom_values"].remove_where(customized_id=number, customized_type=kind)


def _forget_issue(store: Store, number: int) -> None:
    for journal in store["journals"].where(journalized_id=number):
        store["journal_details"].remove_where(journal_id=journal["id"])
        store["journals"].remove(journal)
    store["watchers"].remove_where(watchable_type="Issue", watchable_id=number)
    for column in ("issue_from_id", "issue_to_id"):
        store["issue_relations"].remove_where(**{column: number})
