"""Filters of list_issues: spelled for Redmine before, and checked against its rows after."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from dogubako.contract.errors import ApiError, ApiErrorContext, ValidationError
from dogubako.contract.tool import ToolArgs
from dogubako.packs.redmine.models import PRIORITY, TRACKER, VERSION, Json
from dogubako.packs.redmine.names import filters
from dogubako.packs.redmine.names.field_values import alternatives
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


_CHOICE: Final = "By id or name; several as 'a|b', all others as '!a'."
_OPTION: Final = f"{_CHOICE[:-1]}, any as '*', none as '!*'."
ListInclude = Literal["attachments", "relations"]


class ListIssuesArgs(ToolArgs):
    project_id: ProjectId | None = Field(None, description="Only of this project and its subprojects.")
    tracker_id: IdOrName | None = Field(None, description=f"Tracker. {_CHOICE}")
    status_id: IdOrName | None = Field(None, description=f"Status: 'open' (default), 'closed', '*'. {_CHOICE}")
    assigned_to_id: IdOrName | None = Field(None, description=f"Assignee; 'me' for yourself. {_OPTION}")
    priority_id: IdOrName | None = Field(None, description=f"Priority. {_CHOICE}")
    fixed_version_id: IdOrName | None = Field(None, description=f"Target version; names need project_id. {_OPTION}")
    parent_id: int | None = Field(None, ge=1, description="Only children of this issue.")
    query_id: IdOrName | None = Field(None, description="A saved query; only project_id and sort go with it.")
    subject: str | None = Field(
        None,
        min_length=1,
        description="Words in the subject; '=text' for exactly this, '!~word' without it, '^text' at the beginning.",
    )
    created_on: str | None = Field(None, description=f"When it was created: {DATE_HELP}.")
    updated_on: str | None = Field(None, description="When it was last changed, as created_on.")
    due_date: str | None = Field(
        None, description="When it is due, as created_on; '><t+7' in the next 7 days, '<t+7' overdue too."
    )
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
        # What can be refused without asking anybody comes first.
        sort = filters.sort(args.sort, SORTABLE) if args.sort is not None else None
        values = self._values(args)
        if args.query_id is not None:
            _refuse_beside_a_query(args)
        project = None if args.project_id is None else await self._names.project(args.project_id)
        await self._check_sort(sort, project)
        params: Json = {"project_id": project, "sort": sort}
        if args.query_id is not None:
            return {**params, "query_id": await self._names.query(args.query_id, project)}, project
        return params | values | await self._choices(args, project) | await self._custom(args, project), project

    async def _check_sort(self, sort: str | None, project: int | None) -> None:
        for column in (sort or "").split(","):
            if column.startswith("cf_"):
                id_ = int(column.partition(":")[0].removeprefix("cf_"))
                await self._names.custom_fields.check_sort(id_, project)

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
            found["subject"] = filters.text(args.subject, "subject")
        for parameter, past in (("created_on", True), ("updated_on", True), ("due_date", False)):
            if (given := getattr(args, parameter)) is not None:
                found[parameter] = filters.dates(given, parameter, past=past)
        return found

    async def _custom(self, args: ListIssuesArgs, project: int | None) -> Json:
        found: Json = {}
        for field in args.custom_fields:
            id_ = await self._names.custom_fields.id_of(field.which, "custom_fields", project)
            await self._names.custom_fields.check_filter(id_, "custom_fields", project)
            definition = await self._names.custom_fields.definition(id_)
            wanted = await alternatives(self._names, definition, field.value, project)
            await self._names.custom_fields.check_value(id_, wanted, project)
            form = definition.get("field_format")
            if form is None and filters.may_be_read_as_days(wanted):
                form = "date" if await self._names.custom_fields.holds_days(id_, project) else None
            found[f"cf_{id_}"] = filters.values(wanted, form)
        return found


def check_rows(params: Json, rows: list[Json]) -> None:
    """A row that does not fit proves that a filter was ignored, and then all rows are worthless."""
    for parameter in ("tracker_id", "priority_id", "fixed_version_id", "assigned_to_id", "parent_id"):
        expression = str(params.get(parameter) or "")
        found = [row.get(parameter.removesuffix("_id")) for row in rows]
        if not _fits(expression, found, exactly=parameter != "assigned_to_id"):
            raise _ignored(parameter)
    if params.get("due_date") and not _fits(
        "!*" if params["due_date"] == "!*" else "*", [r.get("due_date") for r in rows]
    ):
        raise _ignored("due_date")


def _fits(expression: str, found: list[Any], *, exactly: bool = False) -> bool:
    """Whether these references, or nothing, can be what was asked for."""
    if expression == filters.NONE:
        return not any(found)
    if not expression or expression.startswith("!"):
        return True
    if not all(found):
        return False
    wanted = {int(part) for part in expression.split("|") if part.isdecimal()}
    # Whoever asks for a user may get what is assigned to the user's groups.
    return not wanted or not exactly or all(one["id"] in wanted for one in found)


def _refuse_beside_a_query(args: ListIssuesArgs) -> None:
    said = args.model_dump(exclude_none=True, exclude_unset=True)
    others = sorted(name for name, value in said.items() if name not in _BESIDE_A_QUERY and value != [])
    if others:
        message = f"Invalid value for parameter query_id: Redmine would ignore {', '.join(others)} beside it"
        raise ValidationError.of("query_id", message, hint="Use either a saved query or filters.")


def _ignored(parameter: str) -> ApiError:
    context = ApiErrorContext(operation="list issues", error_details=f"{parameter} was ignored")
    hint = "Perhaps no tracker of the project uses this field."
    return ApiError(f"Failed to list issues: Redmine ignored the filter {parameter}", context=context, hint=hint)
