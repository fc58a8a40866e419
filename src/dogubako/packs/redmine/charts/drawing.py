"""Draw charts with matplotlib, in a worker process: only it imports the library, which is large, and an extra."""

import os
import unicodedata
from datetime import date, timedelta
from importlib.resources import files
from io import BytesIO
from typing import Any, Final

# Before numpy is imported: a thread for each processor would reserve more memory than the process may have.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import matplotlib as mpl
from matplotlib import dates, font_manager
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from dogubako.outbound.parsing.process import serve
from dogubako.outbound.parsing.protocol import ParseFailure
from dogubako.packs.redmine.charts.data import MOST_BARS, REQUESTS, Burndown, Chart, Drawing, Gantt, Reply, Workload

_WIDTH: Final = 11.0
_DOTS_PER_INCH: Final = 100
_ROW: Final = 0.32
_MOST_DAYS: Final = 3 * 365
_LONGEST_LABEL: Final = 44
_FONT_PACKAGE: Final = "matplotlib_fontja"
_DONE, _OPEN, _LATE, _TODAY = "#4c78a8", "#c6d5e6", "#e45756", "#d62728"


def prepare() -> None:
    """Load the Japanese font. Characters that it lacks are taken from the font that matplotlib brings."""
    families = ["DejaVu Sans"]
    try:
        path = files(_FONT_PACKAGE) / "fonts" / "ipaexg.ttf"
        font_manager.fontManager.addfont(str(path))
        families.insert(0, font_manager.FontProperties(fname=str(path)).get_name())
    except (ModuleNotFoundError, OSError):
        pass
    mpl.rcParams["font.family"] = families
    # A subject may hold dollar signs.
    mpl.rcParams["text.parse_math"] = False


def png(chart: Chart) -> bytes:
    """The chart as a PNG that a model can see whole."""
    rows = len(chart.bars[:MOST_BARS]) if isinstance(chart, Gantt) else 0
    rows = len(chart.loads[:MOST_BARS]) if isinstance(chart, Workload) else rows
    height = 5.5 if isinstance(chart, Burndown) else min(15.0, 1.6 + _ROW * max(rows, 2))
    figure = Figure(figsize=(_WIDTH, height), dpi=_DOTS_PER_INCH, layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(_cut(chart.title))
    match chart:
        case Gantt():
            _draw_gantt(axes, chart)
        case Burndown():
            _draw_burndown(axes, chart)
        case Workload():
            _draw_workload(axes, chart)
    target = BytesIO()
    figure.savefig(target, format="png")
    return target.getvalue()


def _draw_gantt(axes: Any, chart: Gantt) -> None:
    bars, today = chart.bars[:MOST_BARS], _number(chart.today)
    for row, bar in enumerate(bars):
        start = _near(_number(bar.start), today)
        # The last day counts too.
        length = _near(_number(bar.end), today) + 1 - start
        axes.barh(row, length, left=start, color=_LATE if bar.late else _OPEN, height=0.6)
        axes.barh(row, length * bar.done / 100, left=start, color=_DONE, height=0.6)
    _name_rows(axes, [f"{_cut(bar.label)}  {_cut(bar.assignee, 16)}" for bar in bars])
    axes.axvline(today, color=_TODAY, linewidth=1)
    _show_days(axes)
    axes.grid(axis="x", alpha=0.3)
    colours = {"done": _DONE, "open": _OPEN, "late": _LATE, "today": _TODAY}
    axes.legend(handles=[Patch(color=colour, label=name) for name, colour in colours.items()], ncols=4, fontsize=8)


def _draw_burndown(axes: Any, chart: Burndown) -> None:
    days, today = [_number(day) for day in chart.days], _number(chart.today)
    axes.step(days, chart.open_issues, where="post", color=_DONE, label="open issues")
    due = _near(_number(chart.due), today) if chart.due is not None else days[0]
    if due > days[0]:
        axes.plot([days[0], due], [max(chart.open_issues), 0], linestyle="--", color="grey", label="ideal")
        axes.axvline(due, color=_LATE, linewidth=1, label="due")
    axes.axvline(today, color=_TODAY, linewidth=1, linestyle=":", label="today")
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    lines, names = axes.get_legend_handles_labels()
    if any(chart.open_hours):
        hours = axes.twinx()
        hours.step(days, chart.open_hours, where="post", color="#72b7b2", label="estimated hours of them")
        hours.set_ylim(bottom=0)
        more, more_names = hours.get_legend_handles_labels()
        lines, names = [*lines, *more], [*names, *more_names]
    _show_days(axes)
    axes.grid(alpha=0.3)
    axes.legend(lines, names, fontsize=8)


def _draw_workload(axes: Any, chart: Workload) -> None:
    loads = chart.loads[:MOST_BARS]
    # Without estimates the number of issues is all that is known.
    by_hours = any(one.hours for one in loads)
    for row, one in enumerate(loads):
        whole, late = (one.hours, one.late_hours) if by_hours else (one.issues, one.late)
        axes.barh(row, whole, color=_DONE, height=0.6)
        axes.barh(row, late, color=_LATE, height=0.6)
        axes.text(whole, row, f" issues: {one.issues}, late: {one.late}", va="center", fontsize=8)
    _name_rows(axes, [_cut(one.name, 30) for one in loads])
    axes.set_xlabel("remaining hours" if by_hours else "open issues")
    axes.margins(x=0.15)
    axes.grid(axis="x", alpha=0.3)
    axes.legend(handles=[Patch(color=_DONE, label="open"), Patch(color=_LATE, label="late")], fontsize=8)


def _name_rows(axes: Any, names: list[str]) -> None:
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(-1, len(names))
    axes.invert_yaxis()


def _show_days(axes: Any) -> None:
    locator = dates.AutoDateLocator()  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def _number(day: str) -> float:
    return (date.fromisoformat(day) - date(1970, 1, 1)) / timedelta(days=1)


def _near(number: float, today: float) -> float:
    """A day within some years of today: a bar until the year 9999 would hide all others."""
    return min(max(number, today - _MOST_DAYS), today + _MOST_DAYS)


def _cut(text: str, columns: int = _LONGEST_LABEL) -> str:
    """At most so many columns; an East Asian character takes two."""
    width, kept = 0, ""
    for character in text:
        shown = character if unicodedata.category(character)[0] != "C" else " "
        width += 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if width > columns:
            return f"{kept}…"
        kept += shown
    return kept


def perform(chart: Chart, body: bytes) -> Reply:
    """Draw one chart."""
    try:
        return Drawing(data=png(chart))
    except MemoryError as error:
        return ParseFailure(reason="memory", cause=type(error).__name__)


if __name__ == "__main__":
    serve(perform, REQUESTS, prepare)
