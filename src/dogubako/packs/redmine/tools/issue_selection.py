"""The issues that a report, a chart or a bulk change is about: chosen as list_issues does, and read to the end."""

from collections.abc import Sequence
from typing import Any, Final

from pydantic import Field
from pydantic import ValidationError as InvalidModel

from dogubako.contract.errors import ValidationError
from dogubako.contract.tool import ToolArgs
from dogubako.packs.redmine.all_rows import MOST_ROWS, AllRows
from dogubako.packs.redmine.client import RedmineClient
from dogubako.packs.redmine.models import ISSUE, STATUS, JsonObject
from dogubako.packs.redmine.names import filters
from dogubako.packs.redmine.names.matching import IdOrName
from dogubako.packs.redmine.tools.base import ProjectId
from dogubako.packs.redmine.tools.issue_filters import IssueFilterArgs, IssueFilters, check_rows

# Everything of a row that a sum, a table or a picture may need; descriptions are long and are not.
FIELDS: Final = (
    *("project", "tracker", "status", "priority", "author", "assigned_to", "category", "fixed_version", "parent"),
    *("subject", "start_date", "due_date", "done_ratio", "is_private", "estimated_hours", "spent_hours"),
    *("custom_fields", "created_on", "updated_on", "closed_on"),
)
_OWN: Final = tuple(name for name in IssueFilterArgs.model_fields if name != "filters")
FILTERS_HELP: Final = (
    "The filters of list_issues as one object: {'tracker_id': 'Bug', 'due_date': '2026-11-01..2026-11-30', "
    "'fixed_version_id': '1.0', 'custom_fields': [{'name': 'Customer', 'value': 'ACME'}]}."
)


class SelectionArgs(ToolArgs):
    project_id: ProjectId | None = Field(None, description="Only of this project and its subprojects.")
    status_id: IdOrName | None = Field(None, description="Status; without it all, 'open', 'closed', or as list_issues.")
    filters: dict[str, Any] = Field(default_factory=dict, description=FILTERS_HELP)


def issue_filters(given: JsonObject, **more: Any) -> IssueFilterArgs:
    """The filters of an object, checked like the arguments of list_issues. Without a status all issues are meant."""
    known = {name: value for name, value in given.items() if name in _OWN}
    others = {name: value for name, value in given.items() if name not in (*_OWN, "filters")}
    own = {name: value for name, value in more.items() if value is not None}
    if twice := sorted(known.keys() & own.keys()):
        raise ValidationError.of("filters", f"Invalid value for parameter filters: {twice[0]} is given twice")
    nested = given.get("filters") or {}
    others |= nested if isinstance(nested, dict) else {"filters": nested}
    merged: JsonObject = {**known, **own, **({"filters": others} if others else {})}
    if "query_id" not in merged:
        merged.setdefault("status_id", filters.ANY)
    try:
        return IssueFilterArgs.model_validate(merged)
    except (InvalidModel, TypeError) as error:
        where = str(error.errors()[0]["loc"][0]) if isinstance(error, InvalidModel) else "filters"
        message = f"Invalid value for parameter filters: {where} has a value that list_issues would not take"
        raise ValidationError.of(
            "filters", message, hint=f"Filters: {', '.join(_OWN)}; describe_tool shows them."
        ) from None


class Selection:
    """Reads the chosen issues."""

    def __init__(self, client: RedmineClient) -> None:
        self._client = client

    async def read(
        self, chosen: IssueFilterArgs, fields: Sequence[str] = FIELDS, most: int = MOST_ROWS
    ) -> tuple[list[JsonObject], int | None]:
        """All matching issues by id, each with `closed`, and the project."""
        params, project = await IssueFilters(self._client.names).params(chosen)
        if "query_id" not in params:
            params["sort"] = "id"
        rows = await AllRows(self._client.records, ISSUE, fields).read(
            params, lambda page: check_rows(params, page), most
        )
        closed = {one["id"] for one in await self._client.lookups.rows(STATUS) if one.get("is_closed")}
        return [{**row, "closed": (row.get("status") or {}).get("id") in closed} for row in rows], project
