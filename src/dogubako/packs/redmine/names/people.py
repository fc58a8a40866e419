"""Users and groups by login, by name, or as "me"."""

from typing import Final

from dogubako.contract.errors import DogubakoError
from dogubako.packs.redmine.api.records import RecordsApi
from dogubako.packs.redmine.api.service import RedmineService
from dogubako.packs.redmine.lookups import Lookups
from dogubako.packs.redmine.models import GROUP, MEMBERSHIP, USER, Json
from dogubako.packs.redmine.names.matching import Candidate, IdOrName, absent, as_id, matching, only

ME: Final = "me"

# Whose logins are worth a request each, when nobody has the name that was given.
_MOST_LOGINS: Final = 50
_HINT: Final = "list_memberships shows who is in a project; administrators have list_users."


class People:
    """Who is who, as far as our user may see."""

    def __init__(self, service: RedmineService, lookups: Lookups) -> None:
        self._service = service
        self._lookups = lookups
        self._records = RecordsApi(service)

    async def id_of(self, given: IdOrName, parameter: str, project: int | None = None) -> int:
        """The id of a user or group. Those of the project are looked at first."""
        if (id_ := as_id(given)) is not None:
            return id_
        me = await self._service.me()
        if given == ME:
            return int(me["id"])
        named = str(given)
        known = await self._members(project, me)
        if found := matching(named, known):
            return only(found, "user", parameter)
        if found := matching(named, await self._everybody(named, me)):
            return only(found, "user", parameter)
        if found := matching(named, await self._with_logins(known)):
            return only(found, "user", parameter)
        raise absent("user", parameter, known if project is not None else (), _HINT)

    async def _members(self, project: int | None, me: Json) -> list[Candidate]:
        """Those of the project; without one, of all projects that our user is in."""
        mine = [one["project"]["id"] for one in me.get("memberships", ()) if "project" in one]
        found = [_candidate(me, [me.get("login")])]
        for id_ in mine if project is None else [project]:
            try:
                rows = await self._lookups.rows(MEMBERSHIP, id_)
            except DogubakoError:
                continue
            found += [_candidate(row.get("user") or row.get("group") or {}) for row in rows]
        return [one for one in found if one.id]

    async def _everybody(self, named: str, me: Json) -> list[Candidate]:
        """Administrators may look among all users and groups."""
        if not me.get("admin"):
            return []
        # Redmine compares each word with first name, last name, login and mail.
        users = await self._records.all(USER, name=named)
        groups = await self._lookups.remembered("groups", lambda: self._records.all(GROUP))
        return [_candidate(user, [user.get("login"), user.get("mail")]) for user in users] + [
            _candidate(group) for group in groups
        ]

    async def _with_logins(self, known: list[Candidate]) -> list[Candidate]:
        """Lists of members have no logins; each user's own page has."""
        found = []
        for one in known[:_MOST_LOGINS]:
            rows = await self._lookups.remembered(f"user {one.id}", lambda one=one: self._page_of(one.id))  # type: ignore[misc]
            found += [_candidate(row, [row.get("login")]) for row in rows]
        return found

    async def _page_of(self, id_: int) -> list[Json]:
        try:
            return [await self._records.show(USER, id_)]
        except DogubakoError:
            return []


def _candidate(person: Json, others: list[str | None] | None = None) -> Candidate:
    full = person.get("name") or f"{person.get('firstname', '')} {person.get('lastname', '')}".strip()
    return Candidate(id=person.get("id") or 0, names=(full, *(name for name in others or () if name)))
