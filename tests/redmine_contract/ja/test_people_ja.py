"""Whom people mean: every written form of a name, logins of digits, namesakes; as administrator and as member."""

from typing import Any

import pytest

from dogubako.contract.errors import ValidationError
from scripts.record_redmine import WORLD_JA, rendered, world_of
from scripts.redmine_install import Seeded
from tests.redmine_contract.ja.seeded_ja import GROUPS_JA, IDS_JA, ISSUES_JA, KEYS_JA, PROJECTS_JA, USERS_JA
from tests.redmine_contract.one_sided import only_where_there_is
from tests.redmine_contract.place import Person, Place

ID = ISSUES_JA["unassigned"]
WRITTEN = [
    pytest.param("佐藤 太郎", "sato.taro", id="as Redmine shows it"),
    pytest.param("佐藤太郎", "sato.taro", id="without a blank"),
    pytest.param("太郎 佐藤", "sato.taro", id="the other way round"),
    pytest.param("佐藤\u3000太郎", "sato.taro", id="with a wide blank"),
    pytest.param("鈴木", "0007", id="last name"),
    pytest.param("鈴木さん", "0007", id="last name, politely"),
    pytest.param("花子", "sato.hanako", id="first name"),
    pytest.param("0007", "0007", id="login of digits"),
    pytest.param("8001", "8001", id="login that could be an id"),
    pytest.param("SATO.TARO", "sato.taro", id="login in capitals"),
]


@only_where_there_is("recorded")
async def test_the_world_in_small_is_what_the_seed_gives(place: Place, world_ja: Seeded) -> None:
    assert place.side == "real"
    assert rendered(world_of(world_ja)) == WORLD_JA.read_text(encoding="utf-8")
    told = world_ja.told()
    assert told["keys"] == KEYS_JA
    for kind, names in IDS_JA.items():
        assert names == {name: told["ids"][kind].get(name) for name in names}, kind


@pytest.mark.parametrize(("written", "login"), WRITTEN)
async def test_a_manager_assigns_by_any_form_of_a_name(taro: Person, written: str, login: str) -> None:
    await taro.call("update_issue", id=ID, assigned_to_id=written)

    assert (await taro.issue(ID))["assigned_to"]["id"] == USERS_JA[login]


@pytest.mark.parametrize(("written", "login"), WRITTEN)
async def test_an_administrator_finds_people_by_any_form_of_a_name(admin: Person, written: str, login: str) -> None:
    shown = await admin.call("show_user", id=written)

    assert shown.get("id") == str(USERS_JA[login])


@pytest.mark.parametrize(("written", "login"), WRITTEN)
async def test_a_member_finds_people_without_a_project(misaki: Person, written: str, login: str) -> None:
    shown = await misaki.call("show_user", id=written)

    assert shown.get("id") == str(USERS_JA[login])


@pytest.mark.parametrize(
    ("written", "candidates"),
    [
        pytest.param("佐藤", {"佐藤 太郎 (5)", "佐藤 花子 (7)"}, id="last name of two"),
        pytest.param("田中 健", {"田中 健 (10)", "田中 健 (11)"}, id="name of two"),
        pytest.param("5", {"佐藤 太郎 (5)", "高橋 次郎 (8, login 5)"}, id="id of one and login of another"),
    ],
)
@pytest.mark.parametrize("who", ["admin", "sato.taro"])
async def test_who_is_not_clear_is_refused_with_all_who_could_be_meant(
    place: Place, who: str, written: str, candidates: set[str]
) -> None:
    person = await place.person(KEYS_JA[who])

    error = await person.refused("update_issue", id=ID, assigned_to_id=written)

    assert isinstance(error, ValidationError)
    assert all(one in error.message for one in candidates)
    assert "assigned_to" not in await person.issue(ID)


@pytest.mark.parametrize("given", [5, "#5"])
async def test_a_number_is_an_id_and_never_a_login(taro: Person, given: Any) -> None:
    await taro.call("update_issue", id=ID, assigned_to_id=given)

    assert (await taro.issue(ID))["assigned_to"]["id"] == 5


@pytest.mark.parametrize("who", ["admin", "sato.taro"])
async def test_a_login_of_digits_that_nobody_has_is_nobody(place: Place, who: str) -> None:
    person = await place.person(KEYS_JA[who])

    error = await person.refused("update_issue", id=ID, assigned_to_id="0005")

    assert "there is no such user" in error.message


async def test_time_is_logged_for_the_person_of_the_login(taro: Person) -> None:
    made = await taro.call("create_time_entry", issue_id=ID, hours=1, activity_id="開発作業", user_id="0007")

    entry = (await taro.told(f"/time_entries/{made.get('id')}.json"))["time_entry"]
    assert entry["user"]["id"] == USERS_JA["0007"]


async def test_a_group_is_named_too(taro: Person) -> None:
    await taro.call("update_issue", id=ID, assigned_to_id="開発チーム")

    assert (await taro.issue(ID))["assigned_to"]["id"] == GROUPS_JA["開発チーム"]


@pytest.mark.parametrize("written", ["渡邊 ワタル", "渡邊ワタル", "渡邊", "watanabe@example.test"])
async def test_an_administrator_makes_somebody_a_member_who_is_in_no_project(admin: Person, written: str) -> None:
    made = await admin.call("create_membership", project_id="hanbai", user_id=written, role_ids=["開発者"])

    member = (await admin.told(f"/memberships/{made.get('id')}.json"))["membership"]
    assert member["user"]["id"] == USERS_JA["watanabe"]


async def test_a_manager_makes_somebody_of_another_project_a_member(taro: Person) -> None:
    made = await taro.call("create_membership", project_id="keiri", user_id="鈴木 一郎", role_ids=["開発者"])

    member = (await taro.told(f"/memberships/{made.get('id')}.json"))["membership"]
    assert (member["user"]["id"], member["project"]["id"]) == (USERS_JA["0007"], PROJECTS_JA["keiri"])


async def test_a_locked_user_is_named_as_the_reason(taro: Person) -> None:
    error = await taro.refused("update_issue", id=ID, assigned_to_id="小林 退")

    assert "'小林 退' is locked" in error.message


async def test_filters_take_names_as_well(misaki: Person) -> None:
    found = await misaki.call(
        "list_issues", project_id="hanbai", assigned_to_id="鈴木一郎", author_id="佐藤 太郎", limit=1
    )
    told = await misaki.told("/issues.json", project_id=1, assigned_to_id=6, author_id=5, limit=1)

    assert found.get("total_count") == str(told["total_count"])
    assert told["total_count"] > 0
