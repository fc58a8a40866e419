"""list_issues: filters that are understood, and refusals of those that Redmine would ignore."""

from typing import Any

import pytest

from dogubako.contract.errors import ApiError, ValidationError
from tests.redmine_contract.facts import fact, proves
from tests.redmine_contract.place import Person, Place
from tests.redmine_contract.seeded import CUSTOM_FIELDS, ISSUES, TRACKERS

SHOP = {"project_id": "webshop", "fields": ["subject"], "limit": 100}


async def ids(person: Person, **filters: Any) -> set[int]:
    listed = await person.call("list_issues", **{**SHOP, **filters})
    assert listed.get("total_count") == str(len(listed))
    return {int(one.get("id", "0")) for one in listed}


def of(*names: str) -> set[int]:
    return {ISSUES[name] for name in names}


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        pytest.param({"status_id": "closed"}, of("closed"), id="closed"),
        pytest.param({"status_id": "In Progress"}, of("umlauts", "child", "overdue"), id="status"),
        pytest.param({"status_id": "Feedback|Closed"}, of("injected", "closed"), id="statuses"),
        pytest.param({"tracker_id": "Support"}, of("injected", "following"), id="tracker"),
        pytest.param({"tracker_id": "!Bug", "priority_id": "High"}, of("parent", "second child"), id="not a tracker"),
        pytest.param({"priority_id": "Urgent|Immediate"}, of("overdue", "in the app"), id="priorities"),
        pytest.param({"assigned_to_id": "me"}, of("umlauts", "child", "overdue", "in the app", "nasty"), id="me"),
        pytest.param({"assigned_to_id": "Mari Sato"}, of("following"), id="name"),
        pytest.param({"assigned_to_id": "!*"}, of("parent", "unassigned", "app feature", "control"), id="nobody"),
        pytest.param({"fixed_version_id": "1.0"}, of("umlauts", "parent", "blocking", "in the app"), id="version"),
        pytest.param({"parent_id": ISSUES["parent"]}, of("child", "second child"), id="children"),
        pytest.param({"subject": "payment"}, of("overdue", "blocking", "blocked", "following"), id="subject"),
        pytest.param({"subject": "=Dark mode"}, of("app feature"), id="whole subject"),
        pytest.param({"due_date": "<=2026-12-31"}, of("overdue"), id="due"),
        pytest.param({"due_date": "><2029-01-01|2029-03-31"}, of("blocking", "following"), id="due between"),
        pytest.param(
            {"created_on": "<=2026-09-01", "tracker_id": "Support"}, of("injected", "following"), id="created"
        ),
        pytest.param({"custom_fields": [{"name": "Browser", "value": "Safari"}]}, of("in the app"), id="field"),
        pytest.param({"custom_fields": [{"id": 4, "value": "Shipping"}]}, of("umlauts"), id="one of several values"),
        pytest.param({"query_id": "Unassigned"}, of("parent", "unassigned", "app feature", "control"), id="query"),
    ],
)
async def test_issues_are_found_by(dev: Person, filters: dict[str, Any], found: set[int]) -> None:
    assert await ids(dev, **filters) == found


@pytest.mark.parametrize(
    "arguments",
    [
        fact("unknown-filter", {"nope": 1}),
        fact("unknown-filter", {"status_id": "Nope"}),
        fact("unknown-filter", {"tracker_id": "Nope"}),
        fact("unknown-filter", {"assigned_to_id": "Nobody at all"}),
        fact("unknown-filter", {"fixed_version_id": "9.9", "project_id": "webshop"}),
        fact("unknown-filter", {"fixed_version_id": "1.0"}),
        fact("unknown-filter", {"query_id": "Nope"}),
        fact("unknown-cf", {"custom_fields": [{"id": 999999, "value": "x"}]}),
        fact("unknown-cf", {"custom_fields": [{"name": "Cost centre", "value": "4711"}]}),
        fact("invisible-cf", {"custom_fields": [{"name": "Contract value", "value": "12000 EUR"}]}),
        fact("invisible-cf", {"custom_fields": [{"id": CUSTOM_FIELDS["Contract value"], "value": "12000 EUR"}]}),
        fact("unknown-sort", {"sort": "nope"}),
        fact("unknown-sort", {"sort": "priority:down"}),
        fact("unknown-include", {"include": ["journals"]}),
        fact("unknown-include", {"include": ["nope"]}),
        fact("bad-date", {"created_on": "abc"}),
        fact("bad-date", {"due_date": "2026-99-99x"}),
        fact("query-alone", {"query_id": "Open bugs", "tracker_id": "Feature"}),
        fact("clamped-limit", {"limit": 101}),
        fact("clamped-limit", {"limit": 0}),
        fact("huge-offset", {"offset": 99999999999999999999}),
        pytest.param({"fields": ["nope"]}, id="field"),
        pytest.param({"project_id": "nope"}, id="project"),
    ],
)
async def test_what_redmine_would_ignore_is_refused(dev: Person, arguments: dict[str, Any]) -> None:
    assert isinstance(await dev.refused("list_issues", **arguments), ValidationError)


@proves("unknown-include")
async def test_an_include_that_a_list_does_not_know_is_ignored_by_redmine(dev: Person) -> None:
    plain = await dev.told("/issues.json", limit=2)

    assert await dev.told("/issues.json", limit=2, include="journals,nope") == plain


@proves("long-query")
async def test_a_question_that_is_too_long_is_refused_with_the_reason(dev: Person) -> None:
    error = await dev.refused("list_issues", subject="x" * 20_000)

    assert isinstance(error, ApiError | ValidationError)
    assert "Network error" not in error.message
    assert not error.retryable


@pytest.mark.parametrize("login", ["admin", "kim1"])
@proves("unusable-cf")
async def test_a_custom_field_that_is_no_filter_is_ignored_by_redmine_and_refused_by_us(
    place: Place, login: str
) -> None:
    somebody, field = await place.who(login), CUSTOM_FIELDS["Customer"]
    only = {"custom_fields": [{"name": "Customer", "value": "Customer 1"}], "project_id": "bulk"}
    before = await somebody.call("list_issues", **only, fields=["subject"], limit=1)
    everything = (await somebody.told("/issues.json", limit=1))["total_count"]

    place.stop_filtering_by(field)
    raw = (await somebody.told("/issues.json", limit=1, **{f"cf_{field}": "Customer 1"}))["total_count"]
    error = await somebody.refused("list_issues", **only)

    assert 0 < int(before.get("total_count", "0")) < everything == raw
    assert isinstance(error, ValidationError)
    assert "cannot filter" in error.message


@proves("query-alone")
async def test_a_saved_query_goes_with_a_project_and_an_order(dev: Person) -> None:
    listed = await dev.call("list_issues", query_id="Open bugs", project_id="webshop", sort="id", fields=["tracker"])

    assert {one.findtext("tracker") for one in listed} == {"Bug"}
    numbers = [int(one.get("id", "0")) for one in listed]
    assert numbers == sorted(numbers)


async def test_a_page_names_the_call_for_the_next_one(dev: Person) -> None:
    listed = await dev.call("list_issues", project_id="bulk", tracker_id=TRACKERS["Bug"], limit=10, fields=["subject"])

    assert len(listed) == 10
    assert "offset: 10" in (listed.get("next") or "")


@proves("custom-values")
async def test_custom_values_are_texts_lists_and_ids(dev: Person) -> None:
    values = {field["name"]: field["value"] for field in (await dev.issue(ISSUES["umlauts"]))["custom_fields"]}

    assert (values["Story points"], values["Regression"], values["Promised on"]) == ("8", "1", "2029-12-31")
    assert values["Affected areas"] == ["Cart", "Shipping"]
    assert (values["Reviewer"], values["Testers"]) == ("10", ["6", "5"])
    assert "Contract value" not in values


@proves("custom-values")
async def test_custom_values_are_shown_one_by_one(dev: Person) -> None:
    shown = await dev.call("show_issue", id=ISSUES["umlauts"])

    fields = {
        one.findtext("name"): [value.text for value in one.iterfind("value")]
        for one in shown.iterfind("custom_fields/field")
    }
    assert (fields["Affected areas"], fields["Testers"]) == (["Cart", "Shipping"], ["6", "5"])
    assert (fields["Customer"], fields["Story points"]) == (["Müller & Söhne <GmbH>"], ["8"])
    assert "Contract value" not in fields
