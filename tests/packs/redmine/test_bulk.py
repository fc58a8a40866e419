"""Bulk changes: as many requests as issues, a preview that is used once, and nothing that looks like a success."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from dogubako.contract.call import Caller, ToolCall

from .test_reports import with_issues
from .wired import Bench, Wire, bench


def many(wire: Wire, count: int = 69) -> list[int]:
    """New issues of version 1.0; the next version is open."""
    with_issues(wire, count)
    wire.store["versions"].at(2)["status"] = "open"
    rows = list(wire.store["issues"])[-count:]
    for row in rows:
        row["status_id"], row["fixed_version_id"], row["project_id"] = 1, 1, 1
    return [row["id"] for row in rows]


async def written(redmine: Bench, **arguments: Any) -> Any:
    token = (await redmine.data("update_issues", **arguments))["bulk_change"]["preview"]
    return (await redmine.data("update_issues", **arguments, dry_run=False, preview=token))["bulk_change"]


async def test_69_issues_move_in_two_calls_and_hardly_more_requests(tmp_path: Path) -> None:
    wire = Wire()
    ids = many(wire)
    async with bench(tmp_path, wire=wire) as redmine:
        answer = await written(redmine, ids=ids, changes={"fixed_version_id": "2.0"})

    assert answer["changed"] == 69
    assert len(wire.writes()) == 69
    # Once for the preview, three times before writing, once afterwards; and the versions and statuses.
    assert wire.asked().count("GET /issues") == 5
    assert len(wire.asked()) <= 69 + 5 + 4
    assert {wire.store["issues"].at(id_)["fixed_version_id"] for id_ in ids} == {2}


async def test_writing_needs_a_preview(tmp_path: Path) -> None:
    async with bench(tmp_path) as redmine:
        message, hint = await redmine.refusal("update_issues", ids=[1], changes={"notes": "x"}, dry_run=False)

    assert message == "Invalid value for parameter preview: a dry run has to come first"
    assert "dry_run: true" in hint
    assert redmine.wire.writes() == []


async def test_a_preview_expires(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with bench(tmp_path) as redmine:
        arguments: dict[str, Any] = {"ids": [1], "changes": {"notes": "x"}}
        token = (await redmine.data("update_issues", **arguments))["bulk_change"]["preview"]
        later = time.time() + 16 * 60
        monkeypatch.setattr("dogubako.packs.redmine.previews.time.time", lambda: later)
        message, _ = await redmine.refusal("update_issues", **arguments, dry_run=False, preview=token)

    assert "has expired" in message
    assert redmine.wire.writes() == []


async def test_a_preview_of_one_caller_is_of_no_use_to_another(tmp_path: Path) -> None:
    """Both use the same key for Redmine, so only the server can tell them apart."""
    arguments: dict[str, Any] = {"ids": [1], "changes": {"notes": "x"}}
    async with bench(tmp_path) as redmine:

        async def call(name: str, **more: Any) -> Any:
            caller = Caller(name=name, id=name, scopes=frozenset({"admin"}))
            return await redmine.box.pipeline.handle(
                ToolCall(name="update_issues", parameters={**arguments, **more}, caller=caller)
            )

        token = (await call("one")).value["data"]["bulk_change"]["preview"]
        refused = await call("two", dry_run=False, preview=token)
        done = await call("one", dry_run=False, preview=token)

    assert (refused.code, done.code) == ("CONFLICT", "OK")


async def test_a_refusal_by_redmine_is_listed_and_the_others_are_written(tmp_path: Path) -> None:
    wire = Wire()
    ids = many(wire, 3)

    def answers(request: httpx2.Request) -> httpx2.Response | None:
        if request.method == "PUT" and request.url.path == f"/issues/{ids[1]}.json":
            return httpx2.Response(422, json={"errors": ["Subject is invalid"]})
        return None

    wire.answers = answers
    async with bench(tmp_path, wire=wire) as redmine:
        answer = await written(redmine, ids=ids, changes={"fixed_version_id": "2.0"})

    assert (answer["changed"], answer["not_changed"]) == (2, 1)
    assert [(one["id"], one["reason"]) for one in answer["refused"]] == [(ids[1], "Subject is invalid")]


def _gone(request: httpx2.Request) -> httpx2.Response:
    raise httpx2.ConnectError("gone", request=request)


@pytest.mark.parametrize(
    "failure",
    [pytest.param(lambda request: httpx2.Response(503), id="503"), pytest.param(_gone, id="no connection")],
)
async def test_after_a_failure_the_others_are_not_tried_and_it_is_said(
    tmp_path: Path, failure: Callable[[httpx2.Request], httpx2.Response]
) -> None:
    wire = Wire()
    ids = many(wire, 4)

    def answers(request: httpx2.Request) -> httpx2.Response | None:
        return failure(request) if request.method == "PUT" and str(ids[1]) in request.url.path else None

    wire.answers = answers
    async with bench(tmp_path, wire=wire) as redmine:
        answer = await written(redmine, ids=ids, changes={"fixed_version_id": "2.0"})

    assert answer["changed"] == 1
    assert [one["id"] for one in answer["refused"]] == [ids[1]]
    assert answer["not_tried"] == ids[2:]
    assert answer["stopped_by"]


async def test_nothing_changed_is_an_error(tmp_path: Path) -> None:
    wire = Wire()
    ids = many(wire, 2)
    wire.answers = lambda request: httpx2.Response(204) if request.method == "PUT" else None
    async with bench(tmp_path, wire=wire) as redmine:
        arguments: dict[str, Any] = {"ids": ids, "changes": {"fixed_version_id": "2.0"}}
        token = (await redmine.data("update_issues", **arguments))["bulk_change"]["preview"]
        message, _ = await redmine.refusal("update_issues", **arguments, dry_run=False, preview=token)

    assert message.startswith("No issue was changed: ")
    assert "Redmine reported success, but ignored it" in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({"changes": {"notes": "x"}}, "Give either ids or filters", id="nothing chosen"),
        pytest.param({"ids": [1], "filters": {"subject": "x"}, "changes": {"notes": "x"}}, "Give either", id="both"),
        pytest.param({"ids": [1], "changes": {}}, "Nothing to change", id="no change"),
        pytest.param({"ids": [1], "changes": {"status_id": None}}, "it cannot be empty", id="no status"),
        pytest.param({"ids": [1], "changes": {"notes": "  "}}, "it cannot be empty", id="blank comment"),
        pytest.param({"ids": [0], "changes": {"notes": "x"}}, "ids are positive numbers", id="zero"),
        pytest.param({"ids": [999], "changes": {"notes": "x"}}, "1 of 1 issues do not exist", id="missing"),
        pytest.param({"ids": list(range(1, 300)), "changes": {"notes": "x"}}, "at most 200", id="too many"),
        pytest.param({"ids": [1], "changes": {"subject": "x"}}, "subject", id="not in bulk"),
        pytest.param({"ids": [1], "changes": {"status_id": "Nirvana"}}, "there is no such status", id="unknown name"),
    ],
)
async def test_what_cannot_be_done_is_refused_before_anything_is_written(
    tmp_path: Path, arguments: Any, message: str
) -> None:
    async with bench(tmp_path) as redmine:
        told, _ = await redmine.refusal("update_issues", **arguments)

    assert message in told
    assert redmine.wire.writes() == []


async def test_what_is_so_already_is_not_written(tmp_path: Path) -> None:
    wire = Wire()
    ids = many(wire, 2)
    async with bench(tmp_path, wire=wire) as redmine:
        shown = (await redmine.data("update_issues", ids=ids, changes={"fixed_version_id": 1}))["bulk_change"]

    assert (shown["would_change"], shown["unchanged"]) == (0, 2)
    assert "preview" not in shown


async def test_a_role_that_was_given_a_moment_ago_counts(tmp_path: Path) -> None:
    """Whose key it is, and with which roles, is kept for a minute."""
    wire = Wire()
    async with bench(tmp_path, "reporter", wire=wire) as redmine:
        before = (await redmine.data("update_issues", ids=[2], changes={"priority_id": "Urgent"}))["bulk_change"]
        member = wire.store["members"].first(user_id=(await redmine.data("show_current_user"))["user"]["id"])
        assert member is not None
        manager = wire.store["roles"].first(name="Manager")
        assert manager is not None
        for role in wire.store["member_roles"].where(member_id=member["id"]):
            role["role_id"] = manager["id"]
        after = (await redmine.data("update_issues", ids=[2], changes={"priority_id": "Urgent"}))["bulk_change"]

    assert before["refused"][0]["reason"] == "your role lacks the permission edit_issues"
    assert after["would_change"] == 1


async def test_a_group_may_get_issues_as_far_as_the_preview_can_know(tmp_path: Path) -> None:
    """Whether groups can have issues is a setting that Redmine shows to nobody."""
    members = [{"id": 1, "project": {"id": 1, "name": "x"}, "group": {"id": 12, "name": "Support Team"}, "roles": []}]

    def answers(request: httpx2.Request) -> httpx2.Response | None:
        if not request.url.path.endswith("/memberships.json"):
            return None
        return httpx2.Response(200, json={"memberships": members, "total_count": 1, "offset": 0, "limit": 100})

    wire = Wire(answers)
    ids = many(wire, 2)
    async with bench(tmp_path, wire=wire) as redmine:
        plan = (await redmine.data("update_issues", ids=ids, changes={"assigned_to_id": 12}))["bulk_change"]

    assert (plan["would_change"], plan["would_be_refused"]) == (2, 0)
