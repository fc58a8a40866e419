"""The filters and the order of the list of projects."""

from typing import Any, Final

from dogubako.sandbox.redmine.asking import Ask
from dogubako.sandbox.redmine.filters import Filter, asked_filters, complaints_about, matches
from dogubako.sandbox.redmine.issue_sorting import criteria
from dogubako.sandbox.redmine.shapes import visible_fields
from dogubako.sandbox.redmine.store import Row

_KINDS: Final = {
    "status": "list",
    "id": "list",
    "name": "text",
    "description": "text",
    "parent_id": "list_subprojects",
    "is_public": "list",
    "created_on": "date_past",
}
_FORMATS: Final = {"string": "string", "text": "text", "list": "list_optional", "int": "integer", "date": "date"}
_ACTIVE_ONLY: Final = Filter(name="status", kind="list", operator="=", values=("1",))
_SORTABLE: Final = ("id", "name", "status", "description", "homepage", "identifier", "is_public", "created_on")


def filtered_projects(ask: Ask) -> list[Row]:
    custom = {
        f"cf_{field['id']}": _FORMATS[field["field_format"]]
        for field in visible_fields(ask, "Project", None)
        if field.get("is_filter") and field["field_format"] in _FORMATS
    }
    filters = asked_filters(ask.params, {**_KINDS, **custom}, _ACTIVE_ONLY)
    # One filter that cannot be understood, and none of them counts.
    if complaints_about(filters, {}):
        filters = {}
    rows = [each for each in ask.who.projects_with() if all(_fits(ask, each, one) for one in filters.values())]
    return _sorted(ask, rows)


def _fits(ask: Ask, project: Row, wanted: Filter) -> bool:
    if wanted.name.startswith("cf_"):
        return _fits_custom(ask, project, wanted)
    if wanted.name == "id" and "mine" in wanted.values:
        return ask.who.membership(project) is not None
    value = project.get(wanted.name)
    return matches(wanted, str(int(value)) if isinstance(value, bool) else value)


def _fits_custom(ask: Ask, project: Row, wanted: Filter) -> bool:
    number = int(wanted.name.removeprefix("cf_"))
    rows = ask.store["custom_values"].where(
        customized_id=project["id"], customized_type="Project", custom_field_id=number
    )
    values = [row.get("value") for row in rows] or [None]
    return any(matches(wanted, value, custom=True) for value in values)


def _sorted(ask: Ask, rows: list[Row]) -> list[Row]:
    for name, goes_down in reversed(criteria(ask.text("sort"))):
        if name == "parent_id":
            rows.sort(key=lambda each: each["lft"], reverse=goes_down)
        elif name in _SORTABLE:
            rows.sort(key=_by(name), reverse=goes_down)
    return rows


def _by(name: str) -> Any:
    return lambda each: (each.get(name) is not None, each.get(name))
