"""Charts: the numbers, the text without eyes, and the picture where the extra is installed."""

from base64 import b64decode
from datetime import UTC, date
from pathlib import Path
from typing import Any

import pytest

from dogubako.contract.picture_size import picture_size
from dogubako.packs.redmine.charts.data import burndown, gantt, workload
from dogubako.packs.redmine.charts.rendering import as_text

from .wired import bench

TODAY = date(2026, 11, 17)


def issue(id_: int, **more: Any) -> dict[str, Any]:
    return {"id": id_, "subject": f"件名{id_}", "closed": False, "created_on": "2026-11-10T00:00:00Z", **more}


def test_a_gantt_chart_has_bars_by_first_day_and_says_what_is_late() -> None:
    chart = gantt(
        "P",
        [
            issue(1, start_date="2026-11-10", due_date="2026-11-12", done_ratio=50),
            issue(2, due_date="2026-11-01", closed=True),
            issue(3),
        ],
        TODAY,
    )

    assert as_text(chart).splitlines()[1:] == [
        "#2 件名2 | (none) | 2026-11-01 | 2026-11-01 | 100%",
        "#1 件名1 | (none) | 2026-11-10 | 2026-11-12 | 50% late",
    ]


def test_a_burndown_counts_what_is_open_at_the_end_of_each_day() -> None:
    closed = issue(1, closed=True, closed_on="2026-11-12T10:00:00Z", estimated_hours=3)
    later = issue(2, created_on="2026-11-15T00:00:00Z", estimated_hours=1.5)
    chart = burndown("P", [closed, later], "2026-11-20", TODAY, UTC)

    assert dict(zip(chart.days, chart.open_issues, strict=True)) == {
        "2026-11-10": 1,
        "2026-11-11": 1,
        "2026-11-12": 0,
        "2026-11-13": 0,
        "2026-11-14": 0,
        "2026-11-15": 1,
        "2026-11-16": 1,
        "2026-11-17": 1,
    }
    assert chart.open_hours[0] == 3
    assert chart.open_hours[-1] == 1.5


def test_a_burndown_of_years_has_few_points_and_ends_today() -> None:
    chart = burndown("P", [issue(1, created_on="2020-01-01T00:00:00Z")], None, TODAY, UTC)

    assert len(chart.days) <= 60
    assert chart.days[-1] == TODAY.isoformat()


def test_the_workload_is_what_is_not_done() -> None:
    who = {"id": 5, "name": "佐藤 太郎"}
    chart = workload(
        "P",
        [
            issue(1, assigned_to=who, estimated_hours=8, done_ratio=25, due_date="2026-11-01"),
            issue(2, assigned_to=who),
            issue(3, closed=True, assigned_to=who, estimated_hours=100),
        ],
        TODAY,
    )

    assert as_text(chart).splitlines()[1:] == ["佐藤 太郎 | 2 | 6 | 1 | 6 | 1"]


async def test_without_the_extra_there_is_the_text_and_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dogubako.packs.redmine.charts.rendering.find_spec", lambda name: None)
    async with bench(tmp_path) as redmine:
        data = await redmine.data("draw_chart", chart="workload", project_id="webshop")

    assert "pip install 'dogubako[charts]'" in data["chart"]["picture"]
    assert data["chart"]["text"].startswith("assignee | open issues")


async def test_nothing_to_draw_is_said(tmp_path: Path) -> None:
    async with bench(tmp_path) as redmine:
        message, _ = await redmine.refusal(
            "draw_chart", chart="gantt", project_id="webshop", filters={"subject": "zzz"}
        )

    assert message == "No issue matches, so there is nothing to draw"


@pytest.mark.slow
@pytest.mark.parametrize("chart", ["gantt", "burndown", "workload"])
async def test_a_picture_that_a_model_can_see_comes_with_the_text(tmp_path: Path, chart: str) -> None:
    pytest.importorskip("matplotlib")
    async with bench(tmp_path, REDMINE_FORMAT="xml") as redmine:
        issues = list(redmine.wire.store["issues"])
        issues[0]["subject"] = "請求書の電子化 $x^2$ 🎉 مرحبا\n" * 3
        for row in issues:
            row["project_id"] = 1
        issues[0]["start_date"], issues[0]["due_date"] = "0001-01-01", "9999-12-31"
        result = await redmine.call("draw_chart", chart=chart, project_id="webshop")

    text, picture = result.content
    size = picture_size(b64decode(str(picture["data"])))
    assert size is not None
    assert size.mime_type == "image/png"
    assert max(size.width, size.height) <= 1_568
    assert "<picture>" not in str(text["text"])
