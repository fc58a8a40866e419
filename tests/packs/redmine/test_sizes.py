"""Every answer fits, and the calls that it names lead to all of the rest, each part once."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest

from dogubako.response.tokens import count_tokens
from dogubako.testing import parse_call
from dogubako.tools import ExecutionOptions, ToolResult

from .made import JsonObject, Reply, document, issue, made, next_of, paged, text_of
from .wired import Bench, bench

BUDGET: Final = 25_000
ALL: Final[JsonObject] = {"project_id": "bulk", "status_id": "*", "sort": "id", "limit": 100}
LONG_HISTORY: Final = 140
JOURNALS: Final = 500
DESCRIPTION: Final = "".join(f"Line {number} of a long story & more.\r\n" for number in range(30_000))
MOST_CALLS: Final = 200


async def following(
    redmine: Bench, tool: str, arguments: JsonObject, max_tokens: int | None = None
) -> AsyncIterator[ToolResult]:
    """The answer to a call, and to every next call that the answers name."""
    options = ExecutionOptions(max_tokens=max_tokens)
    for _ in range(MOST_CALLS):
        result = await redmine.box.call(tool, arguments, options)
        assert result.tokens <= (max_tokens or BUDGET)
        assert count_tokens(text_of(result)) <= result.tokens
        yield result
        call = next_call(result)
        if call is None:
            return
        tool, arguments = parse_call(call)
    raise AssertionError("the calls do not end")


def next_call(result: ToolResult) -> str | None:
    """However the answer is written."""
    if text_of(result).startswith("<"):
        return next_of(document(result))
    answer = json.loads(text_of(result))
    cut = answer.get("_truncated")
    call: str | None = cut.get("next") if cut else answer["data"].get("next")
    return call


def ids_of(result: ToolResult, many: str) -> list[int]:
    """The ids of the rows of a list, or of the journals of an issue."""
    if text_of(result).startswith("<"):
        root = document(result)
        rows = root if root.tag == many else root.findall(many)[0]
        return [int(row.get("id", "")) for row in rows if row.tag != "truncated"]
    data = json.loads(text_of(result))["data"]
    rows = data["issue"][many]["rows"] if "issue" in data else data[many]
    return [row["id"] for row in rows]


@pytest.mark.parametrize("form", ["xml", "json"])
@pytest.mark.parametrize(
    "fields",
    [
        pytest.param(["subject", "status", "assigned_to", "due_date"], id="standard fields"),
        pytest.param(["subject", "Customer", "cf_15"], id="some custom fields"),
    ],
)
async def test_a_hundred_issues_with_fifteen_custom_fields_fit_with_fields(
    tmp_path: Path, form: str, fields: list[str]
) -> None:
    async with bench(tmp_path, REDMINE_FORMAT=form) as redmine:
        result = await redmine.call("list_issues", **ALL, fields=fields)
        whole = document(await redmine.call("show_issue", id=100)) if form == "xml" else None

    assert (result.trimmed, result.count) == (False, 100)
    assert len(ids_of(result, "issues")) == 100
    assert result.tokens < BUDGET / 2
    if whole is not None:
        assert len(whole.findall("custom_fields/field")) == 15


@pytest.mark.parametrize("form", ["xml", "json"])
@pytest.mark.parametrize(
    ("words", "max_tokens", "fewest"),
    [
        pytest.param("Bulk issue", None, 3, id="the usual budget"),
        pytest.param("Bulk issue", 6_000, 10, id="a small budget"),
        pytest.param("Bulk issue 001", 1_500, 4, id="room for one or two"),
    ],
)
async def test_without_fields_whole_issues_are_cut_and_every_one_is_found_once(
    tmp_path: Path, form: str, words: str, max_tokens: int | None, fewest: int
) -> None:
    async with bench(tmp_path, REDMINE_FORMAT=form) as redmine:
        answers = [one async for one in following(redmine, "list_issues", {**ALL, "subject": words}, max_tokens)]
        stored = redmine.wire.store["issues"].where(project_id=6)

    assert answers[0].trimmed
    seen = [one for answer in answers for one in ids_of(answer, "issues")]
    assert seen == sorted(row["id"] for row in stored if all(word in row["subject"] for word in words.split()))
    assert fewest <= len(answers) <= len(seen)


@pytest.mark.parametrize("form", ["xml", "json"])
async def test_an_issue_that_is_shown_in_a_cut_list_is_whole(tmp_path: Path, form: str) -> None:
    async with bench(tmp_path, REDMINE_FORMAT=form) as redmine:
        cut = await redmine.call("list_issues", **ALL)
        last = ids_of(cut, "issues")[-1]
        alone = await redmine.call("list_issues", **{**ALL, "limit": 1, "offset": len(ids_of(cut, "issues")) - 1})

    assert ids_of(alone, "issues") == [last]
    body = text_of(alone)
    begin = body.index("<issue id=") if form == "xml" else body.index('{"id"')
    end = body.index("</issues>") if form == "xml" else body.index('],"next"')
    assert body[begin:end] in text_of(cut)


@pytest.mark.parametrize("form", ["xml", "json"])
@pytest.mark.parametrize(
    ("limit", "max_tokens"),
    [
        pytest.param(500, None, id="all at once"),
        pytest.param(20, None, id="as usual"),
        pytest.param(100, 4_000, id="a small budget"),
    ],
)
async def test_five_hundred_journals_are_read_to_the_oldest(
    tmp_path: Path, form: str, limit: int, max_tokens: int | None
) -> None:
    async with bench(tmp_path, REDMINE_FORMAT=form) as redmine:
        arguments = {"id": LONG_HISTORY, "journal_limit": limit}
        answers = [one async for one in following(redmine, "show_issue", arguments, max_tokens)]
        stored = redmine.wire.store["journals"].where(journalized_id=LONG_HISTORY)

    seen = [one for answer in answers for one in ids_of(answer, "journals")]
    assert len(seen) == JOURNALS
    assert seen == sorted((row["id"] for row in stored), reverse=True)


def told(result: ToolResult) -> str:
    """The description in a first answer, and in those that go on with it."""
    root = document(result)
    text = root.text if root.tag == "description" else root.findtext("description")
    return (text or root.findtext("text") or "").rsplit("… [", 1)[0]


async def test_a_description_of_a_megabyte_is_read_on_and_to_its_end(tmp_path: Path) -> None:
    places: dict[str, Reply] = {"/issues/7": {"issue": issue(7, description=DESCRIPTION)}}
    text = DESCRIPTION.replace("\r\n", "\n")
    assert len(text) > 1_000_000
    async with bench(tmp_path, answers=made(places), REDMINE_FORMAT="xml") as redmine:
        first = await redmine.call("show_issue", id=7)
        tool, arguments = parse_call(next_call(first) or "")
        second = await redmine.call(tool, **arguments)
        end = await redmine.call(tool, **{**arguments, "offset": len(text) - 20_000})

    assert text.startswith(told(first) + told(second))
    assert len(told(second)) > 40_000
    assert told(end) == text[-20_000:] and next_call(end) is None


async def test_a_line_end_is_not_doubled_where_a_text_is_cut_inside_it(tmp_path: Path) -> None:
    places: dict[str, Reply] = {"/issues/7": {"issue": issue(7, description="ab\r\ncd\re")}}
    async with bench(tmp_path, answers=made(places), REDMINE_FORMAT="xml") as redmine:
        rest = [
            told(await redmine.call("read_more", tool="show_issue", arguments={"id": 7}, path="description", offset=at))
            for at in range(1, 7)
        ]

    assert rest == ["b\ncd\ne", "\ncd\ne", "cd\ne", "d\ne", "\ne", "e"]


@pytest.mark.parametrize("form", ["xml", "json"])
async def test_a_huge_description_leaves_the_history_reachable(tmp_path: Path, form: str) -> None:
    journals = [{"id": number, "user": {"id": 5, "name": "R"}, "notes": f"Note {number}"} for number in range(1, 61)]
    places: dict[str, Reply] = {"/issues/7": {"issue": issue(7, description=DESCRIPTION, journals=journals)}}
    async with bench(tmp_path, answers=made(places), REDMINE_FORMAT=form) as redmine:
        answers = [one async for one in following(redmine, "show_issue", {"id": 7})]

    assert "more characters]" in text_of(answers[0])
    assert [one for answer in answers for one in ids_of(answer, "journals")] == list(range(60, 0, -1))
    assert len(answers) <= 5


LARGE: Final[list[tuple[str, JsonObject]]] = [
    ("list_issues", {"limit": 100}),
    ("show_issue", {"id": LONG_HISTORY}),
    ("show_issue", {"id": 1}),
    ("list_projects", {}),
    ("list_custom_fields", {}),
    ("list_roles", {"permissions": True}),
    ("search_redmine", {"q": "issue", "limit": 100}),
    ("show_user", {"id": 6}),
]


@pytest.mark.parametrize("form", ["xml", "json"])
@pytest.mark.parametrize("max_tokens", [500, 700, 1_000, 2_500])
async def test_small_budgets_are_kept(tmp_path: Path, form: str, max_tokens: int) -> None:
    async with bench(tmp_path, REDMINE_FORMAT=form) as redmine:
        for tool, arguments in LARGE:
            result = await redmine.box.call(tool, arguments, ExecutionOptions(max_tokens=max_tokens))

            text = text_of(result)
            assert count_tokens(text) <= result.tokens <= max_tokens, tool
            assert document(result) is not None if form == "xml" else json.loads(text)["success"]


@pytest.mark.parametrize("form", ["xml", "json"])
async def test_a_hundred_issues_cost_one_request(tmp_path: Path, form: str) -> None:
    rows = [issue(number) for number in range(1, 201)]
    async with bench(tmp_path, answers=made({"/issues": paged("issues", rows)}), REDMINE_FORMAT=form) as redmine:
        result = await redmine.call("list_issues", limit=100)

        assert len(ids_of(result, "issues")) == 100
        assert redmine.wire.asked() == ["GET /issues"]
