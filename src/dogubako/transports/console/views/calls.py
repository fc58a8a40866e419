"""The calls of the last hours: live list, filters, failures by cause, charts; and one call in detail."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup
from starlette.responses import Response

from dogubako.contract.errors import NotFoundError
from dogubako.contract.offload import offload
from dogubako.transports.console import charts
from dogubako.transports.console.page import Visit, page, pages_of
from dogubako.transports.console.recorder import CallRecord, CallRecorder
from dogubako.transports.console.statistics import (
    Cause,
    Step,
    Totals,
    busiest,
    causes_of,
    timeline_of,
    totals_of,
)
from dogubako.transports.console.texts import Translate
from dogubako.transports.console.views import Views

_PAGE_SIZE: Final = 50
_HOURS: Final = (1, 6, 24)
_FILTERS: Final = ("tool", "caller", "door", "code", "outcome")


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """Everything that the page shows of some calls."""

    rows: Sequence[CallRecord]
    total: int
    current: int
    pages: int
    totals: Totals
    causes: Sequence[Cause]
    tools: Sequence[tuple[str, int, int]]
    callers: Sequence[tuple[str, int, int]]
    steps: Sequence[Step]


async def index(views: Views, visit: Visit) -> Response:
    """The last calls, the newest first."""
    wanted = {name: visit.query.get(name, "")[:100] for name in _FILTERS}
    hours = visit.number("hours", 6, 24)
    hours = hours if hours in _HOURS else 6
    await views.recorder.look()
    records = views.visible_calls(visit.caller, is_admin=visit.is_admin)
    whole = visit.is_admin and not any(wanted.values())
    summary = await offload(
        _summary, views.recorder, records, wanted, hours, visit.number("page", 1, 10_000), whole=whole
    )
    return await page(
        visit,
        "calls.html",
        active="calls",
        wanted=wanted,
        filtered=any(wanted.values()),
        hours=hours,
        choices=_HOURS,
        summary=summary,
        charts=_charts(visit.t, summary.steps),
        kept=len(records),
        most=views.inside.settings.console_calls,
        since=views.recorder.since,
        doors=("http", "stdio", "rest", "console", "cli", "python"),
    )


def _summary(
    recorder: CallRecorder,
    records: Sequence[CallRecord],
    wanted: Mapping[str, str],
    hours: int,
    current: int,
    *,
    whole: bool,
) -> Summary:
    fitting = records if not any(wanted.values()) else [one for one in records if _fits(one, wanted)]
    current, pages = pages_of(len(fitting), _PAGE_SIZE, current)
    end = len(fitting) - (current - 1) * _PAGE_SIZE
    return Summary(
        rows=fitting[max(0, end - _PAGE_SIZE) : end][::-1],
        total=len(fitting),
        current=current,
        pages=pages,
        totals=totals_of(fitting),
        causes=causes_of(fitting),
        tools=busiest(fitting, "tool"),
        callers=busiest(fitting, "caller"),
        # The whole day is counted, also where its calls are not kept one by one.
        steps=recorder.timeline.last(hours) if whole else timeline_of(fitting, hours),
    )


def _fits(one: CallRecord, wanted: Mapping[str, str]) -> bool:
    return (
        wanted["tool"] in ("", one.tool)
        and wanted["caller"] in ("", one.caller)
        and wanted["door"] in ("", one.door)
        and wanted["code"] in ("", one.code)
        and wanted["outcome"] in ("", "failed" if one.failed else "ok")
    )


def _charts(t: Translate, steps: Sequence[Step]) -> list[tuple[str, Markup, Sequence[tuple[str, str]]]]:
    """Title, drawing and legend of each chart."""
    starts = [step.start for step in steps]
    failures: list[float | None] = [step.failures for step in steps]
    good: list[float | None] = [step.calls - step.failures for step in steps]
    outcomes: list[charts.Series] = [("good", t("calls.ok"), good), ("bad", t("calls.failed"), failures)]
    medians, slow = ([step.percentile(share) for step in steps] for share in (0.5, 0.95))
    times: list[charts.Series] = [("second", "p95", slow), ("first", "p50", medians)]
    tokens: list[charts.Series] = [("first", t("calls.tokens"), [step.tokens for step in steps])]
    sums = {"calls": sum(step.calls for step in steps), "failed": sum(step.failures for step in steps)}
    worst = f"{max((value for value in slow if value is not None), default=0):,.0f}"
    sent = f"{sum(step.tokens for step in steps):,}"
    counts, speed, size = t("calls.chart_calls"), t("calls.chart_time"), t("calls.chart_tokens")
    return [
        (counts, charts.bars(counts, t("calls.chart_calls_text", **sums), starts, outcomes), _legend(outcomes)),
        (speed, charts.lines(speed, t("calls.chart_time_text", worst=worst), starts, times), _legend(times)),
        (size, charts.bars(size, t("calls.chart_tokens_text", tokens=sent), starts, tokens), []),
    ]


def _legend(series: Sequence[charts.Series]) -> list[tuple[str, str]]:
    return [(kind, name) for kind, name, _ in series]


async def show(views: Views, visit: Visit) -> Response:
    """One call: who, what, when, and what is known of its way."""
    await views.recorder.look()
    record = views.recorder.find(visit.request.path_params["id"])
    if record is None or not (visit.is_admin or record.caller_id == visit.caller.identity):
        raise NotFoundError("This call is not remembered", hint="Only the last calls are kept, in memory.")
    values: Any = views.recorder.values_of(record.id)
    return await page(
        visit,
        "call.html",
        active="calls",
        record=record,
        values=values,
        keeps_values=views.recorder.keeps_values,
        log_dir=views.inside.settings.log_dir if visit.is_admin else None,
    )
