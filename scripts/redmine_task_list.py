"""Sixty tasks of a project manager in the Japanese world: what is asked, the calls, and the same answer by SQL."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from xml.etree import ElementTree as ET

Answers = Sequence[ET.Element]
Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Task:
    """`told` reads the answers; `sql` asks the database after the calls. Both have to say the same."""

    words: str
    calls: Sequence[Call | Callable[[Answers], Call]]
    told: Callable[[Answers], Any]
    sql: str


def count(answers: Answers) -> int:
    return int(answers[-1].get("total_count", "-1"))


def ids(answers: Answers) -> list[int]:
    return sorted(int(one.get("id", "0")) for one in answers[-1])


def related(answers: Answers) -> list[str | None]:
    return [other.get("id") for other in answers[-1].iterfind("relation/issue")]


def fact(name: str) -> Callable[[Answers], float]:
    return lambda answers: float(answers[-1].get(name, "nan"))


def text(path: str) -> Callable[[Answers], str | None]:
    return lambda answers: answers[-1].findtext(path)


def groups(heading: str, measure: str = "count") -> Callable[[Answers], dict[str, float]]:
    """One number for each heading; `a b` for two headings."""

    def read(answers: Answers) -> dict[str, float]:
        names = heading.split()
        return {
            " / ".join(one.findtext(name) or "" for name in names): float(one.findtext(measure, "nan"))
            for one in answers[-1]
        }

    return read


def lines(answers: Answers) -> dict[str, str]:
    """The table of a chart: first column and second column."""
    rows = [line.split(" | ") for line in answers[-1].findtext("text", "").splitlines()[1:]]
    return {row[0]: row[1] for row in rows if len(row) > 1}


def one(tool: str, **arguments: Any) -> Sequence[Call]:
    return ((tool, arguments),)


def bulk(**arguments: Any) -> Sequence[Call | Callable[[Answers], Call]]:
    """The two calls of a bulk change."""

    def second(answers: Answers) -> Call:
        return "update_issues", {**arguments, "dry_run": False, "preview": answers[-1].findtext("preview")}

    return (("update_issues", arguments), second)


def listed(**arguments: Any) -> Sequence[Call]:
    return one("list_issues", limit=100, fields=["subject"], **arguments)


def report(*group_by: str, **more: Any) -> Sequence[Call]:
    return one("report_issues", group_by=list(group_by), **more)


# fmt: off
HANBAI: Final = "i.project_id IN (1, 2)"
OPEN: Final = "i.status_id NOT IN (SELECT id FROM issue_statuses WHERE is_closed)"
_I: Final = "SELECT i.id FROM issues i WHERE"
_N: Final = "SELECT COUNT(*) FROM issues i WHERE"
_NAME: Final = "COALESCE((SELECT lastname || ' ' || firstname FROM users u WHERE u.id = i.assigned_to_id AND type = 'User'), (SELECT lastname FROM users u WHERE u.id = i.assigned_to_id), '(none)')"
_CF: Final = "(SELECT value FROM custom_values c WHERE c.customized_id = i.id AND customized_type = 'Issue' AND custom_field_id = {})"
_HOURS: Final = "SELECT {}, SUM(hours) FROM time_entries t LEFT JOIN issues i ON i.id = t.issue_id GROUP BY 1"
_JST: Final = "date(i.{}, '+9 hours')"
_NEXT: Final = {"project_id": "hanbai", "fixed_version_id": "1.0", "status_id": "open"}

FINDING: Final = (
    Task(words="Which issues are assigned to me?", calls=listed(assigned_to_id="me"), told=ids, sql=f"{_I} {OPEN} AND assigned_to_id = 5"),
    Task(words="鈴木さんの未完了チケットは？", calls=listed(assigned_to_id="鈴木さん"), told=count, sql=f"{_N} {OPEN} AND assigned_to_id = 6"),
    Task(words="What is overdue?", calls=listed(project_id="hanbai", due_date="<t-1"), told=count, sql=f"{_N} {HANBAI} AND {OPEN} AND due_date < :today"),
    Task(words="11月中旬が期限のものは？", calls=listed(due_date="2026/11/10..2026/11/20", status_id="*"), told=count, sql=f"{_N} due_date BETWEEN '2026-11-10' AND '2026-11-20'"),
    Task(words="Open and nobody's", calls=listed(assigned_to_id="!*", project_id="hanbai"), told=count, sql=f"{_N} {HANBAI} AND {OPEN} AND assigned_to_id IS NULL"),
    Task(words="優先度が高いもの", calls=listed(priority_id="高め", project_id="hanbai"), told=count, sql=f"{_N} {HANBAI} AND {OPEN} AND priority_id = (SELECT id FROM enumerations WHERE name = '高め' AND type = 'IssuePriority')"),
    Task(words="Category 受注", calls=listed(project_id="hanbai", category_id="受注", status_id="*"), told=ids, sql=f"{_I} category_id = 1"),
    Task(words="Open in version 1.0", calls=listed(**_NEXT), told=count, sql=f"{_N} {OPEN} AND fixed_version_id = 1"),
    Task(words="Children of #2", calls=listed(parent_id=2, status_id="*"), told=ids, sql=f"{_I} parent_id = 2"),
    Task(words="What blocks #6?", calls=one("list_issue_relations", issue_id=6), told=related, sql="SELECT issue_from_id FROM issue_relations WHERE issue_to_id = 6 AND relation_type = 'blocks'"),
    Task(words="Who works on #1?", calls=one("show_issue", id=1), told=text("assigned_to"), sql=f"SELECT {_NAME} FROM issues i WHERE id = 1"),
    Task(words="#1のコメントは何件？", calls=one("show_issue", id=1), told=lambda a: sum(j.find("notes") is not None for j in a[-1].iter("journal")), sql="SELECT COUNT(*) FROM journals WHERE journalized_id = 1 AND notes <> ''"),
    Task(words="Who wrote most on #1?", calls=one("list_activity", **{"project_id": "hanbai", "from": "2026-09-10", "to": "2026-09-12"}), told=lambda a: a[-1].get("by_user", "").split(":")[0], sql="SELECT lastname || ' ' || firstname FROM journals j JOIN users u ON u.id = j.user_id WHERE date(j.created_on, '+9 hours') BETWEEN '2026-09-10' AND '2026-09-12' GROUP BY 1 ORDER BY COUNT(*) DESC LIMIT 1"),
    Task(words="再発したものは何件？", calls=listed(project_id="hanbai", status_id="*", custom_fields=[{"name": "再発", "value": "はい"}]), told=count, sql=f"{_N} {HANBAI} AND {_CF.format(10)} = '1'"),
    Task(words="致命的なもの", calls=listed(project_id="hanbai", status_id="*", custom_fields=[{"name": "重大度", "value": "致命的"}]), told=count, sql=f"{_N} {_CF.format(13)} = '1'"),
    Task(words="佐藤太郎がレビューするもの", calls=listed(project_id="hanbai", custom_fields=[{"name": "レビュー担当", "value": "佐藤太郎"}]), told=count, sql=f"{_N} {HANBAI} AND {OPEN} AND {_CF.format(5)} = '5'"),
    Task(words="Points 3 to 5", calls=listed(project_id="hanbai", status_id="*", custom_fields=[{"name": "ポイント", "value": "3..5"}]), told=count, sql=f"{_N} {HANBAI} AND CAST({_CF.format(8)} AS INTEGER) BETWEEN 3 AND 5"),
    Task(words="Reported by 田中 美咲", calls=listed(author_id="田中 美咲", status_id="*"), told=count, sql=f"{_N} author_id = 9"),
    Task(words="This project without its subprojects", calls=listed(project_id="hanbai", subprojects=False, status_id="*"), told=count, sql=f"{_N} project_id = 1"),
    Task(words="Open issues of 経理", calls=listed(project_id="経理"), told=count, sql=f"{_N} {OPEN} AND project_id = 3"),
    Task(words="Which versions are open?", calls=one("list_versions", project_id="hanbai"), told=lambda a: sorted(v.findtext("name") for v in a[-1] if v.findtext("status") == "open"), sql="SELECT name FROM versions WHERE project_id = 1 AND status = 'open' ORDER BY name"),
    Task(words="Who is in the project?", calls=one("list_memberships", project_id="hanbai"), told=count, sql="SELECT COUNT(*) FROM members WHERE project_id = 1"),
    Task(words="受注一覧.csvを読んで", calls=one("show_attachment", id=2), told=lambda a: "株式会社髙島" in "".join(a[-1].itertext()), sql="SELECT 1"),
    Task(words="Read the log of #1 (UTF-16)", calls=one("show_attachment", id=3), told=lambda a: "異常終了" in "".join(a[-1].itertext()), sql="SELECT 1"),
    Task(words="運用手順を見せて", calls=one("show_wiki_page", project_id="hanbai", title="運用手順"), told=text("text"), sql="SELECT text FROM wiki_contents c JOIN wiki_pages p ON p.id = c.page_id WHERE title = '運用手順'"),
)

SUMS: Final = (
    Task(words="331 issues by status", calls=report("status"), told=groups("status"), sql="SELECT s.name, COUNT(*) FROM issues i JOIN issue_statuses s ON s.id = i.status_id GROUP BY 1"),
    Task(words="担当者別の残件数", calls=report("assigned_to", project_id="hanbai", status_id="open"), told=groups("assigned_to"), sql=f"SELECT {_NAME}, COUNT(*) FROM issues i WHERE {HANBAI} AND {OPEN} GROUP BY i.assigned_to_id"),
    Task(words="Overdue by person", calls=report("assigned_to", project_id="hanbai", measures=["overdue"]), told=lambda a: {k: v for k, v in groups("assigned_to", "overdue")(a).items() if v}, sql=f"SELECT {_NAME}, COUNT(*) FROM issues i WHERE {HANBAI} AND {OPEN} AND due_date < :today GROUP BY i.assigned_to_id"),
    Task(words="トラッカー別", calls=report("tracker", project_id="hanbai"), told=groups("tracker"), sql=f"SELECT t.name, COUNT(*) FROM issues i JOIN trackers t ON t.id = i.tracker_id WHERE {HANBAI} GROUP BY 1"),
    Task(words="By priority, open", calls=report("priority", status_id="open"), told=groups("priority"), sql=f"SELECT e.name, COUNT(*) FROM issues i JOIN enumerations e ON e.id = i.priority_id WHERE {OPEN} GROUP BY 1"),
    Task(words="Estimated hours by version", calls=report("fixed_version", project_id="hanbai"), told=groups("fixed_version", "estimated_hours"), sql=f"SELECT COALESCE(v.name, '(none)'), COALESCE(SUM(estimated_hours), 0) FROM issues i LEFT JOIN versions v ON v.id = i.fixed_version_id WHERE {HANBAI} GROUP BY 1"),
    Task(words="カテゴリ別", calls=report("category", project_id="hanbai"), told=groups("category"), sql=f"SELECT COALESCE(c.name, '(none)'), COUNT(*) FROM issues i LEFT JOIN issue_categories c ON c.id = i.category_id WHERE {HANBAI} GROUP BY 1"),
    Task(words="By project", calls=report("project"), told=groups("project"), sql="SELECT p.name, COUNT(*) FROM issues i JOIN projects p ON p.id = i.project_id GROUP BY 1"),
    Task(words="重大度別", calls=report("重大度"), told=groups("cf_13"), sql=f"SELECT COALESCE((SELECT name FROM custom_field_enumerations e WHERE e.id = {_CF.format(13)}), '(none)'), COUNT(*) FROM issues i GROUP BY 1"),
    Task(words="レビュー担当別の未完了", calls=report("レビュー担当", status_id="open"), told=groups("cf_5"), sql=f"SELECT COALESCE((SELECT lastname || ' ' || firstname FROM users u WHERE u.id = {_CF.format(5)}), '(none)'), COUNT(*) FROM issues i WHERE {OPEN} GROUP BY 1"),
    Task(words="Created per month", calls=report("created_month"), told=groups("created_month"), sql=f"SELECT strftime('%Y-%m', {_JST.format('created_on')}), COUNT(*) FROM issues i GROUP BY 1"),
    Task(words="日ごとの作成件数", calls=report("created_day"), told=groups("created_day"), sql=f"SELECT {_JST.format('created_on')}, COUNT(*) FROM issues i GROUP BY 1"),
    Task(words="Closed per day", calls=report("closed_day", status_id="closed"), told=groups("closed_day"), sql=f"SELECT {_JST.format('closed_on')}, COUNT(*) FROM issues i WHERE NOT ({OPEN}) GROUP BY 1"),
    Task(words="Person and status", calls=report("assigned_to", "status", project_id="hanbai"), told=groups("assigned_to status"), sql=f"SELECT {_NAME} || ' / ' || s.name, COUNT(*) FROM issues i JOIN issue_statuses s ON s.id = i.status_id WHERE {HANBAI} GROUP BY i.assigned_to_id, s.id"),
    Task(words="残り何時間？", calls=report(project_id="hanbai", measures=["remaining_hours"]), told=fact("remaining_hours"), sql=f"SELECT ROUND(SUM(estimated_hours * (100 - done_ratio) / 100.0), 2) FROM issues i WHERE {HANBAI} AND {OPEN}"),
    Task(words="Spent on the whole project", calls=report(project_id="hanbai", measures=["spent_hours"]), told=fact("spent_hours"), sql="SELECT SUM(hours) FROM time_entries WHERE issue_id IS NOT NULL"),
    Task(words="人別の作業時間", calls=one("report_time", group_by=["user"]), told=groups("user", "hours"), sql=_HOURS.format("(SELECT lastname || ' ' || firstname FROM users u WHERE u.id = t.user_id)")),
    Task(words="Hours per month", calls=one("report_time", group_by=["month"]), told=groups("month", "hours"), sql=_HOURS.format("strftime('%Y-%m', spent_on)")),
    Task(words="Hours by activity", calls=one("report_time", group_by=["activity"]), told=groups("activity", "hours"), sql=_HOURS.format("(SELECT name FROM enumerations e WHERE e.id = t.activity_id)")),
    Task(words="バージョン別の作業時間", calls=one("report_time", group_by=["fixed_version"]), told=groups("fixed_version", "hours"), sql=_HOURS.format("COALESCE((SELECT name FROM versions v WHERE v.id = i.fixed_version_id), '(none)')")),
    Task(words="鈴木さんの10月前半", calls=one("report_time", user_id="鈴木", spent_on="2026-10-01..2026-10-15", group_by=[]), told=fact("hours"), sql="SELECT SUM(hours) FROM time_entries WHERE user_id = 6 AND spent_on BETWEEN '2026-10-01' AND '2026-10-15'"),
    Task(words="How far is 1.0?", calls=one("report_versions", project_id="hanbai", version_id="1.0"), told=lambda a: [float(a[-1][0].findtext(name)) for name in ("count", "open", "overdue", "estimated_hours")], sql=f"SELECT COUNT(*), SUM({OPEN}), SUM({OPEN} AND due_date < :today), SUM(estimated_hours) FROM issues i WHERE fixed_version_id = 1"),  # type: ignore[arg-type]
    Task(words="1.0で遅れているもの", calls=one("report_versions", project_id="hanbai", version_id="1.0"), told=lambda a: len(list(a[-1].iterfind("version/late/issue"))) + int(a[-1].findtext("version/more_late", "0")), sql=f"{_N} fixed_version_id = 1 AND {OPEN} AND due_date < :today"),
    Task(words="Release notes of 0.9", calls=one("show_release_notes", project_id="hanbai", version_id="0.9"), told=lambda a: [int(n) for n in re.findall(r"\(#(\d+)\)", a[-1].findtext("text", ""))], sql=f"{_I} fixed_version_id = 3 AND NOT ({OPEN})"),
    Task(words="9月11日に誰が何をした？", calls=one("list_activity", **{"project_id": "hanbai", "from": "2026/9/11", "to": "2026/9/11"}), told=count, sql="SELECT COUNT(*) FROM journals WHERE date(created_on, '+9 hours') = '2026-09-11'"),
    Task(words="What did 佐藤 花子 do in September?", calls=one("list_activity", **{"project_id": "hanbai", "user_id": "佐藤 花子", "from": "2026-09-10", "to": "2026-09-30", "limit": 100}), told=count, sql="SELECT (SELECT COUNT(*) FROM journals WHERE user_id = 7 AND date(created_on, '+9 hours') BETWEEN '2026-09-10' AND '2026-09-30') + (SELECT COUNT(*) FROM issues WHERE author_id = 7 AND date(created_on, '+9 hours') BETWEEN '2026-09-10' AND '2026-09-30')"),
    Task(words="負荷のグラフ", calls=one("draw_chart", chart="workload", project_id="hanbai"), told=lambda a: {k: float(v) for k, v in lines(a).items()}, sql=f"SELECT {_NAME}, COUNT(*) FROM issues i WHERE {HANBAI} AND {OPEN} GROUP BY i.assigned_to_id"),
    Task(words="Gantt of 1.0", calls=one("draw_chart", chart="gantt", project_id="hanbai", version_id="1.0"), told=lambda a: len(lines(a)), sql=f"{_N} fixed_version_id = 1 AND (start_date IS NOT NULL OR due_date IS NOT NULL)"),
    Task(words="1.0のバーンダウン", calls=one("draw_chart", chart="burndown", project_id="hanbai", version_id="1.0"), told=lambda a: float(list(lines(a).values())[-1]), sql=f"{_N} fixed_version_id = 1 AND {OPEN}"),
)

CHANGES: Final = (
    Task(words="Move everything open in 1.0 to 3", calls=bulk(filters=_NEXT, changes={"fixed_version_id": "3"}), told=lambda a: int(a[-1].findtext("changed", "0")), sql=f"{_N} {OPEN} AND fixed_version_id = 4"),
    Task(words="高橋さんの分を全部佐藤花子へ", calls=bulk(filters={"project_id": "hanbai", "assigned_to_id": "高橋", "status_id": "open"}, changes={"assigned_to_id": "佐藤花子"}), told=lambda a: 0, sql=f"{_N} {HANBAI} AND {OPEN} AND assigned_to_id = 8"),
    Task(words="Close #5 and #6, which #5 blocks", calls=bulk(ids=[6, 5], changes={"status_id": "終了"}), told=lambda a: a[-1].findtext("changed"), sql=f"{_N} id IN (5, 6) AND NOT ({OPEN})"),
    Task(words="17〜20を再発ありに", calls=bulk(ids=[17, 18, 19, 20], changes={"custom_fields": [{"name": "再発", "value": "はい"}]}), told=lambda a: 4, sql=f"{_N} id BETWEEN 17 AND 20 AND {_CF.format(10)} = '1'"),
    Task(words="Report a bug", calls=one("create_issue", project_id="hanbai", tracker_id="バグ", subject="検索が遅い", assigned_to_id="鈴木"), told=lambda a: int(a[-1].get("id", "0")), sql=f"{_I} subject = '検索が遅い' AND assigned_to_id = 6 AND tracker_id = 1"),
    Task(words="#12にコメントして担当を決める", calls=one("update_issue", id=12, assigned_to_id="鈴木", notes="お願いします。"), told=text("assigned_to"), sql=f"SELECT {_NAME} FROM issues i WHERE id = 12 AND EXISTS (SELECT 1 FROM journals WHERE journalized_id = 12 AND notes = 'お願いします。')"),
)
TASKS: Final = (*FINDING, *SUMS, *CHANGES)
