"""Validate an issue before it is written, because Redmine drops invalid fields and reports success."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dogubako.contract.errors import ValidationError
from dogubako.packs.redmine.api import MOST_PER_PAGE, RecordsApi, to
from dogubako.packs.redmine.errors import RedmineRefused
from dogubako.packs.redmine.ignored_fields import OWN_PERMISSION, workflow_refusal
from dogubako.packs.redmine.lookups import Lookups
from dogubako.packs.redmine.models import ISSUE, PROJECT, STATUS, JsonObject
from dogubako.packs.redmine.names.matching import IdOrName, as_id, same
from dogubako.packs.redmine.names.names import Names
from dogubako.packs.redmine.permissions import Access

_NEEDED: Final = ("trackers", "enabled_modules")
_MODULE: Final = "issue_tracking"
_MOST_NAMED: Final = 10
_NOTHING: Final = "Nothing was written."


class Preflight:
    """What a project, its trackers, the workflow and our roles allow."""

    def __init__(self, records: RecordsApi, lookups: Lookups, names: Names, access: Access) -> None:
        self._records = records
        self._lookups = lookups
        self._names = names
        self._access = access

    async def example_of_new(
        self, project: int, tracker: int | None, custom_fields: Sequence[Mapping[str, Any]]
    ) -> JsonObject | None:
        """Check tracker and custom fields of a new issue. Returns an issue with the same fields, if there is one."""
        if tracker is None and not custom_fields:
            return None
        home = await self._project(project)
        trackers = home.get("trackers") or []
        if tracker is not None:
            await self._check_tracker(home, trackers, tracker)
        chosen = tracker or (trackers[0]["id"] if trackers else None)
        example = await self._names.custom_fields.example(project, chosen) if custom_fields and chosen else None
        if example is None:
            return None
        for one in custom_fields:
            await self._check_field(one, example.get("custom_fields") or [], example)
        return example

    async def check_permissions(self, body: Mapping[str, Any], project: int, *, own: bool, new: bool) -> None:
        """Refuse fields that need a permission which our roles lack: Redmine would ignore them."""
        for field, value in body.items():
            permission = OWN_PERMISSION.get((ISSUE.one, field))
            if permission is None or value in (None, "", [], False) or field in ("notes", "private_notes"):
                continue
            if field == "is_private" and own and not await self._access.lacks("set_own_issues_private", project):
                continue
            if await self._access.still_lacks(permission, project):
                reason = f"your role lacks the permission {permission}"
                raise _refused(field, reason, f"{_NOTHING} {await self._access.who_might(permission)}", new=new)

    async def check_status(self, body: Mapping[str, Any], before: JsonObject) -> None:
        """Refuse a status before the write if it certainly cannot be set, and name what is in its way."""
        wanted, allowed = body.get("status_id"), before.get("allowed_statuses")
        may_differ = {"tracker_id", "project_id", "assigned_to_id"} & body.keys()
        if wanted is None or allowed is None or may_differ or wanted == before["status"]["id"]:
            return
        if wanted in [status["id"] for status in allowed]:
            return
        reason = await self.obstacle(wanted, before) or workflow_refusal(before)
        raise ValidationError.of(
            "status_id", f"Invalid value for parameter status_id: {reason}", hint="Nothing was changed."
        )

    async def _project(self, project: int) -> JsonObject:
        async def read() -> list[JsonObject]:
            return [await self._records.show(PROJECT, project, _NEEDED)]

        return (await self._lookups.remembered(f"project {project}", read))[0]

    async def _check_tracker(self, home: JsonObject, trackers: Sequence[JsonObject], tracker: int) -> None:
        modules = [one.get("name") for one in home.get("enabled_modules") or ()]
        if "enabled_modules" in home and _MODULE not in modules:
            raise _refused("project_id", f"the module {_MODULE} is switched off in project '{home.get('name')}'")
        if "trackers" in home and tracker not in [one["id"] for one in trackers]:
            reason = f"project '{home.get('name')}' does not use this tracker, or you may not see its issues"
            raise _refused("tracker_id", reason, f"{_NOTHING} It has: {_named(trackers)}.")
        allowed = await self._trackers_to_add(int(home["id"]), tracker, trackers)
        if allowed is not None and tracker not in allowed:
            can = [one for one in trackers if one["id"] in allowed]
            reason = "your role may not add issues of this tracker in this project"
            raise _refused("tracker_id", reason, f"{_NOTHING} It may add: {_named(can)}.")

    async def _trackers_to_add(self, project: int, wanted: int, trackers: Sequence[JsonObject]) -> set[int] | None:
        """The trackers of which our user may add issues; None if it is not known.

        Only the form of an existing issue tells them. It always has the issue's own tracker, so another one is opened.
        """
        me = await self._access.me()
        if me.get("admin") or len(trackers) < 2 or await self._access.lacks("add_issues", project):
            return None
        mine: JsonObject = {}
        if await self._access.lacks("edit_issues", project):
            if await self._access.lacks("edit_own_issues", project):
                return None
            mine = {"author_id": "me"}

        async def read() -> list[JsonObject]:
            inside = {"project_id": project, "subproject_id": "!*", "status_id": "*", "tracker_id": f"!{wanted}"}
            return (await self._records.page(ISSUE, limit=1, **{**inside, **mine})).rows

        rows = await self._lookups.remembered(f"example {project} not {wanted}", read)
        return await self._names.forms.trackers(rows[0]["id"]) if rows else None

    async def _check_field(self, given: Mapping[str, Any], seen: Sequence[JsonObject], example: JsonObject) -> None:
        wanted: IdOrName = given["id"] if given.get("id") is not None else given["name"]
        if _among(wanted, seen):
            return
        others = await self._names.custom_fields.of_issues(None)
        if not _among(wanted, others):
            # The usual error for an unknown name follows.
            return
        place = f"issues of tracker '{example['tracker']['name']}' in project '{example['project']['name']}'"
        hint = f"{_NOTHING} They have: {_named(seen)}."
        raise _refused("custom_fields", f"{place} do not have this custom field", hint)

    async def obstacle(self, wanted: int, before: JsonObject) -> str | None:
        """What keeps an issue open: issues that block it, open children; or closed: a closed parent."""
        statuses = {one["id"]: one for one in await self._lookups.rows(STATUS)}
        if not statuses.get(wanted, {}).get("is_closed"):
            parent = (before.get("parent") or {}).get("id")
            closed = await self._in_state([parent], "closed") if parent else []
            return f"its parent is closed: {listed_issues(closed)}" if closed else None
        blocking = [
            one["issue_id"]
            for one in before.get("relations") or ()
            if one["relation_type"] == "blocks" and one["issue_to_id"] == before["id"]
        ]
        children = [one["id"] for one in descendants(before.get("children") or [])]
        still_open = await self._in_state([*blocking, *children], "open")
        blockers = [one for one in still_open if one["id"] in blocking]
        if blockers:
            return f"it is blocked by {listed_issues(blockers)}"
        return f"it has open children: {listed_issues(still_open)}" if still_open else None

    async def _in_state(self, ids: Sequence[int], state: str) -> list[JsonObject]:
        if not ids:
            return []
        wanted = ",".join(str(one) for one in ids[:MOST_PER_PAGE])
        return (await self._records.page(ISSUE, issue_id=wanted, status_id=state, limit=MOST_PER_PAGE)).rows


def descendants(children: Sequence[JsonObject]) -> list[JsonObject]:
    """Children of all levels."""
    return [one for child in children for one in (child, *descendants(child.get("children") or []))]


def _among(wanted: IdOrName, fields: Sequence[JsonObject]) -> bool:
    id_ = as_id(wanted)
    return any(one["id"] == id_ if id_ is not None else same(str(wanted), one["name"]) for one in fields)


def _refused(field: str, reason: str, hint: str = _NOTHING, *, new: bool = True) -> RedmineRefused:
    operation = to("create" if new else "update", ISSUE)
    refusal = RedmineRefused(operation, f"{field}: {reason}", status=422, hint=hint)
    refusal.explained = True
    return refusal


def _named(rows: Sequence[JsonObject]) -> str:
    return ", ".join(str(one["name"]) for one in rows) or "none"


def listed_issues(issues: Sequence[JsonObject]) -> str:
    shown = [f"#{one['id']} {one['subject']} ({one['status']['name']})" for one in issues[:_MOST_NAMED]]
    return ", ".join(shown) + (f" and {len(issues) - _MOST_NAMED} more" if len(issues) > _MOST_NAMED else "")
