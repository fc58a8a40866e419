"""Custom fields by name, with their formats and choices.

Administrators can list them. Other users learn the fields from issues that they see, and formats and choices from
the filters of the page of issues; a field that is no filter stays without a format.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Final

from dogubako.contract.errors import ValidationError
from dogubako.packs.redmine.api import RecordsApi, RedmineService, place, rows_of, to
from dogubako.packs.redmine.lookups import Lookups
from dogubako.packs.redmine.models import CUSTOM_FIELD, ISSUE, JsonObject
from dogubako.packs.redmine.names.matching import Candidate, IdOrName, absent, as_id, matching, only
from dogubako.packs.redmine.names.web_forms import WebForms

_SAMPLE: Final = 100
# Whether all seen values are numbers, as in lists of users, versions or choices; or only 0 and 1.
NUMBERS: Final = "numbers"
FLAGS: Final = "flags"
_HINT: Final = "list_custom_fields shows them."


class CustomFields:
    """The custom fields that our user can see."""

    def __init__(self, service: RedmineService, lookups: Lookups, forms: WebForms) -> None:
        self._service = service
        self._lookups = lookups
        self._forms = forms
        self._records = RecordsApi(service)

    async def defined(self, *, since: float | None = None) -> list[JsonObject] | None:
        """All custom fields with their definitions, for administrators; None for other users."""
        if not (await self._service.me()).get("admin"):
            return None
        return await self._lookups.remembered("custom_fields", self._read_defined, since=since)

    async def of_issues(self, project: int | None = None, *, since: float | None = None) -> list[JsonObject]:
        """Fields of issues: as defined, else as seen on the newest issues of the project, or of all projects."""
        defined = await self.defined(since=since)
        if defined is not None:
            return [field for field in defined if field.get("customized_type") == "issue"]
        return await self.learned(project, since=since)

    async def learned(self, project: int | None, *, since: float | None = None) -> list[JsonObject]:
        """Fields as seen on the newest issues."""
        return await self._lookups.remembered(f"custom fields of {project}", lambda: self._learn(project), since=since)

    async def of(self, customized: str, sample: Callable[[], Awaitable[list[JsonObject]]]) -> list[JsonObject]:
        """Fields of projects, versions, users or time entries: as defined, else as seen on one of them."""
        defined = await self.defined()
        if defined is not None:
            return [field for field in defined if field.get("customized_type") == customized]
        return [field for row in (await sample())[:1] for field in row.get("custom_fields") or ()]

    async def example(self, project: int, tracker: int) -> JsonObject | None:
        """The newest issue of a project and tracker: it has the fields that a new one would have."""

        async def read() -> list[JsonObject]:
            wanted: JsonObject = {"project_id": project, "tracker_id": tracker, "status_id": "*"}
            wanted["subproject_id"] = "!*"
            page = await self._records.page(ISSUE, **wanted, sort="id:desc", limit=1)
            return [row for row in page.rows if row["tracker"]["id"] == tracker and row["project"]["id"] == project]

        rows = await self._lookups.remembered(f"example {project} {tracker}", read)
        return rows[0] if rows else None

    async def id_of(
        self, value: IdOrName, parameter: str, project: int | None, seen: Sequence[JsonObject] | None = None
    ) -> int:
        """The id of a field. `seen` are the fields of the record to change."""
        candidates: list[Candidate] = []
        for since in (None, self._lookups.now()) if seen is None else (None,):
            fields = await self.of_issues(project, since=since) if seen is None else seen
            candidates = [Candidate(id=field["id"], names=(field["name"],)) for field in fields]
            id_ = as_id(value)
            matches = [one for one in candidates if one.id == id_] if id_ else matching(str(value), candidates)
            if matches:
                return only(matches, "custom field", parameter)
        raise absent("custom field", parameter, candidates, _HINT)

    async def definition(self, id_: int, project: int | None = None) -> JsonObject:
        """The field with format and choices, as far as our user can learn them; else empty."""
        return (await self.definitions((id_,), project)).get(id_, {})

    async def definitions(
        self, ids: Collection[int], project: int | None, issue: int | None = None
    ) -> dict[int, JsonObject]:
        """Several fields at once, in one request; the form of an issue has also those that are no filters."""
        defined = await self.defined()
        if defined is not None:
            return {field["id"]: field for field in defined if field["id"] in ids}
        if not ids:
            return {}
        filters = await self._forms.filters(project, [f"cf_{id_}" for id_ in ids]) or {}
        found = {id_: filters[f"cf_{id_}"].as_definition(id_) for id_ in ids if f"cf_{id_}" in filters}
        if issue is not None and len(found) < len(set(ids)):
            found = {**{id_: one for id_, one in (await self._forms.fields(issue)).items() if id_ in ids}, **found}
        return found

    async def hints(self, id_: int, project: int | None) -> JsonObject:
        """What the values of a field without a known format look like."""
        return next((one for one in await self.learned(project) if one["id"] == id_), {})

    async def check_sort(self, id_: int, project: int | None) -> None:
        """Refuse to sort by a field with several values or files, which Redmine silently ignores."""
        await self.id_of(id_, "sort", project)
        field = next((one for one in await self.of_issues(project) if one["id"] == id_), {})
        if field.get("multiple") or field.get("field_format") == "attachment":
            message = "Invalid value for parameter sort: Redmine cannot sort by this custom field"
            raise ValidationError.of("sort", message, hint="It takes several values, or files.")

    async def check_filter(self, id_: int, parameter: str, project: int | None) -> None:
        """Refuse a filter by a field that is not made for filtering, which Redmine silently ignores."""
        if (await self.defined()) is None and await self._forms.filters(project, (f"cf_{id_}",)) is None:
            usable: Any = await self._lookups.remembered(
                f"filter {id_} {project}", lambda: self._try_filter(id_, project)
            )
        else:
            usable = (await self.definition(id_, project)).get("is_filter")
        if not usable:
            message = f"Invalid value for parameter {parameter}: Redmine cannot filter by this custom field"
            hint = "An administrator can allow it in the field's settings (Used as a filter)."
            raise ValidationError.of(parameter, message, hint=hint)

    async def _try_filter(self, id_: int, project: int | None) -> list[JsonObject]:
        """Detect an ignored filter: with and without a value, it returns all issues."""
        inside: JsonObject = {"project_id": project} if project else {}

        async def count(**more: Any) -> int:
            return (await self._records.page(ISSUE, status_id="*", limit=1, **inside, **more)).total

        everything = await count()
        some, others = await count(**{f"cf_{id_}": "*"}), await count(**{f"cf_{id_}": "!*"})
        ignored = everything > 0 and some == others == everything
        return [] if ignored else [{"id": id_}]

    async def _read_defined(self) -> list[JsonObject]:
        return rows_of(await self._service.get(place("custom_fields"), to("list", CUSTOM_FIELD)), CUSTOM_FIELD)

    async def _learn(self, project: int | None) -> list[JsonObject]:
        inside: JsonObject = {"project_id": project} if project else {}
        page = await self._records.page(ISSUE, status_id="*", sort="updated_on:desc", limit=_SAMPLE, **inside)
        seen: dict[int, JsonObject] = {}
        for issue in page.rows:
            for field in issue.get("custom_fields", ()):
                kept = seen.setdefault(field["id"], {"id": field["id"], "name": field["name"], "trackers": []})
                kept["multiple"] = bool(field.get("multiple"))
                _note_values(kept, field.get("value"))
                if (tracker := issue["tracker"]["name"]) not in kept["trackers"]:
                    kept["trackers"].append(tracker)
        if not seen and project is not None:
            return await self._learn(None)
        return [seen[id_] for id_ in sorted(seen)]


def _note_values(kept: JsonObject, value: Any) -> None:
    values = [one for one in (value if isinstance(value, list) else [value]) if one not in (None, "")]
    if values:
        kept[NUMBERS] = kept.get(NUMBERS, True) and all(str(one).isdecimal() for one in values)
        kept[FLAGS] = kept.get(FLAGS, True) and all(str(one) in ("0", "1") for one in values)


def choices_of(field: Mapping[str, Any]) -> dict[str, str]:
    """Labels by value."""
    rows = [one for one in field.get("possible_values") or () if isinstance(one, dict)]
    return {str(one.get("value")): str(one.get("label", one.get("value"))) for one in rows}
