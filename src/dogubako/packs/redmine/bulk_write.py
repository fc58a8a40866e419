"""Write what a preview of a bulk change has shown, issue by issue, and verify it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from dogubako.contract.errors import DogubakoError, NotFoundError
from dogubako.packs.redmine.all_rows import issues_by_id
from dogubako.packs.redmine.api import place, to
from dogubako.packs.redmine.client import RedmineClient
from dogubako.packs.redmine.errors import RedmineRefused, reason_of
from dogubako.packs.redmine.ignored_fields import Reasons
from dogubako.packs.redmine.models import ISSUE, JsonObject
from dogubako.packs.redmine.previews import PlannedIssue, Preview
from dogubako.packs.redmine.verification import also_changed, ignored, one_line_end

# Issues are read again shortly before they are written, so that a change by somebody else is seen.
_READ_AGAIN: Final = 25
_MOST_REASONS: Final = 10
_FOR_REASONS: Final = ("children", "relations", "allowed_statuses")
Progress = Callable[[int, int], Awaitable[None]]


@dataclass(kw_only=True, slots=True)
class Result:
    """What happened to each issue."""

    changed: list[int] = field(default_factory=list)
    refused: list[JsonObject] = field(default_factory=list)
    changed_meanwhile: list[JsonObject] = field(default_factory=list)
    also_changed: list[JsonObject] = field(default_factory=list)
    not_tried: list[int] = field(default_factory=list)
    # Why it ended before all issues were tried, or verified.
    stopped_by: str = ""


class BulkWriter:
    """Writes what a preview has shown."""

    def __init__(self, client: RedmineClient, preview: Preview, progress: Progress) -> None:
        self._client = client
        self._preview = preview
        self._progress = progress
        self._reasons = Reasons(client.access, client.lookups)
        self._result = Result()
        self._before: dict[int, JsonObject] = {}
        self._written: list[PlannedIssue] = []
        # Redmine changes a parent when a child changes, so a newer parent may be our own doing.
        self._touched: set[int] = set()

    async def write(self) -> Result:
        """Write issue by issue. After a failure that is no refusal, the others are not tried."""
        for one in self._preview.issues:
            if one.refused:
                self._refuse(one, one.refused)
        todo = [one for one in self._preview.issues if not one.refused and not one.unchanged]
        for start in range(0, len(todo), _READ_AGAIN):
            if not await self._write_part(todo[start : start + _READ_AGAIN], len(todo)):
                tried = {one.id for one in self._written} | {one["id"] for one in self._told()}
                self._result.not_tried = [one.id for one in todo if one.id not in tried]
                break
        return await self._verified()

    async def _write_part(self, part: Sequence[PlannedIssue], all_of_them: int) -> bool:
        """Write a few issues, once they are read again. False if nothing more should be tried."""
        try:
            rows = await issues_by_id(self._client.records, [one.id for one in part])
        except DogubakoError as error:
            self._result.stopped_by = reason_of(error)
            return False
        for one in part:
            if not await self._write(one, rows.get(one.id)):
                return False
            await self._progress(len(self._written) + len(self._told()), all_of_them)
        return True

    def _told(self) -> list[JsonObject]:
        """The issues that were not written, each with the reason."""
        return [*self._result.refused, *self._result.changed_meanwhile]

    async def _write(self, one: PlannedIssue, now: JsonObject | None) -> bool:
        """Write one issue. False if nothing more should be tried."""
        if now is None:
            self._refuse(one, "it is gone, or you may not see it any more")
        elif now.get("updated_on") != one.updated_on and one.id not in self._touched:
            self._result.changed_meanwhile.append(_row(one, f"last changed on {now.get('updated_on')}"))
        else:
            self._before[one.id] = now
            self._touched.add((now.get("parent") or {}).get("id", 0))
            return await self._put(one)
        return True

    async def _put(self, one: PlannedIssue) -> bool:
        operation, body = to("update", ISSUE, one.id), self._preview.bodies[str(one.project)]
        try:
            await self._client.writing.sent(
                "PUT", place("issues", one.id), operation, ISSUE, "update", {"issue": body}, one.project
            )
        except (RedmineRefused, NotFoundError) as refusal:
            self._refuse(one, reason_of(refusal))
            if refusal.transient:
                self._result.stopped_by = reason_of(refusal)
            return not refusal.transient
        except DogubakoError as error:
            # Whether it was written is not known, and the next one would probably fail too.
            self._result.stopped_by = reason_of(error)
            self._refuse(one, f"{reason_of(error)}; it may have been written all the same")
            return False
        self._written.append(one)
        return True

    async def _verified(self) -> Result:
        """Read all written issues again, and find what Redmine ignored."""
        try:
            rows = await issues_by_id(self._client.records, [one.id for one in self._written])
        except DogubakoError as error:
            self._result.stopped_by = reason_of(error)
            rows = {}
        for one in self._written:
            await self._verify(one, rows.get(one.id))
        return self._result

    async def _verify(self, one: PlannedIssue, now: JsonObject | None) -> None:
        body = self._preview.bodies[str(one.project)]
        if now is None:
            self._refuse(one, "it was written, but could not be looked at afterwards")
            return
        fields = [*ignored(body, now), *await self._lost_note(one, body, now)]
        if fields:
            self._refuse(one, await self._why(one, body, fields))
            return
        self._result.changed.append(one.id)
        others = also_changed(body, self._before[one.id], now)
        if others:
            names = ", ".join(str(other["field"]) for other in others)
            self._result.also_changed.append({"id": one.id, "subject": one.subject, "fields": names})

    async def _lost_note(self, one: PlannedIssue, body: JsonObject, now: JsonObject) -> list[str]:
        """The comment, if Redmine dropped it. An issue with a new time has it; only otherwise its history is read."""
        if "notes" not in body or now.get("updated_on") != one.updated_on:
            return []
        record = await self._client.writing.read_back(ISSUE, "update", one.id, ("journals",))
        notes = [one_line_end(journal.get("notes") or "") for journal in record.get("journals") or ()]
        return [] if one_line_end(body["notes"]) in notes else ["notes"]

    async def _why(self, one: PlannedIssue, body: JsonObject, fields: Sequence[str]) -> str:
        """The reasons for the fields that Redmine ignored, from the whole record of a few issues."""
        if len(self._result.refused) >= _MOST_REASONS:
            return f"Redmine reported success, but ignored {', '.join(fields)}"
        # Somebody may have taken a role away since the preview.
        self._client.service.forget_me()
        record = await self._client.writing.read_back(ISSUE, "update", one.id, _FOR_REASONS)
        undone = await self._reasons.of(body, ISSUE, "update", record)
        told = "; ".join(f"{each.field}: {each.reason}" for each in undone) or ", ".join(fields)
        return f"Redmine reported success, but ignored it: {told}"

    def _refuse(self, one: PlannedIssue, reason: str) -> None:
        self._result.refused.append(_row(one, reason))


def _row(one: PlannedIssue, reason: str) -> JsonObject:
    return {"id": one.id, "subject": one.subject, "reason": reason}
