"""Notes: who may read them, who is told of them, and what else they do."""

import pytest

from dogubako.packs.redmine.errors import RedmineRefused
from tests.redmine_contract.facts import proves
from tests.redmine_contract.place import Person, Place
from tests.redmine_contract.seeded import ISSUES, USERS

UMLAUTS = ISSUES["umlauts"]
SECRET = "The customer is insolvent."


async def notes(person: Person, issue: int = UMLAUTS) -> list[str]:
    return [journal["notes"] for journal in (await person.issue(issue, "journals"))["journals"] if journal["notes"]]


@pytest.mark.parametrize("login", ["reporter", "outsider"])
@proves("private-notes")
async def test_without_the_permission_redmine_makes_a_private_note_public(
    place: Place, nobody: Person, login: str
) -> None:
    somebody = await place.who(login)
    body = {"issue": {"notes": SECRET, "private_notes": True}}

    assert await somebody.ask("PUT", f"/issues/{UMLAUTS}.json", body) == (204, "")
    assert SECRET in await notes(nobody)


@pytest.mark.parametrize("login", ["reporter", "outsider"])
@proves("private-notes")
async def test_our_tool_refuses_a_private_note_that_would_be_public_and_it_is_nowhere(
    place: Place, admin: Person, login: str
) -> None:
    somebody = await place.who(login)
    before = await notes(admin)

    error = await somebody.refused("update_issue", id=UMLAUTS, notes=SECRET, private_notes=True)

    assert isinstance(error, RedmineRefused)
    assert "set_notes_private" in error.message
    assert error.hint is not None
    assert "Manager, Developer" in error.hint
    assert await notes(admin) == before


@pytest.mark.parametrize("login", ["dev", "manager", "admin"])
@proves("private-notes-filtered")
async def test_a_private_note_is_for_those_who_may_read_private_notes(
    place: Place, dev: Person, reporter: Person, nobody: Person, login: str
) -> None:
    somebody = await place.who(login)

    await somebody.call("update_issue", id=UMLAUTS, notes=SECRET, private_notes=True)

    assert SECRET in await notes(dev)
    assert SECRET not in await notes(reporter)
    assert SECRET not in await notes(nobody)


@proves("private-notes-filtered")
async def test_a_private_note_is_shown_as_private_and_only_to_some(dev: Person, reporter: Person) -> None:
    shown = await dev.call("show_issue", id=UMLAUTS)
    hidden = await reporter.call("show_issue", id=UMLAUTS)

    assert [one.findtext("notes") for one in shown.iterfind("journals/journal[@private='true']")] == [
        "The customer threatens to leave; do not tell them the date yet."
    ]
    assert hidden.find("journals/journal[@private='true']") is None
    assert "threatens" not in "".join(hidden.itertext())


@proves("note-watcher")
async def test_who_writes_a_note_watches_the_issue_from_then_on_where_it_is_permitted(
    manager: Person, kim: Person, outsider: Person
) -> None:
    issue = ISSUES["unassigned"]
    assert (await manager.issue(issue, "watchers"))["watchers"] == []

    for person in (manager, kim, outsider):
        await person.call("update_issue", id=issue, notes="Seen.")

    watchers = (await manager.issue(issue, "watchers"))["watchers"]
    assert [one["id"] for one in watchers] == [USERS["manager"]]


async def test_a_note_alone_is_in_the_history_with_its_author(reporter: Person) -> None:
    await reporter.call("update_issue", id=UMLAUTS, notes="Any *news*?\n\n* one\n* two")

    journal = (await reporter.issue(UMLAUTS, "journals"))["journals"][-1]
    assert journal["notes"].replace("\r\n", "\n") == "Any *news*?\n\n* one\n* two"
    assert (journal["user"]["id"], journal["details"]) == (USERS["reporter"], [])


async def test_private_without_a_note_is_a_mistake(dev: Person) -> None:
    error = await dev.refused("update_issue", id=UMLAUTS, private_notes=True)

    assert error.code == "VALIDATION_ERROR"
