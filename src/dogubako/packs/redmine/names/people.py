"""Find users and groups by any form in which people write them.

A person is written as Redmine shows the name ("佐藤 太郎"), without the blank, the other way round, by one part of it
if nobody else has it, by login, or by mail address. A number in JSON is an id; a text of digits may be a login.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Final

import anyio

from dogubako.contract.normalization import nfkc
from dogubako.packs.redmine.api import RecordsApi, RedmineService
from dogubako.packs.redmine.lookups import Lookups
from dogubako.packs.redmine.models import GROUP, MEMBERSHIP, USER, JsonObject
from dogubako.packs.redmine.names.matching import LONGEST_NAME, Candidate, IdOrName, absent, as_id, only, plain, same
from dogubako.packs.redmine.names.web_forms import WebForms

ME: Final = "me"

_HINT: Final = "list_memberships shows who is in a project; administrators have list_users."
# At most this many records are read to compare logins, which lists of members lack; so many at the same time.
_MOST_RECORDS: Final = 100
_AT_ONCE: Final = 8
_MOST_WORDS: Final = 4
_LOGIN: Final = re.compile(r"[a-z0-9_@.+-]+", re.IGNORECASE | re.ASCII)
# Names in these scripts are written last name first, whatever Redmine's settings say.
_LAST_FIRST: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_HONORIFIC: Final = re.compile(r"(?<=.)(?:さん|さま|様|氏|殿|くん|君| ?선생님|님|씨)$")
# Redmine can show names as "Jón J." or "J. Jónsson".
_INITIAL: Final = re.compile(r"\b\w\.(?:\s|$)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Person:
    """A user or group with all written forms. `parts` are single words of the name, `exact` whole names."""

    id: int
    shown: str
    login: str = ""
    exact: frozenset[str] = field(default_factory=frozenset)
    parts: frozenset[str] = field(default_factory=frozenset)
    is_group: bool = False

    def as_candidate(self, *, beside_users: bool = False) -> Candidate:
        known_by = f", login {self.login}" if self.login.isdigit() else ""
        note = ", a group" if self.is_group and beside_users else known_by
        return Candidate(id=self.id, names=(self.shown,), note=note)


class People:
    """The users and groups that our user may see."""

    def __init__(self, service: RedmineService, lookups: Lookups, forms: WebForms) -> None:
        self._service = service
        self._lookups = lookups
        self._forms = forms
        self._records = RecordsApi(service)

    async def id_of(
        self, given: IdOrName, parameter: str, project: int | None = None, *, anywhere: bool = False
    ) -> int:
        """The id of a user or group. Members of the project are meant before others, unless `anywhere` is set."""
        is_id = isinstance(given, int) or given.strip().startswith("#")
        if is_id and (id_ := as_id(given)) is not None:
            return id_
        named, me = str(given).strip(), await self._service.me()
        if not named or len(named) > LONGEST_NAME:
            raise absent("user", parameter, hint=_HINT)
        if same(named, ME):
            return int(me["id"])
        near = None if anywhere else project
        for since in (None, self._lookups.now()):
            if found := await self._search(named, near, since):
                beside_users = not all(one.is_group for one in found)
                return only([one.as_candidate(beside_users=beside_users) for one in found], "user", parameter)
        if (id_ := as_id(named)) is not None and named == str(id_):
            # Nobody we can see has this login or id; Redmine knows more people.
            return id_
        known = await self._members(project, None) if project is not None else ()
        raise absent("user", parameter, [one.as_candidate() for one in known], _HINT)

    async def names(self, ids: Iterable[int], project: int | None) -> dict[int, str]:
        """The shown names of these users, as far as our user may see them."""
        wanted = set(ids)
        known = {one.id: one.shown for one in await self._members(project, None)} if project is not None else {}
        missing = sorted(wanted - known.keys())
        return known | {one.id: one.shown for one in await self._with_records(missing)}

    async def _search(self, named: str, near: int | None, since: float | None) -> list[Person]:
        """Who is meant. Of several people those in the project `near` are meant before others."""
        if (await self._service.me()).get("admin"):
            found = await self._everybody(named, since)
            if len(found) > 1 and near is not None:
                members = {one.id for one in await self._members(near, since)}
                found = [one for one in found if one.id in members] or found
            return found
        if near is not None and (found := await self._found(named, await self._members(near, since))):
            return found
        return await self._found(named, await self._visible(since))

    async def _found(self, named: str, known: Sequence[Person]) -> list[Person]:
        """Compare with the names that are shown first; logins and addresses need a request for each person.

        Of ourselves we know more than of others. What only our own record says must not decide between namesakes.
        """
        by_id = {one.id: one for one in known}
        shown = [_person({"id": one.id, "name": one.shown}, is_group=one.is_group) for one in known]
        may_be_login = _LOGIN.fullmatch(named) is not None
        whole = [by_id[one.id] for one in shown if one.exact & forms(named)]
        if whole and not may_be_login:
            return whole
        if not whole and not named.isdigit() and (own := [one for one in known if plain(one.login) == plain(named)]):
            return own
        users = [one for one in known if not one.is_group]
        only_ours = not _best(named, shown) and _best(named, known)
        if may_be_login or only_ours or any(_is_shortened(one.shown) for one in users):
            detailed = {one.id: one for one in await self._with_records([one.id for one in users])}
            known = [detailed.get(one.id, one) for one in known]
            known = [replace(one, exact=one.exact | by_id[one.id].exact) for one in known]
        return _best(named, known)

    async def _members(self, project: int | None, since: float | None) -> list[Person]:
        if project is None:
            return []
        rows = await self._lookups.rows_if_allowed(MEMBERSHIP, project, since=since)
        people = [_person(row.get("user") or row.get("group") or {}, is_group="group" in row) for row in rows]
        return _merged([*people, _person(await self._service.me())])

    async def _visible(self, since: float | None) -> list[Person]:
        """The people of all projects that our user sees, from one page: no list of the API has them."""
        filters = await self._forms.filters(None, ("author_id", "member_of_group"), since=since) or {}
        found = {name: filters[name].values if name in filters else () for name in ("author_id", "member_of_group")}
        # Redmine tells the status of each user; the anonymous one has none.
        users = [_person({"id": int(row[1]), "name": row[0]}) for row in found["author_id"] if len(row) > 2]
        groups = [_person({"id": int(row[1]), "name": row[0]}, is_group=True) for row in found["member_of_group"]]
        people = [*users, *groups]
        return _merged([*people, _person(await self._service.me())])

    async def _everybody(self, named: str, since: float | None) -> list[Person]:
        """Among all users and groups, for administrators; the second time also among locked users."""
        rows = await self._lookups.remembered("groups", lambda: self._records.all(GROUP), since=since)
        groups = [_person(row, is_group=True) for row in rows]
        for words in _searches(named, wider=since is not None):
            users = [
                _person(row) for row in await self._records.all(USER, name=words, status=None if since is None else "")
            ]
            if _best(named, users):
                # A group may have the name of a user, or a name that is a user's login.
                return await self._or_by_id(named, _best(named, [*users, *groups]))
        return _best(named, groups)

    async def _or_by_id(self, named: str, found: list[Person]) -> list[Person]:
        """A login of digits, and whoever has this number as id: one of the two is meant."""
        id_ = as_id(named)
        if id_ is None or named != str(id_):
            return found
        other = await self._lookups.record_if_allowed(USER, id_)
        return found if other is None else _merged([*found, _person(other)])

    async def _with_records(self, ids: Sequence[int]) -> list[Person]:
        """People with logins and addresses, from each user's own record."""
        records: dict[int, JsonObject] = {}
        limit = anyio.CapacityLimiter(_AT_ONCE)

        async def read(id_: int) -> None:
            async with limit:
                if (record := await self._lookups.record_if_allowed(USER, id_)) is not None:
                    records[id_] = record

        try:
            async with anyio.create_task_group() as tasks:
                for id_ in ids[:_MOST_RECORDS]:
                    tasks.start_soon(read, id_)
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return [_person(records[id_]) for id_ in ids if id_ in records]


def forms(name: str) -> frozenset[str]:
    """A whole name without blanks, in every order of its words: 佐藤太郎 and 太郎佐藤."""
    words = plain(name).replace(",", " ").split()
    orders = permutations(words) if len(words) <= _MOST_WORDS else [words]
    return frozenset("".join(order) for order in orders if order)


def _is_shortened(shown: str) -> bool:
    """Whether a name as Redmine shows it may lack a part: it is one word, or has an initial."""
    return len(shown.split()) == 1 or _INITIAL.search(shown) is not None


def _best(named: str, people: Sequence[Person]) -> list[Person]:
    """The people of a whole name, a login or an address; else of one part of a name."""
    if named.isascii() and named.isdigit():
        return [one for one in people if one.login == named or str(one.id) == named]
    wanted, login = forms(named), plain(named)
    bare = _HONORIFIC.sub("", login)
    levels = (
        [one for one in people if one.login.casefold() == login or one.exact & wanted],
        [one for one in people if login in one.parts],
        [one for one in people if bare in one.parts or one.exact & forms(bare)],
    )
    return next((found for found in levels if found), [])


def _searches(named: str, *, wider: bool) -> list[str]:
    """Texts for Redmine's search of users, which compares each word with first name and last name."""
    text = " ".join(named.split())
    if not wider:
        letters = "".join(text.split())
        # "佐藤太郎" is in neither name, but its first letter is in one of them, and its last letter too.
        return [text] if letters.isascii() else [text, f"{letters[0]} {letters[-1]}"]
    return list(dict.fromkeys([nfkc(text), _HONORIFIC.sub("", nfkc(text))]))


def _person(record: JsonObject, *, is_group: bool = False) -> Person:
    first, last = str(record.get("firstname") or ""), str(record.get("lastname") or "")
    whole = f"{last} {first}" if _LAST_FIRST.search(last) else f"{first} {last}"
    shown = str(record.get("name") or whole.strip())
    mail = plain(str(record.get("mail") or ""))
    words = [word for name in (shown, first, last) for word in (*plain(name).replace(",", " ").split(), plain(name))]
    return Person(
        id=int(record.get("id") or 0),
        shown=shown,
        login=str(record.get("login") or ""),
        exact=forms(shown) | forms(f"{first} {last}") | ({mail} if mail else set()),
        parts=frozenset(word for word in words if word),
        is_group=is_group,
    )


def _merged(people: Iterable[Person]) -> list[Person]:
    """Each person once, with what all records of the person say."""
    found: dict[int, Person] = {}
    for one in people:
        if one.id:
            # Our own record has no name as Redmine shows it, and a row of members has no login.
            known = found.get(one.id)
            found[one.id] = replace(one, shown=known.shown, exact=one.exact | known.exact) if known else one
    return list(found.values())
