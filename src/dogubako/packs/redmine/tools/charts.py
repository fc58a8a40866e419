"""Draw charts of issues: Gantt, burndown and workload, each also as text."""

from collections.abc import Sequence
from typing import Final, Literal

from pydantic import Field

from dogubako.contract.errors import ValidationError
from dogubako.contract.metadata import ToolExample
from dogubako.contract.output import Content, Deferred, Image, Mixed
from dogubako.packs.redmine.charts.data import MOST_BARS, Chart, Gantt, burndown, gantt, workload
from dogubako.packs.redmine.charts.rendering import as_text
from dogubako.packs.redmine.models import ISSUE, VERSION, JsonObject, Kind
from dogubako.packs.redmine.names.matching import IdOrName
from dogubako.packs.redmine.tools.base import ProjectId, ReadingTool
from dogubako.packs.redmine.tools.issue_selection import Selection, SelectionArgs, issue_filters

CHART: Final = Kind(noun="chart", one="chart", many="charts")
_BY_DAYS_AS_THEY_ARE: Final = (
    "An issue counts from the day it was created until it was closed for the last time, whichever version it had then."
)


class DrawChartArgs(SelectionArgs):
    chart: Literal["gantt", "burndown", "workload"] = Field(
        description="gantt: issues over days. burndown: what is left, day by day. workload: open work by person."
    )
    project_id: ProjectId
    version_id: IdOrName | None = Field(None, description="Only of this version, by id or name.")
    picture: bool = Field(True, description="false: only the text, without the picture.")


class DrawChart(ReadingTool[DrawChartArgs]):
    """Draw a Gantt chart, a burndown or the workload of people as a picture, with a table of the same as text."""

    name = "draw_chart"
    kind = ISSUE
    act = "list"
    tags = ("issues", "reports")
    timeout = 110_000
    examples = (
        ToolExample(
            description="The burndown of a version",
            parameters={"chart": "burndown", "project_id": "webshop", "version_id": "1.0"},
        ),
    )
    keywords = {
        "en": "gantt chart; burn-down of the sprint; timeline of tickets; who has too much to do; "
        "draw a graph; picture of the schedule; plot of open work; diagram for the meeting; "
        "the schedule as bars; who is overloaded, as a picture",
        "ja": "ガントチャート バーンダウン 線表 工程表 負荷 山積み グラフ 図 描く スケジュール 画像 予定表 "
        "忙しい 図にする 棒",
    }

    async def work(self, args: DrawChartArgs) -> Content | Deferred:
        names = self.client.names
        project = await names.project(args.project_id)
        version: JsonObject = {}
        if args.version_id is not None:
            id_ = await names.id_of(VERSION, args.version_id, "version_id", project)
            version = await self.client.records.show(VERSION, id_)
        chosen = issue_filters(
            args.filters, project_id=project, status_id=args.status_id, fixed_version_id=version.get("id")
        )
        issues, _ = await Selection(self.client).read(chosen)
        if not issues:
            message = "No issue matches, so there is nothing to draw"
            raise ValidationError.of("filters", message, hint="report_issues counts what there is.")
        chart = await self._chart(args, issues, project, version)
        return await self._answer(args, chart, len(issues))

    async def _chart(
        self, args: DrawChartArgs, issues: Sequence[JsonObject], project: int, version: JsonObject
    ) -> Chart:
        days = self.client.names.days
        today = await days.today()
        name = next((one["project"]["name"] for one in issues if one["project"]["id"] == project), args.project_id)
        title = " ".join(str(one) for one in (name, version.get("name")) if one)
        if args.chart == "gantt":
            return gantt(title, issues, today)
        if args.chart == "workload":
            return workload(title, issues, today)
        return burndown(title, issues, version.get("due_date"), today, await days.zone())

    async def _answer(self, args: DrawChartArgs, chart: Chart, issues: int) -> Content | Deferred:
        shown: JsonObject = {"kind": args.chart, "issues": issues, "today": chart.today}
        if isinstance(chart, Gantt):
            shown["issues_without_days"] = issues - len(chart.bars)
            if len(chart.bars) > MOST_BARS:
                shown["in_the_picture"] = f"the first {MOST_BARS} of {len(chart.bars)} bars"
        if args.chart == "burndown":
            shown["note"] = _BY_DAYS_AS_THEY_ARE
        drawn = await self.client.artist.draw(chart) if args.picture else ""
        if isinstance(drawn, str) and drawn:
            shown["picture"] = drawn
        text = self.answers.record_now(CHART, {**shown, "text": as_text(chart)})
        return Mixed(parts=[text, Image(data=drawn, mime_type="image/png")]) if isinstance(drawn, bytes) else text


TOOLS = (DrawChart,)
