"""Read Redmine's web pages for facts that its API hides from ordinary users: choices of fields, and allowed trackers.

The API lists custom fields to administrators only, and never says which trackers a role may add. The web pages of
the same controllers accept the API key as well: the page of issues has every filter with its type and values, and
the page of an issue has the form with all trackers that may be chosen. A page that cannot be read tells nothing.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any, Final

from dogubako.contract.errors import NotFoundError
from dogubako.contract.offload import offload_if_large
from dogubako.outbound.http import Operation
from dogubako.outbound.json_answers import decode_any_json
from dogubako.packs.redmine.api import RedmineService, place
from dogubako.packs.redmine.errors import RedmineRefused
from dogubako.packs.redmine.lookups import Lookups
from dogubako.packs.redmine.models import JsonObject

_READ_FILTERS: Final = Operation(name="read the filters of issues")
_READ_FORM: Final = Operation(name="read the form of an issue")
_FILTERS: Final = re.compile(rb"var availableFilters = (\{.*\});")
_TRACKERS: Final = re.compile(
    rb'<select[^<>]{0,300}\sid="issue_tracker_id"[^<>]{0,300}>((?:[^<]++|<(?!/select))*+)(?:</select>|\Z)'
)
_TIME_ZONE: Final = re.compile(
    rb'<select[^<>]{0,300}\sid="pref_time_zone"[^<>]{0,300}>((?:[^<]++|<(?!/select))*+)(?:</select>|\Z)'
)
_CHOSEN: Final = re.compile(
    rb'<option[^<>]{0,50}\sselected="selected"[^<>]{0,50}\svalue="([^"<>]{0,200})"[^<>]{0,50}>([^<]{0,500})<'
)
_READ_ACCOUNT: Final = Operation(name="read the user's account")
_INPUT: Final = re.compile(rb"<(select|input|textarea)\s[^<>]*+>")
_FIELD_ID: Final = re.compile(rb'name="issue\[custom_field_values\]\[(\d+)\]')
_FIELD_FORMAT: Final = re.compile(rb'class="(\w+)_cf[ "]')
_LABELLED: Final = re.compile(rb'<option[^<>]{0,100}\svalue="([^"<>]{0,200})"[^<>]{0,100}>([^<]{0,500})</option>')
_TOOLBAR: Final = re.compile(rb"jstoolbar/(textile|markdown|common_mark)\b")
_MARKUPS: Final = {"common_mark": "markdown"}
_OPTION: Final = re.compile(rb'<option[^<>]{0,100}\svalue="(\d+)"')
_ANY: Final = "*"
# No issue has this id: only the filters are of interest, not the list below them.
_NO_ISSUE: Final = "0"
_FORMATS: Final = {"date": "date", "integer": "int", "float": "float", "string": "string", "text": "text"}
_STATUS_TOO: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class FormFilter:
    """A filter of the page of issues: its type, and the values of those that were asked for."""

    name: str
    type: str
    values: tuple[tuple[str, ...], ...] = ()

    def as_definition(self, id_: int) -> JsonObject:
        """The filter of a custom field in the form in which Redmine lists custom fields to administrators."""
        choices = [{"value": one[-1] if len(one) < _STATUS_TOO else one[1], "label": one[0]} for one in self.values]
        return {
            "id": id_,
            "name": self.name,
            "field_format": self._format,
            "possible_values": [one for one in choices if one["value"] != "me"],
            "is_filter": True,
        }

    @property
    def _format(self) -> str:
        if self.type in _FORMATS:
            return _FORMATS[self.type]
        values = {one[1] if len(one) > 1 else one[0] for one in self.values}
        if "me" in values:
            return "user"
        if values == {"0", "1"}:
            return "bool"
        if any(len(one) == _STATUS_TOO for one in self.values):
            return "version"
        return "list" if all(len(one) == 1 for one in self.values) else "enumeration"


class WebForms:
    """Reads forms of Redmine's web pages, with the key of our user."""

    def __init__(self, service: RedmineService, lookups: Lookups) -> None:
        self._service = service
        self._lookups = lookups

    async def filters(
        self, project: int | None, valued: Collection[str], *, since: float | None = None
    ) -> Mapping[str, FormFilter] | None:
        """All filters of a project's issues, or of all issues, with the values of those in `valued`."""
        names = sorted(valued)

        async def read() -> list[JsonObject]:
            path = place("issues") if project is None else place("projects", project, "issues")
            params = {"set_filter": "1", "issue_id": _NO_ISSUE, **dict.fromkeys(names, _ANY)}
            page = await self._page(path, _READ_FILTERS, **params)
            found = await offload_if_large(page, _filters_in, page)
            return [] if found is None else [{"filters": found}]

        rows = await self._lookups.remembered(f"filter form {project} {','.join(names)}", read, since=since)
        return rows[0]["filters"] if rows else None

    async def trackers(self, issue: int) -> set[int] | None:
        """The trackers that our user may choose in the project of this issue, its own one included."""
        form = await self._form(issue)
        return form["trackers"] if form else None

    async def fields(self, issue: int) -> dict[int, JsonObject]:
        """Formats and choices of the custom fields in the form of an issue; none if our user may not edit it."""
        form = await self._form(issue)
        return form["fields"] if form else {}

    async def _form(self, issue: int) -> JsonObject | None:
        async def read() -> list[JsonObject]:
            page = await self._page(place("issues", issue), _READ_FORM)
            trackers = _TRACKERS.search(page)
            if trackers is None:
                return []
            ids = {int(one) for one in _OPTION.findall(trackers[1])}
            return [{"trackers": ids, "fields": await offload_if_large(page, _fields_in, page)}]

        rows = await self._lookups.remembered(f"issue form {issue}", read)
        return rows[0] if rows else None

    async def time_zone(self) -> tuple[str, str]:
        """Name and label of the time zone that our user has chosen; empty without one."""

        async def read() -> list[JsonObject]:
            page = await self._page(place("my", "account"), _READ_ACCOUNT)
            form = _TIME_ZONE.search(page)
            chosen = _CHOSEN.search(form[1]) if form else None
            parts = chosen.groups() if chosen else ()
            return [{"zone": [unescape(part.decode(errors="replace")) for part in parts]}] if parts else []

        rows = await self._lookups.remembered("time zone", read)
        return (rows[0]["zone"][0], rows[0]["zone"][1]) if rows else ("", "")

    async def markup(self) -> str | None:
        """How texts are written in this Redmine, `textile` or `markdown`: the toolbar of its forms is made for it."""

        async def read() -> list[JsonObject]:
            try:
                issues = (await self._service.get(place("issues"), _READ_FORM, limit=1, status_id="*")).get("issues")
            except (RedmineRefused, NotFoundError):
                return []
            page = await self._page(place("issues", issues[0]["id"]), _READ_FORM) if issues else b""
            found = _TOOLBAR.search(page)
            return [{"markup": _MARKUPS.get(found[1].decode(), found[1].decode())}] if found else []

        rows = await self._lookups.remembered("markup", read)
        return rows[0]["markup"] if rows else None

    async def _page(self, path: str, operation: Operation, **params: Any) -> bytes:
        try:
            return await self._service.page(path.removesuffix(".json"), operation, **params)
        except (RedmineRefused, NotFoundError):
            return b""


def _filters_in(page: bytes) -> dict[str, FormFilter] | None:
    script = _FILTERS.search(page)
    try:
        filters = decode_any_json(script[1]) if script else None
    except ValueError:
        return None
    if not isinstance(filters, dict):
        return None
    return {
        name: FormFilter(name=str(one.get("name")), type=str(one.get("type")), values=_values(one.get("values")))
        for name, one in filters.items()
        if isinstance(one, dict)
    }


def _fields_in(page: bytes) -> dict[int, JsonObject]:
    """The custom fields of a form, as Redmine lists them to administrators; names are on the issue itself."""
    fields: dict[int, JsonObject] = {}
    for tag in _INPUT.finditer(page):
        id_, form = _FIELD_ID.search(tag[0]), _FIELD_FORMAT.search(tag[0])
        if id_ is None or form is None:
            continue
        end = page.find(b"</select>", tag.end())
        options = _LABELLED.findall(page[tag.end() : end]) if tag[1] == b"select" and end > 0 else []
        texts = [(unescape(value.decode()), unescape(label.decode())) for value, label in options]
        fields[int(id_[1])] = {
            "id": int(id_[1]),
            "field_format": form[1].decode(),
            "possible_values": [{"value": value, "label": label} for value, label in texts if value],
        }
    return fields


def _values(values: Any) -> tuple[tuple[str, ...], ...]:
    """Redmine writes a value as a text, as label and value, or with a status as the third part."""
    rows: Sequence[Any] = values if isinstance(values, list) else ()
    return tuple(tuple(str(part) for part in row) if isinstance(row, list) else (str(row),) for row in rows if row)
