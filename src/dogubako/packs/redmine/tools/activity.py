"""Who changed what in which days, from the histories of issues; and the release notes of a version."""

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any, Final, Literal

from pydantic import Field

from dogubako.contract.errors import NotFoundError, ValidationError
from dogubako.contract.metadata import ToolExample
from dogubako.contract.tool import ToolArgs
from dogubako.packs.redmine.all_rows import AllRows, together, too_many
from dogubako.packs.redmine.answers import Answered
from dogubako.packs.redmine.history import History
from dogubako.packs.redmine.models import ISSUE, VERSION, JsonObject, Kind, Listing
from dogubako.packs.redmine.names.matching import IdOrName
from dogubako.packs.redmine.sums import NOBODY, day_of
from dogubako.packs.redmine.tools.base import Day, Limit, Offset, ProjectId, ReadingTool, next_page
from dogubako.packs.redmine.tools.issue_selection import FIELDS, Selection, issue_filters

ACTIVITY_ENTRY: Final = Kind(noun="activity", one="entry", many="entries", needs={"list": "view_issues"})
RELEASE_NOTES: Final = Kind(noun="release notes", one="release_notes", many="release_notes")
# The histories of issues cost a request each.
MOST_HISTORIES: Final = 150
_USUAL_DAYS: Final = 7
_ALL_JOURNALS: Final = 100_000


class ListActivityArgs(ToolArgs):
    project_id: ProjectId | None = Field(None, description="Only of this project and its subprojects.")
    user_id: IdOrName | None = Field(None, description="Only what this person did: id, login, name or 'me'.")
    since: Day | None = Field(None, alias="from", description=f"First day; {_USUAL_DAYS} days ago without it.")
    until: Day | None = Field(None, alias="to", description="Last day; today without it.")
    limit: Limit = 50
    offset: Offset = 0


class ListActivity(ReadingTool[ListActivityArgs]):
    """List who created, changed and commented which issues in a span of days, newest first, from their histories."""

    name = "list_activity"
    kind = ISSUE
    act = "list"
    tags = ("issues", "reports")
    timeout = 110_000
    examples = (
        ToolExample(
            description="What one person did this week",
            parameters={"project_id": "webshop", "user_id": "dev", "from": "2026-11-09", "to": "2026-11-13"},
        ),
    )
    keywords = {
        "en": "what happened yesterday; what did somebody do this week; who changed what; "
        "daily stand-up; recent changes in a project; what did I miss while away; "
        "log of comments and status changes; what has somebody been up to; "
        "catch me up after my holiday; what happened while I was away",
        "ja": "活動 誰が 何をした 昨日 先週 今週 変更履歴 動き 朝会 日報 週報 留守の間 更新 やったこと 経過 "
        "休みの間 何があった",
    }

    async def work(self, args: ListActivityArgs) -> Answered:
        names = self.client.names
        zone = await names.days.zone()
        first, last = await self._days(args)
        project = None if args.project_id is None else await names.project(args.project_id)
        user = None if args.user_id is None else await names.people.id_of(args.user_id, "user_id", project)
        issues = await self._issues(project, user, first, zone)

        def is_meant(entry: JsonObject) -> bool:
            day, by = day_of(entry.get("created_on"), zone), (entry.get("user") or {}).get("id")
            return day is not None and first <= day <= last and user in (None, by)

        histories = await together(lambda row: self._entries(row["id"], is_meant), issues)
        chosen = [one for entries in histories for one in entries]
        chosen.sort(key=lambda one: (one["created_on"], one["order"]), reverse=True)
        rows = [{key: value for key, value in one.items() if key != "order"} for one in chosen]
        page = Listing(
            rows=rows[args.offset : args.offset + args.limit], total=len(rows), offset=args.offset, limit=args.limit
        )
        facts = {"from": first.isoformat(), "to": last.isoformat(), "by_user": _counted(rows)}
        return self.answers.listing(ACTIVITY_ENTRY, page.rows, page, next_page(self.name, args), **facts)

    async def _days(self, args: ListActivityArgs) -> tuple[date, date]:
        days = self.client.names.days
        last = date.fromisoformat(await days.day(args.until, "to")) if args.until else await days.today()
        usual = last - timedelta(days=_USUAL_DAYS - 1)
        first = date.fromisoformat(await days.day(args.since, "from")) if args.since else usual
        if first > last:
            raise ValidationError.of("from", "Invalid value for parameter from: it is after the last day")
        return first, last

    async def _issues(self, project: int | None, user: int | None, first: date, zone: tzinfo) -> list[JsonObject]:
        """Issues that changed since the first day. Later changes hide earlier ones, so there is no last day here."""
        begin = datetime.combine(first, time.min, zone).astimezone(UTC)
        params: JsonObject = {"status_id": "*", "sort": "id", "updated_on": f">={begin:%Y-%m-%dT%H:%M:%SZ}"}
        if project is not None:
            params["project_id"] = project
        reader = AllRows(self.client.records, ISSUE, ("updated_on",))
        if user is None:
            return await reader.read(params, most=MOST_HISTORIES)
        # Creating an issue is no update of it, so this takes two questions.
        changed = await reader.read({**params, "updated_by": user}, most=MOST_HISTORIES)
        created = await reader.read({**params, "author_id": user}, most=MOST_HISTORIES)
        found = list({row["id"]: row for row in (*changed, *created)}.values())
        if len(found) > MOST_HISTORIES:
            raise too_many(len(found), MOST_HISTORIES, ISSUE)
        return found

    async def _entries(self, id_: int, is_meant: Callable[[JsonObject], bool]) -> list[JsonObject]:
        try:
            issue = await self.client.records.show(ISSUE, id_, ("journals",))
        except NotFoundError:
            # Deleted since the list was read.
            return []
        about = {"id": issue["id"], "name": issue.get("subject")}
        created = {"issue": about, "user": issue.get("author"), "created_on": issue["created_on"], "did": "created it"}
        meant = {**issue, "journals": [one for one in issue.get("journals") or () if is_meant(one)]}
        history = await History(self.client.lookups, self.client.names, meant).page(_ALL_JOURNALS, 0)
        changes = [{"issue": about, **one, "order": one["id"]} for one in history["rows"]]
        return [*([{**created, "order": 0}] if is_meant(created) else []), *changes]


def _counted(rows: Sequence[JsonObject]) -> str:
    counts: dict[str, int] = {}
    for row in rows:
        name = str((row.get("user") or {}).get("name") or NOBODY)
        counts[name] = counts.get(name, 0) + 1
    return ", ".join(f"{name}: {count}" for name, count in sorted(counts.items(), key=lambda one: -one[1]))


class ShowReleaseNotesArgs(ToolArgs):
    project_id: ProjectId
    version_id: IdOrName = Field(description="The version, by id or name.")
    group_by: Literal["tracker", "category"] = Field("tracker", description="What the headings are.")


class ShowReleaseNotes(ReadingTool[ShowReleaseNotesArgs]):
    """Write the release notes of a version in Markdown: its closed issues by tracker or category, and what is open."""

    name = "show_release_notes"
    kind = VERSION
    tags = ("versions", "reports")
    timeout = 110_000
    examples = (ToolExample(description="What is new", parameters={"project_id": "webshop", "version_id": "1.0"}),)
    keywords = {
        "en": "release notes; changelog of a version; what is new in the release; what did we ship; "
        "list of fixed bugs for customers; announcement of a version; "
        "write up what is new for the customers",
        "ja": "リリースノート 変更点 新機能 修正一覧 出荷 更新内容 お知らせ バージョンの内容 何が変わった 告知 "
        "変わったこと お客さん向け",
    }

    async def work(self, args: ShowReleaseNotesArgs) -> Answered:
        project = await self.client.names.project(args.project_id)
        id_ = await self.client.names.id_of(VERSION, args.version_id, "version_id", project)
        version = await self.client.records.show(VERSION, id_)
        issues, _ = await Selection(self.client).read(issue_filters({}, fixed_version_id=id_), FIELDS)
        closed = [one for one in issues if one["closed"]]
        shown: JsonObject = {
            "id": id_,
            "version": version.get("name"),
            "status": version.get("status"),
            "due_date": version.get("due_date"),
            "closed_issues": len(closed),
            "open_issues": len(issues) - len(closed),
            "text": _notes(version, closed, args.group_by),
        }
        return self.answers.record(RELEASE_NOTES, {key: value for key, value in shown.items() if value is not None})


def _notes(version: JsonObject, issues: Sequence[JsonObject], group_by: str) -> str:
    """Headings in the order of Redmine's ids, issues in the order of their own."""
    day = f" ({version['due_date']})" if version.get("due_date") else ""
    lines = [f"# {version.get('name')}{day}"]
    groups: dict[tuple[Any, str], list[JsonObject]] = {}
    for issue in issues:
        found = issue.get(group_by) or {}
        groups.setdefault((found.get("id", float("inf")), str(found.get("name") or NOBODY)), []).append(issue)
    for (_, name), rows in sorted(groups.items(), key=lambda one: one[0]):
        lines += ["", f"## {name}", "", *(f"- {one.get('subject')} (#{one['id']})" for one in rows)]
    if not issues:
        lines += ["", "No issue of this version is closed yet."]
    return "\n".join(lines)


TOOLS = (ListActivity, ShowReleaseNotes)
