"""Who is meant: by login, by full name, as "me"; ambiguous, absent, invisible, and when looking itself fails."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from .wired import Answers, Bench, bench

_ABSENT = "Invalid value for parameter assigned_to_id: there is no such user, or you may not see it"


async def _assignee(on: Bench, who: Any, project: int | None = 1) -> str:
    inside = {} if project is None else {"project_id": project}
    await on.data("list_issues", assigned_to_id=who, limit=1, **inside)
    return on.wire.query("/issues")["assigned_to_id"]


@pytest.mark.parametrize(
    ("user", "who", "id_"),
    [
        pytest.param("dev", "Déva Roy", "6", id="full name of a member"),
        pytest.param("dev", "Mari Sato", "9", id="full name of another member"),
        pytest.param("dev", "Mari Sato 선생님", "9", id="with a Korean title"),
        pytest.param("dev", "kim2", "11", id="login of a member, whose list has no logins"),
        pytest.param("dev", "dev", "6", id="own login"),
        pytest.param("dev", "me", "me", id="me, which Redmine knows itself"),
        pytest.param("dev", " Me ", "6", id="me in another spelling"),
        pytest.param("admin", "outsider", "7", id="an administrator names somebody outside of the project"),
        pytest.param("admin", "kim1@example.test", "10", id="an administrator names somebody by mail"),
        pytest.param("admin", "support team", "12", id="an administrator names a group"),
        pytest.param("dev", "!me|kim1", "!6|10", id="several, and not these"),
        pytest.param("dev", "*", "*", id="anybody"),
        pytest.param("dev", "!*", "!*", id="nobody"),
    ],
)
async def test_people_are_found_by_what_they_are_called(user: str, who: str, id_: str, tmp_path: Path) -> None:
    async with bench(tmp_path, user) as on:
        assert await _assignee(on, who) == id_


@pytest.mark.parametrize("user", ["dev", "manager", "admin"])
async def test_two_people_of_one_name_are_refused_with_their_ids(user: str, tmp_path: Path) -> None:
    async with bench(tmp_path, user) as on:
        message, hint = await on.refusal("update_issue", id=6, assigned_to_id="Kim Lee")

    expected = "several of this name are there: Kim Lee (10), Kim Lee (11)"
    assert message == f"Invalid value for parameter assigned_to_id: {expected}"
    assert hint == "Name the user by its id."
    assert on.wire.writes() == []


async def test_who_is_in_the_project_is_meant_before_a_namesake_elsewhere(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        on.wire.store["users"].at(7).update(firstname="Mari", lastname="Sato")

        assert await _assignee(on, "Mari Sato") == "9"


async def test_without_a_project_an_administrator_hears_of_every_namesake(tmp_path: Path) -> None:
    """Our own projects have only one of this name, but the administrator can see the other."""
    async with bench(tmp_path) as on:
        on.wire.store["users"].at(7).update(firstname="Redmine", lastname="Admin")
        message, _ = await on.refusal("list_issues", assigned_to_id="Redmine Admin")

    assert message.endswith("several of this name are there: Redmine Admin (1), Redmine Admin (7)")


async def test_who_is_invisible_is_refused_like_who_does_not_exist(tmp_path: Path) -> None:
    async with bench(tmp_path, "dev") as on:
        invisible = await on.refusal("list_issues", project_id=1, assigned_to_id="outsider")
        absent = await on.refusal("list_issues", project_id=1, assigned_to_id="nobody at all")

    assert invisible == absent
    assert absent[0] == _ABSENT
    assert absent[1].startswith("Known: Mari Sato, Déva Roy, ")
    assert not [one for one in on.wire.requests if one.url.path == "/issues.json"]


async def test_an_administrator_can_name_a_locked_user(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        shown = await on.data("show_user", id="Lotte Locked")

    assert shown["user"]["id"] == 8


async def test_a_member_who_came_a_moment_ago_is_found_by_others_too(tmp_path: Path) -> None:
    async with bench(tmp_path, "dev") as on:
        assert (await on.refusal("list_issues", project_id=1, assigned_to_id="Otto Outsider"))[0] == _ABSENT
        member = on.wire.store["members"].add(user_id=7, project_id=1)
        on.wire.store["member_roles"].add(member_id=member["id"], role_id=4)

        assert await _assignee(on, "Otto Outsider") == "7"
        assert await _assignee(on, "outsider") == "7"


@pytest.mark.parametrize("broken", ["/projects/1/memberships.json", "/users/9.json"])
async def test_trouble_while_looking_is_not_taken_for_an_absent_user(broken: str, tmp_path: Path) -> None:
    def answers(request: httpx2.Request) -> httpx2.Response | None:
        return httpx2.Response(500) if request.url.path == broken else None

    async with bench(tmp_path, "dev", answers) as on:
        result = await on.call("list_issues", project_id=1, assigned_to_id="manager")
        on.wire.answers = None

        assert result.code == "API_ERROR"
        assert await _assignee(on, "manager") == "9"


async def test_a_project_whose_members_are_hidden_leaves_those_whom_one_sees_elsewhere(tmp_path: Path) -> None:
    def answers(request: httpx2.Request) -> httpx2.Response | None:
        return httpx2.Response(403) if request.url.path.endswith("/memberships.json") else None

    async with bench(tmp_path, "dev", answers) as on:
        assert await _assignee(on, "Déva Roy") == "6"
        assert await _assignee(on, "manager") == "9", "the filters of issues show whom one may see"
        assert (await on.refusal("list_issues", project_id=1, assigned_to_id="nobody"))[0] == _ABSENT


async def test_logins_of_members_are_asked_for_once(tmp_path: Path) -> None:
    async with bench(tmp_path, "dev") as on:
        await _assignee(on, "kim1")
        on.wire.requests.clear()
        await _assignee(on, "kim2")

    assert on.wire.asked() == ["GET /issues"]


async def test_people_are_named_in_every_argument_that_takes_one(tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        await on.data("create_issue", project_id=1, subject="Watched", watcher_user_ids=["kim1", "Déva Roy", 6])
        watched = on.wire.body("POST")["issue"]["watcher_user_ids"]
        await on.data("create_issue_category", project_id=1, name="Mail", assigned_to_id="dev")
        category = on.wire.body("POST")["issue_category"]["assigned_to_id"]
        await on.data("create_membership", project_id="internal", user_id="Support Team", role_ids=["Reporter"])
        membership = on.wire.body("POST")["membership"]
        await on.data("list_time_entries", user_id="kim1|Mari Sato", limit=1)

    assert watched == [10, 6]
    assert category == 6
    assert membership == {"user_id": 12, "role_ids": [5]}
    assert on.wire.query("/time_entries")["user_id"] == "10|9"


@pytest.mark.parametrize("user", ["manager", "admin"])
async def test_a_group_that_is_called_like_a_login_makes_it_ambiguous(user: str, tmp_path: Path) -> None:
    """The list of members shows the group's name, and no logins."""
    async with bench(tmp_path, user, _members_shown({9: "Mari Sato", 10: "Kim Lee"}, group="kim1")) as on:
        on.wire.store["users"].at(12)["lastname"] = "kim1"
        message, hint = await on.refusal("update_issue", id=6, assigned_to_id="kim1")

    assert message.endswith("several of this name are there: Kim Lee (10), kim1 (12, a group)")
    assert hint == "Name the user by its id."
    assert on.wire.writes() == []


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param({10: "Lee", 11: "Lee"}, id="last names"),
        pytest.param({10: "kim1", 11: "kim2"}, id="logins"),
        pytest.param({10: "Kim L.", 11: "Kim L."}, id="initials"),
    ],
)
async def test_ones_own_name_is_that_of_a_namesake_too(shown: dict[int, str], tmp_path: Path) -> None:
    """Redmine can show less than the whole name; only our own we know from our record."""
    async with bench(tmp_path, "kim1", _members_shown(shown)) as on:
        message, _ = await on.refusal("list_issues", project_id=1, assigned_to_id="Kim Lee")

    assert message.endswith("several of this name are there: Kim Lee (10), Kim Lee (11)")


async def test_a_whole_name_is_found_where_redmine_shows_an_initial(tmp_path: Path) -> None:
    members = _members_shown({6: "Déva R.", 9: "Mari S."})

    def answers(request: httpx2.Request) -> httpx2.Response | None:
        # The pages for people show names in the same way; here they show nothing.
        return members(request) if request.url.path.endswith(".json") else httpx2.Response(404)

    async with bench(tmp_path, "kim1", answers) as on:
        assert await _assignee(on, "Déva Roy") == "6"


def _members_shown(names: Mapping[int, str], group: str | None = None) -> Answers:
    """Members of every project as another `user_format` shows them."""
    about: list[dict[str, Any]] = [{"user": {"id": id_, "name": name}} for id_, name in names.items()]
    if group is not None:
        about.append({"group": {"id": 12, "name": group}})
    rows = [{"id": at, "project": {"id": 1, "name": "x"}, "roles": [], **one} for at, one in enumerate(about, start=1)]

    def answers(request: httpx2.Request) -> httpx2.Response | None:
        if not request.url.path.endswith("/memberships.json"):
            return None
        return httpx2.Response(200, json={"memberships": rows, "total_count": len(rows), "offset": 0, "limit": 100})

    return answers
