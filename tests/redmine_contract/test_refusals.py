"""How Redmine says no, request by request. Most of its refusals have no body."""

from typing import Any

import pytest

from dogubako.packs.redmine.errors import RedmineRefused
from tests.redmine_contract.facts import fact, proves
from tests.redmine_contract.place import Person
from tests.redmine_contract.seeded import ISSUES, PROJECTS, VERSIONS

BAD_REQUEST = {"status": 400, "error": "Bad Request"}
SOMETHING_WRONG = {"status": 500, "error": "Internal Server Error"}
NO_PROJECT = ["Project cannot be blank", "Tracker cannot be blank", "Status cannot be blank"]


@pytest.mark.parametrize(
    ("method", "path", "body", "answer"),
    [
        fact("missing-record", "GET", "/issues/999999.json", None, (404, "")),
        fact("missing-record", "PUT", "/issues/999999.json", {"issue": {"subject": "x"}}, (404, "")),
        fact("missing-record", "DELETE", "/versions/999999.json", None, (404, "")),
        fact("archived", "GET", f"/issues/{ISSUES['in attic']}.json", None, (403, "")),
        fact("archived", "GET", "/projects/attic.json", None, (403, "")),
        fact("archived", "PUT", "/projects/attic.json", {"project": {"name": "x"}}, (403, "")),
        fact("closed-write", "PUT", f"/issues/{ISSUES['in legacy']}.json", {"issue": {"subject": "x"}}, (403, "")),
        fact("closed-write", "POST", "/projects/legacy/versions.json", {"version": {"name": "x"}}, (403, "")),
        fact(
            "closed-create",
            "POST",
            "/issues.json",
            {"issue": {"project_id": PROJECTS["legacy"], "subject": "x"}},
            (422, {"errors": NO_PROJECT}),
        ),
        fact(
            "validation",
            "POST",
            "/issues.json",
            {"issue": {"project_id": PROJECTS["webshop"]}},
            (422, {"errors": ["Subject cannot be blank"]}),
        ),
        fact(
            "validation",
            "POST",
            "/issues.json",
            {"issue": {"project_id": PROJECTS["webshop"], "subject": "x", "start_date": "2026-02-02", "due_date": "1"}},
            (422, {"errors": ["Due date is not a valid date"]}),
        ),
        fact(
            "stale-lock",
            "PUT",
            f"/issues/{ISSUES['umlauts']}.json",
            {"issue": {"subject": "x", "lock_version": 0}},
            (422, {"errors": []}),
        ),
        fact("version-in-use", "DELETE", f"/versions/{VERSIONS['1.0']}.json", None, (422, "")),
        fact("no-object", "POST", "/issues.json", {"issue": "text"}, (500, SOMETHING_WRONG)),
        fact("huge-offset", "GET", "/issues.json?offset=99999999999999999999", None, (500, "")),
        fact("huge-offset", "GET", "/projects.json?offset=99999999999999999999", None, (500, SOMETHING_WRONG)),
        fact("huge-offset", "GET", "/time_entries.json?offset=99999999999999999999", None, (500, SOMETHING_WRONG)),
        fact("bad-date", "GET", "/issues.json?created_on=abc", None, (422, {"errors": ["Created is invalid"]})),
        fact("long-query", "GET", f"/issues.json?nope={'x' * 10_240}", None, (400, "")),
    ],
)
async def test_redmine_refuses_administrators_too(
    admin: Person, method: str, path: str, body: Any, answer: tuple[int, Any]
) -> None:
    assert await admin.ask(method, path, body) == answer


@pytest.mark.parametrize(
    ("path", "content", "kind", "expected"),
    [
        fact("malformed-json", "/issues.json", b"{", "application/json", (400, BAD_REQUEST)),
        fact(
            "wrong-content-type",
            "/issues.json",
            b'{"issue":{"project_id":1,"subject":"x"}}',
            "text/plain",
            (422, {"errors": ["Subject cannot be blank", *NO_PROJECT]}),
        ),
        fact("upload-content-type", "/uploads.json?filename=a.txt", b"x", "text/plain", (406, "")),
        fact("upload-content-type", "/uploads.json?filename=a.txt", b"{}", "application/json", (406, "")),
    ],
)
async def test_a_body_of_the_wrong_kind_is_refused_or_not_even_read(
    admin: Person, path: str, content: bytes, kind: str, expected: tuple[int, Any]
) -> None:
    answer = await admin.ask("POST", path, content=content, headers={"Content-Type": kind})

    assert answer == expected


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        fact("missing-permission", "DELETE", f"/issues/{ISSUES['umlauts']}.json", None),
        fact("missing-permission", "GET", f"/issues/{ISSUES['in internal']}.json", None),
        fact("missing-permission", "GET", f"/issues/{ISSUES['private']}.json", None),
        fact("missing-permission", "POST", "/projects/webshop/versions.json", {"version": {"name": "x"}}),
        fact("missing-permission", "PUT", "/projects/webshop/wiki/New.json", {"wiki_page": {"text": "x"}}),
        fact("admin-lists", "GET", "/users.json", None),
        fact("admin-lists", "GET", "/groups.json", None),
        fact("admin-lists", "GET", "/custom_fields.json", None),
    ],
)
async def test_what_one_may_not_do_is_refused_without_a_word(
    outsider: Person, method: str, path: str, body: Any
) -> None:
    answer = await outsider.answer(method, path, body)

    assert (answer.status, answer.body) == (403, b"")
    assert answer.is_json


@proves("empty-refusals")
async def test_an_administrator_cannot_ask_as_somebody_who_is_not_there(admin: Person, dev: Person) -> None:
    path = f"/issues/{ISSUES['umlauts']}.json"

    nobody = await admin.answer("GET", path, headers={"X-Redmine-Switch-User": "nobody"})
    as_dev = await admin.ask("GET", path, headers={"X-Redmine-Switch-User": "dev"})

    assert (nobody.status, nobody.body, nobody.is_json) == (412, b"", True)
    assert as_dev == await dev.ask("GET", path)


@proves("rest-off")
async def test_while_the_api_is_switched_off_everybody_is_a_stranger_and_is_not_asked_for_a_key(
    admin: Person, outsider: Person
) -> None:
    admin.place.set_setting("rest_api_enabled", "0")

    assert await admin.ask("GET", "/users/current.json") == (403, "")
    assert await admin.ask("GET", f"/issues/{ISSUES['in internal']}.json") == (403, "")
    assert await admin.ask("POST", "/issues.json", {"issue": {"project_id": 1, "subject": "x"}}) == (403, "")
    assert (await admin.ask("GET", f"/issues/{ISSUES['umlauts']}.json"))[0] == 200
    error = await outsider.refused("show_issue", id=ISSUES["umlauts"])
    assert isinstance(error, RedmineRefused)
    assert error.message == "Failed to check the API key: Redmine does not let its API be used"
