"""Resolve names of all kinds to Redmine's ids."""

import re
from collections.abc import Sequence
from typing import Final

from dogubako.contract.errors import NotFoundError, ValidationError
from dogubako.packs.redmine.api import RecordsApi, RedmineService
from dogubako.packs.redmine.errors import RedmineRefused
from dogubako.packs.redmine.lookups import Lookups
from dogubako.packs.redmine.models import CATEGORY, PROJECT, QUERY, VERSION, JsonObject, Kind
from dogubako.packs.redmine.names.custom_fields import CustomFields
from dogubako.packs.redmine.names.days import Days
from dogubako.packs.redmine.names.matching import Candidate, IdOrName, absent, as_id, matching, only
from dogubako.packs.redmine.names.people import People
from dogubako.packs.redmine.names.web_forms import WebForms

_OF_A_PROJECT: Final = (VERSION, CATEGORY)
_IDENTIFIER: Final = re.compile(r"[a-z0-9_-]{1,100}")


class Names:
    """Finds ids. Unknown names are refused here, because Redmine would ignore them."""

    def __init__(self, service: RedmineService, lookups: Lookups) -> None:
        self._lookups = lookups
        self._records = RecordsApi(service)
        self.forms = WebForms(service, lookups)
        self.days = Days(self.forms)
        self.people = People(service, lookups, self.forms)
        self.custom_fields = CustomFields(service, lookups, self.forms)

    async def id_of(self, kind: Kind, value: IdOrName, parameter: str, project: int | None = None) -> int:
        """The id of a status, tracker, priority, version, category, activity or role."""
        if (id_ := as_id(value)) is not None:
            return await self._unless_a_name(kind, value, id_, parameter, project)
        if kind in _OF_A_PROJECT and project is None:
            message = f"Invalid value for parameter {parameter}: without a project a {kind.noun} cannot be named"
            raise ValidationError.of(parameter, message, hint=f"Give project_id too, or the {kind.noun}'s id.")
        candidates: list[Candidate] = []
        for since in (None, self._lookups.now()):
            candidates = _candidates(await self._lookups.rows(kind, project, since=since))
            if matches := matching(str(value), candidates):
                return only(matches, kind.noun, parameter)
        raise absent(kind.noun, parameter, candidates, kind.finder)

    async def _unless_a_name(self, kind: Kind, value: IdOrName, id_: int, parameter: str, project: int | None) -> int:
        """A text is a name before it is an id: a version may be called '2'. A number is always an id."""
        if not isinstance(value, str) or "#" in value or kind not in _OF_A_PROJECT or project is None:
            return id_
        named = matching(value, _candidates(await self._lookups.rows_if_allowed(kind, project)))
        return only(named, kind.noun, parameter) if named else id_

    async def ids_of(self, kind: Kind, value: Sequence[IdOrName], parameter: str) -> list[int]:
        """Unique ids: Redmine fails on some lists with duplicates."""
        return list(dict.fromkeys([await self.id_of(kind, one, parameter) for one in value]))

    async def query(self, value: IdOrName, project: int | None) -> int:
        """The id of a saved query. The query of a project works only together with it."""
        id_, matches, candidates = as_id(value), list[Candidate](), list[Candidate]()
        for since in (None, self._lookups.now()):
            rows = await self._lookups.rows(QUERY, since=since)
            candidates = _candidates(rows)
            matches = (
                [one for one in candidates if one.id == id_] if id_ is not None else matching(str(value), candidates)
            )
            homes = {row["id"]: row.get("project_id") for row in rows if row.get("id")}
            if usable := [one for one in matches if homes[one.id] in (None, project)]:
                return only(usable, "query", "query_id")
            if matches:
                message = "Invalid value for parameter query_id: this query belongs to a project"
                hint = f"Give project_id: {homes[matches[0].id]} with it."
                raise ValidationError.of("query_id", message, hint=hint)
        raise absent("query", "query_id", candidates, QUERY.finder)

    async def project(self, value: IdOrName, parameter: str = "project_id") -> int:
        """The id of a project by id, identifier or name."""
        if (id_ := as_id(value)) is not None:
            return id_
        wanted = str(value)
        candidates: list[Candidate] = []
        for since in (None, self._lookups.now()):
            rows = await self._lookups.rows(PROJECT, since=since)
            candidates = _candidates(rows)
            if matches := matching(wanted, _candidates(rows, "identifier")) or matching(wanted, candidates):
                return only(matches, "project", parameter)
        if (hidden := await self._by_identifier(wanted.strip())) is not None:
            return hidden
        raise absent("project", parameter, candidates, PROJECT.finder)

    async def project_or_archived(self, value: IdOrName, parameter: str) -> IdOrName:
        """Like `project`, for actions on archived projects, whose ids cannot be found."""
        try:
            return await self.project(value, parameter)
        except RedmineRefused as refusal:
            if refusal.status_code == 403:
                return value
            raise

    async def _by_identifier(self, wanted: str) -> int | None:
        """Find a project that the list lacks by a direct request; an archived one is refused, and so exists."""
        if not _IDENTIFIER.fullmatch(wanted):
            return None
        try:
            return int((await self._records.show(PROJECT, wanted))["id"])
        except NotFoundError:
            return None


def _candidates(rows: Sequence[JsonObject], key: str = "name") -> list[Candidate]:
    return [Candidate(id=row["id"], names=(row[key],)) for row in rows if row.get("id") and row.get(key)]
