"""Whose key it is. A wrong one is never taken for a stranger who may look around, and no key is ever told."""

from typing import Any

import pytest

from dogubako.contract.errors import ApiError
from tests.redmine_contract.facts import fact, proves
from tests.redmine_contract.place import Person, Place
from tests.redmine_contract.seeded import KEYS, PROJECTS, USERS, WRONG_KEY

WRONG = "Failed to check the API key: Redmine does not accept the API key"
# Everything that a key could be told by.
ABOUT_PEOPLE: list[Any] = [
    pytest.param("show_current_user", {}, id="oneself"),
    pytest.param("show_user", {"id": "me"}, id="me"),
    pytest.param("show_user", {"id": USERS["dev"]}, id="another"),
    pytest.param("list_memberships", {"project_id": "webshop"}, id="members"),
]


@pytest.mark.parametrize(
    "key",
    [
        fact("wrong-key", WRONG_KEY),
        fact("locked-key", KEYS["locked"]),
        fact("no-key", None),
    ],
)
async def test_without_a_good_key_nobody_is_let_in_where_a_login_is_needed(place: Place, key: str | None) -> None:
    somebody = await place.person(key)

    answer = await somebody.answer("GET", "/users/current.json")

    assert (answer.status, answer.body) == (401, b"")
    assert answer.headers["www-authenticate"] == 'Basic realm="Redmine API"'


@pytest.mark.parametrize("key", [pytest.param(WRONG_KEY, id="wrong"), pytest.param(KEYS["locked"], id="locked")])
@proves("public-wrong-key")
async def test_on_public_pages_redmine_takes_a_wrong_key_for_nobody(place: Place, key: str) -> None:
    somebody, nobody = await place.person(key), await place.person(None)

    for path in ("/issues.json?limit=1", "/projects.json", "/users/6.json", "/projects/webshop/wiki/index.json"):
        answer = await somebody.ask("GET", path)
        assert answer == await nobody.ask("GET", path)
        assert answer[0] == 200


@pytest.mark.parametrize("key", [pytest.param(WRONG_KEY, id="wrong"), pytest.param(KEYS["locked"], id="locked")])
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        pytest.param("list_issues", {}, id="issues"),
        pytest.param("show_issue", {"id": 1}, id="issue"),
        pytest.param("list_projects", {}, id="projects"),
        pytest.param("search_redmine", {"q": "checkout"}, id="search"),
        pytest.param("show_current_user", {}, id="oneself"),
        pytest.param("create_issue", {"project_id": 1, "subject": "x"}, id="create"),
        pytest.param("upload_attachment", {"text": "x", "filename": "a.txt"}, id="upload"),
        pytest.param("show_attachment", {"id": 3}, id="download"),
    ],
)
@proves("public-wrong-key")
async def test_our_tools_say_that_the_key_is_wrong(
    place: Place, key: str, tool: str, arguments: dict[str, Any]
) -> None:
    somebody = await place.person(key)

    error = await somebody.refused(tool, **arguments)

    assert isinstance(error, ApiError)
    assert (error.message, error.status_code, error.retryable) == (WRONG, 401, False)
    assert error.hint is not None
    assert "REDMINE_API_KEY" in error.hint


@proves("key-of-others")
async def test_redmine_gives_administrators_the_keys_of_others(admin: Person, dev: Person) -> None:
    path = f"/users/{USERS['dev']}.json"

    assert (await admin.told(path))["user"]["api_key"] == KEYS["dev"]
    assert "api_key" not in (await dev.told(f"/users/{USERS['manager']}.json"))["user"]


@proves("own-key")
async def test_redmine_tells_everybody_their_own_key(dev: Person) -> None:
    for path in ("/users/current.json", "/my/account.json", f"/users/{USERS['dev']}.json"):
        assert (await dev.told(path))["user"]["api_key"] == KEYS["dev"]


@pytest.mark.parametrize(("tool", "arguments"), ABOUT_PEOPLE)
@proves("key-of-others", "own-key")
async def test_no_answer_of_ours_has_a_key(reader: Person, tool: str, arguments: dict[str, Any]) -> None:
    # That no key is in it is looked for in every answer of this suite; here it would have to be.
    assert len(await reader.call(tool, **arguments)) > 0


@proves("key-of-others")
async def test_a_user_who_was_changed_is_shown_without_the_key(admin: Person) -> None:
    shown = await admin.call("update_user", id=USERS["dev"], lastname="Ray")

    assert shown.findtext("lastname") == "Ray"
    assert "api_key" in (await admin.told(f"/users/{USERS['dev']}.json"))["user"]


@proves("missing-before-login")
async def test_what_is_missing_is_told_before_anybody_has_to_log_in(nobody: Person) -> None:
    assert await nobody.ask("GET", "/versions/999999.json") == (404, "")
    assert await nobody.ask("PUT", "/users/999999.json", {"user": {"lastname": "x"}}) == (401, "")
    assert await nobody.ask("GET", f"/projects/{PROJECTS['attic']}.json") == (403, "")
