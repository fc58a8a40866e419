"""From what people say to what Redmine wants, for every kind of thing that has a name."""

import re
from collections.abc import Sequence
from typing import Final

from dogubako.contract.errors import NotFoundError, ValidationError
from dogubako.packs.redmine.api.records import RecordsApi
from dogubako.packs.redmine.api.service import RedmineService
from dogubako.packs.redmine.errors import RedmineRefused
from dogubako.packs.redmine.lookups import Lookups
from dogubako.packs.redmine.models import CATEGORY, PROJECT, QUERY, VERSION, Json, Kind
from dogubako.packs.redmine.names.custom_fields import CustomFields
from dogubako.packs.redmine.names.matching import Candidate, IdOrName, absent, as_id, matching, only
from dogubako.packs.redmine.names.people import People

_OF_A_PROJECT: Final = (VERSION, CATEGORY)
_IDENTIFIER: Final = re.compile(r"[a-z0-9_-]{1,100}")


class Names:
    """Finds ids. What it does not find is refused here, before Redmine ignores it."""

    def __init__(self, service: RedmineService, lookups: Lookups) -> None:
        self._lookups = lookups
        self._records = RecordsApi(service)
        self.people = People(service, lookups)
        self.custom_fields = CustomFields(service, lookups)

    async def id_of(self, kind: Kind, given: IdOrName, parameter: str, project: int | None = None) -> int:
        """The id of a status, tracker, priority, version, category, activity or role."""
        if (id_ := as_id(given)) is not None:
            return await self._unless_a_name(kind, given, id_, parameter, project)
        if kind in _OF_A_PROJECT and project is None:
            message = f"Invalid value for parameter {parameter}: without a project a {kind.noun} cannot be named"
            raise ValidationError.of(parameter, message, hint=f"Give project_id too, or the {kind.noun}'s id.")
        known: list[Candidate] = []
        for since in (None, self._lookups.now()):
            known = _candidates(await self._lookups.rows(kind, project, since=since))
            if found := matching(str(given), known):
                return only(found, kind.noun, parameter)
        raise absent(kind.noun, parameter, known, kind.finder)

    async def _unless_a_name(self, kind: Kind, given: IdOrName, id_: int, parameter: str, project: int | None) -> int:
        """A version may be called '2': in a text that is first of all a name."""
        if not isinstance(given, str) or "#" in given or kind not in _OF_A_PROJECT or project is None:
            return id_
        known = _candidates(await self._lookups.rows_if_allowed(kind, project))
        meant = {one.id: one for one in matching(given, known)}
        meant |= {one.id: one for one in known if one.id == id_}
        return only(list(meant.values()), kind.noun, parameter) if meant else id_

    async def ids_of(self, kind: Kind, given: Sequence[IdOrName], parameter: str) -> list[int]:
        """Each once: to some lists Redmine answers an id that comes twice with an error of its own."""
        return list(dict.fromkeys([await self.id_of(kind, one, parameter) for one in given]))

    async def query(self, given: IdOrName, project: int | None) -> int:
        """The id of a saved query. One that belongs to a project works only together with it."""
        id_, found, known = as_id(given), list[Candidate](), list[Candidate]()
        for since in (None, self._lookups.now()):
            rows = await self._lookups.rows(QUERY, since=since)
            known = _candidates(rows)
            found = [one for one in known if one.id == id_] if id_ is not None else matching(str(given), known)
            homes = {row["id"]: row.get("project_id") for row in rows if row.get("id")}
            if usable := [one for one in found if homes[one.id] in (None, project)]:
                return only(usable, "query", "query_id")
            if found:
                message = "Invalid value for parameter query_id: this query belongs to a project"
                hint = f"Give project_id: {homes[found[0].id]} with it."
                raise ValidationError.of("query_id", message, hint=hint)
        raise absent("query", "query_id", known, QUERY.finder)

    async def project(self, given: IdOrName, parameter: str = "project_id") -> int:
        """The id of a project by id, identifier or name."""
        if (id_ := as_id(given)) is not None:
            return id_
        wanted = str(given)
        known: list[Candidate] = []
        for since in (None, self._lookups.now()):
            rows = await self._lookups.rows(PROJECT, since=since)
            known = _candidates(rows)
            if found := matching(wanted, _candidates(rows, "identifier")) or matching(wanted, known):
                return only(found, "project", parameter)
        if (hidden := await self._by_identifier(wanted.strip())) is not None:
            return hidden
        raise absent("project", parameter, known, PROJECT.finder)

    async def project_or_archived(self, given: IdOrName, parameter: str) -> IdOrName:
        """As `project`, for acts that an archived one allows; of that nobody learns the id."""
        try:
            return await self.project(given, parameter)
        except RedmineRefused as refusal:
            if refusal.status_code == 403:
                return given
            raise

    async def _by_identifier(self, wanted: str) -> int | None:
        """Lists may lack what a direct question finds; an archived project is refused, and so exists."""
        if not _IDENTIFIER.fullmatch(wanted):
            return None
        try:
            return int((await self._records.show(PROJECT, wanted))["id"])
        except NotFoundError:
            return None


def _candidates(rows: Sequence[Json], key: str = "name") -> list[Candidate]:
    return [Candidate(id=row["id"], names=(row[key],)) for row in rows if row.get("id") and row.get(key)]
