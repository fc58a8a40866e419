"""Requests whose answer nobody would guess, in Redmine's own words."""

from typing import Any

import pytest

from tests.redmine_contract.facts import fact
from tests.redmine_contract.place import Place
from tests.redmine_contract.seeded import MEMBERSHIPS, PROJECTS, TIME_ENTRIES, USERS

BROKEN = (500, {"status": 500, "error": "Internal Server Error"})
EMPTY = (404, "")
SHOP, BULK = f"/projects/{PROJECTS['webshop']}", f"/projects/{PROJECTS['bulk']}"
FIRST = f"/time_entries/{TIME_ENTRIES['first']}.json"


def invalid(*sentences: str) -> tuple[int, dict[str, list[str]]]:
    return 422, {"errors": list(sentences)}


def time(**fields: Any) -> dict[str, Any]:
    return {"time_entry": {"issue_id": 1, "hours": 1, "activity_id": 8, **fields}}


@pytest.mark.parametrize(
    ("login", "method", "path", "body", "answer"),
    [
        fact("strangers-and-time", None, "PUT", FIRST, {"time_entry": {"hours": 1}}, (403, "")),
        fact("strangers-and-time", None, "DELETE", FIRST, None, (401, "")),
        fact(
            "impossible-parent",
            "admin",
            "PUT",
            f"{SHOP}.json",
            {"project": {"parent_id": PROJECTS["webshop"]}},
            invalid("Subproject of is invalid"),
        ),
        fact(
            "impossible-parent",
            "admin",
            "PUT",
            f"{SHOP}.json",
            {"project": {"parent_id": PROJECTS["webshop-app"]}},
            invalid("Subproject of is invalid"),
        ),
        fact("parent-by-identifier", "admin", "PUT", f"{BULK}.json", {"project": {"parent_id": "webshop"}}, BROKEN),
        fact(
            "project-as-text",
            "admin",
            "POST",
            "/projects.json",
            {"project": "text"},
            invalid("Name cannot be blank", "Identifier cannot be blank"),
        ),
        fact("states-again", "admin", "POST", f"{BULK}/archive.json", None, (204, "")),
        fact("states-again", "admin", "PUT", f"{SHOP}/reopen.json", None, (204, "")),
        fact("archived-states", "admin", "PUT", "/projects/attic/close.json", None, (403, "")),
        fact("archived-states", "admin", "PUT", "/projects/attic/reopen.json", None, (403, "")),
        fact("archived-states", "admin", "PUT", "/projects/attic/archive.json", None, (204, "")),
        fact("archived-states", "admin", "PUT", "/projects/attic/unarchive.json", None, (204, "")),
        fact(
            "memberships",
            "manager",
            "POST",
            f"{SHOP}/memberships.json",
            {"membership": {"user_id": USERS["outsider"], "role_ids": [999999]}},
            invalid("Role cannot be empty"),
        ),
        fact("nothing-said", "manager", "POST", f"{SHOP}/memberships.json", {}, BROKEN),
        fact("nothing-said", "admin", "POST", "/users.json", {}, BROKEN),
        fact("nothing-said", "admin", "PUT", f"/users/{USERS['dev']}.json", {}, BROKEN),
        fact(
            "membership-of-one",
            "manager",
            "PUT",
            f"/memberships/{MEMBERSHIPS['dev']}.json",
            {"membership": {"user_id": USERS["outsider"], "role_ids": [4]}},
            (204, ""),
        ),
        fact(
            "version-states",
            "manager",
            "POST",
            f"{SHOP}/versions.json",
            {"version": {"name": "x", "status": "nope"}},
            invalid("Status is not included in the list"),
        ),
        fact(
            "long-comment",
            "dev",
            "POST",
            "/time_entries.json",
            time(comments="x" * 1025),
            invalid("Comment is too long (maximum is 1024 characters)"),
        ),
        fact("invisible-issue", "dev", "POST", "/time_entries.json", time(issue_id=17), invalid("Issue is invalid")),
        fact("anonymous-stays", "admin", "DELETE", "/users/4.json", None, EMPTY),
        fact(
            "wiki-without-text",
            "dev",
            "PUT",
            "/projects/webshop/wiki/Checkout.json",
            {"wiki_page": {"text": ""}},
            invalid("Text field cannot be blank"),
        ),
        fact("file-without-token", "manager", "POST", f"{SHOP}/files.json", {"file": {"token": "1.x"}}, EMPTY),
        fact("file-without-token", "manager", "POST", f"{SHOP}/files.json", {}, EMPTY),
    ],
)
async def test_redmine_answers(
    place: Place, login: str | None, method: str, path: str, body: Any, answer: tuple[int, Any]
) -> None:
    somebody = await place.person(None) if login is None else await place.who(login)

    assert await somebody.ask(method, path, body) == answer


@pytest.mark.parametrize(
    ("login", "path", "ids"),
    [
        fact("project-filters", "admin", "/projects.json?name=~Shop", [1, 2]),
        fact("project-filters", "admin", "/projects.json?name=Shop", []),
        fact("project-filters", "admin", "/projects.json?is_public=0", [3]),
        fact("project-filters", "admin", "/projects.json?parent_id=1", [2]),
        fact("project-filters", "admin", "/projects.json?sort=name:desc&limit=2", [2, 1]),
        fact("time-sorted", "dev", "/time_entries.json?sort=nope&limit=2", [1, 2]),
        fact("time-sorted", "dev", "/time_entries.json?sort=id:desc&limit=2", [1, 2]),
        fact("time-sorted", "dev", "/time_entries.json?limit=2", [40, 39]),
        fact("time-filters", "dev", "/time_entries.json?project_id=webshop&limit=1", [40]),
        fact("time-filters", "dev", "/time_entries.json?issue_id=1|3&limit=2", [39, 35]),
        fact("time-filters", "dev", "/time_entries.json?issue.fixed_version_id=!1&limit=2", [38, 37]),
        fact("time-filters", None, "/time_entries.json?user_id=me", []),
        fact("users-sorted", "admin", "/users.json?sort=nope&limit=3", [1, 5, 6]),
        fact("roles-to-give", None, "/roles.json", [3, 4, 5]),
        fact("built-in-groups", "admin", "/groups.json?builtin=1", [12, 2, 3]),
        fact("queries-by-name", "dev", "/queries.json?limit=3", [11, 1, 8]),
        fact("search-scope", "outsider", "/search.json?q=checkout&scope=my_projects", []),
        fact("search-scope", "dev", "/projects/webshop/search.json?q=phones&projects=1", []),
        fact("search-scope", "dev", "/search.json?q=phones&projects=1", [2]),
        fact("search-scope", "dev", "/search.json?q=dark&project_id=bulk", [14]),
        fact("five-words", "dev", "/search.json?q=payment+twice+e-mail+arrives+since+xyzzy", [5]),
    ],
)
async def test_redmine_lists(place: Place, login: str | None, path: str, ids: list[int]) -> None:
    somebody = await place.person(None) if login is None else await place.who(login)

    body = await somebody.told(path)

    assert [row["id"] for row in next(rows for rows in body.values() if isinstance(rows, list))] == ids
