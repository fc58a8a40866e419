"""Filters of list_issues: spelled for Redmine before, and checked against its rows after."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from dogubako.contract.errors import ApiError, ApiErrorContext, ValidationError
from dogubako.contract.tool import ToolArgs
from dogubako.packs.redmine.models import PRIORITY, QUERY, TRACKER, VERSION, Json
from dogubako.packs.redmine.names import filters
from dogubako.packs.redmine.names.custom_fields import written
from dogubako.packs.redmine.names.filters import DATE_HELP
from dogubako.packs.redmine.names.matching import IdOrName
from dogubako.packs.redmine.names.names import Names
from dogubako.packs.redmine.tools.arguments import CustomFieldValues, Limit, Offset, ProjectId

SORTABLE: Final = (
    "id",
    "project",
    "tracker",
    "parent",
    "status",
    "priority",
    "subject",
    "author",
    "assigned_to",
    "updated_on",
    "category",
    "fixed_version",
    "start_date",
    "due_date",
    "estimated_hours",
    "done_ratio",
    "created_on",
    "closed_on",
    "cf",
)
# Redmine takes a saved query alone, and ignores every other filter beside it.
_BESIDE_A_QUERY: Final = ("project_id", "query_id", "sort", "include", "fields", "limit", "offset")


_CHOICE: Final = "By id or name; several as 'a|b', all others as '!a', any as '*', none as '!*'."
ListInclude = Literal["attachments", "relations"]


class ListIssuesArgs(ToolArgs):
    project_id: ProjectId | None = Field(None, description="Only of this project and its subprojects.")
    tracker_id: IdOrName | None = Field(None, description=f"Tracker. {_CHOICE}")
    status_id: IdOrName | None = Field(None, description=f"Status: 'open' (default), 'closed', '*'. {_CHOICE}")
    assigned_to_id: IdOrName | None = Field(None, description=f"Assignee; 'me' for yourself. {_CHOICE}")
    priority_id: IdOrName | None = Field(None, description=f"Priority. {_CHOICE}")
    fixed_version_id: IdOrName | None = Field(None, description=f"Target version; names need project_id. {_CHOICE}")
    parent_id: int | None = Field(None, ge=1, description="Only children of this issue.")
    query_id: IdOrName | None = Field(None, description="A saved query; only project_id and sort go with it.")
    subject: str | None = Field(None, min_length=1, description="Text in the subject; '=text' for exactly this.")
    created_on: str | None = Field(None, description=f"When it was created: {DATE_HELP}.")
    updated_on: str | None = Field(None, description="When it was last changed, as created_on.")
    due_date: str | None = Field(None, description="When it is due, as created_on; '<t+7' within the next 7 days.")
    custom_fields: CustomFieldValues = Field(default_factory=list, description="Only with these custom field values.")
    sort: str | None = Field(None, description="Columns: 'priority:desc,updated_on'.")
    include: tuple[ListInclude, ...] = Field((), description="What to show in addition.")
    fields: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        (),
        description="Show only these: 'subject', 'status', …, 'custom_fields', or one custom field by 'cf_7' or name.",
    )
    limit: Limit = 25
    offset: Offset = 0


class IssueFilters:
    """One call's filters."""

    def __init__(self, names: Names) -> None:
        self._names = names

    async def params(self, args: ListIssuesArgs) -> tuple[Json, int | None]:
        """What to send, and the project that it is about."""
        project = None if args.project_id is None else await self._names.project(args.project_id)
        params: Json = {"project_id": project, "sort": filters.sort(args.sort, SORTABLE) if args.sort else None}
        if args.query_id is not None:
            _refuse_beside_a_query(args)
            params["query_id"] = await self._names.id_of(QUERY, args.query_id, "query_id")
            return params, project
        params |= await self._choices(args, project)
        params |= self._values(args)
        params |= await self._custom(args, project)
        return params, project

    async def _choices(self, args: ListIssuesArgs, project: int | None) -> Json:
        found: Json = {}
        for parameter, kind in (
            ("tracker_id", TRACKER),
            ("priority_id", PRIORITY),
            ("fixed_version_id", VERSION),
        ):
            if (given := getattr(args, parameter)) is not None:
                found[parameter] = await filters.choice(self._names, kind, given, parameter, project)
        if args.status_id is not None:
            found["status_id"] = await filters.status(self._names, args.status_id)
        if args.assigned_to_id is not None:
            found["assigned_to_id"] = await filters.person(self._names, args.assigned_to_id, "assigned_to_id", project)
        return found

    def _values(self, args: ListIssuesArgs) -> Json:
        found: Json = {"parent_id": args.parent_id}
        if args.subject is not None:
            found["subject"] = filters.text(args.subject)
        for parameter, past in (("created_on", True), ("updated_on", True), ("due_date", False)):
            if (given := getattr(args, parameter)) is not None:
                found[parameter] = filters.dates(given, parameter, past=past)
        return found

    async def _custom(self, args: ListIssuesArgs, project: int | None) -> Json:
        found: Json = {}
        for field in args.custom_fields:
            id_ = await self._names.custom_fields.id_of(field.which, "custom_fields", project)
            await self._names.custom_fields.check_filter(id_, "custom_fields", project)
            value = written(field.value)
            found[f"cf_{id_}"] = "|".join(value) if isinstance(value, list) else value or "!*"
        return found

    def check_rows(self, args: ListIssuesArgs, params: Json, rows: list[Json]) -> None:
        """A row that does not fit proves that a filter was ignored, and then all rows are worthless."""
        for parameter in ("tracker_id", "priority_id", "fixed_version_id"):
            wanted = _plain_ids(params.get(parameter))
            reference = parameter.removesuffix("_id")
            if wanted and any((row.get(reference) or {}).get("id") not in wanted for row in rows):
                raise _ignored(parameter)


def _plain_ids(expression: Any) -> set[int]:
    parts = str(expression or "").split("|")
    return {int(part) for part in parts} if all(part.isdecimal() for part in parts) else set()


def _refuse_beside_a_query(args: ListIssuesArgs) -> None:
    others = sorted(args.model_fields_set - set(_BESIDE_A_QUERY))
    if others:
        message = f"Invalid value for parameter query_id: Redmine would ignore {', '.join(others)} beside it"
        raise ValidationError.of("query_id", message, hint="Use either a saved query or filters.")


def _ignored(parameter: str) -> ApiError:
    context = ApiErrorContext(operation="list issues", error_details=f"{parameter} was ignored")
    return ApiError(f"Failed to list issues: Redmine ignored the filter {parameter}", context=context)
