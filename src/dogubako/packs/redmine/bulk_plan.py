"""Plan a bulk change: what each issue would become, and what Redmine would refuse.

The plan makes no request per issue. What Redmine would refuse is found out for all issues alike: by project for names
and permissions, by project, tracker and status for the workflow, and for all at once what keeps issues open.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dogubako.contract.errors import DogubakoError
from dogubako.packs.redmine.all_rows import issues_by_id
from dogubako.packs.redmine.api import MOST_PER_PAGE
from dogubako.packs.redmine.client import RedmineClient
from dogubako.packs.redmine.errors import RedmineRefused, reason_of
from dogubako.packs.redmine.ignored_fields import workflow_refusal
from dogubako.packs.redmine.models import ISSUE, STATUS, JsonObject
from dogubako.packs.redmine.payloads import Bodies
from dogubako.packs.redmine.preflight import listed_issues
from dogubako.packs.redmine.previews import PlannedIssue
from dogubako.packs.redmine.verification import ignored

MOST_ISSUES: Final = 200
_MOST_EXAMPLES: Final = 20
_OF_AN_EXAMPLE: Final = ("children", "relations", "allowed_statuses")
# With another tracker or assignee, other statuses may be allowed than those that Redmine tells.
_CHANGE_THE_WORKFLOW: Final = ("tracker_id", "assigned_to_id")


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """The issues in the order of writing, with what would happen to each, and the body for each project."""

    bodies: dict[str, JsonObject]
    issues: list[PlannedIssue]


class Planner:
    """Plans the same changes for many issues."""

    def __init__(self, client: RedmineClient, rows: Sequence[JsonObject]) -> None:
        self._client = client
        self._rows = rows
        self._refusals: dict[Any, str] = {}
        # By issue: open issues that keep it from being closed.
        self._in_the_way: Mapping[int, list[JsonObject]] = {}
        self._examples = 0

    async def plan(self, changes: JsonObject) -> Plan:
        """What would be written. If no project knows the names, the error is raised."""
        bodies: dict[str, JsonObject] = {}
        failures: dict[int, DogubakoError] = {}
        for project in dict.fromkeys(row["project"]["id"] for row in self._rows):
            try:
                bodies[str(project)] = await self._body(changes, project)
            except DogubakoError as error:
                failures[project] = error
        if failures and not bodies:
            raise next(iter(failures.values()))
        await self._look_for_obstacles(next(iter(bodies.values()), {}))
        issues = [await self._planned(row, bodies, failures) for row in self._in_order()]
        return Plan(bodies=bodies, issues=issues)

    async def _body(self, changes: JsonObject, project: int) -> JsonObject:
        rows = [row for row in self._rows if row["project"]["id"] == project]
        fields = {one["id"]: one for row in rows for one in row.get("custom_fields") or ()}
        return await Bodies(self._client.names).of(changes, project, list(fields.values()), rows[0]["id"])

    async def _planned(
        self, row: JsonObject, bodies: dict[str, JsonObject], failures: dict[int, DogubakoError]
    ) -> PlannedIssue:
        project = row["project"]["id"]
        refused = failures[project].message if project in failures else ""
        unchanged = False
        if not refused:
            body = bodies[str(project)]
            unchanged = "notes" not in body and not ignored(body, row)
            refused = "" if unchanged else await self._refusal(row, body)
        return PlannedIssue(
            id=row["id"],
            subject=str(row.get("subject") or ""),
            project=project,
            updated_on=str(row.get("updated_on") or ""),
            refused=refused,
            unchanged=unchanged,
        )

    async def _refusal(self, row: JsonObject, body: JsonObject) -> str:
        """Why Redmine would not write it, as far as that can be known before; else nothing."""
        own_fields = {one["id"] for one in row.get("custom_fields") or ()}
        if not {one["id"] for one in body.get("custom_fields") or ()} <= own_fields:
            return "issues of this tracker in this project do not have this custom field"
        me = (await self._client.service.me())["id"]
        is_author = (row.get("author") or {}).get("id") == me
        project = row["project"]["id"]
        reason = await self._once((project, is_author), lambda: self._permissions(body, project, is_author))
        reason = reason or await self._impossible_value(row, body)
        if reason or "status_id" not in body or any(field in body for field in _CHANGE_THE_WORKFLOW):
            return reason
        others = [one for one in self._in_the_way.get(row["id"], ()) if one["id"] not in self._chosen]
        if others:
            return f"open issues keep it from being closed: {listed_issues(others)}"
        is_assignee = (row.get("assigned_to") or {}).get("id") == me
        alike = (project, is_author, row["tracker"]["id"], row["status"]["id"], is_assignee)
        return await self._workflow(row["id"], body["status_id"], alike)

    async def _once(self, key: Any, find: Callable[[], Awaitable[str]]) -> str:
        if key not in self._refusals:
            self._refusals[key] = await find()
        return self._refusals[key]

    async def _permissions(self, body: JsonObject, project: int, is_author: bool) -> str:
        access = self._client.access
        may_edit = not await access.still_lacks("edit_issues", project)
        if not may_edit and is_author:
            may_edit = not await access.lacks("edit_own_issues", project)
        if not may_edit and body.keys() - {"notes"}:
            return "your role lacks the permission edit_issues"
        if "notes" in body and await access.still_lacks("add_issue_notes", project):
            return "your role lacks the permission add_issue_notes"
        try:
            await self._client.preflight.check_permissions(body, project, own=is_author, new=False)
        except RedmineRefused as refusal:
            return reason_of(refusal)
        return ""

    async def _impossible_value(self, row: JsonObject, body: JsonObject) -> str:
        """A version that is locked or of another project, a person who cannot have issues here."""
        project = row["project"]["id"]
        # Redmine lets the author have the issue, member or not.
        possible = {"assigned_to_id": (row.get("author") or {}).get("id")}
        fields = [
            name
            for name in ("fixed_version_id", "assigned_to_id")
            if body.get(name) not in (None, "", possible.get(name))
        ]
        for name in fields:

            async def find(name: str = name) -> str:
                return "; ".join(await self._client.access.facts({name: body[name]}, project, certain=True))

            if reason := await self._once((name, project), find):
                return reason
        return ""

    async def _workflow(self, issue: int, wanted: int, alike: Any) -> str:
        """Whether the workflow allows the status: asked of one issue, as others of its tracker and status are alike."""
        if alike in self._refusals or self._examples >= _MOST_EXAMPLES:
            return self._refusals.get(alike, "")
        self._examples += 1
        example = await self._client.records.show(ISSUE, issue, _OF_AN_EXAMPLE)
        allowed = [one["id"] for one in example.get("allowed_statuses") or ()]
        if wanted in allowed or "allowed_statuses" not in example or self._in_the_way.get(issue):
            # What is in its way is changed first, so Redmine does not tell yet what will be allowed.
            if wanted in allowed:
                self._refusals[alike] = ""
            return ""
        if obstacle := await self._client.preflight.obstacle(wanted, example):
            return obstacle
        self._refusals[alike] = workflow_refusal(example)
        return self._refusals[alike]

    async def _look_for_obstacles(self, body: JsonObject) -> None:
        """Find the open children and blockers of all issues, if they are to be closed."""
        statuses = {one["id"]: one for one in await self._client.lookups.rows(STATUS)}
        if not statuses.get(body.get("status_id"), {}).get("is_closed"):
            return
        found: dict[int, list[JsonObject]] = {}
        ids = [row["id"] for row in self._rows]
        for start in range(0, len(ids), MOST_PER_PAGE):
            wanted = ",".join(map(str, ids[start : start + MOST_PER_PAGE]))
            for parent, child in await self._open_children(wanted):
                found.setdefault(parent, []).append(child)
            for blocked, blocker in await self._open_blockers(wanted):
                found.setdefault(blocked, []).append(blocker)
        self._in_the_way = found

    async def _open_children(self, parents: str) -> list[tuple[int, JsonObject]]:
        page = await self._client.records.page(ISSUE, parent_id=parents, status_id="open", limit=MOST_PER_PAGE)
        return [(row["parent"]["id"], row) for row in page.rows if row.get("parent")]

    async def _open_blockers(self, ids: str) -> list[tuple[int, JsonObject]]:
        page = await self._client.records.page(
            ISSUE, issue_id=ids, status_id="*", include="relations", limit=MOST_PER_PAGE
        )
        pairs = {
            (one["issue_to_id"], one["issue_id"])
            for row in page.rows
            for one in row.get("relations") or ()
            if one["relation_type"] == "blocks" and one["issue_to_id"] == row["id"]
        }
        issues = await issues_by_id(self._client.records, sorted({blocker for _, blocker in pairs}))
        closed = {one["id"] for one in await self._client.lookups.rows(STATUS) if one.get("is_closed")}
        still_open = {id_: row for id_, row in issues.items() if row["status"]["id"] not in closed}
        return [(blocked, still_open[blocker]) for blocked, blocker in sorted(pairs) if blocker in still_open]

    @property
    def _chosen(self) -> set[int]:
        return {row["id"] for row in self._rows}

    def _in_order(self) -> list[JsonObject]:
        """The issues, those that keep others open before these: a parent is closed after its children."""
        rows = {row["id"]: row for row in self._rows}
        ordered: dict[int, JsonObject] = {}

        def add(id_: int, above: tuple[int, ...]) -> None:
            for one in self._in_the_way.get(id_, ()):
                if one["id"] in rows and one["id"] not in (*above, *ordered):
                    add(one["id"], (*above, id_))
            ordered.setdefault(id_, rows[id_])

        for id_ in rows:
            add(id_, (id_,))
        return list(ordered.values())
