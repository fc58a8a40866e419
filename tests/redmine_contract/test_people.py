"""Users and groups."""

import pytest

from dogubako.contract.errors import ConfirmationRequiredError, NotFoundError
from dogubako.packs.redmine.errors import RedmineRefused
from tests.redmine_contract.facts import proves
from tests.redmine_contract.place import Person, Place
from tests.redmine_contract.seeded import GROUPS, ISSUES, USERS

NEW = {"login": "nina", "firstname": "Nina", "lastname": "Neu", "mail": "nina@example.test"}
PASSWORD = "correct horse battery"


async def test_a_user_is_made_changed_and_locked(admin: Person) -> None:
    made = await admin.call("create_user", **NEW, admin=False, custom_fields=[{"name": "Badge", "value": "N-1"}])
    id_ = int(made.get("id", "0"))
    await admin.call("update_user", id=id_, lastname="Alt", status="locked")

    user = (await admin.told(f"/users/{id_}.json"))["user"]
    assert (user["login"], user["lastname"], user["status"]) == ("nina", "Alt", 3)
    assert user["custom_fields"][0]["value"] == "N-1"


async def test_a_password_is_taken_and_never_told(admin: Person) -> None:
    result = await admin.outcome("create_user", **NEW, password=PASSWORD)

    assert PASSWORD not in str(result.content)


@pytest.mark.parametrize(
    ("changes", "reasons"),
    [
        pytest.param({"login": "dev"}, ("Login has already been taken",), id="login"),
        pytest.param({"mail": "dev@example.test"}, ("Email has already been taken",), id="mail"),
        pytest.param({"password": "short"}, ("Password is too short (minimum is 8 characters)",), id="password"),
    ],
)
async def test_a_user_whom_redmine_rejects_is_refused_in_its_words(
    admin: Person, changes: dict[str, str], reasons: tuple[str, ...]
) -> None:
    error = await admin.refused("create_user", **{**NEW, **changes})

    assert isinstance(error, RedmineRefused)
    assert error.reasons == reasons


@proves("delete-user")
async def test_a_deleted_user_is_gone_and_the_work_stays(admin: Person) -> None:
    foretold = await admin.refused("delete_user", id=USERS["reporter"])
    await admin.call("delete_user", id=USERS["reporter"], confirm=True)

    assert isinstance(foretold, ConfirmationRequiredError)
    assert "reporter (Rolf Reporter)" in foretold.message
    assert await admin.ask("GET", f"/users/{USERS['reporter']}.json") == (404, "")
    assert (await admin.issue(ISSUES["umlauts"]))["author"]["name"] == "Anonymous"


@proves("last-administrator")
async def test_the_last_administrator_stays(admin: Person) -> None:
    assert await admin.ask("DELETE", f"/users/{USERS['admin']}.json") == (422, "")

    error = await admin.refused("delete_user", id=USERS["admin"], confirm=True)

    assert isinstance(error, RedmineRefused)
    assert error.status_code == 422


@pytest.mark.parametrize("login", ["manager", "dev", "reporter", "outsider"])
async def test_only_administrators_change_users(place: Place, admin: Person, login: str) -> None:
    somebody = await place.who(login)

    errors = [
        await somebody.refused("list_users"),
        await somebody.refused("list_groups"),
        await somebody.refused("create_user", **NEW),
        await somebody.refused("update_user", id=USERS["kim1"], lastname="x"),
        await somebody.refused("delete_user", id=USERS["kim1"], confirm=True),
    ]

    assert all("only administrators" in error.message for error in errors)
    assert (await admin.told(f"/users/{USERS['kim1']}.json"))["user"]["lastname"] == "Lee"


async def test_an_administrator_lists_users_by_state_and_name(admin: Person) -> None:
    active = await admin.call("list_users")
    locked = await admin.call("list_users", status="locked")
    everybody = await admin.call("list_users", status="*")
    kims = await admin.call("list_users", name="Kim")

    assert [one.findtext("login") for one in locked] == ["locked"]
    assert len(everybody) == len(active) + len(locked) == len(USERS)
    assert {one.findtext("login") for one in kims} == {"kim1", "kim2"}


@proves("locked-hidden")
async def test_a_locked_user_is_shown_to_administrators_only(admin: Person, dev: Person) -> None:
    shown = await admin.call("show_user", id=USERS["locked"])
    error = await dev.refused("show_user", id=USERS["locked"])

    assert shown.findtext("status") == "locked"
    assert isinstance(error, NotFoundError)


@proves("hidden-mail")
async def test_the_own_mail_is_in_the_account_and_not_in_the_user(dev: Person) -> None:
    assert "mail" not in (await dev.told("/users/current.json"))["user"]
    assert (await dev.told("/my/account.json"))["user"]["mail"] == "dev@example.test"


@proves("groups-for-all")
async def test_a_group_is_shown_to_everybody_and_listed_to_administrators(admin: Person, outsider: Person) -> None:
    listed = await admin.call("list_groups")
    shown = await outsider.call("show_group", id=GROUPS["Support Team"])
    missing = await outsider.refused("show_group", id=999999)

    assert [(one.get("id"), one.text) for one in listed] == [(str(GROUPS["Support Team"]), "Support Team")]
    assert {one.get("id") for one in shown.iterfind("users/user")} == {str(USERS["reporter"]), str(USERS["outsider"])}
    assert isinstance(missing, NotFoundError)


async def test_everybody_is_told_who_they_are(place: Place) -> None:
    for login in ("admin", "manager", "dev", "reporter", "outsider"):
        shown = await (await place.who(login)).call("show_current_user")
        assert (shown.get("id"), shown.findtext("login")) == (str(USERS[login]), login)
