"""Write records, read them back, and report what did not happen.

A call flows: names → ids, then `Writing` writes, reads the record again, compares it with the request
(`verification`), finds out why a field was ignored (`ignored_fields`), and either returns the record or raises.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dogubako.contract.errors import ApiErrorContext, DogubakoError, NotFoundError
from dogubako.contract.output import example_call
from dogubako.outbound.http import Operation
from dogubako.packs.redmine.api import RecordsApi, RedmineService, missing, place, to
from dogubako.packs.redmine.errors import NotDoneError, RedmineRefused, Undone, UnseenError
from dogubako.packs.redmine.ignored_fields import Reasons
from dogubako.packs.redmine.lookups import Lookups
from dogubako.packs.redmine.models import (
    CATEGORY,
    ISSUE,
    MEMBERSHIP,
    PROJECT,
    TIME_ENTRY,
    USER,
    VERSION,
    JsonObject,
    Kind,
)
from dogubako.packs.redmine.permissions import Access
from dogubako.packs.redmine.verification import also_changed, set_by_itself

# A change of these changes cached lists, or our own permissions.
_KEPT_ELSEWHERE: Final = (PROJECT, MEMBERSHIP, VERSION, CATEGORY, USER)
_SHOWN: Final = (ISSUE, PROJECT, VERSION, TIME_ENTRY, USER)


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """The record as it is now, and the changes that were not requested."""

    record: JsonObject
    also_changed: list[JsonObject] = field(default_factory=list)


class Writing:
    """Writes records of any kind."""

    def __init__(self, service: RedmineService, lookups: Lookups, access: Access) -> None:
        self._service = service
        self._lookups = lookups
        self._access = access
        self._records = RecordsApi(service)
        self._reasons = Reasons(access, lookups)

    async def create(
        self,
        kind: Kind,
        path: str,
        body: Mapping[str, Any],
        *,
        include: Sequence[str] = (),
        project: int | str | None = None,
        act: str = "create",
        **params: Any,
    ) -> Outcome:
        """Create a record and verify it."""
        operation = to(act, kind)
        answer = await self.sent("POST", path, operation, kind, act, {kind.one: dict(body)}, project, **params)
        made = (answer or {}).get(kind.one) or {}
        if "id" not in made:
            hint = "It may exist all the same: look before you try again."
            raise RedmineRefused(operation, "Redmine did not say what it has created", status=502, hint=hint)
        record = await self.read_back(kind, "create", made["id"], include)
        await self.check(kind, "create", body, record)
        return Outcome(record=record, also_changed=set_by_itself(body, record))

    async def update(
        self,
        kind: Kind,
        before: JsonObject,
        body: Mapping[str, Any],
        *,
        include: Sequence[str] = (),
        project: int | str | None = None,
    ) -> Outcome:
        """Update a record, and compare it with its old state and with the request."""
        id_ = before["id"]
        operation = to("update", kind, id_)
        await self.sent("PUT", place(kind.many, id_), operation, kind, "update", {kind.one: dict(body)}, project)
        after = await self.read_back(kind, "update", id_, include)
        return await self.compared(kind, before, after, body)

    async def read_back(
        self, kind: Kind, act: str, id_: int | str, include: Sequence[str] = (), *, path: str | None = None
    ) -> JsonObject:
        """The record after a write. The error for an unreadable one says that the write was done."""
        try:
            return await self._records.show(kind, id_, include, path=path)
        except DogubakoError as error:
            raise _unseen(kind, act, id_, error) from error

    async def compared(
        self, kind: Kind, before: JsonObject, after: JsonObject, body: Mapping[str, Any], extra: Sequence[Undone] = ()
    ) -> Outcome:
        """The outcome of an update; `extra` are failures that only the caller could detect."""
        await self.check(kind, "update", body, after, extra)
        return Outcome(record=after, also_changed=also_changed(body, before, after))

    async def delete(
        self, kind: Kind, id_: int | str, *, path: str | None = None, project: int | str | None = None, **params: Any
    ) -> None:
        """Delete a record, and verify that it is gone."""
        operation = to("delete", kind, id_)
        where = path or place(kind.many, id_)
        await self.sent("DELETE", where, operation, kind, "delete", None, project, **params)
        try:
            await self._service.get(where, operation)
        except NotFoundError:
            return
        except DogubakoError as error:
            raise _unseen(kind, "delete", id_, error) from error
        undone = [Undone(field="id", reason=f"the {kind.noun} is still there")]
        raise self._not_done(kind, "delete", id_, undone)

    async def sent(
        self,
        method: str,
        path: str,
        operation: Operation,
        kind: Kind,
        act: str,
        body: JsonObject | None,
        project: int | str | None,
        **params: Any,
    ) -> JsonObject | None:
        """Send a write; a refusal is raised with its reason."""
        try:
            answer = await self._service.send(method, path, operation, body, **params)
        except NotFoundError:
            raise missing(operation, kind.finder) from None
        except RedmineRefused as refusal:
            written = (body or {}).get(kind.one)
            raise await self._access.explained(refusal, kind, act, project, written) from refusal
        if kind in _KEPT_ELSEWHERE:
            self._lookups.forget()
            self._service.forget_me()
        return answer

    async def check(
        self, kind: Kind, act: str, body: Mapping[str, Any], record: JsonObject, extra: Sequence[Undone] = ()
    ) -> None:
        """Raise if a requested value was not set."""
        undone = [*await self._reasons.of(body, kind, act, record), *extra]
        if undone:
            id_ = record.get("id") or record.get("title") or ""
            raise self._not_done(kind, act, id_, undone, something=_asked_for(body) > len(undone))

    def _not_done(
        self, kind: Kind, act: str, id_: int | str, undone: Sequence[Undone], *, something: bool = False
    ) -> NotDoneError:
        context = ApiErrorContext(
            operation=f"{act} {kind.noun}",
            resource_type=kind.label,
            resource_id=str(id_),
            error_details=", ".join(one.field for one in undone),
        )
        if act == "create":
            # After a plain "failed", an agent would create it a second time.
            message = f"{kind.label} {id_} was created, but Redmine did not take everything"
            hint = f"It exists: do not create it again. {_look(kind, id_)}".strip()
        elif act == "delete":
            message, hint = f"{kind.label} {id_} was not deleted", "Redmine reported success all the same."
        elif something:
            message = f"{kind.label} {id_} was changed only in part: Redmine reported success, but ignored some of it"
            hint = "Everything else that you asked for was done."
        else:
            message = f"{kind.label} {id_} was not changed: Redmine reported success, but ignored it"
            hint = "Nothing of what you asked for was done."
        return NotDoneError(message, undone, context=context, hint=hint)


_DONE: Final = {"create": "created", "update": "changed", "save": "saved", "delete": "deleted"}


def _unseen(kind: Kind, act: str, id_: int | str, error: DogubakoError) -> UnseenError:
    again = "It exists: do not create it again." if act == "create" else "Look at it before you try again."
    hint = f"{again} {_look(kind, id_)}".strip()
    return UnseenError(f"{kind.label} {id_} was {_DONE[act]}, but it could not be looked at afterwards", error, hint)


def _look(kind: Kind, id_: int | str) -> str:
    """How to see such a record, if there is a tool for it."""
    return f"{example_call(f'show_{kind.one}', id=id_)} shows it." if kind in _SHOWN else kind.finder or ""


def _asked_for(body: Mapping[str, Any]) -> int:
    """The number of requested values; each custom field counts."""
    return len(body.keys() - {"custom_fields"}) + len(body.get("custom_fields") or ())
