"""From what people say to what Redmine wants, for every kind of thing that has a name."""

from collections.abc import Sequence

from dogubako.contract.errors import NotFoundError
from dogubako.packs.redmine.api.records import RecordsApi
from dogubako.packs.redmine.api.service import RedmineService
from dogubako.packs.redmine.errors import RedmineRefused
from dogubako.packs.redmine.lookups import Lookups
from dogubako.packs.redmine.models import CATEGORY, PROJECT, VERSION, Json, Kind
from dogubako.packs.redmine.names.custom_fields import CustomFields
from dogubako.packs.redmine.names.matching import Candidate, IdOrName, absent, as_id, matching, only
from dogubako.packs.redmine.names.people import People


class Names:
    """Finds ids. What it does not find is refused here, before Redmine ignores it."""

    def __init__(self, service: RedmineService, lookups: Lookups) -> None:
        self._lookups = lookups
        self._records = RecordsApi(service)
        self.people = People(service, lookups)
        self.custom_fields = CustomFields(service, lookups)

    async def id_of(self, kind: Kind, given: IdOrName, parameter: str, project: int | None = None) -> int:
        """The id of a status, tracker, priority, version, category, activity, role or query."""
        if (id_ := as_id(given)) is not None:
            return id_
        if kind in (VERSION, CATEGORY) and project is None:
            hint = f"Give project_id too, or the {kind.noun}'s id."
            raise absent(f"{kind.noun} without a project", parameter, hint=hint)
        known: list[Candidate] = []
        for fresh in (False, True):
            known = _candidates(await self._lookups.rows(kind, project, fresh=fresh))
            if found := matching(str(given), known):
                return only(found, kind.noun, parameter)
        raise absent(kind.noun, parameter, known, kind.finder)

    async def ids_of(self, kind: Kind, given: Sequence[IdOrName], parameter: str) -> list[int]:
        return [await self.id_of(kind, one, parameter) for one in given]

    async def project(self, given: IdOrName, parameter: str = "project_id") -> int:
        """The id of a project by id, identifier or name."""
        if (id_ := as_id(given)) is not None:
            return id_
        wanted = str(given)
        known: list[Candidate] = []
        for fresh in (False, True):
            rows = await self._lookups.rows(PROJECT, fresh=fresh)
            for row in rows:
                if row.get("identifier") == wanted:
                    return int(row["id"])
            known = _candidates(rows)
            if found := matching(wanted, known):
                return only(found, "project", parameter)
        if (hidden := await self._by_identifier(wanted)) is not None:
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
        try:
            return int((await self._records.show(PROJECT, wanted))["id"])
        except NotFoundError:
            return None


def _candidates(rows: Sequence[Json]) -> list[Candidate]:
    return [Candidate(id=row["id"], names=(row["name"],)) for row in rows if row.get("id") and row.get("name")]
