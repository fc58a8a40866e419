"""Memberships of the sandbox's Redmine."""

from typing import Any

import pytest

from tests.sandbox.redmine.redmine_client import Redmine

SUPPORT_TEAM = 12
OTTO = 7


async def _of(redmine: Redmine, user_id: int) -> dict[str, Any]:
    listed = await redmine.told("admin", "/projects/webshop/memberships.json")
    return next(each for each in listed["memberships"] if each.get("user", {}).get("id") == user_id)


async def test_members_are_listed_with_their_roles_for_everybody_who_sees_the_project(redmine: Redmine) -> None:
    listed = await redmine.told("nobody", "/projects/webshop/memberships.json?limit=1")

    assert listed == {
        "memberships": [
            {
                "id": 1,
                "project": {"id": 1, "name": "Web Shop"},
                "user": {"id": 9, "name": "Mari Sato"},
                "roles": [{"id": 3, "name": "Manager"}],
            }
        ],
        "total_count": listed["total_count"],
        "offset": 0,
        "limit": 1,
    }


async def test_a_groups_roles_are_inherited_and_cannot_be_deleted_from_its_users(redmine: Redmine) -> None:
    body = {"membership": {"user_id": SUPPORT_TEAM, "role_ids": [4]}}
    status, made = await redmine.ask("manager", "POST", "/projects/webshop/memberships.json", body)

    otto = await _of(redmine, OTTO)
    assert (status, made["membership"]["group"]) == (201, {"id": SUPPORT_TEAM, "name": "Support Team"})
    assert otto["roles"] == [{"id": 4, "name": "Developer", "inherited": True}]
    assert await redmine.status("admin", "DELETE", f"/memberships/{otto['id']}.json") == 422
    assert await redmine.status("admin", "DELETE", f"/memberships/{made['membership']['id']}.json") == 204
    assert await redmine.status("admin", "GET", f"/memberships/{otto['id']}.json") == 404


async def test_refusing_to_take_the_last_role_takes_it_all_the_same(redmine: Redmine) -> None:
    """A trap: the answer is 422, and the membership is left without any role."""
    member = await _of(redmine, 6)
    path = f"/memberships/{member['id']}.json"
    body: dict[str, Any] = {"membership": {"role_ids": []}}

    assert await redmine.errors("manager", "PUT", path, body) == ["Role cannot be empty"]
    assert (await _of(redmine, 6))["roles"] == []


async def test_an_update_ignores_whose_membership_it_should_become(redmine: Redmine) -> None:
    member = await _of(redmine, 6)
    body = {"membership": {"user_id": OTTO, "role_ids": [3, 5]}}

    assert await redmine.status("manager", "PUT", f"/memberships/{member['id']}.json", body) == 204

    changed = await _of(redmine, 6)
    assert [each["name"] for each in changed["roles"]] == ["Manager", "Reporter"]


@pytest.mark.parametrize(
    ("body", "sentences"),
    [
        pytest.param({"user_id": 6, "role_ids": [4]}, ["User has already been taken"], id="twice"),
        pytest.param({"user_id": OTTO, "role_ids": [99]}, ["Role cannot be empty"], id="a role that does not exist"),
        pytest.param({"user_id": OTTO, "role_ids": [1]}, ["Role cannot be empty"], id="a built-in role"),
        pytest.param({"user_id": 999, "role_ids": [4]}, ["Principal cannot be blank"], id="nobody"),
    ],
)
async def test_a_wrong_membership_is_refused(redmine: Redmine, body: dict[str, Any], sentences: list[str]) -> None:
    path = "/projects/webshop/memberships.json"

    assert await redmine.errors("admin", "POST", path, {"membership": body}) == sentences


@pytest.mark.parametrize(
    ("who", "status"),
    [
        pytest.param("dev", 403, id="developer"),
        pytest.param("outsider", 403, id="outsider"),
        pytest.param("nobody", 401, id="stranger"),
    ],
)
async def test_only_those_who_manage_members_change_them(redmine: Redmine, who: str, status: int) -> None:
    body = {"membership": {"user_id": OTTO, "role_ids": [4]}}

    assert await redmine.status(who, "POST", "/projects/webshop/memberships.json", body) == status
    assert await redmine.status(who, "DELETE", "/memberships/1.json") == status
