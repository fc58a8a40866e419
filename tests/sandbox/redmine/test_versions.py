"""Versions of the sandbox's Redmine."""

from typing import Any

import pytest

from tests.sandbox.redmine.redmine_client import Redmine


async def test_developers_make_change_and_delete_versions_with_the_default_roles(redmine: Redmine) -> None:
    body = {"version": {"name": "3.0", "due_date": "2031-05-01", "sharing": "system"}}
    status, made = await redmine.ask("dev", "POST", "/projects/webshop/versions.json", body)
    path = f"/versions/{made['version']['id']}.json"

    # Sharing with all projects is for administrators; it is dropped without a word.
    assert (status, made["version"]["sharing"], made["version"]["description"]) == (201, "none", "")
    assert await redmine.status("dev", "PUT", path, {"version": {"status": "locked", "due_date": ""}}) == 204
    changed = (await redmine.told("dev", path))["version"]
    assert (changed["status"], changed["due_date"]) == ("locked", None)
    assert await redmine.status("dev", "DELETE", path) == 204
    assert await redmine.status("dev", "GET", path) == 404


@pytest.mark.parametrize(
    ("body", "sentences"),
    [
        pytest.param({}, ["Name cannot be blank"], id="no name"),
        pytest.param({"name": "1.0"}, ["Name has already been taken"], id="taken"),
        pytest.param({"name": "x", "status": "done"}, ["Status is not included in the list"], id="status"),
        pytest.param({"name": "x", "due_date": "tomorrow"}, ["Due date is not a valid date"], id="date"),
    ],
)
async def test_a_wrong_version_is_refused(redmine: Redmine, body: dict[str, Any], sentences: list[str]) -> None:
    assert await redmine.errors("manager", "POST", "/projects/webshop/versions.json", {"version": body}) == sentences


async def test_reporters_only_read_versions(redmine: Redmine) -> None:
    body = {"version": {"name": "3.0"}}

    assert await redmine.status("reporter", "POST", "/projects/webshop/versions.json", body) == 403
    assert await redmine.status("nobody", "DELETE", "/versions/2.json") == 401
    assert await redmine.status("nobody", "DELETE", "/versions/99.json") == 404
