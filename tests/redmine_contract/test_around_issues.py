"""What belongs to issues: watchers, relations, categories."""

from typing import Any

import pytest

from dogubako.contract.errors import ConfirmationRequiredError, ValidationError
from dogubako.packs.redmine.errors import NotDoneError, RedmineRefused
from tests.redmine_contract.facts import fact, proves
from tests.redmine_contract.place import Person, Place
from tests.redmine_contract.seeded import CATEGORIES, ISSUES, PROJECTS, RELATIONS, USERS

UMLAUTS, OVERDUE = ISSUES["umlauts"], ISSUES["overdue"]


async def watchers(person: Person, issue: int) -> list[int]:
    return [one["id"] for one in (await person.issue(issue, "watchers"))["watchers"]]


@proves("unknown-watcher")
async def test_an_unknown_watcher_is_accepted_and_forgotten(manager: Person) -> None:
    before = await watchers(manager, UMLAUTS)

    assert await manager.ask("POST", f"/issues/{UMLAUTS}/watchers.json", {"user_id": 999999}) == (204, "")
    error = await manager.refused("add_issue_watcher", id=UMLAUTS, user_id=999999)

    assert isinstance(error, NotDoneError)
    assert [one.field for one in error.undone] == ["user_id"]
    assert await watchers(manager, UMLAUTS) == before


async def test_somebody_watches_an_issue_and_then_no_longer(manager: Person) -> None:
    added = await manager.call("add_issue_watcher", id=OVERDUE, user_id="kim2")
    assert await watchers(manager, OVERDUE) == [USERS["kim2"]]
    removed = await manager.call("remove_issue_watcher", id=OVERDUE, user_id="kim2")

    assert await watchers(manager, OVERDUE) == []
    assert [one.get("id") for one in added.iterfind("watchers/user")] == [str(USERS["kim2"])]
    assert list(removed.iterfind("watchers/user")) == []


@proves("missing-watcher")
async def test_a_watcher_who_is_not_there_cannot_be_removed_and_the_issue_is_not_missed(manager: Person) -> None:
    assert await manager.ask("DELETE", f"/issues/{UMLAUTS}/watchers/999999.json") == (404, "")

    error = await manager.refused("remove_issue_watcher", id=UMLAUTS, user_id=999999)

    assert f"Issue '{UMLAUTS}' not found" not in error.message


@pytest.mark.parametrize("login", ["dev", "reporter", "outsider"])
async def test_who_may_not_change_watchers_is_told_the_permission(place: Place, admin: Person, login: str) -> None:
    somebody, before = await place.who(login), await watchers(admin, UMLAUTS)

    adding = await somebody.refused("add_issue_watcher", id=UMLAUTS, user_id="me")
    removing = await somebody.refused("remove_issue_watcher", id=UMLAUTS, user_id="me")

    assert "add_issue_watchers" in adding.message
    assert "delete_issue_watchers" in removing.message
    assert await watchers(admin, UMLAUTS) == before


@pytest.mark.parametrize("login", ["reporter", "outsider"])
@proves("relations-included")
async def test_relations_are_refused_as_a_list_and_shown_with_the_issue(place: Place, login: str) -> None:
    somebody = await place.who(login)

    assert await somebody.ask("GET", f"/issues/{UMLAUTS}/relations.json") == (403, "")
    assert len((await somebody.issue(UMLAUTS, "relations"))["relations"]) == 1
    shown = await somebody.call("list_issue_relations", issue_id=UMLAUTS)

    assert [one.get("id") for one in shown] == [str(RELATIONS["relates"])]


async def test_a_relation_the_other_way_round_is_kept_the_usual_way(dev: Person) -> None:
    shown = await dev.call("create_issue_relation", issue_id=UMLAUTS, issue_to_id=OVERDUE, relation_type="blocked")

    relation = (await dev.told(f"/relations/{shown.get('id')}.json"))["relation"]
    assert (relation["issue_id"], relation["issue_to_id"]) == (OVERDUE, UMLAUTS)
    assert relation["relation_type"] == "blocks"


async def test_a_relation_with_a_delay_moves_the_follower(manager: Person) -> None:
    await manager.call(
        "create_issue_relation",
        issue_id=ISSUES["following"],
        issue_to_id=ISSUES["unassigned"],
        relation_type="precedes",
        delay=3,
    )

    assert (await manager.issue(ISSUES["unassigned"]))["start_date"] == "2029-03-19"


@pytest.mark.parametrize(
    ("other", "kind", "reason"),
    [
        fact("related-issues", UMLAUTS, "relates", "Related issue is invalid"),
        fact("related-issues", ISSUES["child"], "relates", "Related issue has already been taken"),
        fact("related-issues", ISSUES["first of bulk"], "relates", "Related issue doesn't belong to the same project"),
        fact("related-issues", 999999, "relates", "Related issue cannot be blank"),
        fact("related-issues", ISSUES["in internal"], "relates", "Related issue cannot be blank"),
    ],
)
async def test_a_relation_that_makes_no_sense_is_refused_in_redmines_words(
    dev: Person, other: int, kind: str, reason: str
) -> None:
    error = await dev.refused("create_issue_relation", issue_id=UMLAUTS, issue_to_id=other, relation_type=kind)

    assert isinstance(error, RedmineRefused)
    assert (error.status_code, error.reasons) == (422, (reason,))


@proves("related-issues")
async def test_the_same_relation_from_the_other_side_is_refused(dev: Person) -> None:
    await dev.call("create_issue_relation", issue_id=UMLAUTS, issue_to_id=OVERDUE, relation_type="blocked")
    error = await dev.refused("create_issue_relation", issue_id=UMLAUTS, issue_to_id=OVERDUE, relation_type="blocked")

    assert isinstance(error, RedmineRefused)
    assert error.status_code == 422


async def test_a_relation_ends_once_it_is_confirmed_and_the_issues_stay(dev: Person) -> None:
    relation = RELATIONS["relates"]
    foretold = await dev.refused("delete_issue_relation", id=relation)

    await dev.call("delete_issue_relation", id=relation, confirm=True)

    assert isinstance(foretold, ConfirmationRequiredError)
    assert await dev.ask("GET", f"/relations/{relation}.json") == (404, "")
    assert not (await dev.issue(UMLAUTS, "relations")).get("relations")


async def test_a_reporter_neither_makes_nor_ends_relations(reporter: Person, admin: Person) -> None:
    making = await reporter.refused("create_issue_relation", issue_id=UMLAUTS, issue_to_id=OVERDUE)
    ending = await reporter.refused("delete_issue_relation", id=RELATIONS["relates"], confirm=True)

    assert "manage_issue_relations" in making.message
    assert "manage_issue_relations" in ending.message
    assert len((await admin.issue(UMLAUTS, "relations"))["relations"]) == 1


async def test_categories_are_made_changed_and_listed(manager: Person) -> None:
    made = await manager.call("create_issue_category", project_id="webshop", name="Payment", assigned_to_id="dev")
    await manager.call("update_issue_category", id=int(made.get("id", "0")), name="Pay", assigned_to_id=None)
    listed = await manager.call("list_issue_categories", project_id="webshop")

    names = {one.findtext("name"): one.find("assigned_to") for one in listed}
    assert set(names) == {"Checkout", "Pay", "Search"}
    assert names["Pay"] is None


@proves("category-heir")
async def test_the_issues_of_a_deleted_category_get_another_or_none(manager: Person) -> None:
    foretold = await manager.refused("delete_issue_category", id=CATEGORIES["Checkout"])
    await manager.call("delete_issue_category", id=CATEGORIES["Checkout"], reassign_to_id="Search", confirm=True)

    assert isinstance(foretold, ConfirmationRequiredError)
    assert "2 issues" in foretold.message
    assert (await manager.issue(UMLAUTS))["category"]["id"] == CATEGORIES["Search"]

    await manager.call("delete_issue_category", id=CATEGORIES["Search"], confirm=True)

    assert "category" not in await manager.issue(UMLAUTS)


async def test_a_category_of_a_taken_name_is_refused(manager: Person) -> None:
    error = await manager.refused("create_issue_category", project_id="webshop", name="Search")

    assert isinstance(error, RedmineRefused)
    assert error.reasons == ("Name has already been taken",)


async def test_a_reporter_changes_no_categories(reporter: Person, admin: Person) -> None:
    arguments: dict[str, Any] = {"id": CATEGORIES["Checkout"]}

    errors = [
        await reporter.refused("create_issue_category", project_id="webshop", name="New"),
        await reporter.refused("update_issue_category", **arguments, name="New"),
        await reporter.refused("delete_issue_category", **arguments, confirm=True),
    ]

    assert all(isinstance(error, RedmineRefused) and error.status_code == 403 for error in errors)
    assert all("manage_categories" in error.message for error in errors)
    listed = await admin.told(f"/projects/{PROJECTS['webshop']}/issue_categories.json")
    assert [one["name"] for one in listed["issue_categories"]] == ["Checkout", "Search"]


@proves("categories-for-some")
async def test_a_reporter_names_a_category_although_redmine_refuses_the_list(reporter: Person) -> None:
    assert await reporter.ask("GET", "/projects/webshop/issue_categories.json") == (403, "")

    listed = await reporter.call("list_issue_categories", project_id="webshop")
    shown = await reporter.call("create_issue", project_id="webshop", subject="New", category_id="Search")
    absent = await reporter.refused("create_issue", project_id="webshop", subject="New", category_id="Nope")

    assert [one.get("id") for one in listed] == [str(id_) for id_ in CATEGORIES.values()]
    assert shown.findtext("category") == "Search"
    assert isinstance(absent, ValidationError)
