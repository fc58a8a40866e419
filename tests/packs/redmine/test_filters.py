"""Filters of issues and time entries: each arrives as it is meant, and what Redmine would ignore never does."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import given, settings
from hypothesis import strategies as st

from dogubako.tools import ToolResult
from tests.hypothesis_profiles import examples

from .understood import is_used
from .wired import Bench, bench

_NO_ISSUES = {"issues": [], "total_count": 0, "offset": 0, "limit": 25}
_NO_TIME = {"time_entries": [], "total_count": 0, "offset": 0, "limit": 25}
_PATHS = {"list_issues": "/issues", "list_time_entries": "/time_entries"}


def nothing_is_there(request: httpx2.Request) -> httpx2.Response | None:
    """Empty lists: these tests are about what is asked, not about what is found."""
    found = {"/issues.json": _NO_ISSUES, "/time_entries.json": _NO_TIME}.get(request.url.path)
    return httpx2.Response(200, json=found) if found else None


@dataclass(frozen=True, kw_only=True)
class Asking:
    """One toolbox for all examples, because a new one for each would take longer than all the rest."""

    portal: BlockingPortal
    bench: Bench

    def sent(self, tool: str, **arguments: Any) -> dict[str, str] | None:
        """The parameters that arrive for these arguments; nothing when they are refused."""
        self.bench.wire.requests.clear()
        result: ToolResult = self.portal.call(self.bench.box.call, tool, arguments)
        assert result.code in ("OK", "VALIDATION_ERROR"), result.content
        return self.bench.wire.query(_PATHS[tool]) if result.code == "OK" else None


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asking]:
    opened = bench(tmp_path_factory.mktemp("filters"), "admin", nothing_is_there)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(opened) as running:
        yield Asking(portal=portal, bench=running)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param({"status_id": "open"}, {"status_id": "open"}, id="open"),
        pytest.param({"status_id": "c"}, {"status_id": "closed"}, id="closed, as Redmine abbreviates it"),
        pytest.param({"status_id": "*"}, {"status_id": "*"}, id="every status"),
        pytest.param({"status_id": "Closed"}, {"status_id": "5"}, id="the status that is called Closed"),
        pytest.param({"status_id": "OPEN"}, {"status_id": "open"}, id="no status is called so, all open ones"),
        pytest.param({"status_id": "New|feedback"}, {"status_id": "1|4"}, id="one of two statuses"),
        pytest.param({"status_id": "!New | 4"}, {"status_id": "!1|4"}, id="none of two statuses"),
        pytest.param({"tracker_id": "!Bug"}, {"tracker_id": "!1"}, id="another tracker"),
        pytest.param({"tracker_id": "*"}, {}, id="any tracker is no filter"),
        pytest.param({"priority_id": "High|5"}, {"priority_id": "3|5"}, id="one of two priorities"),
        pytest.param({"priority_id": 3}, {"priority_id": "3"}, id="priority by id"),
        pytest.param({"assigned_to_id": "!*"}, {"assigned_to_id": "!*"}, id="not assigned"),
        pytest.param({"fixed_version_id": "*"}, {"fixed_version_id": "*"}, id="any version"),
        pytest.param({"fixed_version_id": "!*"}, {"fixed_version_id": "!*"}, id="no version"),
        pytest.param({"parent_id": 2}, {"parent_id": "2"}, id="children"),
        pytest.param({"subject": "dark mode"}, {"subject": "~dark mode"}, id="words"),
        pytest.param({"subject": "~dark"}, {"subject": "~dark"}, id="words, with Redmine's operator"),
        pytest.param({"subject": "=Dark mode"}, {"subject": "Dark mode"}, id="exactly, for which there is no operator"),
        pytest.param({"subject": "!~dark"}, {"subject": "!~dark"}, id="without a word"),
        pytest.param({"subject": "^Dark"}, {"subject": "^Dark"}, id="at the beginning"),
        pytest.param({"subject": "$mode"}, {"subject": "$mode"}, id="at the end"),
        pytest.param({"subject": "*urgent*"}, {"subject": "~*urgent*"}, id="a star is a letter like others"),
        pytest.param({"subject": "!important"}, {"subject": "~!important"}, id="so is an exclamation mark"),
        pytest.param({"subject": "C"}, {"subject": "~C"}, id="one letter alone counts"),
        pytest.param({"subject": '"vitamin C" pill'}, {"subject": '~"vitamin C" pill'}, id="a phrase"),
        pytest.param({"created_on": "2026-09-01"}, {"created_on": "2026-09-01"}, id="a day"),
        pytest.param({"created_on": " >=2026-09-01 "}, {"created_on": ">=2026-09-01"}, id="since a day"),
        pytest.param(
            {"updated_on": "><2026-09-01|2026-09-30"}, {"updated_on": "><2026-09-01|2026-09-30"}, id="between two days"
        ),
        pytest.param(
            {"updated_on": "<=2026-09-01T12:30:00Z"}, {"updated_on": "<=2026-09-01T12:30:00Z"}, id="until a moment"
        ),
        pytest.param({"updated_on": "lw"}, {"updated_on": "lw"}, id="last week"),
        pytest.param({"updated_on": ">t-7"}, {"updated_on": ">t-7"}, id="the last seven days"),
        pytest.param({"due_date": "><t+7"}, {"due_date": "><t+7"}, id="the next seven days"),
        pytest.param({"due_date": "nm"}, {"due_date": "nm"}, id="next month"),
        pytest.param({"due_date": "!*"}, {"due_date": "!*"}, id="no due date"),
        pytest.param({"created_on": "2026/09/01"}, {"created_on": "2026-09-01"}, id="day with slashes"),
        pytest.param({"created_on": ">=2026年9月1日"}, {"created_on": ">=2026-09-01"}, id="day in Japanese"),
        pytest.param({"created_on": "2026-09-01..2026-09-30"}, {"created_on": "><2026-09-01|2026-09-30"}, id="span"),
        pytest.param({"updated_on": "昨日"}, {"updated_on": "ld"}, id="yesterday in Japanese"),
        pytest.param(
            {"closed_on": "lw", "status_id": "*"}, {"closed_on": "lw", "status_id": "*"}, id="closed last week"
        ),
        pytest.param({"author_id": 9}, {"author_id": "9"}, id="author"),
        pytest.param({"project_id": 1, "subprojects": False}, {"project_id": "1", "subproject_id": "!*"}, id="alone"),
        pytest.param(
            {"project_id": 1, "category_id": "Search"}, {"project_id": "1", "category_id": "2"}, id="category"
        ),
        pytest.param({"done_ratio": ">=50"}, {"done_ratio": ">=50"}, id="half done"),
        pytest.param({"parent_id": "~2"}, {"parent_id": "~2"}, id="all below an issue"),
        pytest.param({"filters": {"blocked": "*"}}, {"blocked": "*"}, id="blocked by something"),
        pytest.param(
            {"filters": {"watcher_id": "me", "spent_time": ">=1"}},
            {"watcher_id": "me", "spent_time": ">=1"},
            id="other filters",
        ),
        pytest.param({"subject": "税"}, {"subject": "~税"}, id="a single Han character"),
        pytest.param({"subject": "税 区分"}, {"subject": "~税 区分"}, id="a single Han character among words"),
        pytest.param({"subject": "#12"}, {"issue_id": "12", "status_id": "*"}, id="an issue by its number"),
        pytest.param({"sort": "priority:desc, updated_on"}, {"sort": "priority:desc,updated_on"}, id="sorted by two"),
        pytest.param({"sort": "cf_3:desc"}, {"sort": "cf_3:desc"}, id="sorted by a custom field"),
        pytest.param({"include": ["attachments", "relations"]}, {"include": "attachments,relations"}, id="include"),
        pytest.param({"query_id": "Open bugs", "sort": "id"}, {"query_id": "8", "sort": "id"}, id="a saved query"),
        pytest.param({"query_id": 8, "tracker_id": None}, {"query_id": "8"}, id="a saved query and nothing else"),
    ],
)
def test_a_filter_arrives_as_it_is_meant(arguments: dict[str, Any], expected: dict[str, str], asking: Asking) -> None:
    sent = asking.sent("list_issues", **arguments)

    assert sent == {**expected, "limit": "25", "offset": "0"}


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        pytest.param("list_issues", {"tracker_id": "!*"}, id="no tracker"),
        pytest.param("list_issues", {"priority_id": "!*"}, id="no priority"),
        pytest.param("list_issues", {"status_id": "!*"}, id="no status"),
        pytest.param("list_time_entries", {"activity_id": "!*"}, id="no activity"),
        pytest.param("list_issues", {"subject": "   "}, id="blank subject"),
        pytest.param("list_issues", {"subject": "dark|mode"}, id="subject of which Redmine forgets a half"),
        pytest.param("list_issues", {"subject": "dark\n*"}, id="operator in the second line"),
        pytest.param("list_issues", {"subject": "="}, id="exactly nothing"),
        pytest.param("list_issues", {"subject": "=*all"}, id="exactly what begins like an operator"),
        pytest.param("list_issues", {"subject": "^"}, id="beginning with nothing"),
        pytest.param("list_issues", {"subject": "vitamin C"}, id="a single letter, which Redmine forgets"),
        pytest.param("list_issues", {"subject": "one two three four five six"}, id="a sixth word"),
        pytest.param("list_issues", {"created_on": "some day"}, id="word instead of a date"),
        pytest.param("list_issues", {"done_ratio": "half"}, id="word instead of a number"),
        pytest.param("list_issues", {"filters": {"colour": "red"}}, id="unknown filter"),
        pytest.param("list_issues", {"category_id": 1}, id="category without a project"),
        pytest.param("list_issues", {"created_on": ""}, id="empty date"),
        pytest.param("list_issues", {"created_on": "2026-02-31"}, id="day that does not exist"),
        pytest.param("list_issues", {"updated_on": "<=2026-01-01T25:00:00Z"}, id="hour that does not exist"),
        pytest.param("list_issues", {"updated_on": "><2026-01-01"}, id="between one day"),
        pytest.param("list_issues", {"created_on": "nw"}, id="created next week"),
        pytest.param("list_issues", {"updated_on": "<t+3"}, id="changed in the future"),
        pytest.param("list_time_entries", {"spent_on": "2026-02-31"}, id="time on a day that does not exist"),
        pytest.param("list_time_entries", {"spent_on": "2026-09-01|soon"}, id="time until a word"),
        pytest.param("list_issues", {"sort": "colour"}, id="unknown column"),
        pytest.param("list_issues", {"sort": "id:down"}, id="unknown direction"),
        pytest.param("list_issues", {"sort": "id,,status"}, id="empty column"),
        pytest.param("list_issues", {"sort": ""}, id="no column"),
        pytest.param("list_issues", {"sort": "id,status,tracker,project"}, id="a fourth column"),
        pytest.param("list_issues", {"sort": "id,id:desc"}, id="a column twice"),
        pytest.param("list_time_entries", {"sort": "id"}, id="column that only issues have"),
        pytest.param("list_issues", {"include": ["journals"]}, id="include that lists do not have"),
        pytest.param("list_issues", {"query_id": 8, "tracker_id": 1}, id="filter beside a query"),
        pytest.param("list_issues", {"colour": "red"}, id="unknown argument"),
    ],
)
async def test_what_redmine_would_ignore_is_refused_before_any_request(
    tool: str, arguments: dict[str, Any], tmp_path: Path
) -> None:
    async with bench(tmp_path) as on:
        result = await on.call(tool, **arguments)

    assert result.code == "VALIDATION_ERROR"
    assert on.wire.asked() == []


@pytest.mark.parametrize("word", ["None", "null", "True", "-1", "0x7", "７"])
@pytest.mark.parametrize(("tool", "parameter"), [("list_issues", "assigned_to_id"), ("list_time_entries", "user_id")])
def test_a_word_that_is_nobody_is_refused(tool: str, parameter: str, word: str, asking: Asking) -> None:
    assert asking.sent(tool, **{parameter: word}) is None


_OPERATORS = ["*", "!*", "!", "|", "=", "~", "^", "$", "<=", ">=", "><", "t", "t-", ">t-", "<t+", "w", "nm", "lm", "o"]
_VALUES = ["7", "me", "New", "Bug", "High", "open", "2026-09-01", "2026-02-30", "2026-09-01T10:00:00Z", "dark", "C"]
_PIECES = st.sampled_from([*_OPERATORS, *_VALUES, " ", "\n", '"', ","])
_EXPRESSIONS = st.lists(_PIECES, min_size=1, max_size=5).map("".join) | st.text(min_size=1, max_size=12)
_ISSUE_FILTERS = ("status_id", "tracker_id", "priority_id", "assigned_to_id", "subject", "created_on", "due_date")


@settings(max_examples=examples(200))
@given(parameter=st.sampled_from(_ISSUE_FILTERS), expression=_EXPRESSIONS)
def test_no_filter_of_issues_is_ever_ignored(parameter: str, expression: str, asking: Asking) -> None:
    sent = asking.sent("list_issues", **{parameter: expression})

    if sent is not None and parameter in sent:
        assert is_used(parameter, sent[parameter])
    else:
        assert sent is None or expression.strip() == "*"


@settings(max_examples=examples(100))
@given(parameter=st.sampled_from(["user_id", "activity_id", "spent_on"]), expression=_EXPRESSIONS)
def test_no_filter_of_time_entries_is_ever_ignored(parameter: str, expression: str, asking: Asking) -> None:
    sent = asking.sent("list_time_entries", **{parameter: expression})

    if sent is not None and parameter in sent:
        assert is_used(parameter, sent[parameter])
    else:
        assert sent is None or expression.strip() == "*"


def _answering(**row: Any) -> Any:
    """One issue, whatever is asked for, as from a Redmine that forgets a filter."""

    def answers(request: httpx2.Request) -> httpx2.Response | None:
        if request.url.path != "/issues.json":
            return None
        return httpx2.Response(
            200, json={**_NO_ISSUES, "issues": [{"id": 1, "subject": "Any", **row}], "total_count": 1}
        )

    return answers


@pytest.mark.parametrize(
    ("arguments", "row"),
    [
        pytest.param({"tracker_id": "Bug"}, {"tracker": {"id": 2, "name": "Feature"}}, id="another tracker"),
        pytest.param({"priority_id": "3|4"}, {"priority": {"id": 1, "name": "Low"}}, id="another priority"),
        pytest.param({"fixed_version_id": 1}, {}, id="no version although one was asked for"),
        pytest.param(
            {"fixed_version_id": "!*"}, {"fixed_version": {"id": 1, "name": "1.0"}}, id="a version all the same"
        ),
        pytest.param({"assigned_to_id": "me"}, {}, id="assigned to nobody"),
        pytest.param(
            {"assigned_to_id": "!*"}, {"assigned_to": {"id": 6, "name": "Déva Roy"}}, id="assigned all the same"
        ),
        pytest.param({"parent_id": 2}, {"parent": {"id": 3}}, id="child of another"),
        pytest.param({"due_date": "<=2026-12-31"}, {}, id="not due at all"),
        pytest.param({"due_date": "!*"}, {"due_date": "2026-12-31"}, id="due all the same"),
    ],
)
async def test_a_row_that_does_not_fit_betrays_an_ignored_filter(
    arguments: dict[str, Any], row: dict[str, Any], tmp_path: Path
) -> None:
    """A field that no tracker uses is no filter either, and Redmine does not say so."""
    async with bench(tmp_path, "admin", _answering(**row)) as on:
        message, _ = await on.refusal("list_issues", **arguments)

    assert message == f"Failed to list issues: Redmine ignored the filter {next(iter(arguments))}"


@pytest.mark.parametrize(
    ("arguments", "row"),
    [
        pytest.param({"tracker_id": "!Bug"}, {"tracker": {"id": 2, "name": "Feature"}}, id="not this tracker"),
        pytest.param(
            {"fixed_version_id": "1|2"}, {"fixed_version": {"id": 2, "name": "2.0"}}, id="one of two versions"
        ),
        pytest.param({"assigned_to_id": 6}, {"assigned_to": {"id": 12, "name": "Support Team"}}, id="the user's group"),
        pytest.param({"due_date": "t"}, {"due_date": "2026-12-31"}, id="due"),
        pytest.param({"subject": "Any"}, {}, id="nothing to compare"),
    ],
)
async def test_a_row_that_fits_is_shown(arguments: dict[str, Any], row: dict[str, Any], tmp_path: Path) -> None:
    async with bench(tmp_path, "admin", _answering(**row)) as on:
        shown = await on.data("list_issues", **arguments)

    assert [issue["id"] for issue in shown["issues"]] == [1]


async def test_a_hundred_issues_are_one_request_and_look_ups_that_are_kept(tmp_path: Path) -> None:
    async with bench(tmp_path, "kim1") as on:
        wanted = {"project_id": "Import", "status_id": "New", "assigned_to_id": "kim1", "limit": 100}
        await on.data("list_issues", **wanted)
        first = on.wire.asked()
        on.wire.requests.clear()
        shown = await on.data("list_issues", project_id="Import", status_id="*", fields=["subject", "cf_2"], limit=100)

    assert first == ["GET /projects", "GET /projects/6/memberships", "GET /issue_statuses", "GET /issues"]
    assert len(shown["issues"]) == 100
    assert on.wire.asked() == ["GET /issues", "GET /issues"], "one of them learns the custom fields"


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        pytest.param(["subject", "status"], {"id", "subject", "status"}, id="standard fields"),
        pytest.param(["cf_2", "story points"], {"id", "custom_fields"}, id="custom fields by id and name"),
        pytest.param(["description"], {"id", "description"}, id="description, which lists leave out"),
    ],
)
async def test_only_the_fields_that_are_asked_for_are_shown(fields: list[str], shown: set[str], tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        found = await on.data("list_issues", project_id=6, fields=fields, limit=1, sort="id")

    assert set(found["issues"][0]) == shown


@pytest.mark.parametrize("field", ["colour", "cf_999", "journals", "Badge"])
async def test_a_field_that_issues_do_not_have_is_refused(field: str, tmp_path: Path) -> None:
    async with bench(tmp_path) as on:
        message, hint = await on.refusal("list_issues", fields=["subject", field])

    assert message == "Invalid value for parameter fields: there is no such custom field, or you may not see it"
    assert hint.startswith("Fields: id, project, tracker, status, ")
    assert "GET /issues" not in on.wire.asked()
