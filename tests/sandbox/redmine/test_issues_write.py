"""Creating and changing issues: what happens, what is refused, and what is dropped without a word."""

from typing import Any

import pytest

from tests.sandbox.redmine.redmine_client import Redmine

_NEW = 141


async def shown(redmine: Redmine, number: int, include: str = "", who: str = "admin") -> dict[str, Any]:
    issue: dict[str, Any] = (await redmine.told(who, f"/issues/{number}.json?include={include}"))["issue"]
    return issue


async def change(redmine: Redmine, who: str, number: int, **fields: Any) -> int:
    return await redmine.status(who, "PUT", f"/issues/{number}.json", {"issue": fields})


async def create(redmine: Redmine, who: str, **fields: Any) -> tuple[int, Any]:
    return await redmine.ask(who, "POST", "/issues.json", {"issue": {"project_id": 1, "subject": "New", **fields}})


async def test_a_new_issue_says_where_it_is_but_shows_hours_only_for_a_project_in_the_address(
    redmine: Redmine,
) -> None:
    body = {"issue": {"project_id": "webshop", "subject": "New"}}
    first = await redmine.answer("dev", "POST", "/issues.json", body)
    second = await redmine.answer("dev", "POST", "/projects/webshop/issues.json", body)

    assert (first.status_code, second.status_code) == (201, 201)
    assert first.headers["location"].endswith(f"/issues/{_NEW}")
    assert "spent_hours" not in first.json()["issue"]
    assert second.json()["issue"]["spent_hours"] == 0.0


async def test_names_instead_of_numbers_are_ignored(redmine: Redmine) -> None:
    await create(redmine, "manager", status="Closed", tracker="Feature", priority="Urgent", assigned_to="dev")
    issue = await shown(redmine, _NEW)

    assert [issue[name]["id"] for name in ("status", "tracker", "priority")] == [1, 1, 2]
    assert "assigned_to" not in issue


async def test_a_category_gives_new_issues_to_its_person(redmine: Redmine) -> None:
    _, answer = await create(redmine, "manager", category_id=1)

    assert answer["issue"]["assigned_to"] == {"id": 6, "name": "Déva Roy"}


async def test_everything_that_is_wrong_is_said_at_once_in_redmines_order(redmine: Redmine) -> None:
    body = {
        "project_id": 1,
        "subject": "x" * 256,
        "start_date": "2026-13-40",
        "due_date": "01/02/2026",
        "done_ratio": 150,
        "estimated_hours": "abc",
        "priority_id": 999,
        "assigned_to_id": 999,
        "fixed_version_id": 2,
        "category_id": 999,
        "parent_issue_id": 99999,
        "custom_fields": [{"id": 8, "value": "many"}, {"id": 3, "value": "Netscape"}, {"id": 10, "value": "maybe"}],
    }

    assert await redmine.errors("admin", "POST", "/issues.json", {"issue": body}) == [
        "Browser is not included in the list",
        "Story points is not a number",
        "Priority cannot be blank",
        "Subject is too long (maximum is 255 characters)",
        "% Done is not included in the list",
        "Estimated time is invalid",
        "Start date is not a valid date",
        "Due date is not a valid date",
        "Target version is not included in the list",
        "Category is not included in the list",
        "Assignee is invalid",
        "Parent task is invalid",
    ]


@pytest.mark.parametrize(
    ("fields", "sentences"),
    [
        pytest.param({"project_id": 3}, ["Project", "Tracker", "Status"], id="a project that is not seen"),
        pytest.param({"project_id": 4}, ["Project", "Tracker", "Status"], id="a closed project"),
        pytest.param({"project_id": 99}, ["Project", "Tracker", "Status"], id="no project"),
        pytest.param({"subject": " "}, ["Subject"], id="no subject"),
    ],
)
async def test_what_is_missing(redmine: Redmine, fields: dict[str, Any], sentences: list[str]) -> None:
    status, answer = await create(redmine, "dev", **fields)

    assert (status, answer["errors"]) == (422, [f"{each} cannot be blank" for each in sentences])


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param({"issue": "text"}, 500, id="a text"),
        pytest.param({"issue": {"project_id": 1, "subject": "x", "custom_fields": "text"}}, 500, id="custom fields"),
        pytest.param({"issue": {"project_id": 1, "subject": "x", "watcher_user_ids": [999]}}, 404, id="watchers"),
    ],
)
async def test_what_redmine_did_not_expect(redmine: Redmine, body: Any, status: int) -> None:
    assert (await redmine.ask("admin", "POST", "/issues.json", body))[0] == status


async def test_an_empty_text_unassigns_and_null_empties_other_fields(redmine: Redmine) -> None:
    await change(redmine, "dev", 1, assigned_to_id="", category_id=None, fixed_version_id=None, due_date=None)
    issue = await shown(redmine, 1, "journals")

    assert not {"assigned_to", "category", "fixed_version"} & set(issue)
    assert [(each["name"], each["old_value"], each["new_value"]) for each in issue["journals"][-1]["details"]] == [
        ("due_date", "2030-01-15", None),
        ("category_id", "1", None),
        ("assigned_to_id", "6", None),
        ("fixed_version_id", "1", None),
    ]


async def test_a_private_note_of_somebody_without_the_permission_is_public(redmine: Redmine) -> None:
    await change(redmine, "reporter", 6, notes="For your eyes only", private_notes=True)
    await change(redmine, "manager", 6, notes="Really", private_notes=True, priority_id=4)
    journals = (await shown(redmine, 6, "journals"))["journals"]

    assert [(each["notes"], each["private_notes"], len(each["details"])) for each in journals] == [
        ("For your eyes only", False, 0),
        (None, False, 1),
        ("Really", True, 0),
    ]


@pytest.mark.parametrize(
    ("who", "number", "status"),
    [
        pytest.param("nobody", 1, 401, id="a stranger"),
        pytest.param("dev", 8, 403, id="a private issue"),
        pytest.param("dev", 18, 403, id="a closed project"),
        pytest.param("admin", 18, 403, id="a closed project, for administrators too"),
        pytest.param("admin", 19, 403, id="an archived project"),
        pytest.param("dev", 999, 404, id="no such issue"),
    ],
)
async def test_who_may_not_even_add_a_note(redmine: Redmine, who: str, number: int, status: int) -> None:
    assert await change(redmine, who, number, notes="Hello") == status


async def test_line_ends_become_those_of_the_web(redmine: Redmine) -> None:
    await change(redmine, "dev", 1, description="a\nb\r\nc\rd", estimated_hours="1h30")
    issue = await shown(redmine, 1)

    assert (issue["description"], issue["estimated_hours"]) == ("a\r\nb\r\nc\r\nd", 1.5)


async def test_custom_values_change_with_a_line_in_the_history_for_each(redmine: Redmine) -> None:
    fields = [{"id": 4, "value": ["Payment", "Cart"]}, {"id": 8, "value": ""}, {"id": 10, "value": False}]
    await change(redmine, "dev", 1, custom_fields=fields)
    issue = await shown(redmine, 1, "journals")
    values = {each["id"]: each["value"] for each in issue["custom_fields"]}

    assert (sorted(values[4]), values[8], values[10]) == (["Cart", "Payment"], "", "false")
    assert [(each["name"], each["old_value"], each["new_value"]) for each in issue["journals"][-1]["details"]] == [
        ("4", "Shipping", None),
        ("4", None, "Payment"),
        ("8", "8", ""),
        ("10", "1", "false"),
    ]


async def test_a_move_takes_along_what_has_a_place_there(redmine: Redmine) -> None:
    await change(redmine, "manager", 1, project_id="webshop-app")
    issue = await shown(redmine, 1, "relations,journals")

    assert (issue["project"]["id"], issue["fixed_version"]["id"], issue["spent_hours"]) == (2, 1, 12.5)
    assert not {"category", "relations"} & set(issue)
    assert 16 not in [each["id"] for each in issue["custom_fields"]]


async def test_a_copy_has_no_history_and_the_first_status(redmine: Redmine) -> None:
    body = {"issue": {"project_id": 1, "subject": "Again"}}
    path = "/issues.json?copy_from=1&copy_attachments=1&link_copy=1"
    assert (await redmine.answer("manager", "POST", path, body)).status_code == 201
    copy = await shown(redmine, _NEW, "attachments,relations,journals")

    assert (copy["status"]["name"], copy["category"]["id"], len(copy["attachments"])) == ("New", 1, 4)
    assert [each["relation_type"] for each in copy["relations"]] == ["copied_to"]
    assert [each["details"][0]["name"] for each in copy["journals"]] == ["copied_from"]
    assert await redmine.status("reporter", "POST", path, body) == 403
