"""Users and groups of the sandbox's Redmine."""

from typing import Any

import pytest

from tests.sandbox.redmine.redmine_client import KEYS, Redmine

NEW = {"login": "nora", "firstname": "Nora", "lastname": "New", "mail": "nora@example.test", "password": "long-enough"}


async def test_others_see_less_of_a_user_and_not_even_their_own_address(redmine: Redmine) -> None:
    own = (await redmine.told("dev", "/users/current.json"))["user"]
    another = (await redmine.told("dev", "/users/5.json"))["user"]
    account = (await redmine.told("dev", "/my/account.json"))["user"]

    assert own["api_key"] == KEYS["dev"]
    assert {"admin", "api_key", "mail", "status", "twofa_scheme"} & set(another) == set()
    assert "mail" not in own
    assert account["mail"] == "dev@example.test"


@pytest.mark.parametrize(
    ("who", "path", "status"),
    [
        pytest.param("dev", "/users.json", 403, id="the list, for others than administrators"),
        pytest.param("nobody", "/users.json", 401, id="the list, for strangers"),
        pytest.param("dev", "/users/8.json", 404, id="a locked user"),
        pytest.param("admin", "/users/12.json", 404, id="a group is no user"),
        pytest.param("locked", "/users/current.json", 401, id="oneself, when locked"),
        pytest.param("wrong key", "/users/current.json", 401, id="oneself, with a wrong key"),
        pytest.param("dev", "/groups.json", 403, id="the list of groups"),
        pytest.param("admin", "/groups/6.json", 404, id="a user is no group"),
    ],
)
async def test_what_is_not_shown(redmine: Redmine, who: str, path: str, status: int) -> None:
    assert await redmine.status(who, "GET", path) == status


@pytest.mark.parametrize(
    ("query", "logins"),
    [
        pytest.param("", ["admin", "dev", "kim1", "kim2", "manager", "outsider", "reporter"], id="active ones"),
        pytest.param("status=3", ["locked"], id="locked ones on request"),
        pytest.param("status=*", [], id="a star is no status"),
        pytest.param("name=kim+lee", ["kim1", "kim2"], id="first and last name"),
        pytest.param("name=dev%40example", ["dev"], id="part of an address"),
        pytest.param("group_id=12", ["outsider", "reporter"], id="of a group"),
        pytest.param("limit=1&offset=1", ["dev"], id="a page"),
    ],
)
async def test_lists_are_filtered(redmine: Redmine, query: str, logins: list[str]) -> None:
    listed = await redmine.told("admin", f"/users.json?{query}")

    assert [each["login"] for each in listed["users"]] == logins


async def test_a_new_user_can_log_in_until_locked(redmine: Redmine) -> None:
    status, made = await redmine.ask("admin", "POST", "/users.json", {"user": NEW})
    user = made["user"]
    key = {"X-Redmine-API-Key": user["api_key"]}
    path = f"/users/{user['id']}.json"

    assert (status, user["status"], user["admin"]) == (201, 1, False)
    assert (await redmine.ask("nobody", "GET", "/users/current.json", headers=key))[0] == 200
    assert await redmine.status("admin", "PUT", path, {"user": {"status": 3}}) == 204
    assert (await redmine.ask("nobody", "GET", "/users/current.json", headers=key))[0] == 401


@pytest.mark.parametrize(
    ("change", "sentences"),
    [
        pytest.param({"login": "DEV"}, ["Login has already been taken"], id="login"),
        pytest.param({"mail": "dev@example.test"}, ["Email has already been taken"], id="address"),
        pytest.param({"mail": "x", "firstname": ""}, ["Email is invalid", "First name cannot be blank"], id="several"),
        pytest.param({"password": "short"}, ["Password is too short (minimum is 8 characters)"], id="password"),
        pytest.param({"status": 9}, ["Status is invalid"], id="status"),
    ],
)
async def test_a_wrong_user_is_refused(redmine: Redmine, change: dict[str, Any], sentences: list[str]) -> None:
    assert await redmine.errors("admin", "POST", "/users.json", {"user": {**NEW, **change}}) == sentences


async def test_everybody_may_see_a_group_with_its_users(redmine: Redmine) -> None:
    group = (await redmine.told("nobody", "/groups/12.json?include=users,memberships"))["group"]

    assert [each["name"] for each in group["users"]] == ["Rolf Reporter", "Otto Outsider"]
    user = (await redmine.told("admin", "/users/5.json?include=groups"))["user"]
    assert user["groups"] == [{"id": 12, "name": "Support Team"}]
