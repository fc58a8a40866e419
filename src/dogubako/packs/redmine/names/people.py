"""Users and groups by login, by name, or as "me"."""

import unicodedata
from typing import Final

from dogubako.packs.redmine.api.records import RecordsApi
from dogubako.packs.redmine.api.service import RedmineService
from dogubako.packs.redmine.lookups import Lookups
from dogubako.packs.redmine.models import GROUP, MEMBERSHIP, USER, Json
from dogubako.packs.redmine.names.matching import LONGEST_NAME, Candidate, IdOrName, absent, as_id, matching, only, same

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
        named = str(given)
        if len(named) > LONGEST_NAME:
            raise absent("user", parameter, hint=_HINT)
        if same(named, ME):
            return int(me["id"])
        members: list[Candidate] = []
        for since in (None, self._lookups.now()):
            members = await self._members(project, me, since)
            if found := await self._matching(named, members, project, since):
                return only(found, "user", parameter)
        raise absent("user", parameter, members if project is not None else (), _HINT)

    async def _matching(
        self, named: str, members: list[Candidate], project: int | None, since: float | None
    ) -> list[Candidate]:
        admin = (await self._service.me()).get("admin")
        near = matching(named, members)
        if near and (project is not None or not admin):
            return near
        if admin:
            return matching(named, [*members, *await self._everybody(named, since)])
        return matching(named, await self._with_logins(members))

    async def _members(self, project: int | None, me: Json, since: float | None) -> list[Candidate]:
        """Those of the project; without one, of all projects that our user is in."""
        mine = [one["project"]["id"] for one in me.get("memberships", ()) if "project" in one]
        found = [_candidate(me, [me.get("login")])]
        for id_ in mine if project is None else [project]:
            rows = await self._lookups.rows_if_allowed(MEMBERSHIP, id_, since=since)
            found += [_candidate(row.get("user") or row.get("group") or {}) for row in rows]
        return [one for one in found if one.id]

    async def _everybody(self, named: str, since: float | None) -> list[Candidate]:
        """Administrators may look among all users and groups; in the second look also among locked users."""
        # Redmine compares each word with first name, last name, login and mail, letter by letter.
        words, state = (named, None) if since is None else (unicodedata.normalize("NFKC", named), "")
        users = await self._records.all(USER, name=" ".join(words.split()), status=state)
        groups = await self._lookups.remembered("groups", lambda: self._records.all(GROUP), since=since)
        return [_candidate(user, [user.get("login"), user.get("mail")]) for user in users] + [
            _candidate(group) for group in groups
        ]

    async def _with_logins(self, known: list[Candidate]) -> list[Candidate]:
        """Lists of members have no logins; each user's own page has."""
        pages = [await self._lookups.record_if_allowed(USER, one.id) for one in known[:_MOST_LOGINS]]
        return [_candidate(page, [page.get("login")]) for page in pages if page is not None]


def _candidate(person: Json, others: list[str | None] | None = None) -> Candidate:
    full = person.get("name") or f"{person.get('firstname', '')} {person.get('lastname', '')}".strip()
    return Candidate(id=person.get("id") or 0, names=(full, *(name for name in others or () if name)))
