"""Time: logged, corrected, taken away."""

from typing import Any

import pytest

from dogubako.contract.errors import ConfirmationRequiredError, ValidationError
from dogubako.packs.redmine.errors import RedmineRefused
from tests.redmine_contract.facts import fact, proves
from tests.redmine_contract.place import Person
from tests.redmine_contract.seeded import ACTIVITIES, ISSUES, PROJECTS, TIME_ENTRIES, USERS

FIRST = TIME_ENTRIES["first"]
WORK: dict[str, Any] = {"hours": 1.5, "activity_id": "Development"}


async def entry(person: Person, id_: int = FIRST) -> dict[str, Any]:
    found: dict[str, Any] = (await person.told(f"/time_entries/{id_}.json"))["time_entry"]
    return found


async def test_time_is_logged_on_an_issue_and_on_a_project(dev: Person) -> None:
    on_issue = await dev.call(
        "create_time_entry",
        issue_id=ISSUES["umlauts"],
        comments="Looked",
        spent_on="2026-11-02",
        **WORK,
        custom_fields=[{"name": "Invoice", "value": "R-99"}],
    )
    on_project = await dev.call("create_time_entry", project_id="webshop", hours=0.25, activity_id=ACTIVITIES["Design"])

    first = await entry(dev, int(on_issue.get("id", "0")))
    second = await entry(dev, int(on_project.get("id", "0")))
    assert (first["issue"]["id"], first["hours"], first["spent_on"]) == (ISSUES["umlauts"], 1.5, "2026-11-02")
    assert (first["activity"]["name"], first["comments"]) == ("Development", "Looked")
    assert first["custom_fields"][0]["value"] == "R-99"
    assert "issue" not in second
    assert (second["project"]["id"], second["hours"]) == (PROJECTS["webshop"], 0.25)


async def test_a_manager_logs_time_of_others_and_a_developer_does_not(manager: Person, dev: Person) -> None:
    made = await manager.call("create_time_entry", project_id="webshop", user_id="dev", **WORK)
    error = await dev.refused("create_time_entry", project_id="webshop", user_id="kim1", **WORK)

    assert (await entry(dev, int(made.get("id", "0"))))["user"]["id"] == USERS["dev"]
    assert isinstance(error, RedmineRefused)
    assert error.reasons == ("User is invalid",)


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        fact(
            "time-entries",
            {"issue_id": 1, "hours": 1000, "activity_id": 8},
            ["Cannot log more than 999:00 hours on the same day (0:00 hours have already been logged)"],
        ),
        fact("time-entries", {"issue_id": 1, "hours": 1}, ["Activity cannot be blank"]),
        fact(
            "time-entries",
            {"issue_id": 999999, "hours": 1, "activity_id": 8},
            ["Project cannot be blank", "Project is invalid", "Issue is invalid"],
        ),
        fact("project-by-identifier", {"project_id": "webshop", "hours": 1, "activity_id": 8}, ["Project is invalid"]),
    ],
)
async def test_time_that_makes_no_sense_is_refused(dev: Person, body: dict[str, Any], answer: list[str]) -> None:
    assert await dev.ask("POST", "/time_entries.json", {"time_entry": body}) == (422, {"errors": answer})


@proves("time-entries")
async def test_too_many_hours_are_refused_in_redmines_words(dev: Person) -> None:
    error = await dev.refused("create_time_entry", issue_id=ISSUES["umlauts"], hours=999.5, activity_id="Design")

    assert isinstance(error, RedmineRefused)
    assert error.status_code == 422
    assert "999:00 hours" in error.message


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"issue_id": 1, "project_id": 1, **WORK}, id="both"),
        pytest.param({**WORK}, id="neither"),
        pytest.param({"issue_id": 1, "hours": 1, "activity_id": "Nope"}, id="unknown activity"),
        pytest.param({"issue_id": 1, "hours": 0, "activity_id": "Design"}, id="no time"),
    ],
)
async def test_what_cannot_be_logged_is_refused_before(dev: Person, arguments: dict[str, Any]) -> None:
    assert isinstance(await dev.refused("create_time_entry", **arguments), ValidationError)


async def test_an_outsider_logs_no_time(outsider: Person) -> None:
    error = await outsider.refused("create_time_entry", issue_id=ISSUES["umlauts"], **WORK)

    assert "(role: Non member) lacks the permission log_time" in error.message


async def test_on_an_issue_that_one_may_not_see_no_time_is_logged(dev: Person) -> None:
    error = await dev.refused("create_time_entry", issue_id=ISSUES["in internal"], **WORK)

    assert isinstance(error, RedmineRefused)
    assert error.status_code == 403
    assert "log_time" not in error.message


@proves("own-time-fixed")
async def test_developers_may_not_even_correct_their_own_time(dev: Person) -> None:
    before = await entry(dev)
    changing = await dev.refused("update_time_entry", id=FIRST, hours=3)
    deleting = await dev.refused("delete_time_entry", id=FIRST, confirm=True)

    assert before["user"]["id"] == USERS["dev"]
    assert "(role: Developer) lacks the permission edit_time_entries" in changing.message
    assert "(role: Developer) lacks the permission edit_time_entries" in deleting.message
    assert await entry(dev) == before


async def test_a_manager_corrects_time_and_takes_it_away(manager: Person) -> None:
    await manager.call(
        "update_time_entry", id=FIRST, hours=3, comments=None, activity_id="Development", spent_on="2026-11-03"
    )
    changed = await entry(manager)
    foretold = await manager.refused("delete_time_entry", id=FIRST)
    await manager.call("delete_time_entry", id=FIRST, confirm=True)

    assert (changed["hours"], changed["comments"], changed["spent_on"]) == (3.0, "", "2026-11-03")
    assert changed["activity"]["name"] == "Development"
    assert isinstance(foretold, ConfirmationRequiredError)
    assert "3 hours of Déva Roy on 2026-11-03" in foretold.message
    assert await manager.ask("GET", f"/time_entries/{FIRST}.json") == (404, "")


async def test_hours_are_kept_with_two_decimals_and_that_is_no_difference(manager: Person) -> None:
    made = await manager.call("create_time_entry", project_id="webshop", hours=1.2345, activity_id="Design")

    assert (await entry(manager, int(made.get("id", "0"))))["hours"] == 1.23


@pytest.mark.parametrize(
    ("arguments", "total"),
    [
        pytest.param({}, 40, id="all"),
        pytest.param({"issue_id": ISSUES["umlauts"]}, 10, id="issue"),
        pytest.param({"user_id": "dev", "project_id": "webshop"}, 14, id="user"),
        pytest.param({"activity_id": "Design"}, 20, id="activity"),
        pytest.param({"activity_id": "Design|Development"}, 40, id="activities"),
        pytest.param({"spent_on": "><2026-09-01|2026-09-10"}, 10, id="days"),
        pytest.param({"spent_on": ">=2026-10-01"}, 10, id="since"),
        pytest.param({"project_id": "webshop-app"}, 0, id="project"),
    ],
)
async def test_time_is_found_by_what_it_was_for(dev: Person, arguments: dict[str, Any], total: int) -> None:
    listed = await dev.call("list_time_entries", limit=100, **arguments)

    assert (listed.get("total_count"), len(listed)) == (str(total), total)


@pytest.mark.parametrize(
    "arguments",
    [
        fact("ignored-dates", {"spent_on": "abc"}),
        fact("unknown-sort", {"sort": "nope"}),
        fact("unknown-filter", {"activity_id": "Nope"}),
        fact("unknown-filter", {"nope": 1}),
    ],
)
async def test_what_a_list_of_time_would_ignore_is_refused(dev: Person, arguments: dict[str, Any]) -> None:
    assert isinstance(await dev.refused("list_time_entries", **arguments), ValidationError)
