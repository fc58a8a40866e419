"""What belongs to a project in other tables: modules, trackers, custom fields of its issues."""

from typing import Any, Final

from dogubako.sandbox.redmine.store import Row, Store, to_id

MODULES: Final = (
    "issue_tracking",
    "time_tracking",
    "news",
    "documents",
    "files",
    "wiki",
    "repository",
    "boards",
    "calendar",
    "gantt",
)


def set_modules(store: Store, project: Row, asked: Any) -> None:
    """Switch on exactly these; a new project that is told nothing has all of them."""
    table = store["enabled_modules"]
    there = {each["name"]: each for each in table.where(project_id=project["id"])}
    if asked is None and there:
        return
    wanted = MODULES if asked is None else [str(each) for each in asked if each] if isinstance(asked, list) else []
    for name, row in there.items():
        if name not in wanted:
            table.remove(row)
    for name in sorted(wanted, key=lambda each: MODULES.index(each) if each in MODULES else len(MODULES)):
        if name not in there:
            table.add(project_id=project["id"], name=name)
    if "wiki" in wanted and not store["wikis"].first(project_id=project["id"]):
        store["wikis"].add(project_id=project["id"], start_page="Wiki", status=1)


def set_parts(store: Store, project: Row, body: Row) -> None:
    if isinstance(body.get("tracker_ids"), list):
        _choose(store, "projects_trackers", project, "tracker_id", "trackers", body["tracker_ids"])
    if isinstance(body.get("issue_custom_field_ids"), list):
        asked = body["issue_custom_field_ids"]
        _choose(store, "custom_fields_projects", project, "custom_field_id", "custom_fields", asked)


def _choose(store: Store, links: str, project: Row, column: str, table: str, asked: list[Any]) -> None:
    store[links].remove_where(project_id=project["id"])
    for number in dict.fromkeys(to_id(each) for each in asked):
        if store[table].get(number):
            store[links].add(**{"project_id": project["id"], column: number})
