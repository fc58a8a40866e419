"""Custom fields by name. Administrators can list them; everybody else learns them from the issues they see."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from dogubako.contract.errors import ValidationError
from dogubako.packs.redmine.api.records import RecordsApi, rows_of, to
from dogubako.packs.redmine.api.service import RedmineService, place
from dogubako.packs.redmine.errors import RedmineRefused
from dogubako.packs.redmine.lookups import Lookups
from dogubako.packs.redmine.models import CUSTOM_FIELD, ISSUE, Json
from dogubako.packs.redmine.names.matching import Candidate, IdOrName, absent, as_id, matching, only, same

_SAMPLE: Final = 100
# Whether all values that were seen are numbers: those of a list of users, versions or choices are, for example.
NUMBERS: Final = "numbers"
_EVER: Final = "<=9999-12-31"
_HINT: Final = "list_custom_fields shows them."


class CustomFields:
    """Which custom fields there are for our user."""

    def __init__(self, service: RedmineService, lookups: Lookups) -> None:
        self._service = service
        self._lookups = lookups
        self._records = RecordsApi(service)

    async def defined(self, *, since: float | None = None) -> list[Json] | None:
        """All of them with all that is known of them, for administrators; nothing for others."""
        if not (await self._service.me()).get("admin"):
            return None
        return await self._lookups.remembered("custom_fields", self._read_defined, since=since)

    async def of_issues(self, project: int | None = None, *, since: float | None = None) -> list[Json]:
        """Fields of issues: as defined, else as seen on the newest issues of the project, or of all."""
        defined = await self.defined(since=since)
        if defined is not None:
            return [field for field in defined if field.get("customized_type") == "issue"]
        return await self.learned(project, since=since)

    async def learned(self, project: int | None, *, since: float | None = None) -> list[Json]:
        """Fields as they are seen on the newest issues."""
        return await self._lookups.remembered(f"custom fields of {project}", lambda: self._learn(project), since=since)

    async def of(self, customized: str, sample: Callable[[], Awaitable[list[Json]]]) -> list[Json]:
        """Fields of projects, versions, users or time entries: as defined, else as seen on one of them."""
        defined = await self.defined()
        if defined is not None:
            return [field for field in defined if field.get("customized_type") == customized]
        return [field for row in (await sample())[:1] for field in row.get("custom_fields") or ()]

    async def id_of(
        self, given: IdOrName, parameter: str, project: int | None, seen: Sequence[Json] | None = None
    ) -> int:
        """The id of a field. `seen` are the fields of the very record that is to be changed."""
        candidates: list[Candidate] = []
        for since in (None, self._lookups.now()) if seen is None else (None,):
            fields = await self.of_issues(project, since=since) if seen is None else seen
            candidates = [Candidate(id=field["id"], names=(field["name"],)) for field in fields]
            id_ = as_id(given)
            found = [one for one in candidates if one.id == id_] if id_ else matching(str(given), candidates)
            if found:
                return only(found, "custom field", parameter)
        raise absent("custom field", parameter, candidates, _HINT)

    async def check_value(self, id_: int, values: Sequence[str], project: int | None) -> None:
        """Who is not told that a field holds users must not look for names in it, and find nothing."""
        field = next((one for one in await self.of_issues(project) if one["id"] == id_), {})
        if field.get(NUMBERS) and not all(one.isdecimal() for one in values):
            message = "Invalid value for parameter custom_fields: this field holds numbers, or ids of something"
            raise ValidationError.of("custom_fields", message, hint="show_issue shows the values that issues have.")

    async def definition(self, id_: int) -> Json:
        """What is known of a field; nothing but for administrators."""
        return next((one for one in await self.defined() or () if one["id"] == id_), {})

    async def check_sort(self, id_: int, project: int | None) -> None:
        """Redmine does not sort by a field that may hold several values, or files, and does not say so."""
        await self.id_of(id_, "sort", project)
        field = next((one for one in await self.of_issues(project) if one["id"] == id_), {})
        if field.get("multiple") or field.get("field_format") == "attachment":
            message = "Invalid value for parameter sort: Redmine cannot sort by this custom field"
            raise ValidationError.of("sort", message, hint="It takes several values, or files.")

    async def check_filter(self, id_: int, parameter: str, project: int | None) -> None:
        """Redmine ignores a filter by a field that is not made for filtering, and answers with everything."""
        defined = await self.defined()
        if defined is None:
            usable = await self._lookups.remembered(f"filter {id_} {project}", lambda: self._try_filter(id_, project))
        else:
            usable = [field for field in defined if field["id"] == id_ and field.get("is_filter")]
        if not usable:
            message = f"Invalid value for parameter {parameter}: Redmine cannot filter by this custom field"
            hint = "An administrator can allow it in the field's settings (Used as a filter)."
            raise ValidationError.of(parameter, message, hint=hint)

    async def holds_days(self, id_: int, project: int | None) -> bool:
        """Whether a field holds dates, for those who are not told: only then Redmine can compare it with one."""
        asked: Json = {"status_id": "*", "project_id": project, f"cf_{id_}": _EVER}

        async def read() -> list[Json]:
            try:
                return (await self._records.page(ISSUE, limit=1, **asked)).rows
            except RedmineRefused as refusal:
                if refusal.status_code != 422:
                    raise
                return []

        return bool(await self._lookups.remembered(f"days {id_} {project}", read))

    async def _try_filter(self, id_: int, project: int | None) -> list[Json]:
        """With and without a value are two halves; where each has all issues, the filter is ignored."""
        inside: Json = {"project_id": project} if project else {}

        async def count(**more: Any) -> int:
            return (await self._records.page(ISSUE, status_id="*", limit=1, **inside, **more)).total

        everything = await count()
        some, others = await count(**{f"cf_{id_}": "*"}), await count(**{f"cf_{id_}": "!*"})
        ignored = everything > 0 and some == others == everything
        return [] if ignored else [{"id": id_}]

    async def _read_defined(self) -> list[Json]:
        return rows_of(await self._service.get(place("custom_fields"), to("list", CUSTOM_FIELD)), CUSTOM_FIELD)

    async def _learn(self, project: int | None) -> list[Json]:
        inside: Json = {"project_id": project} if project else {}
        page = await self._records.page(ISSUE, status_id="*", sort="updated_on:desc", limit=_SAMPLE, **inside)
        seen: dict[int, Json] = {}
        for issue in page.rows:
            for field in issue.get("custom_fields", ()):
                kept = seen.setdefault(field["id"], {"id": field["id"], "name": field["name"], "trackers": []})
                kept["multiple"] = bool(field.get("multiple"))
                if (values := written(field.get("value"))) not in ("", []):
                    kept[NUMBERS] = kept.get(NUMBERS, True) and all(one.isdecimal() for one in _listed(values))
                if (tracker := issue["tracker"]["name"]) not in kept["trackers"]:
                    kept["trackers"].append(tracker)
        if not seen and project is not None:
            return await self._learn(None)
        return [seen[id_] for id_ in sorted(seen)]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def written(value: Any) -> Any:
    """A value as Redmine keeps it: text, or a list of texts."""
    if isinstance(value, list | tuple):
        return [written(one) for one in value]
    if isinstance(value, bool):
        return "1" if value else "0"
    return "" if value is None else str(value)


def value_named(field: Mapping[str, Any], given: Any) -> Any:
    """Where a field offers a choice, its label stands for its value."""
    if isinstance(given, list | tuple):
        return [value_named(field, one) for one in given]
    choices = [one for one in field.get("possible_values") or () if isinstance(one, dict)]
    if not isinstance(given, str) or any(given == one.get("value") for one in choices):
        return given
    named = [one.get("value") for one in choices if same(given, str(one.get("label", "")))]
    return named[0] if len(named) == 1 else given
