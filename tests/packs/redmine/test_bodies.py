"""What is sent to Redmine: ids for names, its own way to say "nothing", and nothing that was not asked for."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from .wired import bench


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        pytest.param({"assigned_to_id": None}, {"assigned_to_id": ""}, id="unassigned: a null would do nothing"),
        pytest.param({"category_id": None}, {"category_id": ""}, id="no category"),
        pytest.param({"due_date": None, "start_date": None}, {"due_date": "", "start_date": ""}, id="no dates"),
        pytest.param({"parent_issue_id": None}, {"parent_issue_id": ""}, id="no parent"),
        pytest.param({"estimated_hours": 0}, {"estimated_hours": 0}, id="zero hours are not nothing"),
        pytest.param({"is_private": False}, {"is_private": False}, id="no is not nothing"),
        pytest.param(
            {"status_id": "in progress", "priority_id": "HIGH", "tracker_id": "Bug"},
            {"status_id": 2, "priority_id": 3, "tracker_id": 1},
            id="names",
        ),
        pytest.param(
            {"category_id": "Checkout", "fixed_version_id": "1.0", "assigned_to_id": "dev"},
            {"category_id": 1, "fixed_version_id": 1, "assigned_to_id": 6},
            id="names within the project",
        ),
        pytest.param({"subject": "New", "uploads": []}, {"subject": "New"}, id="no uploads"),
    ],
)
async def test_an_update_sends_what_was_said_and_nothing_else(
    arguments: Mapping[str, Any], sent: Mapping[str, Any], tmp_path: Path
) -> None:
    async with bench(tmp_path, "manager") as on:
        await on.data("update_issue", id=3, **arguments)

    assert on.wire.body("PUT") == {"issue": sent}


async def test_unassigning_works(tmp_path: Path) -> None:
    async with bench(tmp_path, "dev") as on:
        await on.data("update_issue", id=1, assigned_to_id=None)
        shown = await on.data("show_issue", id=1)

    assert "assigned_to" not in shown["issue"]


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        pytest.param({}, "id", id="nothing at all"),
        pytest.param({"custom_fields": [], "uploads": []}, "id", id="only empty lists"),
        pytest.param({"private_notes": True}, "private_notes", id="private, but no note"),
        pytest.param({"status_id": None}, "status_id", id="no status"),
        pytest.param({"subject": None}, "subject", id="no subject"),
        pytest.param({"project_id": None}, "project_id", id="no project"),
    ],
)
async def test_an_update_that_makes_no_sense_is_refused_before_any_request(
    arguments: Mapping[str, Any], parameter: str, tmp_path: Path
) -> None:
    async with bench(tmp_path, "dev") as on:
        result = await on.call("update_issue", id=6, **arguments)

    assert result.code == "VALIDATION_ERROR"
    assert [one["field"] for one in (result.meta or {})["details"]] == [parameter]
    assert on.wire.asked() == []


async def test_a_new_issue_sends_no_nulls(tmp_path: Path) -> None:
    async with bench(tmp_path, "dev") as on:
        await on.data("create_issue", project_id="Web Shop", subject="New", assigned_to_id=None, description=None)

    assert on.wire.body("POST") == {"issue": {"project_id": 1, "subject": "New"}}


async def test_what_came_with_a_category_is_told(tmp_path: Path) -> None:
    async with bench(tmp_path, "dev") as on:
        made = await on.data("create_issue", project_id=1, subject="New", category_id="Checkout")

    told = {one["field"]: one["to"] for one in made["issue"]["also_changed"]}
    assert told["assigned_to"] == {"id": 6, "name": "Déva Roy"}


async def test_names_of_the_target_project_count_when_an_issue_moves(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await on.call("update_issue", id=6, project_id="Import", fixed_version_id="Old tracker")

    assert on.wire.body("PUT")["issue"] == {"project_id": 6, "fixed_version_id": 3}


async def test_an_id_that_comes_twice_is_sent_once(tmp_path: Path) -> None:
    """Redmine answers 500 to a list of trackers that names one twice."""
    async with bench(tmp_path) as on:
        await on.data("update_project", id="webshop", tracker_ids=["Bug", 1, "Feature", "bug"])

    assert on.wire.body("PUT") == {"project": {"tracker_ids": [1, 2]}}


@pytest.mark.parametrize("role", [99, "1"])
async def test_a_role_that_cannot_be_given_is_refused_before_all_roles_are_lost(
    role: int | str, tmp_path: Path
) -> None:
    async with bench(tmp_path) as on:
        message, _ = await on.refusal("update_membership", id=5, role_ids=["Reporter", role])

    assert message == "Invalid value for parameter role_ids: there is no such role"
    assert on.wire.writes() == []


async def test_roles_that_a_group_has_given_are_not_reported_as_missing(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await on.data("create_membership", project_id=1, user_id="Support Team", role_ids=["Reporter"])
        members = await on.data("list_memberships", project_id=1)
        mine = next(one for one in members["memberships"] if one.get("user", {}).get("id") == 7)
        changed = await on.data("update_membership", id=mine["id"], role_ids=["Reporter", "Developer"])

    assert {role["name"] for role in changed["membership"]["roles"]} == {"Reporter", "Developer"}


async def test_an_activity_by_id_costs_no_look_up(tmp_path: Path) -> None:
    async with bench(tmp_path, "dev") as on:
        await on.data("create_time_entry", project_id=1, hours=1, activity_id=9)

    assert on.wire.asked() == ["POST /time_entries", "GET /time_entries/41"]
