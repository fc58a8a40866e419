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
