"""Everything that can be asked: names in values and history, all filters, days, titles with dots, related issues."""

from typing import Any

import pytest

from tests.redmine_contract.ja.seeded_ja import ISSUES_JA, KEYS_JA, LOGINS
from tests.redmine_contract.place import Person, Place

MAIN = ISSUES_JA["main"]


@pytest.mark.parametrize("who", ["admin", "taro", "ichiro", "misaki"])
async def test_history_and_values_have_names_for_everybody(place: Place, who: str) -> None:
    person = await place.person(KEYS_JA[LOGINS[who]])

    shown = await person.call("show_issue", id=MAIN)

    changes = {one.get("field"): (one.findtext("from"), one.findtext("to")) for one in shown.iter("change")}
    labels = {one.findtext("name"): one.findtext("label") for one in shown.iterfind("custom_fields/field")}
    assert changes["レビュー担当"] == ("佐藤 太郎", "鈴木 一郎")
    assert changes["重大度"] == ("致命的", "重大")
    assert labels["レビュー担当"] == "鈴木 一郎"
    assert labels["重大度"] == "重大"
    assert labels["テスト担当"] == "佐藤 花子, 高橋 次郎"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param({"author_id": "田中 美咲"}, {"author_id": 9}, id="author"),
        pytest.param({"category_id": "受注"}, {"category_id": 1}, id="category"),
        pytest.param({"subprojects": False}, {"subproject_id": "!*"}, id="this project only"),
        pytest.param({"closed_on": "*", "status_id": "*"}, {"closed_on": "*", "status_id": "*"}, id="closed"),
        pytest.param({"start_date": "2026/10/1"}, {"start_date": "2026-10-01"}, id="first day"),
        pytest.param({"due_date": "2026/11/01..2026/11/10"}, {"due_date": "><2026-11-01|2026-11-10"}, id="due"),
        pytest.param({"done_ratio": ">=40"}, {"done_ratio": ">=40"}, id="progress"),
        pytest.param({"parent_id": "~2", "status_id": "*"}, {"parent_id": "~2", "status_id": "*"}, id="all below"),
        pytest.param({"subject": "税"}, {"subject": "~税"}, id="one kanji"),
        pytest.param({"filters": {"estimated_hours": "2..5"}}, {"estimated_hours": "><2|5"}, id="estimate"),
        pytest.param({"filters": {"spent_time": ">=3"}}, {"spent_time": ">=3"}, id="time"),
        pytest.param({"filters": {"blocked": "*"}}, {"blocked": "*"}, id="blocked"),
        pytest.param({"filters": {"blocks": 6}}, {"blocks": 6}, id="blocks"),
        pytest.param({"filters": {"relates": "*o"}}, {"relates": "*o"}, id="related to an open one"),
        pytest.param({"filters": {"attachment": "csv"}}, {"attachment": "~csv"}, id="file"),
        pytest.param({"filters": {"notes": "再現"}}, {"notes": "~再現"}, id="notes"),
        pytest.param({"filters": {"updated_by": "鈴木"}}, {"updated_by": 6}, id="changed by"),
        pytest.param({"filters": {"last_updated_by": "佐藤 花子"}}, {"last_updated_by": 7}, id="last changed by"),
        pytest.param({"filters": {"is_private": True}}, {"is_private": 1}, id="private"),
        pytest.param({"filters": {"child_id": "*"}}, {"child_id": "*"}, id="has children"),
        pytest.param({"filters": {"member_of_group": "開発チーム"}}, {"member_of_group": 18}, id="group"),
        pytest.param({"filters": {"assigned_to_role": "開発者"}}, {"assigned_to_role": 4}, id="role"),
        pytest.param(
            {"filters": {"fixed_version.status": "closed"}, "status_id": "*"},
            {"fixed_version.status": "closed", "status_id": "*"},
            id="state of the version",
        ),
        pytest.param({"filters": {"issue_id": "1,3,5"}}, {"issue_id": "1,3,5"}, id="issues"),
        pytest.param({"custom_fields": [{"name": "レビュー担当", "value": "佐藤太郎"}]}, {"cf_5": 5}, id="user"),
        pytest.param(
            {"custom_fields": [{"name": "重大度", "value": ["致命的", "軽微"]}]}, {"cf_13": "1|3"}, id="labels"
        ),
        pytest.param({"custom_fields": [{"name": "再発", "value": "はい"}]}, {"cf_10": 1}, id="yes"),
        pytest.param({"custom_fields": [{"name": "ポイント", "value": "3..5"}]}, {"cf_8": "><3|5"}, id="numbers"),
        pytest.param({"custom_fields": [{"name": "係数", "value": ">=1.5"}]}, {"cf_9": ">=1.5"}, id="fractions"),
        pytest.param(
            {"custom_fields": [{"name": "約束日", "value": "2026/12/01..2026/12/05"}]},
            {"cf_7": "><2026-12-01|2026-12-05"},
            id="days",
        ),
        pytest.param({"custom_fields": [{"name": "発見バージョン", "value": "0.9"}]}, {"cf_12": 3}, id="version"),
    ],
)
@pytest.mark.parametrize("who", ["admin", "taro"])
async def test_a_question_is_asked_as_redmine_understands_it(
    place: Place, who: str, arguments: dict[str, Any], told: dict[str, Any]
) -> None:
    """Some issues pass each filter and some do not, so an ignored one would be seen."""
    person = await place.person(KEYS_JA[LOGINS[who]])

    found = await person.call("list_issues", project_id="hanbai", sort="id", limit=100, fields=["subject"], **arguments)
    direct = await person.told("/issues.json", project_id=1, sort="id", limit=100, **told)
    every = await person.told("/issues.json", project_id=1, limit=1, status_id="*")

    assert [one.get("id") for one in found] == [str(one["id"]) for one in direct["issues"]]
    assert 0 < direct["total_count"] < every["total_count"]


async def test_a_filter_that_a_role_does_not_have_is_refused(viewer: Person) -> None:
    """Redmine ignores it, and everything would be found."""
    error = await viewer.refused("list_issues", project_id="hanbai", filters={"spent_time": ">=1"})

    assert "offers you no filter spent_time here" in error.message


async def test_an_issue_is_found_by_its_number(misaki: Person) -> None:
    listed = await misaki.call("list_issues", subject="#14", fields=["subject"])

    assert [one.get("id") for one in listed] == ["14"]


async def test_relations_tell_of_the_other_issue(ichiro: Person) -> None:
    listed = await ichiro.call("list_issue_relations", issue_id=ISSUES_JA["blocked"])

    other = listed.find("relation/issue")
    assert other is not None
    assert (other.get("id"), other.findtext("subject")) == ("5", "税率表の確定")
    assert (other.findtext("status"), other.findtext("assigned_to")) == ("新規", "田中 健")


@pytest.mark.parametrize("title", ["リリースノート 1.4", "リリースノート_14", "リリースノート_1.4"])
async def test_a_title_with_a_dot_is_found(ichiro: Person, title: str) -> None:
    shown = await ichiro.call("show_wiki_page", project_id="hanbai", title=title)

    assert shown.findtext("title") == "リリースノート_14"


async def test_a_page_with_a_dot_in_its_title_is_made(ichiro: Person) -> None:
    made = await ichiro.call("save_wiki_page", project_id="hanbai", title="議事録 11.17", text="決定事項なし。")

    assert made.findtext("title") == "議事録_1117"
    assert (await ichiro.call("show_wiki_page", project_id="hanbai", title="議事録 11.17")).findtext("text")
