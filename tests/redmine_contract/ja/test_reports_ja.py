"""Sums are those of the database, for whoever asks; activity, release notes and charts say the same as Redmine."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from tests.redmine_contract.ja.seeded_ja import KEYS_JA, LOGINS
from tests.redmine_contract.one_sided import only_where_there_is
from tests.redmine_contract.place import Person, Place
from tests.redmine_contract.services import Real

Rows = list[dict[str, Any]]


async def _all_issues(person: Person, **params: Any) -> Rows:
    rows: Rows = []
    while page := (await person.told("/issues.json", status_id="*", limit=100, offset=len(rows), **params))["issues"]:
        rows += page
    return rows


def _counted(rows: Rows, name: Callable[[dict[str, Any]], str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in rows:
        counts[name(row)] = counts.get(name(row), 0) + 1
    return counts


def _groups(answer: Any, heading: str, measure: str = "count") -> dict[str, float]:
    return {one.findtext(heading): float(one.findtext(measure)) for one in answer}


@pytest.mark.parametrize("who", ["admin", "taro", "misaki", "viewer"])
@pytest.mark.parametrize("heading", ["status", "tracker", "assigned_to", "fixed_version", "project", "category"])
async def test_counts_are_of_everything_that_the_person_may_see(place: Place, who: str, heading: str) -> None:
    person = await place.person(KEYS_JA[LOGINS[who]])

    answer = await person.call("report_issues", group_by=[heading])
    rows = await _all_issues(person)

    assert _groups(answer, heading) == _counted(rows, lambda row: row.get(heading, {}).get("name", "(none)"))
    assert answer.get("issues") == str(len(rows))


async def test_two_callers_have_different_sums(taro: Person, viewer: Person) -> None:
    """The private issue counts for one of them only, whoever asks first."""
    sums = [(await one.call("report_issues", project_id="hanbai")).get("issues") for one in (viewer, taro, viewer)]

    assert sums[0] == sums[2] != sums[1]


@only_where_there_is("recorded")
@pytest.mark.parametrize(
    ("tool", "arguments", "heading", "measure", "sql"),
    [
        pytest.param(
            "report_issues",
            {"group_by": ["assigned_to"], "status_id": "open"},
            "assigned_to",
            "estimated_hours",
            "SELECT COALESCE(u.lastname || ' ' || u.firstname, '(none)'), COALESCE(SUM(estimated_hours), 0) "
            "FROM issues i JOIN issue_statuses s ON s.id = i.status_id LEFT JOIN users u ON u.id = i.assigned_to_id "
            "WHERE NOT s.is_closed GROUP BY i.assigned_to_id",
            id="estimates",
        ),
        pytest.param(
            "report_issues",
            {"group_by": ["created_day"]},
            "created_day",
            "count",
            "SELECT date(created_on, '+9 hours'), COUNT(*) FROM issues GROUP BY 1",
            id="days in the time zone of the user",
        ),
        pytest.param(
            "report_issues",
            {"group_by": ["重大度"]},
            "cf_13",
            "count",
            "SELECT COALESCE(e.name, '(none)'), COUNT(*) FROM issues i "
            "LEFT JOIN custom_values c ON c.customized_id = i.id AND c.custom_field_id = 13 "
            "AND c.customized_type = 'Issue' LEFT JOIN custom_field_enumerations e ON e.id = c.value GROUP BY 1",
            id="custom field",
        ),
        pytest.param(
            "report_time",
            {"group_by": ["month"]},
            "month",
            "hours",
            "SELECT strftime('%Y-%m', spent_on), SUM(hours) FROM time_entries GROUP BY 1",
            id="time",
        ),
        pytest.param(
            "report_time",
            {"group_by": ["tracker"]},
            "tracker",
            "hours",
            "SELECT COALESCE(t.name, '(none)'), SUM(hours) FROM time_entries e LEFT JOIN issues i ON i.id = e.issue_id "
            "LEFT JOIN trackers t ON t.id = i.tracker_id GROUP BY 1",
            id="time by what its issue is",
        ),
    ],
)
async def test_sums_are_those_of_the_database(
    place: Place, admin: Person, tool: str, arguments: dict[str, Any], heading: str, measure: str, sql: str
) -> None:
    assert isinstance(place.service, Real)
    with closing(sqlite3.connect(place.service.redmine.instance.database, timeout=30)) as database:
        wanted = {str(name).strip(): number for name, number in database.execute(sql).fetchall()}

    answer = await admin.call(tool, **arguments)

    assert _groups(answer, heading, measure) == wanted


async def test_a_group_of_values_counts_in_each_of_them_and_once_in_the_total(admin: Person) -> None:
    answer = await admin.call("report_issues", group_by=["テスト担当"], measures=["count"])

    assert _groups(answer, "cf_6")["佐藤 花子"] == 1
    assert _groups(answer, "cf_6")["高橋 次郎"] == 1
    assert answer.get("cf_6") == "テスト担当"
    assert "several values" in (answer.get("note") or "")
    assert answer.get("count") == str(len(await _all_issues(admin)))


async def test_hours_are_added_up_by_person(taro: Person) -> None:
    answer = await taro.call("report_time", project_id="hanbai", group_by=["user"])
    entries = (await taro.told("/time_entries.json", limit=100))["time_entries"]

    assert float(answer.get("hours") or 0) == sum(one["hours"] for one in entries)
    assert set(_groups(answer, "user", "hours")) == {one["user"]["name"] for one in entries}


async def test_a_version_is_as_far_as_the_roadmap_says(taro: Person) -> None:
    """One issue of 8 hours at 40 per cent, and two without an estimate, one of which children have brought to 50."""
    answer = await taro.call("report_versions", project_id="hanbai", version_id="1.0")
    page = await taro.answer("GET", "/versions/1", headers={"Accept": "text/html"})

    assert answer.findtext("version/count") == "3"
    assert [one.get("id") for one in answer.iterfind("version/late/issue")] == ["1"]
    if page.status == 200 and b'class="percent"' in page.body:
        assert f'<p class="percent">{answer.findtext("version/progress")}%</p>'.encode() in page.body


async def test_activity_tells_who_did_what_on_which_day(taro: Person) -> None:
    answer = await taro.call("list_activity", **{"project_id": "hanbai", "from": "2026/9/11", "to": "2026-09-11"})

    journals = [one for id_ in (1, 2) for one in (await taro.issue(id_, "journals"))["journals"]]
    assert int(answer.get("total_count") or 0) == len(journals)
    assert {one.findtext("issue") for one in answer} == {"受注登録でエラーになる", "請求書の電子化"}
    changed = {one.get("field"): one.findtext("to") for one in answer.iter("change")}
    assert changed["レビュー担当"] == "鈴木 一郎"


async def test_activity_of_one_person_has_what_the_person_created(ichiro: Person) -> None:
    answer = await ichiro.call("list_activity", **{"user_id": "me", "from": "2026-08-01"})

    assert {one.findtext("user") for one in answer} == {"鈴木 一郎"}
    assert "created it" in {one.findtext("did") for one in answer}
    assert answer.get("by_user") == f"鈴木 一郎: {answer.get('total_count')}"


async def test_private_notes_are_told_to_those_who_may_read_them(taro: Person, misaki: Person) -> None:
    span = {"project_id": "hanbai", "from": "2026-09-10", "to": "2026-09-12"}
    told = [[one.findtext("notes") for one in await who.call("list_activity", **span)] for who in (taro, misaki, taro)]

    assert "先方には日程を伝えないこと。" in told[0]
    assert "先方には日程を伝えないこと。" not in told[1]
    assert told[0] == told[2]


async def test_release_notes_have_the_closed_issues(taro: Person) -> None:
    answer = await taro.call("show_release_notes", project_id="hanbai", version_id="0.9")

    assert answer.findtext("text") == "# 0.9\n\n## バグ\n\n- 旧ロゴが残っている (#14)"
    assert (answer.findtext("closed_issues"), answer.findtext("open_issues")) == ("1", "0")


async def test_a_chart_says_the_same_as_the_list(taro: Person) -> None:
    answer = await taro.call("draw_chart", chart="workload", project_id="hanbai", picture=False)
    rows = [one for one in await _all_issues(taro, project_id=1) if one["status"]["name"] != "終了"]

    table = dict(line.split(" | ")[:2] for line in (answer.findtext("text") or "").splitlines()[1:])
    wanted = _counted(rows, lambda row: row.get("assigned_to", {}).get("name", "(none)"))
    assert {name: int(count) for name, count in table.items()} == wanted


async def test_attachments_in_any_encoding_and_large_pictures_are_shown(taro: Person) -> None:
    texts = [str((await taro.outcome("show_attachment", id=id_)).content) for id_ in (2, 3, 4)]
    picture = (await taro.outcome("show_attachment", id=5)).content

    assert "1001,株式会社髙島,12000" in texts[0], "cp932"
    assert "異常終了" in texts[1], "UTF-16"
    assert "電話で確認済み。" in texts[2], "EUC-JP"
    assert any(block["type"] == "image" for block in picture), "3000 by 2000 pixels"
