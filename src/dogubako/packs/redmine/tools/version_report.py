"""The progress of versions, and what is late in them."""

from collections.abc import Sequence
from datetime import date
from typing import Final, Literal

from pydantic import Field

from dogubako.contract.metadata import ToolExample
from dogubako.contract.tool import ToolArgs
from dogubako.packs.redmine.answers import Answered
from dogubako.packs.redmine.api import place
from dogubako.packs.redmine.models import VERSION, JsonObject
from dogubako.packs.redmine.names.matching import IdOrName
from dogubako.packs.redmine.sums import NOBODY, is_overdue, issue_sums
from dogubako.packs.redmine.tools.base import ProjectId, ReadingTool
from dogubako.packs.redmine.tools.issue_selection import Selection, issue_filters

_MEASURES: Final = ("count", "open", "closed", "overdue", "estimated_hours", "spent_hours", "remaining_hours")
_MOST_LATE: Final = 20


class ReportVersionsArgs(ToolArgs):
    project_id: ProjectId
    version_id: IdOrName | None = Field(None, description="Only this version, by id or name.")
    status: Literal["open", "locked", "closed", "*"] = Field("open", description="Versions in this state; '*' for all.")


class ReportVersions(ReadingTool[ReportVersionsArgs]):
    """Show how far versions are: issues, hours, per cent done as on the roadmap, days left, and the late issues."""

    name = "report_versions"
    kind = VERSION
    act = "list"
    tags = ("versions", "reports")
    timeout = 110_000
    examples = (ToolExample(description="The roadmap in numbers", parameters={"project_id": "webshop"}),)
    keywords = {
        "en": "are we on time for the release; how far is the roadmap; "
        "which tickets are late in a milestone; per cent done of a sprint; "
        "will we make the deadline; status of all releases; will it be ready in time",
        "ja": "進捗 間に合う 遅れ バージョン リリース 何パーセント 残り 期限 マイルストーン 遅延 ロードマップ "
        "状況 間に合いそう",
    }

    async def work(self, args: ReportVersionsArgs) -> Answered:
        names = self.client.names
        project = await names.project(args.project_id)
        versions = (await self.client.records.page(VERSION, place("projects", project, "versions"))).rows
        if args.version_id is not None:
            id_ = await names.id_of(VERSION, args.version_id, "version_id", project)
            versions = [one for one in versions if one["id"] == id_] or [await self.client.records.show(VERSION, id_)]
        else:
            versions = [one for one in versions if args.status in ("*", one.get("status"))]
        issues = await self._issues([one["id"] for one in versions])
        today = await names.days.today()
        rows = [_progress(one, issues.get(one["id"], []), today) for one in versions]
        return self.answers.whole(VERSION, rows, today=today.isoformat())

    async def _issues(self, versions: Sequence[int]) -> dict[int, list[JsonObject]]:
        """All issues by version, also those of other projects that use a shared version."""
        found: dict[int, list[JsonObject]] = {}
        if versions:
            chosen = issue_filters({}, fixed_version_id="|".join(map(str, versions)))
            for issue in (await Selection(self.client).read(chosen))[0]:
                found.setdefault(issue["fixed_version"]["id"], []).append(issue)
        return found


def _progress(version: JsonObject, issues: Sequence[JsonObject], today: date) -> JsonObject:
    shown = {key: version[key] for key in ("id", "name", "status", "due_date") if version.get(key) is not None}
    shown |= issue_sums(issues, (*_MEASURES, "progress"), today)
    late = [one for one in issues if is_overdue(one, today)]
    if due := version.get("due_date"):
        days = (date.fromisoformat(str(due)) - today).days
        shown["days_left"] = days
        if days < 0 and shown["open"]:
            shown["late_by_days"] = -days
            late = [one for one in issues if not one["closed"]]
    if late:
        shown["late"] = [
            _late(one) for one in sorted(late, key=lambda one: str(one.get("due_date") or "9"))[:_MOST_LATE]
        ]
    if len(late) > _MOST_LATE:
        shown["more_late"] = len(late) - _MOST_LATE
    return shown


def _late(issue: JsonObject) -> JsonObject:
    who = (issue.get("assigned_to") or {}).get("name") or NOBODY
    return {
        "id": issue["id"],
        "subject": issue.get("subject"),
        "assigned_to": who,
        "due_date": issue.get("due_date") or NOBODY,
        "done_ratio": issue.get("done_ratio"),
    }


TOOLS = (ReportVersions,)
