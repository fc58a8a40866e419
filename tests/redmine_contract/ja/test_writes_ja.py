"""Never a false yes: what Redmine would drop or misread is translated, or refused before anything is written."""

from typing import Any

import pytest

from tests.redmine_contract.ja.seeded_ja import ISSUES_JA, KEYS_JA, LOGINS, PROJECTS_JA, USERS_JA, VERSIONS_JA
from tests.redmine_contract.place import Person, Place

MAIN = ISSUES_JA["main"]
PLAIN = ISSUES_JA["unassigned"]


async def _values(person: Person, issue: int) -> dict[str, Any]:
    return {one["name"]: one["value"] for one in (await person.issue(issue))["custom_fields"]}


async def _count(person: Person) -> int:
    total: int = (await person.told("/issues.json", status_id="*", limit=1))["total_count"]
    return total


@pytest.mark.parametrize(
    ("name", "given", "stored"),
    [
        pytest.param("再発", "はい", "1", id="yes"),
        pytest.param("再発", "yes", "1", id="yes in English"),
        pytest.param("再発", True, "1", id="true"),
        pytest.param("再発", "いいえ", "0", id="no"),
        pytest.param("社外秘", "はい", "1", id="yes, in a field that is no filter"),
        pytest.param("レビュー担当", "佐藤花子", "7", id="user"),
        pytest.param("レビュー担当", "0007", "6", id="user by a login of digits"),
        pytest.param("発見バージョン", "3", "4", id="version that is called like an id"),
        pytest.param("重大度", "軽微", "3", id="label of a key-value list"),
        pytest.param("発生環境", "検証", "検証", id="list"),
        pytest.param("約束日", "2027/1/5", "2027-01-05", id="day with slashes"),
        pytest.param("ポイント", "８", "8", id="wide digits"),
    ],
)
@pytest.mark.parametrize("who", ["admin", "ichiro"])
async def test_a_value_is_written_as_redmine_stores_it(
    place: Place, who: str, name: str, given: Any, stored: str
) -> None:
    person = await place.person(KEYS_JA[LOGINS[who]])

    await person.call("update_issue", id=MAIN, custom_fields=[{"name": name, "value": given}])

    assert (await _values(person, MAIN))[name] == stored


@pytest.mark.parametrize(
    ("name", "given"),
    [
        pytest.param("再発", "たぶん", id="neither yes nor no"),
        pytest.param("重大度", "普通", id="label that is none"),
        pytest.param("ポイント", "たくさん", id="word for a number"),
        pytest.param("約束日", "そのうち", id="word for a day"),
        pytest.param("レビュー担当", "田中 健", id="name of two people"),
    ],
)
@pytest.mark.parametrize("who", ["admin", "ichiro"])
async def test_a_value_that_would_be_misread_is_refused(place: Place, who: str, name: str, given: Any) -> None:
    person = await place.person(KEYS_JA[LOGINS[who]])
    before = await person.issue(MAIN)

    error = await person.refused("update_issue", id=MAIN, custom_fields=[{"name": name, "value": given}])

    assert error.message.startswith("Invalid value for parameter custom_fields: ")
    assert await person.issue(MAIN) == before


@pytest.mark.parametrize(
    ("who", "arguments", "reason"),
    [
        pytest.param(
            "taro", {"project_id": "keiri", "tracker_id": "サポート"}, "does not use this tracker", id="tracker"
        ),
        pytest.param("partner", {"tracker_id": "バグ"}, "may not add issues of this tracker", id="tracker of the role"),
        pytest.param(
            "taro",
            {"tracker_id": "バグ", "custom_fields": [{"name": "受付区分", "value": "電話"}]},
            "do not have this custom field",
            id="field of another tracker",
        ),
        pytest.param(
            "admin",
            {"tracker_id": "バグ", "custom_fields": [{"name": "部署", "value": "経理部"}]},
            "do not have this custom field",
            id="field of another project",
        ),
        pytest.param("misaki", {"is_private": True}, "lacks the permission set_issues_private", id="private"),
        pytest.param("viewer", {}, "lacks the permission add_issues", id="no permission"),
        pytest.param("taro", {"fixed_version_id": "1.1"}, "version '1.1' is locked", id="locked version"),
        pytest.param("taro", {"assigned_to_id": "見学 者"}, "to which no issue can be assigned", id="role"),
        pytest.param(
            "admin", {"project_id": "koho", "tracker_id": "サポート"}, "the module issue_tracking", id="module"
        ),
    ],
)
async def test_an_issue_that_redmine_would_not_make_as_asked_is_not_made_at_all(
    place: Place, admin: Person, who: str, arguments: dict[str, Any], reason: str
) -> None:
    person = await place.person(KEYS_JA[LOGINS[who]])
    before = await _count(admin)

    error = await person.refused("create_issue", **{"project_id": "hanbai", "subject": "作らない", **arguments})

    assert reason in error.message
    assert await _count(admin) == before


async def test_a_role_adds_what_it_may(partner: Person) -> None:
    made = await partner.call("create_issue", project_id="hanbai", tracker_id="サポート", subject="問い合わせ")

    assert made.findtext("tracker") == "サポート"


async def test_whoever_may_edit_nothing_is_told_afterwards_that_the_tracker_is_another(desk: Person) -> None:
    """No page and no answer of Redmine says before which trackers such a role may add."""
    error = await desk.refused("create_issue", project_id="hanbai", tracker_id="バグ", subject="受付から")

    assert "your role may not add issues of this tracker here" in error.message
    assert error.hint is not None
    assert "do not create it again" in error.hint


@pytest.mark.parametrize(
    ("issue", "reason"),
    [
        pytest.param(ISSUES_JA["blocked"], "it is blocked by #5 税率表の確定", id="blocked"),
        pytest.param(ISSUES_JA["parent"], "it has open children: #3 請求書PDFの出力", id="open children"),
    ],
)
async def test_what_keeps_an_issue_open_is_named(taro: Person, issue: int, reason: str) -> None:
    error = await taro.refused("update_issue", id=issue, status_id="終了")

    assert reason in error.message
    assert (await taro.issue(issue))["status"]["id"] != 5


@pytest.mark.parametrize(
    ("tool", "arguments", "module"),
    [
        pytest.param("create_time_entry", {"hours": 1, "activity_id": 9}, "time_tracking", id="time"),
        pytest.param("list_wiki_pages", {}, "wiki", id="wiki"),
        pytest.param("list_files", {}, "files", id="files"),
        pytest.param("list_time_entries", {}, "time_tracking", id="list of time"),
    ],
)
async def test_a_module_that_is_off_is_named(taro: Person, tool: str, arguments: dict[str, Any], module: str) -> None:
    error = await taro.refused(tool, project_id="keiri", **arguments)

    assert f"the module {module} is switched off in project '経理'" in error.message


async def test_an_activity_that_the_project_has_switched_off_is_not_offered(taro: Person) -> None:
    offered = await taro.call("list_time_entry_activities", project_id="hanbai")
    error = await taro.refused("create_time_entry", project_id="hanbai", hours=1, activity_id="設計作業")

    assert [one.text for one in offered] == ["開発作業"]
    assert "the project has switched this activity off" in error.message
    assert error.hint == "Activities of this project: 開発作業."


async def test_no_start_date_is_none_and_a_version_may_be_called_like_an_id(taro: Person) -> None:
    made = await taro.call(
        "create_issue", project_id="hanbai", subject="日付なし", start_date=None, fixed_version_id="3"
    )

    issue = await taro.issue(int(made.get("id", "0")))
    assert issue["start_date"] is None
    assert issue["fixed_version"]["id"] == VERSIONS_JA["3"]


async def test_an_issue_that_somebody_changed_meanwhile_is_not_overwritten(taro: Person, ichiro: Person) -> None:
    read = (await taro.issue(PLAIN))["updated_on"]
    await ichiro.call("update_issue", id=PLAIN, notes="先に書きました。")

    error = await taro.refused("update_issue", id=PLAIN, subject="上書き", expected_updated_on=read)
    now = (await taro.issue(PLAIN))["updated_on"]
    await taro.call("update_issue", id=PLAIN, subject="上書き", expected_updated_on=now)

    assert "somebody else has changed it" in error.message
    assert (await taro.issue(PLAIN))["subject"] == "上書き"


async def test_a_copy_leaves_behind_what_the_other_project_cannot_take(taro: Person) -> None:
    made = await taro.call("copy_issue", id=MAIN, project_id="keiri", link_copy=False, copy_attachments=False)

    copy = await taro.issue(int(made.get("id", "0")))
    cleared = {one.get("field"): one.findtext("from") for one in made.iterfind("cleared/*")}
    assert copy["project"]["id"] == PROJECTS_JA["keiri"]
    assert {"category", "fixed_version", "assigned_to", "レビュー担当", "テスト担当", "発見バージョン"} <= set(cleared)
    assert cleared["レビュー担当"] == "鈴木 一郎"
    assert "assigned_to" not in copy


async def test_a_copy_takes_other_values_and_counts_its_children(taro: Person) -> None:
    made = await taro.call(
        "copy_issue", id=ISSUES_JA["parent"], copy_subtasks=True, fixed_version_id="3", assigned_to_id="鈴木"
    )

    copy = await taro.issue(int(made.get("id", "0")))
    assert made.findtext("copied_children") == "2 of 2"
    assert (copy["fixed_version"]["id"], copy["assigned_to"]["id"]) == (VERSIONS_JA["3"], USERS_JA["0007"])
