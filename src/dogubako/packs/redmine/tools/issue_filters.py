"""Filters of list_issues: encoded for Redmine, and checked against the returned rows."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from dogubako.contract.errors import ApiError, ApiErrorContext, ValidationError
from dogubako.contract.tool import ToolArgs
from dogubako.packs.redmine.models import CATEGORY, PRIORITY, ROLE, TRACKER, VERSION, JsonObject, Kind
from dogubako.packs.redmine.names import filters
from dogubako.packs.redmine.names.field_values import FieldValues
from dogubako.packs.redmine.names.filters import DATE_HELP, NUMBER_HELP
from dogubako.packs.redmine.names.matching import IdOrName
from dogubako.packs.redmine.names.names import Names
from dogubako.packs.redmine.tools.base import CustomFieldValues, Limit, Offset, ProjectId

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
# Redmine ignores every other filter beside a saved query.
_BESIDE_A_QUERY: Final = ("project_id", "query_id", "sort", "include", "fields", "limit", "offset")


_CHOICE: Final = "By id or name; several as 'a|b', all others as '!a'."
_OPTION: Final = f"{_CHOICE[:-1]}, any as '*', none as '!*'."
ListInclude = Literal["attachments", "relations"]

_KINDS: Final[Mapping[str, Kind]] = {
    "tracker_id": TRACKER,
    "priority_id": PRIORITY,
    "fixed_version_id": VERSION,
    "category_id": CATEGORY,
    "assigned_to_role": ROLE,
}
_PEOPLE: Final = (
    "assigned_to_id",
    "author_id",
    "watcher_id",
    "updated_by",
    "last_updated_by",
    "member_of_group",
)
_PAST: Final = ("created_on", "updated_on", "closed_on")
_DATES: Final = ("start_date", "due_date", "fixed_version.due_date")
_NUMBERS: Final = ("done_ratio", "estimated_hours", "spent_time")
_TEXTS: Final = ("subject", "description", "notes", "attachment", "attachment_description")
_FLAGS: Final = ("is_private",)
_RELATIONS: Final = (
    "relates",
    "duplicates",
    "duplicated",
    "blocks",
    "blocked",
    "precedes",
    "follows",
    "copied_to",
    "copied_from",
)
_TREES: Final = ("parent_id", "child_id")
_WORDS: Final = ("fixed_version.status", "project.status")
_ISSUES: Final = ("issue_id",)
# The filters of Redmine that have no argument of their own.
_MORE: Final = (
    *("watcher_id", "updated_by", "last_updated_by", "member_of_group", "assigned_to_role"),
    *("fixed_version.due_date", "estimated_hours", "spent_time"),
    *_TEXTS[1:],
    *_FLAGS,
    *_RELATIONS,
    "child_id",
    *_WORDS,
    *_ISSUES,
)
_TREE: Final = re.compile(r"~?\d{1,9}|\*|!\*", re.ASCII)
_RELATED: Final = re.compile(r"!?\d{1,9}|\*o?|!\*|!o", re.ASCII)
_ISSUE_IDS: Final = re.compile(r"(?:[<>]=)?\d{1,9}|\d{1,9}(?:,\d{1,9})+|><\d{1,9}\|\d{1,9}", re.ASCII)
_ONE_ISSUE: Final = re.compile(r"#(\d{1,9})", re.ASCII)


class IssueFilterArgs(ToolArgs):
    """Which issues are meant."""

    project_id: ProjectId | None = Field(None, description="Only of this project and its subprojects.")
    subprojects: bool = Field(True, description="Whether issues of subprojects count too.")
    tracker_id: IdOrName | None = Field(None, description=f"Tracker. {_CHOICE}")
    status_id: IdOrName | None = Field(None, description=f"Status: 'open' (default), 'closed', '*'. {_CHOICE}")
    assigned_to_id: IdOrName | None = Field(None, description=f"Assignee; 'me' for yourself. {_OPTION}")
    author_id: IdOrName | None = Field(None, description="Author, as assigned_to_id.")
    priority_id: IdOrName | None = Field(None, description=f"Priority. {_CHOICE}")
    fixed_version_id: IdOrName | None = Field(None, description=f"Target version; names need project_id. {_OPTION}")
    category_id: IdOrName | None = Field(None, description="Category; needs project_id; as fixed_version_id.")
    parent_id: IdOrName | None = Field(None, description="Children of this issue; '~7' with all below; '*', '!*'.")
    query_id: IdOrName | None = Field(None, description="A saved query; only project_id and sort go with it.")
    subject: str | None = Field(
        None,
        min_length=1,
        description="Words in the subject; '=text' for exactly this, '!~word' without it, '^text' at the beginning.",
    )
    created_on: str | None = Field(None, description=f"When it was created: {DATE_HELP}.")
    updated_on: str | None = Field(None, description="When it was last changed, as created_on.")
    closed_on: str | None = Field(None, description="When it was closed, as created_on; with status_id '*'.")
    start_date: str | None = Field(None, description="First day, as created_on.")
    due_date: str | None = Field(
        None, description="When it is due, as created_on; '><t+7' in the next 7 days, '<t+7' overdue too."
    )
    done_ratio: IdOrName | None = Field(None, description=f"Per cent done: {NUMBER_HELP}.")
    filters: dict[str, bool | IdOrName] = Field(
        default_factory=dict, description=f"Redmine's other filters, {{'blocked': '*'}}: {', '.join(_MORE)}."
    )
    custom_fields: CustomFieldValues = Field(
        default_factory=list,
        description="Only with these custom field values; dates and numbers also as '>=5', '1..5', 'lw'; '*', '!*'.",
    )


class ListIssuesArgs(IssueFilterArgs):
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

    async def params(self, args: IssueFilterArgs, order: str | None = None) -> tuple[JsonObject, int | None]:
        """The query parameters, and the project."""
        # Checks that need no request come first.
        sort = filters.sort(order, SORTABLE) if order is not None else None
        given = _given(args)
        if args.query_id is not None:
            _refuse_beside_a_query(args)
        project = None if args.project_id is None else await self._names.project(args.project_id)
        await self._check_sort(sort, project)
        params: JsonObject = {"project_id": project, "sort": sort}
        if args.query_id is not None:
            return {**params, "query_id": await self._names.query(args.query_id, project)}, project
        await self._check_available(args, project)
        for name, value in given.items():
            params[name] = await self._expression(name, value, project)
        if not args.subprojects:
            params["subproject_id"] = filters.NONE
        if numbered := _ONE_ISSUE.fullmatch((args.subject or "").strip()):
            # "#325" is an issue, and a closed one can be meant.
            del params["subject"]
            params |= {"issue_id": numbered[1], "status_id": params.get("status_id", filters.ANY)}
        return params | await self._custom(args, project), project

    async def _expression(self, name: str, value: IdOrName, project: int | None) -> str | None:
        """The value of one filter as Redmine reads it."""
        if name == "status_id":
            return await filters.status(self._names, value)
        if name in _KINDS:
            return await filters.choice(self._names, _KINDS[name], value, name, project)
        if name in _PEOPLE:
            return await filters.person(self._names, value, name, project)
        text = str(value)
        if name in _PAST or name in _DATES:
            return await filters.dates(self._names, text, name, past=name in _PAST)
        if name in _NUMBERS:
            return filters.numbers(text, name)
        if name in _TEXTS:
            return filters.text(text, name)
        return _plain_expression(name, text)

    async def _check_available(self, args: IssueFilterArgs, project: int | None) -> None:
        """Refuse a filter that Redmine does not offer here: it would ignore it, and return everything."""
        if args.category_id is not None and project is None:
            message = "Invalid value for parameter category_id: without a project Redmine ignores it"
            raise ValidationError.of("category_id", message, hint="Give project_id too.")
        if not args.filters:
            return
        offered = await self._names.forms.filters(project, ())
        for name in args.filters:
            if offered is not None and name not in offered:
                message = f"Invalid value for parameter filters: Redmine offers you no filter {name} here"
                hint = "Your role may lack a permission for it, or no tracker of the project uses the field."
                raise ValidationError.of("filters", message, hint=hint)

    async def _check_sort(self, sort: str | None, project: int | None) -> None:
        for column in (sort or "").split(","):
            if column.startswith("cf_"):
                id_ = int(column.partition(":")[0].removeprefix("cf_"))
                await self._names.custom_fields.check_sort(id_, project)

    async def _custom(self, args: IssueFilterArgs, project: int | None) -> JsonObject:
        params: JsonObject = {}
        for field in args.custom_fields:
            id_ = await self._names.custom_fields.id_of(field.which, "custom_fields", project)
            await self._names.custom_fields.check_filter(id_, "custom_fields", project)
            definition = await self._names.custom_fields.definition(id_, project)
            params[f"cf_{id_}"] = await self._custom_expression(id_, definition, field.value, project)
        return params

    async def _custom_expression(self, id_: int, definition: JsonObject, value: Any, project: int | None) -> str:
        form = definition.get("field_format")
        if isinstance(value, str) and value.strip() in (filters.ANY, filters.NONE) and form not in (None, "text"):
            return value.strip()
        if form == "date" and isinstance(value, str) and value:
            return await filters.dates(self._names, value, "custom_fields")
        if form in ("int", "float") and isinstance(value, str) and value:
            return filters.numbers(value, "custom_fields")
        if isinstance(value, str) and value.startswith("!") and form in _CHOSEN:
            others = await FieldValues(self._names, id_, definition, project).alternatives(value[1:].split("|"))
            return "!" + "|".join(others)
        return filters.values(await FieldValues(self._names, id_, definition, project).alternatives(value), form)


_CHOSEN: Final = ("list", "enumeration", "user", "version", "bool")


def _given(args: IssueFilterArgs) -> dict[str, bool | IdOrName]:
    """All filters of a call by Redmine's names. An unknown one is refused: Redmine would ignore it."""
    if unknown := [name for name in args.filters if name not in _MORE]:
        message = "Invalid value for parameter filters: there is no such filter"
        raise ValidationError.of("filters", message, hint=f"Filters: {', '.join(_MORE)}. {len(unknown)} others given.")
    names = (*_KINDS, *_PEOPLE, *_PAST, *_DATES, *_NUMBERS, *_TEXTS, *_TREES, "status_id")
    own = {name: getattr(args, name, None) for name in names}
    return {name: value for name, value in own.items() if value is not None} | args.filters


def _plain_expression(name: str, text: str) -> str:
    """Trees, relations, issues, yes or no, and states."""
    text = text.strip().replace("#", "")
    form = _TREE if name in _TREES else _RELATED if name in _RELATIONS else _ISSUE_IDS
    if name in _FLAGS and text.casefold() in _TRUTH:
        return _TRUTH[text.casefold()]
    if name in _WORDS and text.isascii() and text.replace("|", "").removeprefix("!").isalnum():
        return text
    if name in (*_FLAGS, *_WORDS) or not form.fullmatch(text):
        raise ValidationError.of(name, f"Invalid value for parameter {name}: expected {_EXPECTED[name]}")
    return text


_TRUTH: Final = {"1": "1", "true": "1", "yes": "1", "0": "0", "false": "0", "no": "0"}
_EXPECTED: Final = {
    "is_private": "true or false",
    "fixed_version.status": "open, locked or closed",
    "project.status": "1 (active) or 5 (closed)",
    "issue_id": "ids of issues, '3' or '3,5,8'",
    **dict.fromkeys(_TREES, "an issue, '~7' for all below it, '*' or '!*'"),
    **dict.fromkeys(_RELATIONS, "an issue, '*' (any), '!*' (none), '*o' (any open one) or '!o' (no open one)"),
}


def check_rows(params: JsonObject, rows: list[JsonObject]) -> None:
    """Raise if a row does not match: then Redmine ignored a filter, and all rows are wrong."""
    for parameter in (
        *("tracker_id", "priority_id", "fixed_version_id", "category_id", "assigned_to_id", "author_id", "parent_id"),
    ):
        expression = str(params.get(parameter) or "")
        references = [row.get(parameter.removesuffix("_id")) for row in rows]
        if not _fits(expression, references, exactly=parameter != "assigned_to_id"):
            raise _ignored(parameter)
    for parameter in ("start_date", "due_date", "closed_on"):
        wanted = params.get(parameter)
        if wanted and not _fits("!*" if wanted == "!*" else "*", [row.get(parameter) for row in rows]):
            raise _ignored(parameter)


def _fits(expression: str, references: list[Any], *, exactly: bool = False) -> bool:
    """Whether these references, or none, match the filter."""
    if expression == filters.NONE:
        return not any(references)
    if not expression or expression.startswith(("!", "~")):
        return True
    if not all(references):
        return False
    wanted = {int(part) for part in expression.split("|") if part.isdecimal()}
    # A filter by user also returns issues that are assigned to the user's groups.
    return not wanted or not exactly or all(one["id"] in wanted for one in references)


def _refuse_beside_a_query(args: IssueFilterArgs) -> None:
    arguments = args.model_dump(exclude_none=True, exclude_unset=True)
    others = sorted(name for name, value in arguments.items() if name not in _BESIDE_A_QUERY and value != [])
    if others:
        message = f"Invalid value for parameter query_id: Redmine would ignore {', '.join(others)} beside it"
        raise ValidationError.of("query_id", message, hint="Use either a saved query or filters.")


def _ignored(parameter: str) -> ApiError:
    context = ApiErrorContext(operation="list issues", error_details=f"{parameter} was ignored")
    hint = "Perhaps no tracker of the project uses this field."
    return ApiError(f"Failed to list issues: Redmine ignored the filter {parameter}", context=context, hint=hint)
