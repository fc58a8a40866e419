"""Many issues at once: shown before, written once, by the same person, and what was not written is listed."""

from typing import Any

import anyio
import pytest

from dogubako.contract.errors import ConflictError
from tests.redmine_contract.ja.seeded_ja import ISSUES_JA, VERSIONS_JA
from tests.redmine_contract.place import Person

FIRST = ISSUES_JA["first of many"]
MANY = list(range(FIRST, FIRST + 8))
NEXT: dict[str, Any] = {"ids": MANY, "changes": {"fixed_version_id": "3"}}


async def preview(person: Person, **arguments: Any) -> str:
    return (await person.call("update_issues", **arguments)).findtext("preview") or ""


async def write(person: Person, token: str, **arguments: Any) -> Any:
    return await person.call("update_issues", **arguments, dry_run=False, preview=token)


async def versions(person: Person, ids: list[int]) -> list[int | None]:
    return [(await person.issue(id_)).get("fixed_version", {}).get("id") for id_ in ids]


async def test_a_dry_run_shows_before_and_after_and_changes_nothing(taro: Person) -> None:
    before = [await taro.issue(id_) for id_ in MANY]

    answer = await taro.call("update_issues", **NEXT)

    # タスク has no target version.
    assert answer.findtext("would_change") == str(len(MANY))
    assert answer.findtext("issues/issue/change") == "fixed_version: (none) → 3"
    assert [await taro.issue(id_) for id_ in MANY] == before


async def test_what_redmine_ignores_is_listed_with_the_reason_and_the_rest_is_written(taro: Person) -> None:
    answer = await write(taro, await preview(taro, **NEXT), **NEXT)

    tasks = [id_ for id_ in MANY if (await taro.issue(id_))["tracker"]["name"] == "タスク"]
    assert answer.findtext("changed") == str(len(MANY) - len(tasks))
    refused = {one.get("id"): one.findtext("reason") for one in answer.iterfind("refused/issue")}
    assert set(refused) == {str(id_) for id_ in tasks}
    assert all("the tracker タスク does not use this field" in str(reason) for reason in refused.values())
    others = [id_ for id_ in MANY if id_ not in tasks]
    assert await versions(taro, others) == [VERSIONS_JA["3"]] * len(others)
    assert await versions(taro, tasks) == [None] * len(tasks)


async def test_what_somebody_else_changed_since_the_preview_is_left_alone(taro: Person, ichiro: Person) -> None:
    arguments: dict[str, Any] = {"ids": MANY, "changes": {"priority_id": "急いで"}}
    token = await preview(taro, **arguments)
    await ichiro.call("update_issue", id=MANY[2], notes="先に書きました。")

    answer = await write(taro, token, **arguments)

    assert [one.get("id") for one in answer.iterfind("changed_meanwhile/issue")] == [str(MANY[2])]
    assert (await taro.issue(MANY[2]))["priority"]["name"] != "急いで"
    assert (await taro.issue(MANY[3]))["priority"]["name"] == "急いで"
    assert answer.get("message", "").startswith(f"{len(MANY) - 1} of {len(MANY)} issues were changed")


async def test_of_two_agents_at_once_only_one_writes(taro: Person, admin: Person) -> None:
    """Both have seen the same issues. The second one finds them changed."""
    mine: dict[str, Any] = {"ids": MANY, "changes": {"assigned_to_id": "鈴木", "notes": "一人目"}}
    theirs: dict[str, Any] = {"ids": MANY, "changes": {"assigned_to_id": "佐藤花子", "notes": "二人目"}}
    tokens = [await preview(taro, **mine), await preview(admin, **theirs)]

    first = await write(taro, tokens[0], **mine)
    error = await admin.refused("update_issues", **theirs, dry_run=False, preview=tokens[1])

    assert first.findtext("changed") == str(len(MANY))
    assert "somebody else has changed them since the preview" in error.message
    assert {(await taro.issue(id_))["assigned_to"]["name"] for id_ in MANY} == {"鈴木 一郎"}


async def test_a_preview_that_is_used_by_two_calls_at_once_is_used_once(taro: Person) -> None:
    arguments: dict[str, Any] = {"ids": MANY, "changes": {"notes": "一度だけ"}}
    token = await preview(taro, **arguments)
    results: list[Any] = []

    async def use() -> None:
        results.append(await taro._result("update_issues", {**arguments, "dry_run": False, "preview": token}))

    async with anyio.create_task_group() as group:
        group.start_soon(use)
        group.start_soon(use)

    assert sorted(one.code for one in results) == ["CONFLICT", "OK"]
    for id_ in MANY:
        notes = [one["notes"] for one in (await taro.issue(id_, "journals"))["journals"]]
        assert notes.count("一度だけ") == 1


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"ids": MANY[:3], "changes": {"fixed_version_id": "3"}}, id="other issues"),
        pytest.param({"ids": MANY, "changes": {"fixed_version_id": "1.0"}}, id="other changes"),
    ],
)
async def test_a_preview_is_for_the_call_that_was_shown(taro: Person, other: dict[str, Any]) -> None:
    token = await preview(taro, **NEXT)

    error = await taro.refused("update_issues", **other, dry_run=False, preview=token)

    assert isinstance(error, ConflictError)
    assert await versions(taro, MANY) == [None] * len(MANY)


async def test_a_preview_of_one_person_is_of_no_use_to_another(taro: Person, admin: Person) -> None:
    token = await preview(taro, **NEXT)

    error = await admin.refused("update_issues", **NEXT, dry_run=False, preview=token)

    assert isinstance(error, ConflictError)
    assert await versions(taro, MANY) == [None] * len(MANY)
    assert (await write(taro, token, **NEXT)).findtext("changed") == "6", "it was not used up by the other person"


async def test_a_parent_is_closed_after_its_children_and_a_blocked_issue_is_not(taro: Person) -> None:
    arguments: dict[str, Any] = {
        "ids": [ISSUES_JA["parent"], ISSUES_JA["child"], ISSUES_JA["blocked"]],
        "changes": {"status_id": "終了"},
    }
    shown = await taro.call("update_issues", **arguments)
    answer = await write(taro, shown.findtext("preview") or "", **arguments)

    reason = shown.findtext("refused/issue/reason") or ""
    assert "open issues keep it from being closed: #5 税率表の確定 (新規)" in reason
    assert answer.findtext("changed") == "2"
    assert (await taro.issue(ISSUES_JA["parent"]))["status"]["name"] == "終了"
    assert (await taro.issue(ISSUES_JA["blocked"]))["status"]["name"] == "新規"


async def test_whoever_may_not_edit_is_told_before(viewer: Person) -> None:
    shown = await viewer.call("update_issues", **NEXT)

    assert shown.findtext("would_change") == "0"
    assert shown.find("preview") is None
    assert "lacks the permission edit_issues" in (shown.findtext("refused/issue/reason") or "")


async def test_an_issue_that_one_may_not_see_is_not_there(viewer: Person) -> None:
    ids = [MANY[0], ISSUES_JA["private"]]
    error = await viewer.refused("update_issues", ids=ids, changes={"notes": "x"})

    assert "1 of 2 issues do not exist, or are hidden" in error.message


async def test_a_name_that_one_project_does_not_know_refuses_its_issues_only(taro: Person) -> None:
    ids = [MANY[0], ISSUES_JA["in keiri"]]
    shown = await taro.call("update_issues", ids=ids, changes={"fixed_version_id": "3"})

    assert [one.get("id") for one in shown.iterfind("issues/issue")] == [str(MANY[0])]
    assert [one.get("id") for one in shown.iterfind("refused/issue")] == [str(ISSUES_JA["in keiri"])]
