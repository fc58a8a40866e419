"""New issues, copies, and the end of issues."""

import pytest

from dogubako.contract.errors import ConfirmationRequiredError, NotFoundError
from dogubako.packs.redmine.errors import NotDoneError, RedmineRefused
from tests.redmine_contract.facts import proves
from tests.redmine_contract.place import Person, Place
from tests.redmine_contract.seeded import ISSUES, PROJECTS, STATUSES, TIME_ENTRIES, USERS

DROPPED = {"status_id": STATUSES["Closed"], "is_private": True, "parent_issue_id": ISSUES["parent"]}


@pytest.mark.parametrize("login", ["reporter", "outsider"])
@proves("dropped-on-create")
async def test_redmine_creates_an_issue_and_drops_what_is_not_allowed(place: Place, login: str) -> None:
    somebody = await place.who(login)
    body = {"project_id": PROJECTS["webshop"], "subject": "New", "watcher_user_ids": [USERS["dev"]], **DROPPED}

    made = await somebody.made("/issues.json", issue=body)

    issue = await somebody.issue(made["id"], "watchers")
    assert (issue["status"]["name"], issue["is_private"]) == ("New", False)
    assert "parent" not in issue
    assert not issue.get("watchers")


@pytest.mark.parametrize("login", ["reporter", "outsider"])
@proves("dropped-on-create")
async def test_what_would_be_dropped_from_a_new_issue_is_refused_before_it_exists(place: Place, login: str) -> None:
    somebody = await place.who(login)
    before = (await somebody.told("/issues.json", status_id="*", limit=1))["total_count"]

    for field, permission in (("is_private", "set_issues_private"), ("parent_issue_id", "manage_subtasks")):
        error = await somebody.refused("create_issue", project_id="webshop", subject="New", **{field: DROPPED[field]})
        assert f"{field}: your role lacks the permission {permission}" in error.message

    assert (await somebody.told("/issues.json", status_id="*", limit=1))["total_count"] == before


@pytest.mark.parametrize("login", ["reporter", "outsider"])
@proves("dropped-on-create")
async def test_what_was_dropped_from_a_new_issue_is_named_and_that_it_exists(place: Place, login: str) -> None:
    somebody = await place.who(login)

    error = await somebody.refused("create_issue", project_id="webshop", subject="New", status_id=DROPPED["status_id"])

    assert isinstance(error, NotDoneError)
    reasons = {one.field: one.reason for one in error.undone}
    assert reasons["status_id"].startswith("the workflow does not allow it for a new issue")
    newest = (await somebody.told("/issues.json", sort="id:desc", limit=1))["issues"][0]
    assert newest["subject"] == "New"
    assert f"Issue {newest['id']} was created" in error.message
    assert error.hint is not None
    assert "do not create it again" in error.hint


async def test_an_issue_is_created_by_names_and_what_came_by_itself_is_told(manager: Person) -> None:
    shown = await manager.call(
        "create_issue",
        project_id="Web Shop",
        subject="New",
        tracker_id="Feature",
        category_id="Checkout",
        priority_id="high",
        fixed_version_id="1.0",
        due_date="2030-01-01",
        custom_fields=[{"name": "Browser", "value": "Safari"}],
        watcher_user_ids=["dev"],
    )

    issue = await manager.issue(int(shown.get("id", "0")), "watchers")
    assert (issue["tracker"]["name"], issue["priority"]["name"], issue["due_date"]) == ("Feature", "High", "2030-01-01")
    assert issue["assigned_to"]["id"] == USERS["dev"]  # who has the category
    assert [one["id"] for one in issue["watchers"]] == [USERS["dev"]]
    assert shown.find("also_changed/change[@field='assigned_to']") is not None


async def test_a_value_that_redmine_rejects_is_told_in_its_words(manager: Person) -> None:
    error = await manager.refused(
        "create_issue", project_id="webshop", subject="New", custom_fields=[{"name": "Ref", "value": "no"}]
    )

    assert isinstance(error, RedmineRefused)
    assert (error.status_code, error.reasons) == (422, ("Ref is invalid",))


@proves("child-journal")
async def test_a_new_child_is_written_into_the_history_of_its_parent(manager: Person) -> None:
    before = (await manager.issue(ISSUES["unassigned"], "journals"))["journals"]

    shown = await manager.call(
        "create_issue", project_id="webshop", subject="Child", parent_issue_id=ISSUES["unassigned"]
    )

    after = (await manager.issue(ISSUES["unassigned"], "journals"))["journals"]
    assert before == []
    assert [detail["name"] for journal in after for detail in journal["details"]] == ["child_id"]
    assert after[0]["details"][0]["new_value"] == shown.get("id")


@proves("id-given-again")
async def test_the_id_of_the_newest_issue_is_given_again_after_its_deletion(admin: Person) -> None:
    body = {"project_id": PROJECTS["webshop"], "subject": "New"}
    first = await admin.made("/issues.json", issue=body)
    await admin.ask("DELETE", f"/issues/{first['id']}.json")

    assert (await admin.made("/issues.json", issue=body))["id"] == first["id"]


@proves("delete-parent")
async def test_with_a_parent_its_children_and_their_time_go_without_a_question(admin: Person) -> None:
    assert await admin.ask("DELETE", f"/issues/{ISSUES['parent']}.json") == (204, "")

    assert await admin.ask("GET", f"/issues/{ISSUES['child']}.json") == (404, "")
    assert await admin.ask("GET", f"/time_entries/{TIME_ENTRIES['first']}.json") == (404, "")


@proves("delete-parent")
async def test_our_deletion_says_what_would_go_and_waits_for_a_confirmation(manager: Person) -> None:
    error = await manager.refused("delete_issue", id=ISSUES["parent"])

    assert isinstance(error, ConfirmationRequiredError)
    assert "2 children" in error.message
    assert "17.5 hours" in error.message
    assert error.hint is not None
    assert "confirm: true" in error.hint
    assert await manager.issue(ISSUES["child"])

    await manager.call("delete_issue", id=ISSUES["parent"], confirm=True)

    assert isinstance(await manager.refused("show_issue", id=ISSUES["child"]), NotFoundError)


async def test_attachments_that_would_go_are_told_too(manager: Person) -> None:
    error = await manager.refused("delete_issue", id=ISSUES["umlauts"])

    assert isinstance(error, ConfirmationRequiredError)
    assert "4 attachments" in error.message


async def test_a_copy_has_everything_of_the_original_and_is_related_to_it(manager: Person) -> None:
    original = await manager.issue(ISSUES["umlauts"], "attachments")

    shown = await manager.call("copy_issue", id=ISSUES["umlauts"], subject="Copy")

    copy = await manager.issue(int(shown.get("id", "0")), "attachments", "relations")
    assert (copy["subject"], copy["description"]) == ("Copy", original["description"])
    assert copy["author"]["id"] == USERS["manager"]
    assert len(copy["attachments"]) == len(original["attachments"]) == 4
    relation = {key: copy["relations"][0][key] for key in ("issue_id", "issue_to_id", "relation_type")}
    assert relation == {"issue_id": ISSUES["umlauts"], "issue_to_id": copy["id"], "relation_type": "copied_to"}


async def test_a_copy_may_stand_alone_with_copies_of_the_children(manager: Person) -> None:
    shown = await manager.call("copy_issue", id=ISSUES["parent"], copy_subtasks=True, link_copy=False)

    copy = await manager.issue(int(shown.get("id", "0")), "children", "relations")
    assert [child["subject"] for child in copy["children"]] == [
        "Find product names without accents",
        "Show results while typing",
    ]
    assert not copy.get("relations")


@proves("copy-keeps-category")
async def test_a_copy_goes_into_another_project_without_the_category_that_belongs_to_this_one(manager: Person) -> None:
    body = {"issue": {"project_id": PROJECTS["webshop-app"]}}
    bare = await manager.answer("POST", f"/issues.json?copy_from={ISSUES['umlauts']}", body)

    shown = await manager.call("copy_issue", id=ISSUES["umlauts"], project_id="webshop-app", tracker_id="Bug")

    copy = await manager.issue(int(shown.get("id", "0")))
    assert (bare.status, await bare.json()) == (422, {"errors": ["Category is not included in the list"]})
    assert (copy["project"]["id"], copy["tracker"]["name"]) == (PROJECTS["webshop-app"], "Bug")
    assert "category" not in copy


@pytest.mark.parametrize("login", ["dev", "reporter", "outsider"])
async def test_who_may_not_copy_is_told_so_and_nothing_is_made(place: Place, admin: Person, login: str) -> None:
    before = (await admin.told("/issues.json", status_id="*", limit=1))["total_count"]

    error = await (await place.who(login)).refused("copy_issue", id=ISSUES["umlauts"])

    assert isinstance(error, RedmineRefused)
    assert error.status_code == 403
    assert "copy_issues" in error.message
    assert (await admin.told("/issues.json", status_id="*", limit=1))["total_count"] == before


async def test_who_may_not_delete_is_told_so_and_nothing_is_lost(dev: Person) -> None:
    error = await dev.refused("delete_issue", id=ISSUES["parent"], confirm=True)

    assert isinstance(error, RedmineRefused)
    assert "user 'dev' (role: Developer) lacks the permission delete_issues" in error.message
    assert await dev.issue(ISSUES["parent"])
