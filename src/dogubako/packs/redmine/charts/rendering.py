"""Charts as text, and as pictures that a worker process draws where the extra `charts` is installed."""

from importlib.util import find_spec
from typing import Final

from dogubako.contract.errors import DogubakoError
from dogubako.outbound.parsing.pool import PYTHON, WorkerPool
from dogubako.packs.redmine.charts.data import REPLIES, Burndown, Chart, Drawing, Gantt, Reply, Workload
from dogubako.packs.redmine.sums import NOBODY

_SECONDS: Final = 25.0
_MISSING: Final = "This server draws no pictures. An operator can change that: pip install 'dogubako[charts]'."
_FAILED: Final = "The picture could not be drawn; the text has all of it."


def chart_workers() -> WorkerPool[Reply]:
    """A pool of one worker. No process is started before the first chart."""
    return WorkerPool(command=(*PYTHON, "dogubako.packs.redmine.charts.drawing"), replies=REPLIES, size=1)


class ChartArtist:
    """Draws charts. A chart without a picture is no error, because its text says the same."""

    def __init__(self, workers: WorkerPool[Reply]) -> None:
        self._workers = workers

    async def draw(self, chart: Chart) -> bytes | str:
        """The PNG, or a sentence that says why there is none."""
        if find_spec("matplotlib") is None:
            return _MISSING
        try:
            reply = await self._workers.run(chart, b"", _SECONDS)
        except DogubakoError:
            return _FAILED
        return reply.data if isinstance(reply, Drawing) else _FAILED


def as_text(chart: Chart) -> str:
    """The chart as a table of text."""
    match chart:
        case Gantt():
            lines = ["issue | assignee | from | to | done"]
            lines += [
                f"{bar.label} | {bar.assignee} | {bar.start} | {bar.end} | {bar.done}%{' late' if bar.late else ''}"
                for bar in chart.bars
            ]
        case Burndown():
            lines = ["end of day | open issues | estimated hours of them"]
            points = zip(chart.days, chart.open_issues, chart.open_hours, strict=True)
            lines += [f"{day} | {issues} | {hours:g}" for day, issues, hours in points]
            lines.append(f"due {chart.due or NOBODY}, today {chart.today}")
        case Workload():
            lines = ["assignee | open issues | remaining hours | late issues | late hours | without estimate"]
            lines += [
                f"{one.name} | {one.issues} | {one.hours:g} | {one.late} | {one.late_hours:g} | {one.without_estimate}"
                for one in chart.loads
            ]
    return "\n".join(lines)
